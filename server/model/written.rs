//! Tool calls written as text: the forms in which models of several families call tools where their server does not read them. An answer
//! is read only if all of it is such calls, and all of them are of tools that were offered. Pure.

use serde_json::{Map, Value};

use super::provider::{ToolCall, ToolSpec};
use rest::Rest;
use thinkd_words::marks::{Place, SENTENCE_ENDS, THINKING, mark_behind, marks};
use thinkd_words::text::unmarked;
use unicode_normalization::char::is_combining_mark;

mod forms;
mod gemma;
mod json;
mod literal;
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

/// Signs inside of plain sentences, besides their ends.
const SIGNS: [char; 9] = [',', '，', '、', '\'', '’', '-', '_', '`', '%'];

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
    let text = unmarked(text.trim()).trim();
    for (open, close) in &THINKING {
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
    let calls = reading.calls.into_iter().map(ToolCall::from);
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
    if let Some(calls) = read(text, offered, own) {
        return Found::Calls("", calls);
    }
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
    let is_marked = marks(Place::Call).any(begins);
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
        None if is_cut(block) && (before.is_empty() || begins_call(block)) => Found::Broken,
        None => Found::Words,
    }
}

/// Returns whether a text has a mark of calls.
pub fn has_mark(text: &str) -> bool {
    marks(Place::Call).any(|mark| text.contains(mark))
}

/// A paragraph of plain sentences and the calls behind it, which begin with the first mark of all.
fn block(text: &str) -> (&str, &str) {
    let text = text.trim();
    let parts = [Place::Call, Place::Shown].into_iter().filter_map(|place| {
        let first = marks(place).filter_map(|mark| text.find(mark)).min()?;
        Some(text.split_at(first))
    });
    let mut apart = parts.filter(|(before, _)| is_thought(before));
    let (before, calls) = apart.next().unwrap_or(("", text));
    (before.trim_end(), calls)
}

/// Returns whether words before a call are thinking: a paragraph of plain sentences at its end, and
/// the call begins a line or follows at once. A sign of quotation, code, a list or an announcement
/// shows the call; behind a blank in the line or an indent, it is a part of the words.
fn is_thought(before: &str) -> bool {
    let words = before.trim_end();
    let (words, ends) = match words.strip_prefix("Thought:") {
        Some(thought) => (thought.trim_start(), before.ends_with('\n')),
        None => (words, ends_sentence(words)),
    };
    let is_paragraph = words
        .lines()
        .all(|line| line.starts_with(char::is_alphabetic));
    let is_inside = before.ends_with([' ', '\t']);
    let has_open_code = words.matches('`').count() % 2 == 1;
    ends && is_paragraph && !is_inside && !has_open_code && words.chars().all(is_prose)
}

/// Returns whether words end with a sentence or a picture.
fn ends_sentence(words: &str) -> bool {
    words.ends_with(|c| SENTENCE_ENDS.contains(&c) || is_picture(c))
}

/// Returns whether plain sentences have a character.
fn is_prose(c: char) -> bool {
    let is_letter = c.is_alphanumeric() || is_combining_mark(c);
    let is_sign = SIGNS.contains(&c) || SENTENCE_ENDS.contains(&c);
    is_letter || is_sign || c.is_whitespace() || is_picture(c)
}

fn is_picture(c: char) -> bool {
    matches!(c, '\u{2600}'..='\u{27bf}' | '\u{fe0f}' | '\u{1f300}'..='\u{1faff}')
}

/// Returns whether a call stands behind a mark, not words about the mark.
fn begins_call(block: &str) -> bool {
    let mark = marks(Place::Call).filter(|mark| block.starts_with(mark));
    let length = mark.map(str::len).max().unwrap_or(block.len());
    let rest = block[length..].trim_start();
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ':');
    let behind = rest.trim_start_matches(is_name);
    let name = &rest[..rest.len() - behind.len()];
    let next = behind.trim_start().chars().next();
    let is_begun = next.is_none_or(|next| "{[(<✿>".contains(next));
    is_begun && !name.ends_with(SENTENCE_ENDS)
}

/// Returns whether a call was not written to its end: behind its last mark stand no words, but nothing or the next call or argument.
fn is_cut(text: &str) -> bool {
    let ends = marks(Place::Closing).chain(marks(Place::Around));
    let ends = ends.filter(|end| marks(Place::Call).all(|mark| mark != *end));
    let last = ends.filter_map(|mark| Some(text.rfind(mark)? + mark.len()));
    let Some(at) = last.max() else {
        return !goes_on(text);
    };
    let rest = text[at..].trim();
    let mut begins = marks(Place::Call).chain(["<parameter", "<arg_"]);
    rest.is_empty() || begins.any(|begin| rest.starts_with(begin))
}

/// Returns true if words stand behind the arguments of a call in a form without a mark at its end.
fn goes_on(text: &str) -> bool {
    let mark = marks(Place::Call).filter(|mark| text.starts_with(mark));
    let behind = &text[mark.map(str::len).max().unwrap_or_default()..];
    let mut rest = Rest::new(&behind[behind.find(['{', '[']).unwrap_or(behind.len())..]);
    let is_whole = rest.strict_json().is_some();
    rest.eat("```");
    is_whole && rest.next().is_some_and(char::is_alphanumeric)
}

/// Returns whether a text is the beginning of an object, or of a list of Python's calls, that calls a tool which is there.
fn is_bare_cut(text: &str, offered: &[ToolSpec]) -> bool {
    let is_listed = |tool: &ToolSpec| text.starts_with(&format!("[{}(", tool.name));
    let count = |signs: [char; 2]| text.matches(signs).count();
    if offered.iter().any(is_listed) {
        return count(['[', '(']) > count([']', ')']);
    }
    let is_object = text.starts_with('{') || text.starts_with("[{");
    let has = |member: &str| text.contains(&format!("\"{member}\":"));
    let names = |tool: &ToolSpec| text.contains(&format!("\"{}\"", tool.name));
    is_object
        && has("name")
        && (has("arguments") || has("parameters"))
        && offered.iter().any(names)
        && (!text.ends_with(['}', ']']) || count(['{', '[']) > count(['}', ']']))
        && Rest::new(text).json().is_none()
}

/// The same without a namespace before the names of elements: `<｜DSML｜invoke name=…>`.
fn without_namespace(text: &str) -> std::borrow::Cow<'_, str> {
    let space = text.split_once("invoke name=").and_then(|(before, _)| {
        let space = before.rsplit_once('<')?.1;
        let is_name = |c: char| c.is_alphanumeric() || matches!(c, '｜' | ':');
        // An argument may speak of such elements: those of the calls begin the text.
        let text = text.trim_start();
        let is_own =
            text.starts_with(&format!("<{space}")) || text.starts_with("<｜tool_calls_begin｜>");
        (is_own && !space.is_empty() && space.chars().all(is_name)).then_some(space)
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
