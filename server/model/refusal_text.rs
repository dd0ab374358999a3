//! The words of a refusal, made comparable, and the places of tools that they name. Pure.

/// True if a text has one of these words, between which stand bars.
pub(super) fn has_any(text: &str, words: &str) -> bool {
    words.split('|').any(|word| text.contains(word))
}

/// Returns a text without the marks that divide words, and with `does not` in the place of `doesn't`.
pub(super) fn spelled_out(text: &str) -> String {
    let plain = text.replace(['`', '\'', '"', '’'], "");
    let short = [
        ("doesnt ", "does not "),
        ("dont ", "do not "),
        ("isnt ", "is not "),
        ("arent ", "are not "),
        ("cant ", "cannot "),
        ("wont ", "will not "),
    ];
    let spell = |text: String, (short, long): (&str, &str)| text.replace(short, long);
    short.into_iter().fold(plain, spell)
}

/// The places of tools that a text names: `tools[3]`, `tools.3.custom`, `"tools", 3`, and, inside of the first,
/// `function_declarations[5]`.
pub(super) fn places(said: &str) -> Vec<usize> {
    const DECLARED: &[&str] = &["functiondeclarations", "function_declarations"];
    let is_declared = DECLARED.iter().any(|list| said.contains(list));
    let lists = if is_declared {
        DECLARED
    } else {
        &["tools", "functions"]
    };
    let mut found = Vec::new();
    for list in lists {
        for (at, _) in said.match_indices(list) {
            found.extend(place(&said[at + list.len()..]));
        }
    }
    found
}

/// True if a refusal names the place of a tool.
pub(super) fn is_placed(said: &str) -> bool {
    !places(said).is_empty()
}

/// The number behind the name of a list, where only signs stand between them. A number of tools stands behind a space (`at most
/// 128 tools, 163 were given`).
fn place(rest: &str) -> Option<usize> {
    let is_near = rest.starts_with(['[', '.', '/', '"', '\'']) && !rest.starts_with(". ");
    let digits = rest.trim_start_matches(['[', '.', '/', '"', '\'', ',', ' ', ']', '(']);
    let end = digits.find(|c: char| !c.is_ascii_digit());
    let number = digits[..end.unwrap_or(digits.len())].parse().ok();
    let has_few = rest.len() - digits.len() <= 4;
    number.filter(|_| is_near && has_few)
}
