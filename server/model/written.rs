//! Tool calls written as text: the forms in which models of several families call tools where their server does not read them. An answer
//! is read only if all of it is such calls, and all of them are of tools that were offered. Pure.

use serde_json::{Map, Value};

use super::provider::{ToolCall, ToolSpec};
use rest::Rest;

mod forms;
mod json;
mod marked;
mod pythonic;
mod rest;
mod typed;

/// Longest text that is read, in bytes.
pub const TEXT_MAX: usize = 1 << 20;
/// Most calls of one text.
pub const CALLS_MAX: usize = 256;

/// Names of the elements that hold thinking.
const THINKING: [(&str, &str); 3] = [
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<reasoning>", "</reasoning>"),
];

/// Marks with which models end an answer, and which some servers pass on.
const ENDS: [&str; 8] = [
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<|endoftext|>",
    "<|end_of_text|>",
    "<｜end▁of▁sentence｜>",
    "</s>",
];

/// A call as it was written.
#[derive(Debug, PartialEq)]
struct Written {
    name: String,
    arguments: Arguments,
}

/// The arguments of a call as they were written.
#[derive(Debug, PartialEq)]
enum Arguments {
    /// As values.
    Values(Map<String, Value>),
    /// As texts, which the tool's schema gives their types.
    Texts(Vec<(String, String)>),
}

/// The thinking at the beginning of a text, and the rest. Thinking that is not closed takes all of it.
pub fn apart(text: &str) -> (&str, &str) {
    let text = text.trim();
    for (open, close) in THINKING {
        if let Some(rest) = text.strip_prefix(open) {
            let (thought, words) = rest.split_once(close).unwrap_or((rest, ""));
            return (thought.trim(), words.trim());
        }
    }
    ("", text)
}

/// The calls that a text consists of; none if any of it is something else. `own` is the name that means the thread itself in the
/// thinking language.
pub fn read(text: &str, offered: &[ToolSpec], own: &str) -> Option<Vec<ToolCall>> {
    let text = without_ends(text);
    if text.is_empty() || text.len() > TEXT_MAX || offered.is_empty() {
        return None;
    }
    let spec = |name: &str| offered.iter().find(|tool| tool.name == name);
    let calls = match forms::read(&mut Rest::new(text)) {
        Some(written) => {
            let call = |call: Written| typed::call(call, spec);
            written.into_iter().map(call).collect::<Option<Vec<_>>>()?
        }
        None => elements(text, own)?,
    };
    let is_offered = |call: &ToolCall| spec(&call.name).is_some();
    (!calls.is_empty() && calls.iter().all(is_offered)).then_some(calls)
}

/// A text that is elements of the thinking language and nothing else.
fn elements(text: &str, own: &str) -> Option<Vec<ToolCall>> {
    if !text.starts_with('<') {
        return None;
    }
    let reading = thinking_language::read(text, own);
    let is_whole = reading.unreadable.is_empty() && !reading.words;
    let calls = reading.calls.into_iter().map(|call| ToolCall {
        id: String::new(),
        name: call.name,
        arguments: call.arguments,
    });
    is_whole.then(|| calls.collect())
}

fn without_ends(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(rest) = ENDS.iter().find_map(|end| text.strip_suffix(end)) {
        text = rest.trim_end();
    }
    text
}
