//! Reads the imports of the code: the paths that a file names, the floors of `lib.rs`, the files of
//! a folder.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A module by its path from the crate's root.
pub type Module = Vec<String>;

pub fn module_of(file: &str) -> Module {
    file.trim_end_matches(".rs")
        .split('/')
        .map(str::to_owned)
        .collect()
}

/// The paths that a module's text names, from the crate's root: `crate::a::{b, c::d}`, `super::b`, `self::b`.
pub fn paths(module: &[String], code: &str) -> Vec<Module> {
    let mut found = Vec::new();
    for (word, base) in [
        ("crate::", &[][..]),
        ("super::", &module[..module.len() - 1]),
        ("self::", module),
    ] {
        for (at, _) in code.match_indices(word) {
            if !code[..at].ends_with(|before: char| {
                before.is_alphanumeric() || before == '_' || before == ':'
            }) {
                read_path(&code[at + word.len()..], base.to_vec(), &mut found);
            }
        }
    }
    found
}

/// The paths that begin with a child of the module, which its text names without `self::`: `child::f()`.
pub fn paths_below(module: &[String], child: &str, code: &str) -> Vec<Module> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices(&format!("{child}::")) {
        let inside = |before: char| before.is_alphanumeric() || "_:.".contains(before);
        if !code[..at].ends_with(inside) {
            read_path(&code[at..], module.to_vec(), &mut found);
        }
    }
    found
}

/// Returns the paths that `lib.rs` hands out of its modules, by their last name: `pub use a::b::{C,
/// D};`.
pub fn handed_out(lib: &str) -> BTreeMap<String, Module> {
    let mut found = Vec::new();
    for (at, word) in lib.match_indices("\npub use ") {
        read_path(&lib[at + word.len()..], Module::new(), &mut found);
    }
    let named = |path: Module| Some((path.last()?.clone(), path));
    found.into_iter().filter_map(named).collect()
}

/// Reads a path, or the group it ends with, and returns the rest of the text.
fn read_path<'a>(mut text: &'a str, mut path: Module, found: &mut Vec<Module>) -> &'a str {
    loop {
        text = text.trim_start();
        if let Some(group) = text.strip_prefix('{') {
            text = group;
            loop {
                text = text
                    .trim_start_matches(|it: char| it.is_whitespace() || it == ',' || it == '*');
                let begins = text.starts_with(|it: char| it.is_alphabetic() || it == '_');
                if !begins {
                    return text.strip_prefix('}').unwrap_or("");
                }
                text = read_path(text, path.clone(), found);
            }
        }
        let word = text
            .find(|it: char| !it.is_alphanumeric() && it != '_')
            .unwrap_or(text.len());
        match &text[..word] {
            "" => {}
            "super" => drop(path.pop()),
            name => path.push(name.to_owned()),
        }
        text = &text[word..];
        match text.strip_prefix("::") {
            Some(more) if word > 0 => text = more,
            _ => break,
        }
    }
    found.push(path);
    // Another name for it is no path.
    let Some(name) = text.trim_start().strip_prefix("as ") else {
        return text;
    };
    name.trim_start()
        .trim_start_matches(|it: char| it.is_alphanumeric() || it == '_')
}

/// A text without its comments (a `//` inside an address is none).
pub fn code(text: &str) -> String {
    let bare = |line: &str| {
        if line.trim_start().starts_with("//") {
            String::new()
        } else {
            line.split(" // ").next().unwrap().to_owned()
        }
    };
    text.lines().map(bare).collect::<Vec<_>>().join("\n")
}

/// A floor: a folder of `server/`.
pub struct Floor {
    pub name: String,
    /// The text of its docstring in `lib.rs`.
    pub says: String,
}

/// Reads the floors from the ground up: each `pub use thinkd_name as name;` of `lib.rs`, the module of the program, and the docstrings
/// before them.
pub fn floors(lib: &str) -> Vec<Floor> {
    let mut found = Vec::new();
    let mut says = Vec::new();
    for line in lib.lines() {
        if let Some(words) = line.strip_prefix("/// ") {
            says.push(words);
        } else if let Some(name) = floor(line) {
            found.push(Floor {
                name: name.to_owned(),
                says: std::mem::take(&mut says).join(" "),
            });
        } else {
            says.clear();
        }
    }
    found
}

fn floor(line: &str) -> Option<&str> {
    let of_crate = line
        .strip_prefix("pub use thinkd_")
        .and_then(|it| it.strip_suffix(';'));
    match of_crate {
        Some(names) => names.split_once(" as ").map(|(_, name)| name),
        None => line.strip_prefix("pub mod ")?.strip_suffix(" {"),
    }
}

/// The files of the server by their names below `server/`, with their texts. Paths begin at the façade: in `log/`, `crate::feed` reads
/// `crate::log::feed`, and `thinkd_log::feed` does everywhere.
pub fn sources() -> BTreeMap<String, String> {
    let mut files = sources_of("server", "rs");
    let floors = floors(&files["lib.rs"]);
    files.retain(|file, _| !file.ends_with("/lib.rs"));
    for (file, text) in &mut files {
        if let Some((floor, _)) = file.split_once('/')
            && floor != "program"
        {
            *text = text.replace("crate::", &format!("crate::{floor}::"));
        }
        for Floor { name, .. } in &floors {
            *text = text.replace(&format!("thinkd_{name}::"), &format!("crate::{name}::"));
        }
    }
    files
}

/// The files of a folder with this ending by their names below it, with their texts.
pub fn sources_of(folder: &str, ending: &str) -> BTreeMap<String, String> {
    let root = Path::new(crate::ROOT).join(folder);
    let read = |file: &PathBuf| {
        let name = file
            .strip_prefix(&root)
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        (name, std::fs::read_to_string(file).unwrap())
    };
    files(&root, ending).iter().map(read).collect()
}

/// All files below a folder with this ending, sorted.
pub fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in
        std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
    {
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
