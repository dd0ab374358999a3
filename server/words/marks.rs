//! The marks of chat templates: around thinking, around an answer, at its beginning and its end,
//! and around calls that are written as text. Pure.

use Place::{Around, Behind, Call, Closing, Json, Shown};

/// A place where a mark stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// At the beginning of calls.
    Call,
    /// At the beginning of calls, and in words as well: behind it a call is one of a tool that was
    /// offered, or text.
    Shown,
    /// Around calls, of which it says nothing.
    Around,
    /// Behind the text of an argument, as a closing tag of calls.
    Closing,
    /// Behind words, arguments and calls, besides the marks that `mark` finds.
    Behind,
    /// Behind arguments alone.
    Json,
}

/// The marks, each with its places. None begins with another one.
const MARKS: [(&str, &[Place]); 87] = [
    ("<tools>", &[Call, Around]),
    ("<tool_use>", &[Call, Around]),
    ("<tool_call>", &[Call]),
    ("<tool_calls>", &[Call, Around]),
    ("<function=", &[Call]),
    ("<function_call>", &[Call, Around]),
    ("<function_calls>", &[Call, Around]),
    ("<invoke name=", &[Call]),
    ("<minimax:tool_call>", &[Call, Around]),
    ("<seed:tool_call>", &[Call, Around]),
    ("<longcat_tool_call>", &[Call, Around]),
    ("<TOOLCALL>", &[Call, Around]),
    ("<TOOL_CALL>", &[Call, Around]),
    ("<start_function_call>", &[Call]),
    ("<|tool_calls|>", &[Call, Around]),
    ("<|tool_call|>", &[Call, Around]),
    ("<|tool_call>", &[Call]),
    ("<|python_tag|>", &[Call, Around]),
    ("<|python_start|>", &[Call, Around]),
    ("<|START_ACTION|>", &[Call, Around]),
    ("<|action_start|>", &[Call, Around]),
    ("<|plugin|>", &[Call, Around]),
    ("<|tool_calls_section_begin|>", &[Call, Around]),
    ("<|tool_call_begin|>", &[Call]),
    ("<|tool_call_start|>", &[Call, Around]),
    ("<|tool_list_start|>", &[Call]),
    ("<|tools_prefix|>", &[Call]),
    ("<｜tool▁calls▁begin｜>", &[Call]),
    ("<｜tool▁call▁begin｜>", &[Call]),
    ("<|tool▁calls▁begin|>", &[Call]),
    ("<|tool▁call▁begin|>", &[Call]),
    ("<｜DSML｜", &[Call]),
    ("<｜tool_calls_begin｜>", &[Call]),
    ("<|channel|>commentary to=", &[Call]),
    ("<|start|>assistant to=", &[Call]),
    ("[TOOL_CALLS]", &[Call]),
    ("✿FUNCTION✿:", &[Call]),
    ("</tools>", &[Around]),
    ("</tool_use>", &[Around]),
    ("</tool_calls>", &[Around, Closing]),
    ("</function_calls>", &[Around, Closing]),
    ("</function_call>", &[Around, Closing]),
    ("</tool_call>", &[Around, Closing]),
    ("</minimax:tool_call>", &[Around, Closing]),
    ("</seed:tool_call>", &[Around]),
    ("</longcat_tool_call>", &[Around, Closing]),
    ("</TOOLCALL>", &[Around]),
    ("</TOOL_CALL>", &[Around]),
    ("<|/tool_calls|>", &[Around]),
    ("<|/tool_call|>", &[Around]),
    ("<|python_end|>", &[Around]),
    ("<|END_ACTION|>", &[Around]),
    ("<|action_end|>", &[Around]),
    ("<|tool_calls_section_end|>", &[Around]),
    ("<|tool_call_end|>", &[Around]),
    ("[/TOOL_CALLS]", &[Around]),
    ("functools", &[Around]),
    ("function<｜tool_sep｜>", &[Around]),
    ("✿RESULT✿:", &[Around, Json]),
    ("✿RETURN✿:", &[Around, Json]),
    ("</parameter>", &[Closing]),
    ("</function>", &[Closing]),
    ("</invoke>", &[Closing]),
    ("</arg_value>", &[Closing]),
    ("<|return|>", &[Behind]),
    ("<|end|>", &[Behind]),
    ("<|im_end|>", &[Behind]),
    ("<|eot_id|>", &[Behind]),
    ("<|eom_id|>", &[Behind]),
    ("<|end_of_text|>", &[Behind]),
    ("<|endoftext|>", &[Behind]),
    ("<|end_of_solution|>", &[Behind]),
    ("<|END_RESPONSE|>", &[Behind]),
    ("<|END_OF_TURN_TOKEN|>", &[Behind]),
    ("<｜end▁of▁sentence｜>", &[Behind]),
    ("<end_of_turn>", &[Behind]),
    ("<|end_of_turn|>", &[Behind]),
    ("<turn|>", &[Behind]),
    ("[EOS]", &[Behind]),
    ("[e~[", &[Behind]),
    ("</s>", &[Behind]),
    ("<eos>", &[Behind]),
    ("```", &[Json]),
    ("✿ARGS✿:", &[Json]),
    ("```tool_", &[Shown]),
    ("```function_call", &[Shown]),
    ("Action:", &[Shown]),
];

/// The marks of a place.
pub fn marks(place: Place) -> impl Iterator<Item = &'static str> + Clone {
    let all = MARKS
        .iter()
        .filter(move |(_, places)| places.contains(&place));
    all.map(|(mark, _)| *mark)
}

/// Opening and closing tags of thinking.
pub const THINKING: [(&str, &str); 21] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("<mm:think>", "</mm:think>"),
    ("<longcat_think>", "</longcat_think>"),
    ("◁think▷", "◁/think▷"),
    ("[THINK]", "[/THINK]"),
    ("<|begin_of_thought|>", "<|end_of_thought|>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|channel>thought", "<channel|>"),
    ("<unused94>", "<unused95>"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
    ("<|channel|>commentary<|message|>", "<|end|>"),
    ("<|think|>", "<|end|>"),
    ("<antThinking>", "</antThinking>"),
    ("<reflection>", "</reflection>"),
    ("<scratchpad>", "</scratchpad>"),
    ("<|thinking|>", "<|/thinking|>"),
    ("<details type=\"reasoning\"", "</details>"),
];

/// Returns the tags of thinking that a template may open in the prompt, so that an answer only
/// closes it: those with an end that ends nothing else.
pub fn unopened() -> impl Iterator<Item = &'static (&'static str, &'static str)> + Clone {
    // Elements of HTML end other things, too.
    let is_mark = |open: &str| !open.ends_with('"');
    let is_own = |close: &str| !marks(Behind).any(|mark| mark == close);
    let tags = THINKING.iter();
    tags.filter(move |(open, close)| is_mark(open) && is_own(close))
}

/// Gemini's tag. The thinking language has an element of this name, so that it counts only where no
/// one speaks that.
pub const THOUGHT: (&str, &str) = ("<thought>", "</thought>");

/// Tags around the whole answer behind thinking.
pub const WRAPPERS: [(&str, &str); 2] = [("<answer>", "</answer>"), ("<response>", "</response>")];

/// Marks that may stand before the words, besides those that `mark` finds.
pub const BEFORE: [&str; 14] = [
    "<|start|>assistant<|channel|>final<|message|>",
    "<|channel|>final<|message|>",
    "<|start_header_id|>assistant<|end_header_id|>",
    "<|start_of_role|>assistant<|end_of_role|>",
    "<|begin_of_solution|>",
    "<|START_RESPONSE|>",
    "<|START_TEXT|>",
    "<|im_start|>assistant",
    "<|start|>assistant",
    "<|begin|>assistant<|content|>",
    "<start_of_turn>model",
    "<|turn>model",
    "<|message|>",
    "[/INST]",
];

/// The beginning of a call of gpt-oss; its role is no mark before words.
pub const CALLS_ON: &str = "<|start|>assistant to=";

/// Languages of the code fences of calls.
pub const FENCES: [&str; 4] = ["tool_code", "tool_call", "tool_calls", "function_call"];

/// Signs that end a sentence.
pub const SENTENCE_ENDS: [char; 9] = ['.', '!', '?', '…', '。', '！', '？', '।', '؟'];

/// Words in the names of marks that say the kind of the next words: a call, or a role.
const SAYING: [&str; 10] = [
    "tool",
    "call",
    "action",
    "plugin",
    "python",
    "channel",
    "constrain",
    "message",
    "start",
    "role",
];

/// Most bytes of a mark.
pub const MARK_MAX: usize = 64;

/// Returns the length of the token with which a text begins: `<|eot_id|>`, `<｜Assistant｜>`.
pub fn token(text: &str) -> Option<usize> {
    shaped(text, &[("<|", "|>"), ("<｜", "｜>")])
}

/// Returns the length of the mark behind arguments with which a text begins.
pub fn at_begin(text: &str) -> Option<usize> {
    let mut listed = marks(Behind).chain(marks(Json));
    let listed = listed.find(|mark| text.starts_with(mark)).map(str::len);
    listed
        .or_else(|| token(text))
        .or_else(|| shaped(text, &[("</", ">"), ("[/", "]")]))
}

/// Returns the length of a name between two signs with which a text begins.
fn shaped(text: &str, signs: &[(&str, &str)]) -> Option<usize> {
    let (open, close) = signs.iter().find(|(open, _)| text.starts_with(open))?;
    let end = text[open.len()..].find(close)? + open.len();
    let name = &text[open.len()..end];
    (end < MARK_MAX && !name.is_empty() && is_name(name)).then_some(end + close.len())
}

/// Returns the length of the mark with which a text begins, if it says nothing of the next words.
pub fn mark(text: &str) -> Option<usize> {
    let length = token(text)?;
    let name = text[..length].to_lowercase();
    (!SAYING.iter().any(|word| name.contains(word))).then_some(length)
}

/// Returns whether a text may be the beginning of a token.
pub fn may_be_token(text: &str) -> bool {
    let name = text.strip_prefix("<|").or(text.strip_prefix("<｜"));
    text == "<" || name.is_some_and(|name| name.len() < MARK_MAX && is_name(name))
}

fn is_name(name: &str) -> bool {
    let name = name.strip_suffix(['|', '｜']).unwrap_or(name);
    name.chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '_' | '▁' | '-' | '/' | '.' | ':' | ' '))
}

/// Longest mark that is no listed one, in bytes.
const TOKEN_MAX: usize = 256;

/// Returns the length of the mark with which a text ends. One behind a blank in its line may be
/// spoken of, unless it is known.
pub fn mark_behind(text: &str) -> Option<usize> {
    if let Some(mark) = marks(Behind).find(|mark| text.ends_with(mark)) {
        return Some(mark.len());
    }
    if !text.ends_with("|>") && !text.ends_with("｜>") {
        return None;
    }
    // A text of marks alone is not searched to its beginning for each of them.
    let end = text.ceil_char_boundary(text.len().saturating_sub(TOKEN_MAX));
    let begin = |sign| text[end..].rfind(sign);
    let at = end + begin("<|").max(begin("<｜"))?;
    let is_glued = !text[..at].ends_with([' ', '\t']);
    let length = mark(&text[at..])?;
    (is_glued && at + length == text.len()).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;

    // So that it does not matter which of them is looked for first.
    #[test]
    fn no_mark_begins_with_another_one() {
        for (at, (mark, _)) in MARKS.iter().enumerate() {
            let others = MARKS.iter().enumerate().filter(|(other, _)| *other != at);
            for (_, (other, places)) in others {
                let is_fence = *other == "```" && places == &[Json];
                assert!(is_fence || !mark.starts_with(other), "{mark} {other}");
            }
        }
    }
}
