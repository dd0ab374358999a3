//! The shape of the code: floors look down only, and separate parts stay separate.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kit::imports::{
    Module, code, files, floors, handed_out, module_of, paths, paths_below, sources, sources_of,
};

/// The names of the floors, from the ground up.
type Floors = Vec<String>;

/// Names, each with the names that it uses.
type Uses = BTreeMap<String, BTreeSet<String>>;

#[test]
fn files_keep_to_their_floor() {
    let sources = sources();
    let floors = names(&sources["lib.rs"]);
    let wrong: Vec<_> = sources
        .iter()
        .flat_map(|(file, text)| offences(&floors, file, text))
        .collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn floors_can_be_broken() {
    let floors: Floors = ["words", "event", "log", "thread", "mind", "runtime", "edge"]
        .map(str::to_owned)
        .into();
    for (file, text, says) in [
        (
            "log/store.rs",
            "use crate::mind::turn::Turn;",
            "looks up at crate::mind",
        ),
        (
            "event/draft.rs",
            "use crate::{\n    event::Event,\n    log::{self, sql},\n};",
            "looks up at crate::log",
        ),
        (
            "mind/decision.rs",
            "use crate::tools::catalogue::think;",
            "meet in events",
        ),
        (
            "mind/submodule.rs",
            "use crate::tools::contacts;",
            "meet in events",
        ),
        (
            "mind/turn/driver.rs",
            "use crate::tools::catalogue::think;",
            "meet in events",
        ),
        ("mind/turn.rs", "machine.next().await", "waits"),
        ("mind/turn/phase.rs", "machine.next().await", "waits"),
        (
            "runtime/runner.rs",
            "let q = \"select seq from event\";",
            "SQL",
        ),
        ("edge/server.rs", "reqwest::get(url)", "reqwest"),
        ("thread/history.rs", "let x = store.read().await;", "waits"),
        ("log/thread_fold.rs", "store.read().await;", "waits"),
        (
            "event/draft.rs",
            "let at = crate::words::time::now();",
            "the time",
        ),
        ("thread/history.rs", "let id = fresh();", "random"),
        (
            "edge/http/blobs.rs",
            "use crate::log::{blob::Blob, kernel::Store};",
            "names crate::log::kernel::Store",
        ),
        (
            "edge/problem.rs",
            "use crate::log::store;",
            "names crate::log::store:",
        ),
        (
            "edge/input.rs",
            "crate::runtime::handle::Runtime::open()",
            "names crate::runtime::handle::Runtime",
        ),
        (
            "edge/http/events.rs",
            "use crate::edge::websocket::client;",
            "another door",
        ),
        (
            "edge/websocket/client.rs",
            "use super::super::http::Page;",
            "another door",
        ),
        ("attic/unknown.rs", "", "no floor"),
        ("unknown.rs", "", "no floor"),
    ] {
        let found = offences(&floors, file, text);
        assert!(
            found.iter().any(|line| line.contains(says)),
            "{file}: {text:?} should be refused ({says}): {found:?}"
        );
    }
    for (file, text) in [
        (
            "mind/turn.rs",
            "use crate::{event::Event, log};\n// crate::edge is above",
        ),
        ("mind/action.rs", "use crate::tools::tool::Tool;"),
        ("mind/decision.rs", "use crate::tools::toolbox::Toolbox;"),
        (
            "log/sql.rs",
            "use sqlx::Row; let q = \"select 1 from event\";",
        ),
        (
            "edge/http/blobs.rs",
            "use crate::log::query::Query;\nuse crate::log::blob::Blob;\nuse super::Page;",
        ),
        ("edge/server.rs", "use super::{http, websocket};"),
        (
            "mind/turn/driver.rs",
            "store.append().await; crate::words::time::now(); // of reqwest nothing",
        ),
    ] {
        assert_eq!(
            offences(&floors, file, text),
            Vec::<String>::new(),
            "{file}: {text:?}"
        );
    }
}

#[test]
fn files_of_a_folder_do_not_use_one_another_in_a_circle() {
    let found = circles(&sources().into_iter().collect::<Vec<_>>());
    let wrong: Vec<_> = found
        .iter()
        .map(|(folder, all)| format!("server/{folder}: {all:?} use one another"))
        .collect();
    assert!(
        wrong.is_empty(),
        "move what they share to a file of its own:\n{}\n",
        wrong.join("\n")
    );
}

#[test]
fn circles_are_found() {
    let found = |files: &[(&str, &str)]| {
        let files: Vec<_> = files
            .iter()
            .map(|(file, text)| ((*file).to_owned(), (*text).to_owned()))
            .collect();
        let named = |(folder, all): (String, Vec<String>)| format!("{folder}: {}", all.join(" "));
        circles(&files).into_iter().map(named).collect::<Vec<_>>()
    };
    let of = |a: &str, b: &str| found(&[("edge/a.rs", a), ("edge/b.rs", b), ("edge/c.rs", "")]);
    for (a, b) in [
        ("use super::b::X;", "use super::a::Y;"),
        (
            "use crate::edge::{b::X, c};",
            "fn f() { crate::edge::a::g() }",
        ),
        (
            "use crate::{\n    edge::{\n        c as d, b\n    }\n};",
            "fn f(x: super::a::Y) {}",
        ),
    ] {
        assert_eq!(of(a, b), ["edge: a b"], "{a:?} and {b:?} are a circle");
    }
    for (a, b) in [
        ("use super::b::X;", "use super::c;"),
        (
            "use super::b::X;",
            "// super::a knows more\nuse crate::words::a;",
        ),
        ("use super::{b, c};", "fn a() {} fn f() { a() }"),
    ] {
        assert_eq!(of(a, b), [""; 0], "{a:?} and {b:?} are none");
    }
    // A file and its folder are one: what is below is used from above as it likes, and the other way round.
    let below = ("edge/a/x.rs", "use super::Y;\nuse crate::edge::b::Z;");
    let above = ("edge/a.rs", "use self::x::X;");
    assert_eq!(found(&[below, above, ("edge/b.rs", "")]), [""; 0]);
    assert_eq!(
        found(&[below, above, ("edge/b.rs", "use super::a::Y;")]),
        ["edge: a b"]
    );
    assert_eq!(
        found(&[
            ("edge/a/x.rs", "use super::y;"),
            ("edge/a/y.rs", "use super::super::a::x;")
        ]),
        ["edge/a: x y"]
    );
    let three = [
        ("a.rs", "use crate::b;"),
        ("b.rs", "use crate::c;"),
        ("c.rs", "use crate::a;"),
        ("d.rs", "use crate::a;"),
    ];
    assert_eq!(found(&three), [": a b c"]);
}

#[test]
fn files_of_a_crate_are_in_an_order() {
    for folder in [
        "pipeline/src",
        "pipeline/macros/src",
        "facts/src",
        "language/src",
        "runner/src",
    ] {
        let found = circles_in(&uses_of_files(&sources_of(folder, "rs")));
        assert!(
            found.is_empty(),
            "{folder}: these files use one another: {found:?}"
        );
    }
}

#[test]
fn files_of_the_client_and_the_console_are_in_an_order() {
    let mut all = BTreeMap::new();
    for (folder, ending) in [
        ("client/src", "ts"),
        ("console/src", "ts"),
        ("console/src", "svelte"),
    ] {
        let files = sources_of(folder, ending);
        all.extend(
            files
                .into_iter()
                .map(|(file, text)| (format!("{folder}/{file}"), text)),
        );
    }
    let uses = uses_of_scripts(&all);
    assert!(
        uses["console/src/main.ts"].contains("console/src/App.svelte"),
        "imports are read: {uses:?}"
    );
    let found = circles_in(&uses);
    assert!(found.is_empty(), "these files use one another: {found:?}");
}

/// The files of `server/` that use their children, which use them. This list only becomes shorter.
const BOTH_WAYS: [&str; 26] = [
    "edge/console",
    "edge/http",
    "event/fact",
    "log/append",
    "log/postgres",
    "log/projections",
    "log/sqlite",
    "log/words",
    "mcp/wire",
    "mind/call",
    "mind/decision",
    "mind/submodule",
    "mind/turn",
    "mind/turn/ends",
    "model/habits",
    "model/openai",
    "model/wire",
    "model/written",
    "program/command/doctor",
    "program/settings",
    "runtime/turns",
    "runtime/turns/input",
    "thread/history",
    "tools/code",
    "tools/schema",
    "tools/toolbox",
];

#[test]
fn files_and_their_children_use_one_another_in_known_places_only() {
    let circles = circles_in(&uses_of_files(&sources()));
    let head = |circle: &Vec<String>| circle.iter().min_by_key(|file| file.len()).cloned();
    let found: BTreeSet<String> = circles.iter().filter_map(head).collect();
    let known: BTreeSet<String> = BOTH_WAYS.map(str::to_owned).into();
    let new: Vec<_> = found.difference(&known).collect();
    assert!(
        new.is_empty(),
        "these files use their children, which use them: move what they share to a file of its own: {new:?}"
    );
    let gone: Vec<_> = known.difference(&found).collect();
    assert!(gone.is_empty(), "take these out of BOTH_WAYS: {gone:?}");
}

#[test]
fn circles_of_parents_and_children_are_found() {
    let found = |files: &[(&str, &str)]| {
        let files = files
            .iter()
            .map(|(file, text)| ((*file).to_owned(), (*text).to_owned()));
        let circles = circles_in(&uses_of_files(&files.collect()));
        circles
            .iter()
            .map(|circle| circle.join(" "))
            .collect::<Vec<_>>()
    };
    let lib = ("lib.rs", "mod a;\npub use a::b::{X, Y};\npub use c::Z;");
    let of = |a: &str, b: &str, c: &str| found(&[lib, ("a.rs", a), ("a/b.rs", b), ("c.rs", c)]);
    for (a, b, c) in [
        ("use b::X;", "use super::Y;", ""),
        ("fn f() { b::g() }", "use crate::a::Y;", ""),
        ("use self::b::X;", "fn f(y: super::Y) {}", ""),
    ] {
        assert_eq!(of(a, b, c), ["a a/b"], "{a:?} and {b:?}");
    }
    assert_eq!(of("", "use crate::Z;", "use crate::{X, a};"), ["a/b c"]);
    for (a, b, c) in [
        ("mod b;\nuse b::X;", "use crate::c::Z;", ""),
        ("mod b;", "use super::Y;", "use crate::X;"),
        (
            "mod b;\nuse b::X;",
            "#[cfg(test)]\nmod tests {\n    use super::*;\n}",
            "",
        ),
        ("// b::g\nfn b() { it.b::<X>() }", "use super::Y;", ""),
    ] {
        assert_eq!(of(a, b, c), [""; 0], "{a:?}, {b:?} and {c:?}");
    }
}

#[test]
fn circles_of_scripts_are_found() {
    let found = |a: &str, b: &str| {
        let files = [("x/a.ts", a), ("y/b.svelte", b)];
        let files = files.map(|(file, text)| (file.to_owned(), text.to_owned()));
        circles_in(&uses_of_scripts(&files.into()))
    };
    let both = [["x/a.ts".to_owned(), "y/b.svelte".to_owned()]];
    assert_eq!(
        found(
            "import b from \"../y/b.svelte\";",
            "  import { a } from '../x/a.js';"
        ),
        both
    );
    assert_eq!(
        found(
            "export * from \"../y/b.svelte\";",
            "import type {\n  A,\n} from \"../x/a.ts\";"
        ),
        both
    );
    // What is loaded when it is wanted is no part of the order; nor is what a component draws of itself.
    let none: [[String; 2]; 0] = [];
    assert_eq!(
        found(
            "const b = () => import(\"../y/b.svelte\");",
            "import \"../x/a.ts\";\nimport b from \"./b.svelte\";"
        ),
        none
    );
}

#[test]
fn one_floor_depends_on_each_library_that_is_kept_apart() {
    let root = Path::new(kit::ROOT).join("server");
    for (library, floor) in [("sqlx", "log"), ("async-openai", "model"), ("rmcp", "mcp")] {
        let names = |line: &str| {
            let rest = line.strip_prefix(library);
            rest.is_some_and(|rest| rest.starts_with(['.', ' ', '=']))
        };
        let depends = |file: &Path| std::fs::read_to_string(file).unwrap().lines().any(names);
        let manifests = files(&root, "toml")
            .into_iter()
            .filter(|file| depends(file));
        let of: Vec<_> = manifests.collect();
        assert_eq!(of, [root.join(floor).join("Cargo.toml")], "{library}");
    }
}

#[test]
fn both_databases_have_the_same_migrations() {
    let names = |database: &str| {
        let folder = Path::new(kit::ROOT).join("migrations").join(database);
        files(&folder, "sql")
            .iter()
            .map(|file| file.file_name().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert!(!names("sqlite").is_empty());
    assert_eq!(names("sqlite"), names("postgres"));
}

fn names(lib: &str) -> Floors {
    floors(lib).into_iter().map(|floor| floor.name).collect()
}

/// Returns every offence in a file, as a line for its author.
fn offences(floors: &Floors, file: &str, text: &str) -> Vec<String> {
    if ["lib.rs", "main.rs"].contains(&file) {
        return Vec::new();
    }
    let folder = file.split('/').next().unwrap();
    let Some(floor) = floors.iter().position(|it| it == folder) else {
        return vec![format!(
            "server/{file}: `{folder}` is no floor of server/lib.rs"
        )];
    };
    let code = code(text);
    let mut wrong = Vec::new();
    let mut forbid =
        |found: bool, what: &str| found.then(|| wrong.push(format!("server/{file} {what}")));
    let names = paths(&module_of(file), &code);
    for used in names.iter().filter_map(|path| path.first()) {
        let above = floors.iter().skip(floor + 1).any(|it| it == used);
        forbid(above, &format!("looks up at crate::{used}"));
    }
    if folder == "edge" {
        for name in names.iter().map(|path| path.join("::")) {
            let below = ["log::kernel", "log::store", "runtime"]
                .iter()
                .any(|it| name.starts_with(it));
            let shown = SHOWN.contains(&name.as_str());
            forbid(
                below && !shown,
                &format!("names crate::{name}: the edge sees a session, and what it shows"),
            );
        }
        for (door, others) in [("http", "websocket"), ("websocket", "http")] {
            let of = |path: &[String], door: &str| {
                path.len() > 1 && path[0] == "edge" && path[1] == door
            };
            let meets = of(&module_of(file), door) && names.iter().any(|path| of(path, others));
            forbid(meets, "names another door: what doors share lies in edge/");
        }
    }
    // What a tool is, and which there are; nothing of any of them.
    let known = [
        "tool::",
        "tool;",
        "toolbox::",
        "toolbox;",
        "arguments::",
        "arguments;",
    ];
    let tools = code
        .split("crate::tools::")
        .skip(1)
        .any(|rest| !known.iter().any(|it| rest.starts_with(it)));
    forbid(
        folder == "mind" && !MEETS.contains(&file) && tools,
        "knows a tool: minds and tools meet in events",
    );
    forbid(
        folder != "log" && speaks_sql(&code),
        "contains SQL: only log/ does",
    );
    let asks = folder == "model" || file.starts_with("program/command");
    let asks = asks || ["program/jwks.rs", "tools/knowledge.rs"].contains(&file);
    let speaks_mcp = file == "mcp/wire.rs" || file.starts_with("mcp/wire/");
    let asks = asks || speaks_mcp;
    forbid(
        !asks && code.contains("reqwest"),
        "names reqwest: only model/, the ways to servers of tools and to a knowledge base, and the fetching of keys do",
    );
    forbid(
        !speaks_mcp && code.contains("rmcp"),
        "names rmcp: only mcp/wire.rs and its folder do",
    );
    let machine =
        ["", "/options", "/phase", "/round", "/step"].map(|part| format!("mind/turn{part}.rs"));
    let pure = ["words", "event", "thread"].contains(&folder) && file != "thread/quota.rs"
        || file == "log/thread_fold.rs"
        || machine.iter().any(|it| it == file);
    forbid(
        pure && code.contains(".await"),
        "waits: words, events, threads and the turn machine never do",
    );
    forbid(
        pure && file != "words/time.rs" && code.contains("time::now"),
        "asks for the time: it is an input here",
    );
    let draws = code.contains("id::fresh") || code.contains(" fresh()");
    forbid(
        pure && file != "words/id.rs" && draws,
        "draws a random id: ids are inputs here",
    );
    wrong
}

/// The files of the turn that know a tool, or the ground of tools: a thought without words, a
/// grant, the contacts after a turn.
const MEETS: [&str; 3] = [
    "mind/turn/acting.rs",
    "mind/turn/closing.rs",
    "mind/turn/granted.rs",
];

/// The names of the runtime that the edge may use: those it shows, and those it hands to a session.
const SHOWN: [&str; 7] = [
    "runtime::fork::NewFork",
    "runtime::refused::Refused",
    "runtime::turns::input::InputContent",
    "runtime::turns::input::Received",
    "runtime::runs::LoggedRun",
    "runtime::tools::ThreadTool",
    "runtime::tools::ThreadTools",
];

/// Files that use one another in a circle, by the folder they lie in. A file and the folder of its name are one.
fn circles(files: &[(String, String)]) -> Vec<(String, Vec<String>)> {
    let is_code = |file: &str| !["lib.rs", "main.rs"].contains(&file);
    let all: Vec<(Module, &String)> = files
        .iter()
        .filter(|(file, _)| is_code(file))
        .map(|(file, text)| (module_of(file), text))
        .collect();
    let known: BTreeSet<&[String]> = all
        .iter()
        .flat_map(|(module, _)| (1..=module.len()).map(|upto| &module[..upto]))
        .collect();
    let mut uses: BTreeMap<Module, Uses> = BTreeMap::new();
    for (module, text) in &all {
        for used in paths(module, &code(text)) {
            let common = module.iter().zip(&used).take_while(|(a, b)| a == b).count();
            let (Some(from), Some(to)) = (module.get(common), used.get(common)) else {
                continue;
            };
            if known.contains(&used[..=common]) {
                let folder = uses.entry(module[..common].to_vec()).or_default();
                folder.entry(from.clone()).or_default().insert(to.clone());
            }
        }
    }
    let mut found = Vec::new();
    for (folder, uses) in uses {
        let named = |circle| (folder.join("/"), circle);
        found.extend(circles_in(&uses).into_iter().map(named));
    }
    found
}

/// Returns the circles of names that use one another.
fn circles_in(uses: &Uses) -> Vec<Vec<String>> {
    let reached = uses.keys().map(|file| (file, reached_from(uses, file)));
    let reached: BTreeMap<&String, BTreeSet<&String>> = reached.collect();
    let mut found = Vec::new();
    let mut left: BTreeSet<&String> = uses.keys().collect();
    while let Some(first) = left.pop_first() {
        let leads_back = |it: &&&String| reached.get(**it).is_some_and(|it| it.contains(first));
        let circle = reached[first].iter().filter(leads_back);
        let circle: Vec<String> = circle.map(|it| (*it).clone()).collect();
        left.retain(|it| !circle.contains(it));
        if !circle.is_empty() {
            found.push(circle);
        }
    }
    found
}

/// Returns the uses among the files of a crate, a file and its children apart. A name that `lib.rs`
/// exports counts as its module.
fn uses_of_files(files: &BTreeMap<String, String>) -> Uses {
    let handed = files
        .get("lib.rs")
        .map_or(BTreeMap::new(), |lib| handed_out(lib));
    let modules: BTreeSet<Module> = files
        .keys()
        .filter(|file| !["lib.rs", "main.rs"].contains(&file.as_str()))
        .map(|file| module_of(file))
        .collect();
    let mut uses = Uses::new();
    for module in &modules {
        let text = code(&files[&format!("{}.rs", module.join("/"))]);
        // Unit tests of a child import it, not the parent.
        let text = text.split("#[cfg(test)]\nmod ").next().unwrap();
        let mut named = paths(module, text);
        let children = modules.iter().filter(|it| it.starts_with(module));
        for child in children.filter_map(|it| it.get(module.len())) {
            named.extend(paths_below(module, child, text));
        }
        let used = named.iter().filter_map(|path| {
            let path = path.first().and_then(|it| handed.get(it)).unwrap_or(path);
            let upto = (1..=path.len()).rev();
            upto.map(|upto| &path[..upto])
                .find(|it| modules.contains(*it))
        });
        let used = used.filter(|it| *it != &module[..]);
        let used = used.map(|it| it.join("/")).collect();
        uses.insert(module.join("/"), used);
    }
    uses
}

/// Returns the imports among scripts that run at load: `from "./b.ts"`, `import "./b.ts"`.
fn uses_of_scripts(files: &BTreeMap<String, String>) -> Uses {
    let mut uses = Uses::new();
    for (file, text) in files {
        let text = code(text);
        let mut used = BTreeSet::new();
        for word in ["from \"", "from '", "import \"", "import '"] {
            for (at, _) in text.match_indices(word) {
                let rest = &text[at + word.len()..];
                let path = rest.split(['"', '\'']).next().unwrap();
                let to = beside(file, path);
                // TypeScript may call a file by what is built of it.
                let to = to
                    .strip_suffix(".js")
                    .map_or(to.clone(), |it| format!("{it}.ts"));
                if path.starts_with('.') && files.contains_key(&to) && to != *file {
                    used.insert(to);
                }
            }
        }
        uses.insert(file.clone(), used);
    }
    uses
}

/// A path that is written in a file, from where the names of files begin.
fn beside(file: &str, path: &str) -> String {
    let mut parts: Vec<&str> = file.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// Returns the files that one uses, itself or through others.
fn reached_from<'a>(uses: &'a Uses, from: &str) -> BTreeSet<&'a String> {
    let mut seen = BTreeSet::new();
    let mut next = vec![from];
    while let Some(file) = next.pop() {
        for used in uses.get(file).into_iter().flatten() {
            if seen.insert(used) {
                next.push(used);
            }
        }
    }
    seen
}

fn speaks_sql(code: &str) -> bool {
    code.lines().map(str::to_lowercase).any(|line| {
        let both = |a: &str, b: &str| line.find(a).is_some_and(|at| line[at..].contains(b));
        both("\"select ", " from ")
            || both("\"update ", " set ")
            || line.contains("insert into ")
            || line.contains("delete from ")
    })
}
