//! `ARCHITECTURE.md` names the files that a message passes, in order. They exist, each is imported by one named before it, and they
//! are few.

use std::collections::BTreeMap;

use kit::imports::{code, module_of, paths, sources};

const PAGE: &str = include_str!("../../ARCHITECTURE.md");

/// The lists of the page, by the words that introduce them, and the most files that each may name.
const LISTS: [(&str, usize); 2] = [
    ("**To the acknowledgement:**", 10),
    ("**To the reply:**", 12),
];

/// A file that a message passes.
struct Stop {
    file: String,
    /// A link between this file and those before it where none of them imports it: a trait, or the
    /// message of a channel.
    behind: Option<String>,
}

#[test]
fn a_message_passes_the_files_that_the_page_names() {
    let sources = sources();
    let mut all = Vec::new();
    for (list, most) in LISTS {
        let stops = stops(PAGE, list);
        assert!(!stops.is_empty(), "ARCHITECTURE.md has no list `{list}`");
        assert!(
            stops.len() <= most,
            "`{list}` names {} files, more than {most}",
            stops.len()
        );
        all.extend(stops);
    }
    let wrong = faults(&all, &sources);
    assert!(
        wrong.is_empty(),
        "ARCHITECTURE.md, `One message, file by file`:\n{}\n",
        wrong.join("\n")
    );
}

#[test]
fn a_wrong_stop_is_found() {
    let sources = BTreeMap::from(
        [
            ("edge/a.rs", "use crate::log::store::Store;\nmod child;"),
            ("edge/a/child.rs", ""),
            ("log/store.rs", "pub trait Store {}"),
            ("log/disk.rs", "impl Store for Disk {}"),
            ("log/lost.rs", ""),
        ]
        .map(|(file, text)| (file.to_owned(), text.to_owned())),
    );
    let found = |page: &str| faults(&stops(page, "**List:**"), &sources);
    let right = "**List:**\n\n1. **`edge/a.rs`** reads.\n2. **`edge/a/child.rs`** helps\n   a lot.\n3. **`log/store.rs`** stores.\n\
        4. **`log/disk.rs`** (behind the trait `Store`) writes.\n\nAnd then.\n\n5. **`log/none.rs`** is of no list.";
    assert_eq!(found(right), [""; 0]);
    for (line, says) in [
        ("2. **`log/gone.rs`** was.", "does not exist"),
        (
            "2. **`log/lost.rs`** is lost.",
            "is imported by none of the files named before it",
        ),
        (
            "2. **`log/disk.rs`** writes.",
            "is imported by none of the files named before it",
        ),
        (
            "2. **`log/lost.rs`** (behind the trait `Store`) is lost.",
            "does not name `Store`",
        ),
        (
            "2. **`log/store.rs`** (behind the trait `Store`) stores.",
            "is imported: it need not stand behind `Store`",
        ),
        ("2. it **`log/store.rs`** stores.", "begins with no file"),
    ] {
        let wrong = found(&format!("**List:**\n\n1. **`edge/a.rs`** reads.\n{line}\n"));
        assert!(
            wrong.iter().any(|wrong| wrong.contains(says)),
            "{line:?} should be refused ({says}): {wrong:?}"
        );
    }
}

/// The items of the numbered list behind a heading: `1. **`file`** …`, with `(behind the … `Name`` where it is not imported.
fn stops(page: &str, list: &str) -> Vec<Stop> {
    let Some((_, rest)) = page.split_once(list) else {
        return Vec::new();
    };
    let mut items: Vec<String> = Vec::new();
    for line in rest.lines().skip_while(|line| line.is_empty()) {
        let number = line
            .split_once(". ")
            .filter(|(number, _)| number.parse::<u32>().is_ok());
        match (number, items.last_mut()) {
            (Some((_, item)), _) => items.push(item.to_owned()),
            (None, Some(item)) if line.starts_with("   ") => item.push_str(&line[2..]),
            _ => break,
        }
    }
    let quoted =
        |text: &str, after: &str| Some(text.split_once(after)?.1.split_once('`')?.0.to_owned());
    let stop = |item: &String| {
        let file = if item.starts_with("**`") {
            quoted(item, "**`")
        } else {
            None
        };
        let behind = item
            .split_once("(behind ")
            .and_then(|(_, rest)| quoted(rest.split(')').next()?, "`"));
        Stop {
            file: file.unwrap_or_else(|| item.clone()),
            behind,
        }
    };
    items.iter().map(stop).collect()
}

/// Returns the faults of a way of stops, a line each.
fn faults(stops: &[Stop], sources: &BTreeMap<String, String>) -> Vec<String> {
    let mut wrong = Vec::new();
    for (at, Stop { file, behind }) in stops.iter().enumerate() {
        if !file.ends_with(".rs") {
            wrong.push(format!("an item begins with no file: {file}"));
            continue;
        }
        let Some(text) = sources.get(file) else {
            wrong.push(format!("server/{file} does not exist"));
            continue;
        };
        let before: Vec<(&String, String)> = stops[..at]
            .iter()
            .filter_map(|stop| Some((&stop.file, code(sources.get(&stop.file)?))))
            .collect();
        let imported = before.iter().any(|(user, code)| imports(user, code, file));
        match behind {
            Some(name) if imported => wrong.push(format!(
                "server/{file} is imported: it need not stand behind `{name}`"
            )),
            Some(name)
                if !names(&code(text), name)
                    || !before.iter().any(|(_, code)| names(code, name)) =>
            {
                wrong.push(format!(
                    "server/{file}, or every file before it, does not name `{name}`"
                ));
            }
            None if at > 0 && !imported => {
                wrong.push(format!(
                    "server/{file} is imported by none of the files named before it"
                ));
            }
            _ => {}
        }
    }
    wrong
}

/// Returns true if a file's code imports another file, or has it as a module of its own.
fn imports(user: &str, code: &str, file: &str) -> bool {
    let module = module_of(user);
    let target = module_of(file);
    let is_child = target.len() == module.len() + 1 && target.starts_with(&module);
    is_child && code.contains(&format!("mod {};", target[module.len()]))
        || paths(&module, code)
            .iter()
            .any(|path| path.starts_with(&target))
}

/// Returns true if code has a word.
fn names(code: &str, word: &str) -> bool {
    code.split(|it: char| !it.is_alphanumeric() && it != '_')
        .any(|it| it == word)
}
