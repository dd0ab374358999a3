//! The marks of chat templates: around thinking, around an answer, at its beginning and its end, and
//! around calls that are written as text. Pure.

/// Opening and closing tags of thinking.
pub(super) const THINKING: [(&str, &str); 17] = [
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
];

/// Number of those that a template may open in the prompt, so that an answer only closes them.
pub(super) const UNOPENED: usize = 13;

/// Gemini's tag. The thinking language has an element of this name, so that it counts only where no
/// one speaks that.
pub(super) const THOUGHT: (&str, &str) = ("<thought>", "</thought>");

/// Tags around the whole answer behind thinking.
pub(super) const WRAPPERS: [(&str, &str); 2] =
    [("<answer>", "</answer>"), ("<response>", "</response>")];

/// Marks that may stand before the words, besides those that `mark` finds.
pub(super) const BEFORE: [&str; 14] = [
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

/// The beginning of a call of gpt-oss, whose role is no mark before words.
pub(super) const CALLS_ON: &str = "<|start|>assistant to=";

/// Marks that may stand behind the words, besides those that `mark` finds.
pub(super) const BEHIND: [&str; 17] = [
    "<|return|>",
    "<|end|>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|end_of_solution|>",
    "<|END_RESPONSE|>",
    "<|END_OF_TURN_TOKEN|>",
    "<｜end▁of▁sentence｜>",
    "<end_of_turn>",
    "<|end_of_turn|>",
    "<turn|>",
    "[EOS]",
    "[e~[",
    "</s>",
];

/// Closing tags of calls, which may stand behind the text of an argument.
pub(super) const CLOSING: [&str; 9] = [
    "</parameter>",
    "</function>",
    "</tool_call>",
    "</tool_calls>",
    "</invoke>",
    "</arg_value>",
    "</function_call>",
    "</function_calls>",
    "</minimax:tool_call>",
];

/// Marks with which calls begin.
pub(super) const CALLS: [&str; 36] = [
    "<tools>",
    "<tool_use>",
    "<tool_call>",
    "<tool_calls>",
    "<function=",
    "<function_call>",
    "<function_calls>",
    "<invoke name=",
    "<minimax:tool_call>",
    "<seed:tool_call>",
    "<TOOLCALL>",
    "<TOOL_CALL>",
    "<start_function_call>",
    "<|tool_calls|>",
    "<|tool_call|>",
    "<|tool_call>",
    "<|python_tag|>",
    "<|python_start|>",
    "<|START_ACTION|>",
    "<|action_start|>",
    "<|plugin|>",
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>",
    "<|tool_call_start|>",
    "<|tool_list_start|>",
    "<|tools_prefix|>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "<|tool▁calls▁begin|>",
    "<|tool▁call▁begin|>",
    "<｜DSML｜",
    "<｜tool_calls_begin｜>",
    "<|channel|>commentary to=",
    "<|start|>assistant to=",
    "[TOOL_CALLS]",
    "✿FUNCTION✿:",
];

/// Code fences of calls.
pub(super) const FENCES: [&str; 4] = [
    "```tool_code",
    "```tool_calls",
    "```tool_call",
    "```function_call",
];

/// Beginnings of calls that words have as well: behind them a call is one of a tool that was
/// offered, or text.
pub(super) const SHOWN: [&str; 5] = [FENCES[0], FENCES[1], FENCES[2], FENCES[3], "Action:"];

/// Signs that end a sentence.
pub(super) const SENTENCE_ENDS: [char; 7] = ['.', '!', '?', '…', '。', '！', '？'];

/// Marks around calls that say nothing of them.
pub(super) const AROUND: [&str; 40] = [
    "<tools>",
    "</tools>",
    "<tool_use>",
    "</tool_use>",
    "<tool_calls>",
    "</tool_calls>",
    "<function_calls>",
    "</function_calls>",
    "</function_call>",
    "</tool_call>",
    "<minimax:tool_call>",
    "</minimax:tool_call>",
    "<seed:tool_call>",
    "</seed:tool_call>",
    "<TOOLCALL>",
    "</TOOLCALL>",
    "<TOOL_CALL>",
    "</TOOL_CALL>",
    "<|tool_calls|>",
    "<|/tool_calls|>",
    "<|tool_call|>",
    "<|/tool_call|>",
    "<|python_tag|>",
    "<|python_start|>",
    "<|python_end|>",
    "<|START_ACTION|>",
    "<|END_ACTION|>",
    "<|action_start|>",
    "<|action_end|>",
    "<|plugin|>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<|tool_call_start|>",
    "<|tool_call_end|>",
    "<function_call>",
    "[/TOOL_CALLS]",
    "functools",
    "function<｜tool_sep｜>",
    "✿RESULT✿:",
    "✿RETURN✿:",
];

/// Words in the names of marks that say what follows: a call, or a role.
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
pub(super) const MARK_MAX: usize = 64;

/// Returns the length of the token with which a text begins: `<|eot_id|>`, `<｜Assistant｜>`.
pub(super) fn token(text: &str) -> Option<usize> {
    let (open, close) = [("<|", "|>"), ("<｜", "｜>")]
        .into_iter()
        .find(|(open, _)| text.starts_with(open))?;
    let end = text[open.len()..].find(close)? + open.len();
    let name = &text[open.len()..end];
    (end < MARK_MAX && !name.is_empty() && is_name(name)).then_some(end + close.len())
}

/// Returns the length of the mark with which a text begins, if it says nothing of what follows.
pub(super) fn mark(text: &str) -> Option<usize> {
    let length = token(text)?;
    let name = text[..length].to_lowercase();
    (!SAYING.iter().any(|word| name.contains(word))).then_some(length)
}

/// Returns whether a text may be the beginning of a token.
pub(super) fn may_be_token(text: &str) -> bool {
    let name = text.strip_prefix("<|").or(text.strip_prefix("<｜"));
    text == "<" || name.is_some_and(|name| name.len() < MARK_MAX && is_name(name))
}

fn is_name(name: &str) -> bool {
    let name = name.strip_suffix(['|', '｜']).unwrap_or(name);
    name.chars()
        .all(|c| c.is_alphanumeric() || matches!(c, '_' | '▁' | '-' | '/' | '.' | ' '))
}

/// Returns the length of the mark with which a text ends. One behind a blank in its line may be
/// spoken of, unless it is known.
pub(super) fn mark_behind(text: &str) -> Option<usize> {
    if let Some(mark) = BEHIND.iter().find(|mark| text.ends_with(**mark)) {
        return Some(mark.len());
    }
    if !text.ends_with("|>") && !text.ends_with("｜>") {
        return None;
    }
    let at = text.rfind("<|").max(text.rfind("<｜"))?;
    let is_glued = !text[..at].ends_with([' ', '\t']);
    let length = mark(&text[at..])?;
    (is_glued && at + length == text.len()).then_some(length)
}
