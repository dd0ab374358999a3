//! The form of an answer in this protocol: as a whole, and in pieces.

use serde_json::{Value, json};
use uuid::Uuid;

use super::place::Place;
use super::reply::{Used, Wanted};
use super::request::Chat;
use thinkd_words::time;

/// The end of a stream.
pub const DONE: &str = "data: [DONE]\n\n";

/// The members that all pieces of an answer have.
pub struct Head {
    /// The id of the message that is answered.
    pub id: Uuid,
    /// When the answer began, in seconds.
    pub created: i64,
    /// The model, as the client names it.
    pub model: String,
}

/// An answer as a whole.
#[derive(Default)]
pub struct Whole {
    /// The words.
    pub content: String,
    /// The comments of submodules, where they are shown.
    pub remarks: Option<String>,
    /// The calls that the client is to run.
    pub calls: Vec<Wanted>,
}

impl Head {
    /// Of the answer to a message.
    pub fn new(chat: &Chat, place: &Place) -> Self {
        Self {
            id: place.event_id,
            created: time::now().seconds(),
            model: chat.request.model.clone(),
        }
    }

    fn id(&self) -> String {
        format!("chatcmpl-{}", self.id.simple())
    }

    /// Returns an answer as a whole, and the reason for which it ended.
    pub fn whole(&self, answer: Whole, (used, finish): (Used, &str)) -> Value {
        let Whole {
            content,
            remarks,
            calls,
        } = answer;
        let is_silent = content.is_empty() && !calls.is_empty();
        let content = (!is_silent).then_some(content);
        let mut message = json!({ "role": "assistant", "content": content, "refusal": null });
        if let Some(remarks) = remarks {
            message["reasoning_content"] = remarks.into();
        }
        if !calls.is_empty() {
            message["tool_calls"] = calls
                .iter()
                .map(|call| call.shown(&call.arguments))
                .collect();
        }
        let choice =
            json!({ "index": 0, "message": message, "logprobs": null, "finish_reason": finish });
        json!({
            "id": self.id(), "object": "chat.completion", "created": self.created, "model": self.model,
            "choices": [choice], "usage": used.shown(),
        })
    }

    /// Returns a piece of an answer.
    pub fn piece(&self, delta: Value, finish: Option<&str>) -> String {
        let choice =
            json!({ "index": 0, "delta": delta, "logprobs": null, "finish_reason": finish });
        self.line(json!([choice]), None)
    }

    /// Returns the pieces of a call that the client is to run: its name, then its arguments.
    pub fn call(&self, index: usize, call: &Wanted) -> String {
        let mut named = call.shown("");
        named["index"] = index.into();
        let more = json!({ "index": index, "function": { "arguments": call.arguments } });
        let piece = |call: Value| self.piece(json!({ "tool_calls": [call] }), None);
        format!("{}{}", piece(named), piece(more))
    }

    /// Returns a line of a stream.
    pub fn line(&self, choices: Value, usage: Option<Value>) -> String {
        let mut chunk = json!({
            "id": self.id(), "object": "chat.completion.chunk", "created": self.created, "model": self.model,
            "choices": choices,
        });
        if let Some(usage) = usage {
            chunk["usage"] = usage;
        }
        format!("data: {chunk}\n\n")
    }
}
