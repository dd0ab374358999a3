//! The forms of written calls, one after the other as they stand in a text.

use super::json::calls_of;
use super::rest::Rest;
use super::{CALLS_MAX, Written, marked, pythonic};

/// Marks around calls: they say that calls stand here, and nothing of them.
const AROUND: [&str; 27] = [
    "<tool_calls>",
    "</tool_calls>",
    "<function_calls>",
    "</function_calls>",
    "</function_call>",
    "</tool_call>",
    "<minimax:tool_call>",
    "</minimax:tool_call>",
    "<|tool_calls|>",
    "<|/tool_calls|>",
    "<|tool_call|>",
    "<|/tool_call|>",
    "<|python_tag|>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<|tool▁calls▁begin|>",
    "<|tool▁calls▁end|>",
    "<|tool_list_start|>",
    "<|tool_list_end|>",
    "<|tool_call_start|>",
    "<|tool_call_end|>",
    "<function_call>",
    "[/TOOL_CALLS]",
    "✿RESULT✿:",
    "✿RETURN✿:",
];

/// Reads a text that is calls and nothing else.
pub(super) fn read(rest: &mut Rest<'_>) -> Option<Vec<Written>> {
    let mut calls = Vec::new();
    let mut is_marked = false;
    while !rest.is_empty() {
        if rest.eat_any(&AROUND) {
            is_marked = true;
            continue;
        }
        let more = marked(rest).unwrap_or_else(|| bare(rest, is_marked))?;
        calls.extend(more);
        if calls.len() > CALLS_MAX {
            return None;
        }
        rest.eat(";");
    }
    (!calls.is_empty()).then_some(calls)
}

/// Calls behind a mark of their own: none where no such mark stands here, and none inside where it cannot be read.
fn marked(rest: &mut Rest<'_>) -> Option<Option<Vec<Written>>> {
    let one = |call: Option<Written>| call.map(|call| vec![call]);
    Some(if rest.eat("<tool_call>") {
        match rest.next() {
            Some('{' | '[') => object_or_list(rest),
            Some('<') => Some(Vec::new()),
            _ => one(marked::keyed(rest)),
        }
    } else if rest.eat("<function=") {
        one(marked::function(rest))
    } else if rest.eat("<invoke") {
        one(marked::invoke(rest))
    } else if rest.eat("[TOOL_CALLS]") {
        match rest.next() {
            Some('{' | '[') => object_or_list(rest),
            _ => marked::mistral(rest),
        }
    } else if rest.eat("✿FUNCTION✿:") {
        one(marked::qwen(rest))
    } else if rest.eat_any(&["<｜tool▁call▁begin｜>", "<|tool▁call▁begin|>"]) {
        one(marked::deepseek(rest))
    } else if rest.eat("<|tool_call_begin|>") {
        one(marked::kimi(rest))
    } else if rest.eat("<|channel|>") {
        marked::harmony(rest)
    } else {
        return None;
    })
}

/// JSON, or a list of Python calls.
fn bare(rest: &mut Rest<'_>, is_marked: bool) -> Option<Vec<Written>> {
    match rest.next()? {
        '{' => calls_of(rest.json()?, is_marked),
        '[' => match rest.json() {
            Some(list) => calls_of(list, is_marked),
            None => pythonic::list(rest),
        },
        _ => None,
    }
}

fn object_or_list(rest: &mut Rest<'_>) -> Option<Vec<Written>> {
    calls_of(rest.json()?, true)
}
