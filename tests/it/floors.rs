//! The shape of the code, tested: floors are folders that look down only, and what is told apart stays apart.

use std::path::Path;

/// The floors, from the ground up: the folders of `server/` in the order of `lib.rs`.
type Floors = Vec<String>;

#[test]
fn floors_look_down_only() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("server");
    let floors = floors(&std::fs::read_to_string(root.join("lib.rs")).unwrap());
    let mut wrong = Vec::new();
    for file in files(&root, "rs") {
        let name = file.strip_prefix(&root).unwrap().to_str().unwrap();
        wrong.extend(offences(&floors, name, &std::fs::read_to_string(&file).unwrap()));
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn floors_can_be_broken() {
    let floors = floors(
        "pub mod words {\n    pub mod time;\n}\npub mod event {\n    pub mod envelope;\n}\npub mod log {\n    mod sql;\n}\npub mod model {\n}\n\
         pub mod thread {\n}\npub mod tools {\n}\npub mod mind {\n}\npub mod runtime {\n}\npub mod edge {\n}",
    );
    for (file, text, says) in [
        ("log/store.rs", "use crate::mind::turn::Turn;", "looks up at crate::mind"),
        ("log/sql.rs", "fn f() { crate::edge::serve() }", "looks up at crate::edge"),
        ("event/draft.rs", "use crate::{\n    event::Event,\n    log::{self, sql},\n};", "looks up at crate::log"),
        ("mind/decision.rs", "use crate::tools::reply;", "meet in events"),
        ("tools/reply.rs", "use crate::mind::decision;", "looks up at crate::mind"),
        ("mind/turn.rs", "machine.next().await", "waits"),
        ("runtime/runner.rs", "use sqlx::Row;", "sqlx"),
        ("runtime/runner.rs", "let q = \"select seq from event\";", "SQL"),
        ("edge/server.rs", "reqwest::get(url)", "reqwest"),
        ("thread/history.rs", "let x = store.read().await;", "waits"),
        ("event/draft.rs", "let at = crate::words::time::now();", "the time"),
        ("thread/history.rs", "let id = fresh();", "random"),
        ("attic/unknown.rs", "", "no floor"),
        ("unknown.rs", "", "no floor"),
    ] {
        let found = offences(&floors, file, text);
        assert!(found.iter().any(|line| line.contains(says)), "{file}: {text:?} should be refused ({says}): {found:?}");
    }
    for (file, text) in [
        ("mind/turn.rs", "use crate::{event::Event, log};\n// crate::edge is above"),
        ("mind/action.rs", "use crate::tools::tool::Tool;"),
        ("log/sql.rs", "use sqlx::Row; let q = \"select 1 from event\";"),
        ("mind/turn/driver.rs", "store.append().await; crate::words::time::now(); // of reqwest nothing"),
    ] {
        assert_eq!(offences(&floors, file, text), Vec::<String>::new(), "{file}: {text:?}");
    }
}

#[test]
fn both_databases_have_the_same_migrations() {
    let names = |database: &str| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(database);
        files(&folder, "sql").iter().map(|file| file.file_name().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert!(!names("sqlite").is_empty());
    assert_eq!(names("sqlite"), names("postgres"));
}

/// Every offence in a file, as a line for the person who made it.
fn offences(floors: &Floors, file: &str, text: &str) -> Vec<String> {
    if ["lib.rs", "main.rs"].contains(&file) {
        return Vec::new();
    }
    let folder = file.split('/').next().unwrap();
    let Some(floor) = floors.iter().position(|it| it == folder) else {
        return vec![format!("server/{file}: `{folder}` is no floor of server/lib.rs")];
    };
    let code = code(text);
    let mut wrong = Vec::new();
    let mut forbid = |found: bool, what: &str| found.then(|| wrong.push(format!("server/{file} {what}")));
    for used in modules_used(&code) {
        let above = floors.iter().position(|it| *it == used).is_some_and(|it| it > floor);
        forbid(above, &format!("looks up at crate::{used}"));
    }
    let tools =
        code.split("crate::tools::").skip(1).any(|rest| !rest.starts_with("tool::") && !rest.starts_with("tool;"));
    forbid(folder == "mind" && !file.starts_with("mind/turn") && tools, "knows a tool: minds and tools meet in events");
    forbid(folder != "log" && code.contains("sqlx"), "names sqlx: only log/ does");
    forbid(folder != "log" && speaks_sql(&code), "contains SQL: only log/ does");
    forbid(folder != "model" && code.contains("async_openai"), "names async_openai: only model/ does");
    let asks = folder == "model" || file.starts_with("program/command");
    forbid(!asks && code.contains("reqwest"), "names reqwest: only model/ does");
    let pure = ["words", "event", "thread"].contains(&folder) && file != "thread/quota.rs" || file == "mind/turn.rs";
    forbid(pure && code.contains(".await"), "waits: words, events, threads and the turn machine never do");
    forbid(pure && file != "words/time.rs" && code.contains("time::now"), "asks for the time: it is an input here");
    let draws = code.contains("id::fresh") || code.contains(" fresh()");
    forbid(pure && file != "words/id.rs" && draws, "draws a random id: ids are inputs here");
    wrong
}

/// The modules of the crate's root that a text names: `crate::a::…`, `crate::{a, b::{c, d}}`.
fn modules_used(code: &str) -> Vec<String> {
    let word =
        |text: &str| text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let mut found = Vec::new();
    for rest in code.split("crate::").skip(1) {
        let Some(group) = rest.strip_prefix('{') else {
            found.push(word(rest));
            continue;
        };
        let (mut depth, mut start) = (1, true);
        for (at, letter) in group.char_indices() {
            if start && depth == 1 && !letter.is_whitespace() {
                found.push(word(&group[at..]));
            }
            start = letter == ',' || (start && letter.is_whitespace());
            depth += i32::from(letter == '{') - i32::from(letter == '}');
            if depth == 0 {
                break;
            }
        }
    }
    found
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

/// A text without its comments (a `//` inside an address is none).
fn code(text: &str) -> String {
    let bare = |line: &str| {
        if line.trim_start().starts_with("//") { String::new() } else { line.split(" // ").next().unwrap().to_owned() }
    };
    text.lines().map(bare).collect::<Vec<_>>().join("\n")
}

/// Reads `pub mod name {`, a line each.
fn floors(lib: &str) -> Floors {
    let name = |line: &str| Some(line.strip_prefix("pub mod ")?.strip_suffix(" {")?.to_owned());
    lib.lines().map(|line| line.trim_end_matches('}')).filter_map(name).collect()
}

/// All files below a folder with this ending, sorted.
fn files(folder: &Path, ending: &str) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path, ending));
        } else if path.extension().is_some_and(|it| it == ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}
