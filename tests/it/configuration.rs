//! `docs/configuration.md` is written from the docstrings of the settings' types and from the
//! output of `thinkd config`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::process::Command;

use kit::db::Folder;
use kit::generated::is_fresh;
use kit::imports::{code, module_of, paths, sources};

const PAGE: &str = "docs/configuration.md";

/// Most keys that there may be: a new one takes the place of another. It only falls.
const KEYS_MAX: usize = 110;

/// A struct of settings, and where in the configuration it stands: at more than one place for models.
struct Section {
    structure: (String, String),
    /// The path of each place, and the docstring of the field that holds it.
    places: Vec<(String, String)>,
    keys: Vec<Field>,
}

/// A public field of a struct.
#[derive(Clone, Debug, PartialEq)]
struct Field {
    name: String,
    kind: String,
    says: String,
}

#[test]
fn the_page_of_settings_is_written_from_the_code() {
    let sources = sources();
    let mut sections = Vec::new();
    collect(
        &sources,
        ("program/settings.rs", "Settings"),
        ("", ""),
        &mut sections,
    );
    let defaults = defaults(&printed());
    let aliases = aliases(&sources["program/settings/sources.rs"]);
    let page = std::fs::read_to_string(std::path::Path::new(kit::ROOT).join(PAGE)).unwrap();
    let head = page.split("\n## At the top").next().unwrap().trim_end();
    is_fresh(PAGE, &write(head, &sections, &defaults, &aliases));
    let keys = sections.iter().map(|section| section.keys.len());
    let keys: usize = keys.sum();
    assert!(keys <= KEYS_MAX, "{keys} keys");
}

/// The page begins with a configuration that the program takes, and that says each key's default.
#[test]
fn the_page_begins_with_a_configuration_that_works() {
    let page = std::fs::read_to_string(std::path::Path::new(kit::ROOT).join(PAGE));
    let page = page.unwrap();
    let example = page.split("```toml\n").nth(1).unwrap();
    let example = example.split("```").next().unwrap();
    let folder = Folder::new();
    std::fs::write(folder.path().join("thinkd.toml"), example).unwrap();
    let mut command = Command::new(kit::program());
    let output = command
        .arg("config")
        .env_clear()
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(!printed.contains("no settings any more"), "{printed}");
    let lines = example.lines().filter_map(|line| line.split(" #").next());
    let plain: Vec<&str> = lines.map(str::trim_end).collect();
    let given = defaults(&plain.join("\n"));
    let usual = defaults(&self::printed());
    let names = ["listen", "hosts", "models.", "tools.approval", "[keys"];
    for (key, value) in given {
        let is_own = names.iter().any(|name| key.starts_with(name));
        let usual = usual.get(&key);
        assert!(is_own || usual.is_none() || usual == Some(&value), "{key}");
    }
}

/// A number that no setting sets is taken out of all that is read: its key is among the removed ones.
#[test]
fn fixed_numbers_have_no_key() {
    let sources = sources();
    let removed = &sources["program/settings/removed.rs"];
    let removed = removed.split("\";").next().unwrap();
    let mut count = 0;
    for (file, text) in &sources {
        for part in text.split("\n    fixed {\n").skip(1) {
            let part = part.split("\n    }\n").next().unwrap();
            for line in part.lines().map(str::trim) {
                let Some(field) = line.strip_prefix("pub ") else {
                    continue;
                };
                let (name, _) = field.split_once(": ").unwrap();
                count += 1;
                let is_known = [": ", ", "]
                    .iter()
                    .any(|before| removed.contains(&format!("{before}{name} ")));
                assert!(is_known, "{file}: {name} can be set");
            }
        }
    }
    assert!(count > 50, "{count}");
}

#[test]
fn settings_are_read_from_their_types() {
    let file = "use crate::a::b;\nuse crate::a::c::{self, Other};\n/// All.\npub struct Top {\n    /// A key;\n    /// of two lines.\n    \
        #[serde(default)]\n    pub key: u64,\n    /// Not a key.\n    #[serde(skip)]\n    pub from: u64,\n    /// More.\n    pub more: b::Part,\n    /// Others.\n    pub others: Vec<Other>,\n}\n";
    let part =
        "/// A part.\npub struct Part {\n    /// Its size.\n    pub size: Option<u64> = None,\n}\n";
    let other = "pub struct Other {\n    /// Its name.\n    pub name: Name,\n}\n";
    let files = [("x/top.rs", file), ("a/b.rs", part), ("a/c.rs", other)];
    let sources = files
        .map(|(file, text)| (file.to_owned(), text.to_owned()))
        .into();
    let mut sections = Vec::new();
    collect(&sources, ("x/top.rs", "Top"), ("", ""), &mut sections);
    let page = write(
        "# Head",
        &sections,
        &defaults("key = \"v\"\n\n[more]\nsize = 2048\n"),
        &[("KEY".to_owned(), "key".to_owned())],
    );
    assert_eq!(
        page,
        "# Head\n\n## At the top\n\n| key | also | default | what it is |\n| --- | --- | --- | --- |\n\
         | `key` | `KEY` | `v` | A key; of two lines. |\n\n## `[more]`\n\nMore.\n\n| key | also | default | what it is |\n\
         | --- | --- | --- | --- |\n| `more.size` | | `2048` | Its size. |\n\n## `[[others]]`\n\nOthers.\n\n\
         | key | also | default | what it is |\n| --- | --- | --- | --- |\n| `others.name` | | | Its name. |\n"
    );
}

/// The struct and, behind it, those of its fields.
fn collect(
    sources: &BTreeMap<String, String>,
    (file, name): (&str, &str),
    (path, says): (&str, &str),
    sections: &mut Vec<Section>,
) {
    let structure = (file.to_owned(), name.to_owned());
    if let Some(known) = sections
        .iter_mut()
        .find(|section| section.structure == structure)
    {
        known.places.push((path.to_owned(), says.to_owned()));
        return;
    }
    let fields =
        fields(&sources[file], name).unwrap_or_else(|| panic!("{file} has no struct {name}"));
    let (parts, keys): (Vec<Field>, Vec<Field>) = fields
        .into_iter()
        .partition(|field| part(sources, file, &field.kind).is_some());
    // Settings of a program of one's own (docs/add-a-feature.md): this one has none.
    let keys = keys
        .into_iter()
        .filter(|it| it.kind != "BTreeMap<String, Dict>");
    let keys = keys.collect();
    sections.push(Section {
        structure,
        places: vec![(path.to_owned(), says.to_owned())],
        keys,
    });
    for Field { name, kind, says } in parts {
        let (file, structure) = part(sources, file, &kind).unwrap();
        let mut below = if path.is_empty() {
            name
        } else {
            format!("{path}.{name}")
        };
        below.push_str(if kind.starts_with("Vec<") { "]" } else { "" });
        let is_of_modules = below.ends_with("modules");
        let place = if is_of_modules {
            ".<module>"
        } else {
            ".<name>"
        };
        below.push_str(if kind.starts_with("BTreeMap<") {
            place
        } else {
            ""
        });
        collect(sources, (&file, &structure), (&below, &says), sections);
    }
}

/// The file and name of the struct that a field's type is, if it is one of ours with fields that can be configured.
fn part(sources: &BTreeMap<String, String>, file: &str, kind: &str) -> Option<(String, String)> {
    let inner = kind
        .trim_start_matches("Option<")
        .trim_start_matches("Vec<")
        .trim_start_matches("BTreeMap<String, ");
    let inner = inner.trim_end_matches('>');
    let (first, structure) = inner.split_once("::").unwrap_or((inner, inner));
    let text = &sources[file];
    if fields(text, inner).is_some() {
        return Some((file.to_owned(), inner.to_owned()));
    }
    let names_it = |path: &mut Vec<String>| {
        path.pop_if(|last| last == "self");
        path.last().is_some_and(|last| last == first)
    };
    let mut path = paths(&module_of(file), &code(text))
        .into_iter()
        .find_map(|mut path| names_it(&mut path).then_some(path))?;
    path.pop_if(|_| first == structure);
    let file = format!("{}.rs", path.join("/"));
    fields(sources.get(&file)?, structure).map(|_| (file, structure.to_owned()))
}

/// The public fields of a struct with their docstrings.
fn fields(text: &str, structure: &str) -> Option<Vec<Field>> {
    let body = text
        .split_once(&format!("pub struct {structure} {{\n"))?
        .1
        .split("\n}")
        .next()?
        .split("\n    fixed {")
        .next()?;
    let mut found = Vec::new();
    let mut says = Vec::new();
    let mut skipped = false;
    for line in body.lines().map(str::trim) {
        if let Some(words) = line.strip_prefix("/// ") {
            says.push(words);
        } else if line == "#[serde(skip)]" || line.ends_with("skip_serializing)]") {
            skipped = true;
        } else if skipped && line.starts_with("pub ") {
            (skipped, says) = (false, Vec::new());
        } else if let Some((name, kind)) = line
            .strip_prefix("pub ")
            .and_then(|field| field.split_once(": "))
        {
            // A default may stand behind the type.
            let kind = kind.split(" = ").next().unwrap();
            let kind = kind.trim_end_matches(',');
            let says = std::mem::take(&mut says).join(" ");
            found.push(Field {
                name: name.to_owned(),
                kind: kind.to_owned(),
                says,
            });
        }
    }
    Some(found)
}

/// Returns the output of the program with only a model configured; without a model those keys are
/// absent.
fn printed() -> String {
    let folder = Folder::new();
    let mut command = Command::new(kit::program());
    let output = command
        .arg("config")
        .env_clear()
        .env("THINKD_MODEL", "m")
        .current_dir(folder.path())
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// The keys that are printed, by their paths, with their values.
fn defaults(printed: &str) -> BTreeMap<String, String> {
    let mut section = String::new();
    let mut found = BTreeMap::new();
    for line in printed.lines().filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('[') {
            section = format!("{}.", name.trim_end_matches(']'));
        } else if let Some((key, value)) = line.split_once(" = ") {
            found.insert(
                format!("{section}{key}"),
                value.trim_matches('"').to_owned(),
            );
        }
    }
    found.remove("models.low.model"); // ours, above
    found
}

/// The environment names that are shorter than the rule makes them, with their keys.
fn aliases(text: &str) -> Vec<(String, String)> {
    let table = text
        .split("const ALIASES")
        .nth(1)
        .and_then(|rest| rest.split("];").next())
        .expect("the table of aliases");
    let pair = |line: &str| {
        let (name, key) = line
            .trim()
            .strip_prefix("(\"")?
            .strip_suffix("\"),")?
            .split_once("\", \"")?;
        Some((name.to_owned(), key.to_owned()))
    };
    table.lines().filter_map(pair).collect()
}

fn write(
    head: &str,
    sections: &[Section],
    defaults: &BTreeMap<String, String>,
    aliases: &[(String, String)],
) -> String {
    let mut page = format!("{head}\n");
    for Section { places, keys, .. } in sections.iter().filter(|section| !section.keys.is_empty()) {
        let title = |path: &String| {
            let list = path.strip_suffix(']').map(|path| format!("`[[{path}]]`"));
            if path.is_empty() {
                "At the top".to_owned()
            } else {
                list.unwrap_or_else(|| format!("`[{path}]`"))
            }
        };
        let titles: Vec<String> = places.iter().map(|(path, _)| title(path)).collect();
        write!(page, "\n## {}\n\n", titles.join(", ")).unwrap();
        for ((_, says), title) in places
            .iter()
            .zip(&titles)
            .filter(|((_, says), _)| !says.is_empty())
        {
            let which = if places.len() > 1 {
                format!("- {title}: ")
            } else {
                String::new()
            };
            writeln!(page, "{which}{says}").unwrap();
        }
        if places.iter().any(|(_, says)| !says.is_empty()) {
            page.push('\n');
        }
        page.push_str("| key | also | default | what it is |\n| --- | --- | --- | --- |\n");
        for Field { name, says, .. } in keys {
            let paths: Vec<String> = places.iter().map(|(path, _)| join(path, name)).collect();
            let names = aliases
                .iter()
                .filter(|(_, key)| paths.contains(key))
                .map(|(name, _)| format!(" `{name}`"));
            let also = names.collect::<Vec<_>>().join(",");
            let key = if places.len() > 1 {
                format!("….{name}")
            } else {
                paths[0].clone()
            };
            let default = paths
                .iter()
                .find_map(|path| defaults.get(path))
                .map(|value| format!(" `{value}`"));
            writeln!(
                page,
                "| `{key}` |{also} |{} | {} |",
                default.unwrap_or_default(),
                says.replace('|', "\\|")
            )
            .unwrap();
        }
    }
    page
}

fn join(path: &str, name: &str) -> String {
    let path = path.trim_end_matches(']');
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}
