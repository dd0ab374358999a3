//! The shape of the code, tested: floors are folders that look down only, and what is told apart stays apart.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::support::imports::{Module, code, files, floors, module_of, paths, sources};

/// The names of the floors, from the ground up.
type Floors = Vec<String>;

#[test]
fn floors_look_down_only() {
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
    let floors = names(
        "pub mod words {\n    pub mod time;\n}\npub mod event {\n    pub mod envelope;\n}\npub mod log {\n    mod sql;\n}\npub mod model {\n}\n\
         pub mod thread {\n}\npub mod tools {\n}\npub mod mind {\n}\npub mod runtime {\n}\npub mod session {\n}\npub mod edge {\n}",
    );
    for (file, text, says) in [
        (
            "log/store.rs",
            "use crate::mind::turn::Turn;",
            "looks up at crate::mind",
        ),
        (
            "log/sql.rs",
            "fn f() { crate::edge::serve() }",
            "looks up at crate::edge",
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
            "tools/catalogue/reply.rs",
            "use crate::mind::decision;",
            "looks up at crate::mind",
        ),
        ("mind/turn.rs", "machine.next().await", "waits"),
        ("mind/turn/phase.rs", "machine.next().await", "waits"),
        ("runtime/runner.rs", "use sqlx::Row;", "sqlx"),
        (
            "runtime/runner.rs",
            "let q = \"select seq from event\";",
            "SQL",
        ),
        ("edge/server.rs", "reqwest::get(url)", "reqwest"),
        ("thread/history.rs", "let x = store.read().await;", "waits"),
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
    let (below, above) = (
        ("edge/a/x.rs", "use super::Y;\nuse crate::edge::b::Z;"),
        ("edge/a.rs", "use self::x::X;"),
    );
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
fn both_databases_have_the_same_migrations() {
    let names = |database: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("migrations")
            .join(database);
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

/// Every offence in a file, as a line for the person who made it.
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
        let above = floors
            .iter()
            .position(|it| it == used)
            .is_some_and(|it| it > floor);
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
        folder == "mind" && !file.starts_with("mind/turn") && tools,
        "knows a tool: minds and tools meet in events",
    );
    forbid(
        folder != "log" && code.contains("sqlx"),
        "names sqlx: only log/ does",
    );
    forbid(
        folder != "log" && speaks_sql(&code),
        "contains SQL: only log/ does",
    );
    forbid(
        folder != "model" && code.contains("async_openai"),
        "names async_openai: only model/ does",
    );
    let asks = folder == "model" || file.starts_with("program/command");
    let asks = asks || ["program/jwks.rs", "tools/knowledge.rs"].contains(&file);
    let speaks_mcp = file == "tools/mcp/wire.rs" || file.starts_with("tools/mcp/wire/");
    let asks = asks || speaks_mcp;
    forbid(
        !asks && code.contains("reqwest"),
        "names reqwest: only model/, the ways to servers of tools and to a knowledge base, and the fetching of keys do",
    );
    forbid(
        !speaks_mcp && code.contains("rmcp"),
        "names rmcp: only tools/mcp/wire.rs and its folder do",
    );
    let machine =
        ["", "/options", "/phase", "/round", "/step"].map(|part| format!("mind/turn{part}.rs"));
    let pure = ["words", "event", "thread"].contains(&folder) && file != "thread/quota.rs"
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

/// What the edge may name of the runtime: what it shows, and what it hands to a session.
const SHOWN: [&str; 6] = [
    "runtime::refused::Refused",
    "runtime::kinds::turns::input::InputContent",
    "runtime::kinds::turns::input::Received",
    "runtime::kinds::runs::LoggedRun",
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
    let mut uses: BTreeMap<Module, BTreeMap<String, BTreeSet<String>>> = BTreeMap::new();
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
        let mut left: BTreeSet<&String> = uses.keys().collect();
        while let Some(first) = left.pop_first() {
            let within = |it: &&String| reaches(&uses, first, it) && reaches(&uses, it, first);
            let circle: Vec<String> = uses.keys().filter(within).cloned().collect();
            left.retain(|it| !circle.contains(it));
            if !circle.is_empty() {
                found.push((folder.join("/"), circle));
            }
        }
    }
    found
}

/// Whether one file uses another, itself or through others.
fn reaches(uses: &BTreeMap<String, BTreeSet<String>>, from: &str, to: &str) -> bool {
    let (mut seen, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(file) = next.pop() {
        for used in uses.get(file).into_iter().flatten() {
            if used == to {
                return true;
            }
            if seen.insert(used) {
                next.push(used);
            }
        }
    }
    false
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
