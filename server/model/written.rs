//! Tool calls written as text: the forms in which models of several families call tools where their server does not read them. An answer
//! is read only if all of it is such calls, and all of them are of tools that were offered. Pure.

use serde_json::{Map, Value};

use super::marks::{AROUND, CALLS, CLOSING, THINKING, mark_behind};
use super::provider::{ToolCall, ToolSpec};
use rest::Rest;

mod forms;
mod gemma;
mod json;
mod marked;
mod pythonic;
mod rest;
mod typed;

/// Longest text that is read, in bytes.
pub const TEXT_MAX: usize = 1 << 20;
/// Most calls of one text.
pub const CALLS_MAX: usize = 256;

/// Least bytes of a mark by which it is known.
const BEGUN_MIN: usize = 6;

/// Most lines of words before calls.
const LINES_MAX: usize = 3;

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
    for (open, close) in &THINKING[..3] {
        if let Some(rest) = text.strip_prefix(*open) {
            let (thought, words) = rest.split_once(*close).unwrap_or((rest, ""));
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
    let text = without_namespace(text);
    let text = text.as_ref();
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

/// The calls that a text has.
#[derive(Debug)]
pub enum Found<'t> {
    /// Calls, and the words before them, which are thinking.
    Calls(&'t str, Vec<ToolCall>),
    /// A call that is not whole.
    Broken,
    /// None.
    Words,
}

/// Finds the calls that a text consists of, or that a few words end with. Behind marks of calls a
/// tool that was not offered is one, too: the model is told that there is none.
pub fn find<'t>(text: &'t str, offered: &[ToolSpec], own: &str) -> Found<'t> {
    let (before, block) = block(text);
    if let Some(calls) = read(block, offered, own) {
        return Found::Calls(before, calls);
    }
    let block = without_ends(block);
    if is_bare_cut(block, offered) {
        return Found::Broken;
    }
    // Of a mark itself only the beginning may have come.
    let is_begun = |mark: &str| block.len() >= BEGUN_MIN && mark.starts_with(block);
    let begins = |mark: &str| block.starts_with(mark) || is_begun(mark);
    let is_marked = CALLS.iter().any(|mark| begins(mark));
    if !is_marked || offered.is_empty() || block.len() > TEXT_MAX {
        return Found::Words;
    }
    let plain = without_namespace(block);
    match forms::read(&mut Rest::new(plain.as_ref())) {
        Some(written) => {
            let spec = |name: &str| offered.iter().find(|tool| tool.name == name);
            let call = |call: Written| typed::call_of_any(call, spec);
            Found::Calls(before, written.into_iter().map(call).collect())
        }
        None if is_cut(block) => Found::Broken,
        None => Found::Words,
    }
}

/// A few words and the calls behind them: those begin a line behind a blank one, and no code.
fn block(text: &str) -> (&str, &str) {
    let text = text.trim();
    let begins = |line: &str| CALLS.iter().any(|mark| line.starts_with(mark));
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if begins(line) {
            let (before, calls) = text.split_at(at);
            let is_apart = before.ends_with("\n\n") || before.ends_with("\n\r\n");
            let words = before.trim_end();
            let is_short = words.lines().count() <= LINES_MAX && !words.contains("\n\n");
            let is_code = words.contains("```") || words.contains("~~~");
            // A colon announces what is shown.
            let is_shown = words.ends_with([':', '：']);
            return match is_apart && is_short && !is_code && !is_shown {
                true => (words, calls),
                false => ("", text),
            };
        }
        at += line.len();
    }
    ("", text)
}

/// Returns whether a call was not written to its end: no words stand behind its last mark.
fn is_cut(text: &str) -> bool {
    let ends = || {
        CLOSING
            .iter()
            .chain(&AROUND)
            .filter(|mark| !CALLS.contains(mark))
    };
    let last = ends().filter_map(|mark| Some(text.rfind(mark)? + mark.len()));
    last.max().is_none_or(|at| text[at..].trim().is_empty())
}

/// Returns whether a text is the beginning of an object that calls a tool which is there.
fn is_bare_cut(text: &str, offered: &[ToolSpec]) -> bool {
    let is_object = text.starts_with('{') || text.starts_with("[{");
    let has = |member: &str| text.contains(&format!("\"{member}\":"));
    let names = |tool: &ToolSpec| text.contains(&format!("\"{}\"", tool.name));
    is_object
        && has("name")
        && (has("arguments") || has("parameters"))
        && offered.iter().any(names)
        && !text.ends_with(['}', ']'])
        && Rest::new(text).json().is_none()
}

/// The same without a namespace before the names of elements: `<｜DSML｜invoke name=…>`.
fn without_namespace(text: &str) -> std::borrow::Cow<'_, str> {
    let space = text.split_once("invoke name=").and_then(|(before, _)| {
        let space = before.rsplit_once('<')?.1;
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '｜' | ':');
        (!space.is_empty() && space.chars().all(is_name)).then_some(space)
    });
    match space {
        Some(space) => text
            .replace(&format!("<{space}"), "<")
            .replace(&format!("</{space}"), "</")
            .into(),
        None => text.into(),
    }
}

fn without_ends(text: &str) -> &str {
    let mut text = text.trim();
    while let Some(length) = mark_behind(text) {
        text = text[..text.len() - length].trim_end();
    }
    text
}
