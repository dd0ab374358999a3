//! The marks of chat templates that may stand behind words, arguments and calls. Pure.

/// Marks that are told by no shape of their own.
pub const BEHIND: [&str; 8] = [
    "```",
    "<end_of_turn>",
    "<eos>",
    "[EOS]",
    "[e~[",
    "✿RESULT✿:",
    "✿RETURN✿:",
    "✿ARGS✿:",
];

/// Longest name inside of a mark.
const NAME_MAX: usize = 40;

/// The length of the mark that a text begins with: one of the list, `<|…|>`, `<｜…｜>`, `</…>` or `[/…]`.
pub fn at_begin(text: &str) -> Option<usize> {
    let listed = BEHIND.iter().find(|mark| text.starts_with(**mark));
    let shaped = [("<|", "|>"), ("<｜", "｜>"), ("</", ">"), ("[/", "]")];
    listed.map(|mark| mark.len()).or_else(|| {
        shaped
            .iter()
            .find_map(|(open, close)| shaped_mark(text, open, close))
    })
}

fn shaped_mark(text: &str, open: &str, close: &str) -> Option<usize> {
    let inner = text.strip_prefix(open)?;
    let name = &inner[..inner.find(close)?];
    let is_part = |c: char| c.is_alphanumeric() || "_-:/▁".contains(c);
    let is_name = !name.is_empty() && name.len() <= NAME_MAX && name.chars().all(is_part);
    is_name.then_some(open.len() + name.len() + close.len())
}
