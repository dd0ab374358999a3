//! The events of a response, and their numbers. A number is the place in the response, so that it
//! is the same in every stream of it, from this server or the next: the text up to its n-th
//! character is `TEXT + n`, however many pieces it comes in.

use serde_json::{Map, Value, json};

use super::ids::message_id;
use super::object::{Answer, Head, part};
use super::tools;
use crate::openai::errors;
use crate::openai::reply::{End, Next, Wanted};
use crate::problem::Problem;

/// The numbers of the events before the text.
const CREATED: u64 = 0;
const IN_PROGRESS: u64 = 1;
const ITEM: u64 = 2;
const TEXT: u64 = 3;
/// The number of the first event behind the text, however long that is.
const BEHIND: u64 = 1_000_000_000;
/// The number of the first event of the first call, and the number of events of each.
const CALLS: u64 = BEHIND + 3;
const OF_CALL: u64 = 4;
/// The number of the last event: before it is room for items behind the text. Some clients have 31
/// bits for a number.
const END: u64 = 2_000_000_000;

/// A stream of the events of a response.
pub struct Events {
    head: Head,
    answer: Answer,
    is_next: bool,
    /// Characters of the text so far.
    chars: u64,
    is_open: bool,
    /// The number of the last event that the client has.
    last: Option<u64>,
}

impl Events {
    /// Returns the events of a response behind this number; none: all. `is_next`: its turn runs, or
    /// is the next one.
    pub fn of(head: Head, is_next: bool, after: Option<u64>) -> Self {
        Self {
            head,
            answer: Answer::default(),
            is_next,
            chars: 0,
            is_open: false,
            last: after,
        }
    }

    /// The first events; empty: the client has them.
    pub fn first(&mut self) -> String {
        let response = self.response();
        let created = self.event(CREATED, "response.created", response);
        match self.is_next {
            true => created + &self.begin(),
            false => created,
        }
    }

    /// Returns the events of the next thing of the answer.
    pub fn next(&mut self, next: Next) -> String {
        match next {
            Next::Begun => self.begin(),
            Next::Words(words) => self.words(&words),
            Next::Over(end) => self.end(end),
            // They come with the end.
            Next::Call(_, call) => {
                self.answer.calls.push(call);
                String::new()
            }
            Next::Remark(_) | Next::CaughtUp => String::new(),
        }
    }

    /// Returns the event of a problem that ends the stream, and not the response. Its number is
    /// that of the event before it: a client that comes again goes on there.
    pub fn problem(&self, problem: &Problem) -> String {
        let mut error = errors::error(problem)["error"].take();
        error["type"] = "error".into();
        error["sequence_number"] = self.last.unwrap_or(CREATED).into();
        format!("event: error\ndata: {error}\n\n")
    }

    /// True if the response is over.
    pub const fn is_over(&self) -> bool {
        self.answer.end.is_some()
    }

    fn begin(&mut self) -> String {
        if self.answer.has_begun {
            return String::new();
        }
        self.answer.has_begun = true;
        let response = self.response();
        self.event(IN_PROGRESS, "response.in_progress", response)
    }

    fn words(&mut self, words: &str) -> String {
        let mut text = self.begin();
        if !self.is_open {
            self.is_open = true;
            let item = self.head.message("in_progress", &json!([]));
            let item = json!({ "output_index": 0, "item": item });
            text += &self.event(ITEM, "response.output_item.added", item);
            let empty = self.place(json!({ "part": part("") }));
            text += &self.event(TEXT, "response.content_part.added", empty);
        }
        self.answer.text.push_str(words);
        let before = self.chars;
        self.chars += words.chars().count() as u64;
        let number = TEXT + self.chars;
        // A client that comes again has the beginning of the text.
        let has = self.last.map_or(0, |last| last.saturating_sub(TEXT));
        let known = usize::try_from(has.saturating_sub(before)).unwrap_or(usize::MAX);
        let rest: String = words.chars().skip(known).collect();
        let delta = self.place(json!({ "delta": rest, "logprobs": [] }));
        text += &self.event(number, "response.output_text.delta", delta);
        text
    }

    fn end(&mut self, end: End) -> String {
        self.answer.end = Some(end);
        let mut text = String::new();
        if self.is_open {
            let said = self.answer.text().to_owned();
            let done = self.place(json!({ "text": said, "logprobs": [] }));
            text += &self.event(BEHIND, "response.output_text.done", done);
            let done = self.place(json!({ "part": part(&said) }));
            text += &self.event(BEHIND + 1, "response.content_part.done", done);
            let content = json!([part(&said)]);
            let item = self.head.message(self.answer.item_status(), &content);
            let done = json!({ "output_index": 0, "item": item });
            text += &self.event(BEHIND + 2, "response.output_item.done", done);
        }
        let calls = self.answer.calls.clone();
        let mut number = CALLS;
        for (index, call) in (u64::from(self.is_open)..).zip(&calls) {
            text += &self.call(number, index, call);
            number += OF_CALL;
        }
        let name = match self.answer.status() {
            "completed" => "response.completed",
            "failed" => "response.failed",
            // There is no event of a cancelled one.
            _ => "response.incomplete",
        };
        let response = self.response();
        text + &self.event(END, name, response)
    }

    /// Returns the events of a call that the client is to run.
    fn call(&mut self, number: u64, index: u64, call: &Wanted) -> String {
        let item = |status: &str, arguments: &str| {
            let item = tools::item(call, status, arguments);
            json!({ "output_index": index, "item": item })
        };
        let begun = item("in_progress", "");
        let id = begun["item"]["id"].clone();
        let delta = json!({ "item_id": id, "output_index": index, "delta": call.arguments });
        let done = json!({
            "item_id": id, "output_index": index, "name": call.name, "arguments": call.arguments,
        });
        let ended = item("completed", &call.arguments);
        let events = [
            ("response.output_item.added", begun),
            ("response.function_call_arguments.delta", delta),
            ("response.function_call_arguments.done", done),
            ("response.output_item.done", ended),
        ];
        let numbered = (number..).zip(events);
        let lines = numbered.map(|(number, (name, event))| self.event(number, name, event));
        lines.collect()
    }

    fn response(&self) -> Value {
        json!({ "response": self.head.shown(&self.answer) })
    }

    /// Adds the place of the text to an event.
    fn place(&self, mut event: Value) -> Value {
        event["item_id"] = message_id(self.head.event.event_id).into();
        event["output_index"] = 0.into();
        event["content_index"] = 0.into();
        event
    }

    /// Returns an event as a line, unless the client has it.
    fn event(&mut self, number: u64, name: &str, members: Value) -> String {
        if self.last.is_some_and(|last| number <= last) {
            return String::new();
        }
        self.last = Some(number);
        let mut event = Map::new();
        event.insert("type".into(), name.into());
        event.insert("sequence_number".into(), number.into());
        if let Value::Object(members) = members {
            event.extend(members);
        }
        format!("event: {name}\ndata: {}\n\n", Value::Object(event))
    }
}
