//! Unified diffs of texts: changes shown to people, and changes that are written as one.

use diffy::{DiffOptions, Patch, apply};

/// Most lines, of both texts together, among which the smallest change is looked for; of more the whole text is the change.
const LINES_MAX: usize = 4000;

/// Returns the changes that turn one text into another, under these names; nothing where both are
/// the same.
pub fn unified(old: (&str, &str), new: (&str, &str)) -> String {
    let ((old_name, old), (new_name, new)) = (old, new);
    let old = ended(old);
    let new = ended(new);
    if old == new {
        return String::new();
    }
    if old.lines().count() + new.lines().count() > LINES_MAX {
        return whole((old_name, &old), (new_name, &new));
    }
    let mut options = DiffOptions::new();
    options
        .set_original_filename(old_name.to_owned())
        .set_modified_filename(new_name.to_owned());
    options.create_patch(&old, &new).to_string()
}

/// Returns the text that a unified diff makes of another one, or an error that says why it makes
/// none. The line number in the diff is a hint: its lines have to be there.
pub fn applied(text: &str, diff: &str) -> Result<String, String> {
    // Whether a text ends with a line break is nothing that a writer of diffs should have to know.
    let lines = diff
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("\\ "));
    let diff = ended(&lines.collect::<String>());
    let base = ended(text);
    if base.lines().count() + diff.lines().count() > LINES_MAX {
        return Err(format!(
            "text and diff have more than {LINES_MAX} lines; write the whole text instead"
        ));
    }
    let patch = Patch::from_str(&diff)
        .map_err(|error| format!("it cannot be read as a unified diff: {error}"))?;
    if patch.hunks().is_empty() {
        return Err(
            "it has no hunk: a unified diff has at least one line @@ -1,3 +1,4 @@".to_owned(),
        );
    }
    let changed = apply(&base, &patch)
        .map_err(|error| format!("it does not fit the text as it is now: {error}"))?;
    Ok(if text.ends_with('\n') {
        changed
    } else {
        changed.strip_suffix('\n').unwrap_or(&changed).to_owned()
    })
}

/// The text with a line break at its end; nothing stays nothing.
fn ended(text: &str) -> String {
    let end = if text.is_empty() || text.ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{text}{end}")
}

fn whole((old_name, old): (&str, &str), (new_name, new): (&str, &str)) -> String {
    let range = |text: &str| match text.lines().count() {
        0 => "0,0".to_owned(),
        count => format!("1,{count}"),
    };
    let lines = |sign: char, text: &str| {
        text.split_inclusive('\n')
            .map(|line| format!("{sign}{line}"))
            .collect::<String>()
    };
    let taken = lines('-', old);
    let put = lines('+', new);
    format!(
        "--- {old_name}\n+++ {new_name}\n@@ -{} +{} @@\n{taken}{put}",
        range(old),
        range(new)
    )
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;

    fn between(old: &str, new: &str) -> String {
        unified(("a", old), ("b", new))
    }

    #[test]
    fn a_diff_shows_what_changes_and_names_both_texts() {
        let shown = unified(
            ("owl", "Doubt it.\nBe brief."),
            ("owl", "Doubt it twice.\nBe brief."),
        );
        assert_eq!(
            shown,
            "--- owl\n+++ owl\n@@ -1,2 +1,2 @@\n-Doubt it.\n+Doubt it twice.\n Be brief.\n"
        );
        assert_eq!(between("same", "same\n"), "");
        assert_eq!(between("", "new"), "--- a\n+++ b\n@@ -0,0 +1 @@\n+new\n");
    }

    #[test]
    fn a_diff_fits_whether_or_not_it_knows_of_the_last_line_break_and_where_its_lines_are() {
        let text = "one\ntwo\nthree";
        for diff in [
            "@@ -2,2 +2,2 @@\n two\n-three\n+four",
            "--- x\n+++ y\n@@ -2,2 +2,2 @@\n two\n-three\n+four\n",
            "@@ -2,2 +2,2 @@\n two\n-three\n\\ No newline at end of file\n+four\n\\ No newline at end of file\n",
            "@@ -9,2 +9,2 @@\n two\n-three\n+four\n",
        ] {
            assert_eq!(
                applied(text, diff).as_deref(),
                Ok("one\ntwo\nfour"),
                "{diff}"
            );
        }
        assert_eq!(
            applied("one\ntwo\n", "@@ -2 +2 @@\n-two\n+four\n").as_deref(),
            Ok("one\nfour\n")
        );
    }

    #[test]
    fn a_diff_that_does_not_fit_or_is_none_says_so() {
        let wrong = |diff: &str| applied("one\ntwo", diff).unwrap_err();
        assert!(
            wrong("@@ -1 +1 @@\n-three\n+four\n").contains("does not fit the text as it is now")
        );
        assert!(wrong("make it better").contains("no hunk"));
        assert!(wrong("@@ -1,9 +1 @@\n-one\n").contains("cannot be read as a unified diff"));
        assert!(wrong("").contains("no hunk"));
    }

    // A text of the longest kind must not hold up whoever makes its diff.
    #[test]
    fn long_texts_are_compared_and_changed_in_a_moment() {
        let text = |word: &str, lines: usize| {
            (0..lines)
                .map(|line| format!("{word}{}\n", line % 97))
                .collect::<String>()
        };
        let begin = Instant::now();
        for lines in [LINES_MAX / 2, 20_000] {
            let old = text("a", lines);
            let new = text("b", lines);
            let diff = between(&old, &new);
            assert!(diff.lines().count() > lines);
            let _ = applied(&old, &diff);
        }
        assert!(
            begin.elapsed() < Duration::from_secs(5),
            "{:?}",
            begin.elapsed()
        );
    }

    proptest! {
        #[test]
        fn a_diff_makes_of_the_one_text_the_other(
            old in proptest::collection::vec("[ab]{0,2}", 0..12),
            new in proptest::collection::vec("[ab]{0,2}", 1..12),
        ) {
            let old = old.join("\n");
            let new = new.join("\n");
            let diff = between(&old, &new);
            if !diff.is_empty() {
                let made = applied(&old, &diff);
                // How many blank lines a text ends with is its old end's.
                let made = made.map(|made| made.trim_end_matches('\n').to_owned());
                prop_assert_eq!(made, Ok(new.trim_end_matches('\n').to_owned()));
            }
        }
    }
}
