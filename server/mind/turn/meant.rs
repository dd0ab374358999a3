//! The part of the driver that reads an answer of the decision: which calls it means, and which of its words are thinking.

use std::sync::Arc;

use serde_json::{Value, json};
use thinking_language::Reading;

use super::driver::Driver;
use super::options::PlainText;
use crate::action::{self, Asked};
use crate::call::{Ready, TurnPlace};
use crate::decision::{REPLY, Streamed, arriving};
use crate::turn_writer::Lost;
use thinkd_event::draft::Draft;
use thinkd_model::provider::{Answer, ToolCall};
use thinkd_model::written::{self, Found};
use thinkd_thread::settings::Language;
use thinkd_tools::tool::Tool;
use thinkd_words::failure::{Failure, FailureKind, Who};

/// The meaning of an answer.
#[derive(Debug, Default)]
pub(super) struct Meant {
    /// Its calls, in order.
    pub calls: Vec<ToolCall>,
    /// They were read from its words.
    pub is_from_text: bool,
    /// The words that became its reply.
    pub reply: Option<String>,
    /// The words that reach no reader.
    pub thinking: String,
    /// A sentence for each element that could not be read.
    pub unreadable: Vec<String>,
    /// A limit of tokens cut the answer in the middle of its reply.
    pub is_cut: bool,
}

impl Meant {
    /// Words that do nothing.
    fn thinking(text: &str) -> Self {
        Self {
            thinking: text.trim().to_owned(),
            ..Self::default()
        }
    }

    fn calls(self, calls: Vec<ToolCall>) -> Self {
        Self { calls, ..self }
    }
}

impl Driver {
    /// Reads an answer. Its tool calls come first, then elements where the thread speaks them, then calls that were written as
    /// text. Words that are none of these answer a conversation that has not replied yet.
    pub(super) fn meant(&self, answer: &Answer, ready: &Ready, can_reply: bool) -> Meant {
        let language = self.language();
        let all = Meant::thinking(&answer.text);
        if !answer.calls.is_empty() && language != Language::Xml {
            return all.calls(answer.calls.clone());
        }
        if language != Language::Tools {
            let reading = thinking_language::read(&answer.text, self.place.thread.label());
            let has_elements = !reading.calls.is_empty() || !reading.unreadable.is_empty();
            if has_elements || !answer.calls.is_empty() {
                return elements(reading, answer, all);
            }
        }
        let (thought, words) = written::apart(&answer.text);
        match written::find(words, ready.offered(), self.place.thread.label()) {
            Found::Calls(before, calls) => {
                return Meant {
                    calls,
                    is_from_text: true,
                    ..Meant::thinking(&format!("{thought}\n\n{before}"))
                };
            }
            Found::Broken => {
                let unreadable = vec![not_whole(answer.is_cut)];
                return Meant { unreadable, ..all };
            }
            Found::Words => {}
        }
        let is_answer = can_reply && self.is_answered_by_words(ready.offered().is_empty());
        if !is_answer || words.is_empty() {
            return all;
        }
        Meant {
            calls: vec![reply(words)],
            is_from_text: true,
            reply: Some(words.to_owned()),
            is_cut: answer.is_cut,
            ..Meant::thinking(thought)
        }
    }

    /// True if plain words would be an answer. `taught`: the model was taught elements in the place of tools. A thread with `auto`
    /// teaches them once before it takes words for an answer.
    pub(super) fn is_answered_by_words(&self, taught: bool) -> bool {
        !self.settings.is_process()
            && self.mind.options.plain_text == PlainText::Reply
            && self.turn.replies().is_empty()
            && (self.language() != Language::Auto || taught)
    }

    /// True if plain words may be shown while they arrive: words beside elements are thinking.
    pub(super) fn shows_words(&self) -> bool {
        self.language() == Language::Tools && self.is_answered_by_words(false)
    }

    /// Returns a reply from words that reached no reader, where the turn gives up without an
    /// answer: as far as they came, if they were cut off.
    pub(super) async fn unheard(&mut self) -> Result<Vec<Draft>, Lost> {
        let Some((text, is_cut)) = self.turn.unheard() else {
            return Ok(Vec::new());
        };
        let text = match is_cut {
            true => text.as_str(),
            false => written::apart(&text).1,
        };
        self.partial_reply(text, is_cut).await
    }

    /// Returns a reply from the words of an answer that broke off, where no reader was shown a part
    /// of it. Words that the provider withheld, or called failed, stay so.
    pub(super) async fn unshown(
        &mut self,
        streamed: &Streamed,
        failure: &Failure,
    ) -> Result<Vec<Draft>, Lost> {
        let is_ended = failure.detail.get("finish").is_some();
        match streamed.unshown() {
            Some(words) if self.shows_words() && !is_ended => self.partial_reply(words, true).await,
            _ => Ok(Vec::new()),
        }
    }

    async fn partial_reply(&mut self, text: &str, is_cut: bool) -> Result<Vec<Draft>, Lost> {
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let tools = self.toolbox().await?;
        // A reply that a person has to let is not made without one.
        let is_open = |tool: &Arc<dyn Tool>| tool.spec().gated.is_none();
        if !tools.get(REPLY).is_some_and(is_open) {
            return Ok(Vec::new());
        }
        let TurnPlace { thread, turn, .. } = &self.place;
        let call_id = action::call_id(&action::decision(*turn), self.turn.rounds_made(), 0);
        let call = Asked::read(&reply(text), call_id, &tools).from_text(true);
        let site = self.site(&call, &[]);
        let mut drafts = Vec::from_iter(call.action(&tools, &site));
        drafts.push(Draft::reply(thread, *turn, &call.call_id, text, is_cut));
        Ok(drafts)
    }

    /// Remembers the role of the model's words.
    pub(super) fn learn(&self, meant: &Meant, answer: &Answer, model: &str) {
        if self.settings.is_process() {
            return;
        }
        let words = self.mind.client.plain_words();
        if meant.reply.is_some() {
            words.record_answer(model);
        } else if !answer.calls.is_empty() && !meant.thinking.is_empty() {
            words.record_thinking(model);
        }
    }

    /// Shows the model the parts of its answer that could not be read.
    pub(super) fn unreadable(&self, unreadable: &[String]) -> Option<Draft> {
        if unreadable.is_empty() {
            return None;
        }
        let failure = Failure::new(FailureKind::Interpreter, unreadable.join("\n"));
        Some(self.failure(&Who::Core, &failure.retryable()).unreadable())
    }
}

/// The elements of an answer, which is kept as thinking. Of one that was cut off the last is a reply as far as it came, or nothing: the
/// model is not asked for the same again.
fn elements(reading: Reading, answer: &Answer, all: Meant) -> Meant {
    if !answer.calls.is_empty() {
        let unreadable = reading.unreadable;
        return Meant { unreadable, ..all }.calls(answer.calls.clone());
    }
    let mut calls = Vec::from_iter(reading.calls.into_iter().map(ToolCall::from));
    if !answer.is_cut || reading.unreadable.is_empty() {
        let unreadable = reading.unreadable;
        return Meant { unreadable, ..all }.calls(calls);
    }
    calls.pop_if(|call| call.name != REPLY);
    Meant {
        calls,
        is_cut: true,
        ..all
    }
}

/// The failure beside a reply that a limit of tokens cut off.
pub(super) fn cut_short() -> Failure {
    let text = "the model's answer was cut off at its limit of tokens, and the reply ends there: raise max_tokens where it is set, \
                or the limit of the model's server";
    Failure::new(FailureKind::Model, text).with(json!({ "reason": "cut_off", "key": "max_tokens" }))
}

/// The sentence about a call in the words of an answer that does not come to its end.
fn not_whole(is_cut: bool) -> String {
    let text = "the call in the text of this answer is not whole, and was not run: make it again through the tools";
    match is_cut {
        true => format!("{text}; a limit of tokens cut it: raise max_tokens where it is set"),
        false => text.to_owned(),
    }
}

/// Returns a reply with mended arguments where these were no JSON object, or one in a text, and its
/// text is beyond doubt; else the call as it is.
pub(super) fn mended(call: Asked) -> Asked {
    if call.tool != REPLY {
        return call;
    }
    let arguments = match &call.arguments {
        Err(written) => arriving::whole(written),
        Ok(Value::String(inner)) if !inner.trim_start().starts_with('{') => Some(inner.clone()),
        Ok(Value::Object(members))
            if members.len() == 1 && members.get("text").is_some_and(Value::is_string) =>
        {
            None
        }
        Ok(arguments) => spoken(arguments, WRAPPED_MAX),
    };
    match arguments {
        Some(text) => Asked {
            arguments: Ok(json!({ "text": text })),
            is_from_text: true,
            ..call
        },
        None => call,
    }
}

/// Most values around the text of a reply.
const WRAPPED_MAX: usize = 4;

/// Members that hold the arguments of a call as some models write them.
const WRAPPERS: [&str; 7] = [
    "properties",
    "arguments",
    "parameters",
    "input",
    "tool_input",
    "function",
    "text",
];

/// Returns the text of a reply with arguments that have more members than `text`, or stand inside
/// of others.
fn spoken(value: &Value, depth: usize) -> Option<String> {
    if depth == 0 {
        return None;
    }
    if let Value::String(inner) = value {
        let read: Value = serde_json::from_str(inner).ok()?;
        return spoken(read.as_object().map(|_| &read)?, depth - 1);
    }
    match value.get("text") {
        Some(Value::String(text)) => Some(text.clone()),
        _ => {
            let inner = WRAPPERS.iter().find_map(|name| value.get(name))?;
            spoken(inner, depth - 1)
        }
    }
}

/// The call that plain words mean.
fn reply(text: &str) -> ToolCall {
    ToolCall::new(REPLY.to_owned(), &json!({ "text": text }))
}
