//! The shape of the code, tested: floors look down only, and what is told apart stays apart. The floors are those of `server/lib.rs`.

use std::collections::BTreeMap;
use std::path::Path;

/// Which floor a module of the crate's root is on, as the comments of `lib.rs` say.
type Floors = BTreeMap<String, u8>;

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
        "// floor 0: words\npub mod event;\n// floor 1: traits\npub mod store;\npub mod model;\n// floor 2\npub mod history;\n\
         // floor 3\npub mod decision;\npub mod tools;\n// floor 4\npub mod runtime;\npub mod turn;\n// floor 5\npub mod edge;",
    );
    for (file, text, says) in [
        ("store.rs", "use crate::turn::Turn;", "floor 4"),
        ("store/sql.rs", "fn f() { crate::edge::serve() }", "floor 5"),
        ("event.rs", "use crate::{\n    event::Event,\n    store::{self, sql},\n};", "floor 1"),
        ("decision.rs", "use crate::tools::reply;", "meet in events"),
        ("tools/reply.rs", "use crate::decision;", "meet in events"),
        ("turn.rs", "machine.next().await", "waits"),
        ("runtime.rs", "use sqlx::Row;", "sqlx"),
        ("runtime.rs", "let q = \"select seq from event\";", "SQL"),
        ("edge.rs", "reqwest::get(url)", "reqwest"),
        ("history.rs", "let x = store.read().await;", "waits"),
        ("event.rs", "let at = crate::time::now();", "the time"),
        ("history.rs", "let id = fresh();", "random"),
        ("unknown.rs", "", "no floor"),
    ] {
        let found = offences(&floors, file, text);
        assert!(found.iter().any(|line| line.contains(says)), "{file}: {text:?} should be refused ({says}): {found:?}");
    }
    for (file, text) in [
        ("turn.rs", "use crate::{event::Event, store};\n// crate::edge is above"),
        ("store/sql.rs", "use sqlx::Row; let q = \"select 1 from event\";"),
        ("turn/driver.rs", "store.append().await; crate::time::now(); // of reqwest nothing"),
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
    let module = file.split(['/', '.']).next().unwrap();
    if ["lib", "main"].contains(&module) {
        return Vec::new();
    }
    let Some(&floor) = floors.get(module) else {
        return vec![format!("server/{file}: `{module}` stands on no floor of server/lib.rs")];
    };
    let code = code(text);
    let mut wrong = Vec::new();
    let mut forbid =
        |found: bool, what: &str| found.then(|| wrong.push(format!("server/{file} (floor {floor}) {what}")));
    for used in modules_used(&code) {
        let above = floors.get(&used).copied().unwrap_or_default();
        forbid(above > floor, &format!("looks up at crate::{used} (floor {above})"));
        let apart = floor == 3 && above == 3 && used != module && (used == "tools" || module == "tools");
        forbid(apart, &format!("knows crate::{used}: minds and tools meet in events"));
    }
    forbid(module != "store" && code.contains("sqlx"), "names sqlx: only store/ does");
    forbid(module != "store" && speaks_sql(&code), "contains SQL: only store/ does");
    forbid(module != "model" && code.contains("async_openai"), "names async_openai: only model/ does");
    forbid(!["model", "command"].contains(&module) && code.contains("reqwest"), "names reqwest: only model/ does");
    let pure = floor == 0 || floor == 2 || file == "turn.rs";
    forbid(pure && code.contains(".await"), "waits: floors 0 and 2 and the turn machine never do");
    forbid(pure && module != "time" && code.contains("time::now"), "asks for the time: it is an input here");
    let draws = code.contains("id::fresh") || code.contains(" fresh()");
    forbid(pure && module != "id" && draws, "draws a random id: ids are inputs here");
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

/// Reads `// floor 2: …` and the `pub mod name;` below it.
fn floors(lib: &str) -> Floors {
    let mut floor = None;
    let mut found = Floors::new();
    for line in lib.lines() {
        if let Some(number) = line.strip_prefix("// floor ") {
            floor = number.chars().next().and_then(|digit| digit.to_digit(10)).map(|digit| digit as u8);
        } else if let Some(name) = line.trim_start_matches("pub ").strip_prefix("mod ") {
            let floor = floor.unwrap_or_else(|| panic!("server/lib.rs: {line} stands before the first `// floor`"));
            found.insert(name.trim_end_matches(';').to_owned(), floor);
        }
    }
    found
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
