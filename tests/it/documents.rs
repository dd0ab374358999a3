//! Statements of the pages about files are true: links lead to a target, paths exist, every
//! decision is listed.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use kit::imports::{files, sources};

fn root() -> &'static Path {
    Path::new(kit::ROOT)
}

/// Returns the pages: every Markdown file of the repository, without prompts (models read those)
/// and files fetched by tools.
fn pages() -> Vec<(String, String)> {
    let mut found: Vec<PathBuf> = ["docs", "pipeline"]
        .iter()
        .flat_map(|folder| files(&root().join(folder), "md"))
        .collect();
    found.push(root().join("bench/README.md"));
    let beside = std::fs::read_dir(root())
        .unwrap()
        .map(|entry| entry.unwrap().path());
    found.extend(beside.filter(|path| path.extension().is_some_and(|it| it == "md")));
    let read = |path: PathBuf| {
        let name = path
            .strip_prefix(root())
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned();
        (name, std::fs::read_to_string(&path).unwrap())
    };
    found.into_iter().map(read).collect()
}

#[test]
fn links_of_the_pages_lead_somewhere() {
    let pages = pages();
    assert!(pages.len() > 80, "the pages are there");
    let wrong: Vec<_> = pages
        .iter()
        .flat_map(|(name, text)| dead_links(name, text))
        .collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    let page = "# A title, `and` more\n[a](README.md) [b](README.md#try-it) [c](#a-title-and-more) [d](https://e.f/g) ![h](docs/pictures/turn.svg)";
    assert_eq!(dead_links("README.md", page), [""; 0]);
    for link in ["none.md", "docs/none.svg", "#none", "README.md#none"] {
        assert_eq!(
            dead_links("README.md", &format!("[x]({link})")).len(),
            1,
            "{link} leads nowhere"
        );
    }
    assert_eq!(
        dead_links("docs/models.md", "[x](README.md)").len(),
        1,
        "a link goes by where its page lies"
    );
}

#[test]
fn the_files_that_pages_name_exist() {
    let is_history = |name: &str| name == "CHANGELOG.md";
    let pages = pages();
    let wrong: Vec<_> = pages
        .iter()
        .filter(|(name, _)| !is_history(name))
        .flat_map(|(name, text)| missing_files(name, text))
        .collect();
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    let right = "`edge/frame.rs`, `pipeline/src/once.rs`, `past.rs`, `log/`: `store.rs`, `runtime/<kind>.rs`, `tools/*`, `floors.rs`";
    assert_eq!(missing_files("README.md", right), [""; 0]);
    for wrong in [
        "`edge/none.rs`",
        "`once.rs`",
        "`log/none.rs`, `store.rs`",
        "`server/none/`",
    ] {
        assert!(
            !missing_files("README.md", wrong).is_empty(),
            "{wrong} is no file"
        );
    }
}

#[test]
fn decisions_are_listed_and_have_one_form() {
    let folder = root().join("docs/decisions");
    let list = std::fs::read_to_string(folder.join("README.md")).unwrap();
    let mut wrong = Vec::new();
    for path in files(&folder, "md") {
        let name = path.file_name().unwrap().to_str().unwrap();
        if name != "README.md" {
            wrong.extend(decision_faults(
                name,
                &std::fs::read_to_string(&path).unwrap(),
                &list,
            ));
        }
    }
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
    let list = "- [We do it](we-do-it.md)";
    let right = "# We do it\n\nDecided 2026-11. Where: `log/store.rs`.\n\nBecause.\n";
    assert_eq!(decision_faults("we-do-it.md", right, list), [""; 0]);
    assert_eq!(
        decision_faults("we-do-that.md", right, list).len(),
        1,
        "a decision that is not listed"
    );
    assert_eq!(
        decision_faults("we-do-it.md", &right.replace("We", "They"), list).len(),
        1,
        "a title that the list does not have"
    );
    assert_eq!(
        decision_faults(
            "we-do-it.md",
            &right.replace("Decided 2026-11.", "Decided."),
            list
        )
        .len(),
        1,
        "no date"
    );
    assert_eq!(
        decision_faults("we-do-it.md", &right.replace("Because.\n", ""), list).len(),
        1,
        "no reason"
    );
}

#[test]
fn the_readme_is_short() {
    let lines = std::fs::read_to_string(root().join("README.md"))
        .unwrap()
        .lines()
        .count();
    assert!(
        lines <= 120,
        "README.md has {lines} lines: 120 are what a newcomer reads"
    );
}

/// `Good`, not `bad`: the names that the house rule gives as examples are those of the code.
#[test]
fn names_of_the_style_page_are_those_of_the_code() {
    let page = std::fs::read_to_string(root().join("docs/style.md")).unwrap();
    let code = sources().into_values().collect::<Vec<_>>().join("\n");
    let words: BTreeSet<&str> = code
        .split(|it: char| !it.is_alphanumeric() && it != '_')
        .collect();
    let parts: Vec<&str> = page.split("`, not `").collect();
    assert!(
        parts.len() > 1,
        "docs/style.md gives examples: `Good`, not `bad`"
    );
    for pair in parts.windows(2) {
        let good = pair[0].rsplit('`').next().unwrap();
        let bad = pair[1].split('`').next().unwrap();
        assert!(
            words.contains(good),
            "docs/style.md names `{good}`, which the code does not have"
        );
        let defines = |kind: &&str| words.contains(bad) && code.contains(&format!("{kind} {bad}"));
        let kind = ["struct", "enum", "trait", "type", "fn", "mod"]
            .into_iter()
            .find(|kind| defines(kind));
        assert_eq!(
            kind, None,
            "docs/style.md says that `{bad}` is called `{good}`; the code still has it"
        );
    }
}

/// Links to files that do not exist, or to headings that their page does not have.
fn dead_links(page: &str, text: &str) -> Vec<String> {
    let folder = root().join(page).parent().unwrap().to_owned();
    let leads = |link: &str| {
        let (file, heading) = link.split_once('#').unwrap_or((link, ""));
        let target = if file.is_empty() {
            None
        } else {
            Some(folder.join(file))
        };
        if target.as_ref().is_some_and(|target| !target.exists()) {
            return false;
        }
        let there = target.map(|target| std::fs::read_to_string(target).unwrap_or_default());
        heading.is_empty() || anchors(there.as_deref().unwrap_or(text)).contains(heading)
    };
    let ours = links(text)
        .into_iter()
        .filter(|link| !link.contains("://") && !link.starts_with("mailto:"));
    ours.filter(|link| !leads(link))
        .map(|link| format!("{page}: {link} leads nowhere"))
        .collect()
}

/// Returns the targets of links, the text in `](…)`, outside of code.
fn links(text: &str) -> Vec<&str> {
    let prose: Vec<&str> = text.split("```").step_by(2).collect();
    prose
        .iter()
        .flat_map(|prose| prose.split("](").skip(1))
        .filter_map(|rest| Some(&rest[..rest.find(')')?]))
        .collect()
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(text: &str) -> BTreeSet<String> {
    let anchor = |line: &str| {
        let heading = line.trim_start_matches('#').trim().to_lowercase();
        let kept = heading
            .chars()
            .filter(|it| it.is_alphanumeric() || [' ', '-', '_'].contains(it));
        kept.map(|it| if it == ' ' { '-' } else { it }).collect()
    };
    text.lines()
        .filter(|line| line.starts_with('#'))
        .map(anchor)
        .collect()
}

/// Files that pages name because they are absent: one for the reader to write, and one forbidden
/// name.
const NOT_THERE: [&str; 2] = ["server/tools/catalogue/where_is.rs", "mod.rs"];

/// Paths of Rust files in backticks that are none: of the repository, of `server/`, of the tests, of the folder where the page lies,
/// or of the folder that its line named last.
fn missing_files(page: &str, text: &str) -> Vec<String> {
    let mut wrong = Vec::new();
    let page_folder = root().join(page).parent().unwrap().to_owned();
    for line in text.lines() {
        let mut last = page_folder.clone();
        for path in line.split('`').skip(1).step_by(2) {
            let is_path = path
                .chars()
                .all(|it| it.is_alphanumeric() || ['/', '_', '-', '.'].contains(&it));
            if !is_path
                || !path.ends_with(".rs") && !path.ends_with('/')
                || NOT_THERE.contains(&path)
            {
                continue;
            }
            let beside = last.parent().unwrap().to_owned();
            let bases = [
                root().to_owned(),
                root().join("server"),
                last.clone(),
                beside,
                page_folder.clone(),
                root().join("tests/it"),
                root().join("tests/inside"),
            ];
            match bases
                .iter()
                .map(|base| base.join(path))
                .find(|place| place.exists())
            {
                Some(place) if place.is_dir() => last = place,
                Some(place) => last = place.parent().unwrap().to_owned(),
                None => wrong.push(format!("{page}: `{path}` is no file")),
            }
        }
    }
    wrong
}

/// `# Title`, `Decided YYYY-MM.`, and why, a paragraph each; the list has the title and the file.
fn decision_faults(name: &str, text: &str, list: &str) -> Vec<String> {
    let title = text
        .lines()
        .next()
        .and_then(|line| line.strip_prefix("# "))
        .unwrap_or_default();
    let paragraphs: Vec<&str> = text
        .split("\n\n")
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .collect();
    let date = paragraphs
        .get(1)
        .and_then(|second| second.strip_prefix("Decided ")?.split_once('.'));
    let is_month =
        |date: &str| date.len() == 7 && date.starts_with("20") && date.as_bytes()[4] == b'-';
    let mut wrong = Vec::new();
    if list.matches(&format!("- [{title}]({name})")).count() != 1 {
        wrong.push(format!(
            "docs/decisions/README.md has no line `- [{title}]({name})`"
        ));
    }
    if !date.is_some_and(|(date, _)| is_month(date)) {
        wrong.push(format!(
            "docs/decisions/{name}: the second paragraph begins with no `Decided YYYY-MM.`"
        ));
    }
    if paragraphs.len() < 3 {
        wrong.push(format!("docs/decisions/{name} says no reason"));
    }
    wrong
}
