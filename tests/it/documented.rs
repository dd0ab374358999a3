//! Docstrings of the floors that others build on say units and errors. That there is a docstring at all is rustc's `missing_docs`.

use std::collections::BTreeMap;

use kit::imports::{sources, sources_of};

/// The floors with public items that are held to this rule.
const FLOORS: [&str; 2] = ["event/", "log/"];

/// A docstring with one of these words names a failure or its condition.
const ERRORS: [&str; 10] = [
    "error",
    "fail",
    "refus",
    "unless",
    "invalid",
    "unmet",
    "unavailable",
    "cannot",
    "wrong",
    "`err`",
];

/// A docstring with one of these words names the unit of an integer.
const UNITS: [&str; 28] = [
    "byte",
    " ms",
    "millisecond",
    "second",
    "microsecond",
    "µs",
    "event",
    "seq",
    "position",
    "number",
    "how many",
    "how often",
    "times",
    "most",
    "token",
    "index",
    "character",
    "call",
    "turn",
    "round",
    "page",
    "level",
    "thread",
    "message",
    "connection",
    "place",
    "version",
    "order",
];

#[test]
fn public_items_of_events_and_log_say_units_and_errors() {
    let sources = sources();
    let hidden = hidden();
    let is_seen = |file: &str| {
        FLOORS.iter().any(|floor| file.starts_with(floor)) && !is_hidden(file, &hidden, &sources)
    };
    let seen = sources.iter().filter(|(file, _)| is_seen(file));
    let wrong: Vec<_> = seen.flat_map(|(file, text)| silent(file, text)).collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

#[test]
fn a_silent_docstring_is_found() {
    for (text, says) in [
        (
            "/// Reads it.\npub fn read() -> Result<Self, Error> {",
            "no word on errors",
        ),
        (
            "/// Reads it.\npub async fn read(\n    &self,\n) -> io::Result<Self> {",
            "no word on errors",
        ),
        (
            "/// A store.\npub trait Store {\n    /// Reads it.\n    async fn read(&self) -> Result<(), Error>;\n}",
            "no word on errors",
        ),
        (
            "/// Errors: none.\nimpl A {\n}\nimpl B {\n    /// Reads it.\n    pub fn read() -> Result<()> {",
            "no word on errors",
        ),
        ("/// How long.\npub size: u64,", "no unit"),
        ("/// The longest.\npub const MAX: usize = 3;", "no unit"),
        ("/// The size.\npub fn size(&self) -> usize {", "no unit"),
    ] {
        let found = silent("log/a.rs", text);
        assert!(
            found.len() == 1 && found[0].contains(says),
            "{text:?} should be refused ({says}): {found:?}"
        );
    }
    for text in [
        "/// Reads it.\npub(super) fn read() -> Result<Self, Error> {",
        "/// Reads it. Fails if it is gone.\n#[must_use]\npub fn read() -> Result<Self, Error> {",
        "/// A store. Every method fails with `Unavailable` when it is away.\npub trait Store {\n    /// Reads it.\n    fn read() -> Result<()>;\n}",
        "/// Errors: none but one.\nimpl Store {\n    /// Reads it.\n    pub fn read() -> Result<()> {\n    }\n}",
        "/// How long, in bytes.\npub size: u64,",
        "/// Its size.\npub size_bytes: u64,",
        "/// Its name.\npub name: String,",
        "pub fn of(seq: u64) -> Self {",
    ] {
        assert_eq!(silent("log/a.rs", text), [""; 0], "{text:?}");
    }
}

/// Returns modules that no other crate can name, as `log/append`.
fn hidden() -> Vec<String> {
    let mut found = Vec::new();
    for floor in FLOORS {
        let lib = &sources_of(&format!("server/{floor}"), "rs")["lib.rs"];
        let names = lib
            .lines()
            .filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
        found.extend(names.map(|name| format!("{floor}{name}")));
    }
    found
}

/// Returns true if a file, or a module around it, is private.
fn is_hidden(file: &str, hidden: &[String], sources: &BTreeMap<String, String>) -> bool {
    let module = file.trim_end_matches(".rs");
    let Some((around, name)) = module
        .rsplit_once('/')
        .filter(|_| !hidden.contains(&module.to_owned()))
    else {
        return hidden.contains(&module.to_owned());
    };
    let above = format!("{around}.rs");
    let is_private = sources
        .get(&above)
        .is_some_and(|text| !text.contains(&format!("\npub mod {name};")));
    is_private || is_hidden(&above, hidden, sources)
}

/// Returns public items of a file with a docstring that names no unit, or no condition of failure.
fn silent(file: &str, text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut doc = String::new();
    let mut around = (false, String::new());
    let lines: Vec<&str> = text.lines().collect();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim();
        if let Some(words) = code.strip_prefix("///") {
            doc.push_str(&words.to_lowercase());
            continue;
        }
        if code.starts_with("#[") {
            continue;
        }
        let doc = std::mem::take(&mut doc);
        if line.starts_with("pub trait ") || line.starts_with("impl") || *line == "}" {
            around = (line.starts_with("pub trait "), doc.clone());
        }
        let item = if around.0 {
            Some(code)
        } else {
            code.strip_prefix("pub ")
        };
        let Some(item) = item.map(|item| {
            item.trim_start_matches("const ")
                .trim_start_matches("async ")
        }) else {
            continue;
        };
        let says = |words: &[&str], more: &str| {
            words
                .iter()
                .any(|word| doc.contains(word) || more.contains(word))
        };
        let mut refuse =
            |what: &str| wrong.push(format!("server/{file}:{}: {what}: {code}", at + 1));
        if let Some(name) = item.strip_prefix("fn ") {
            let signature = lines[at..]
                .iter()
                .take(12)
                .map(|line| line.trim())
                .collect::<Vec<_>>()
                .join(" ");
            let signature = signature.split(['{', ';']).next().unwrap_or_default();
            let returns = signature
                .rsplit_once("-> ")
                .map_or("", |(_, returns)| returns);
            let name = name
                .split(['(', '<'])
                .next()
                .unwrap_or_default()
                .replace('_', " ");
            if returns.contains("Result<") && !says(&ERRORS, &around.1) {
                refuse("no word on errors");
            }
            if is_integer(returns) && !says(&UNITS, &name) {
                refuse("no unit");
            }
        } else if let Some((name, value)) = item.split_once(": ") {
            let is_field = code.starts_with("pub ")
                && name.chars().all(|it| it.is_alphanumeric() || it == '_');
            if is_field
                && is_integer(value.split(" =").next().unwrap_or_default())
                && !says(&UNITS, &name.to_lowercase().replace('_', " "))
            {
                refuse("no unit");
            }
        }
    }
    wrong
}

/// Returns true if a type has an integer in it.
fn is_integer(kind: &str) -> bool {
    let integers = [
        "u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize",
    ];
    kind.split(|it: char| !it.is_alphanumeric())
        .any(|word| integers.contains(&word))
}
