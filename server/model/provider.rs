//! The interface of language models: a request becomes a stream of pieces that ends in a whole
//! answer with its usage. Only the files of this folder speak to a provider. The answer of a model
//! is data: nothing here trusts it or acts on it.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::stream::BoxStream;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::habits::{Habit, Learned};
use super::waited::Waited;
use thinkd_words::defaults::{is_yes, yes};
use thinkd_words::failure::{Failure, FailureKind, Who};
use thinkd_words::id::{Space, ThreadId};
use thinkd_words::text::{Json, Text, sha256};

/// The speaker of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Fixed instructions.
    System,
    /// The log, and the question about it.
    User,
}

/// A piece of a message's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Words.
    Text(String),
    /// An image or a sound, by its media type (`image/…`, `audio/…`).
    Media {
        /// The media type.
        mime: String,
        /// The bytes.
        bytes: Bytes,
    },
}

/// One message of a prompt view.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The speaker.
    pub role: Role,
    /// The parts of the message; text alone in most cases.
    pub content: Vec<Content>,
}

/// A tool as the model is told of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Its name.
    pub name: String,
    /// Its purpose.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Json,
    /// The schema is strict, every property required and no extras, so that models can be held to it.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub is_strict: bool,
}

/// Tools as a model is told of them, and as the record of a call keeps them.
#[derive(Debug, Clone)]
pub struct ToolSpecs {
    /// The tools.
    pub list: Arc<[ToolSpec]>,
    /// The list as JSON.
    pub text: Text,
}

impl ToolSpecs {
    /// These tools, in this order.
    pub fn new(list: Vec<ToolSpec>) -> Self {
        let text = Text::new(Json::of(&list).as_str());
        Self {
            list: list.into(),
            text,
        }
    }
}

/// The tools that the model may or must call.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ToolChoice {
    /// As it sees fit.
    #[default]
    Auto,
    /// One of these.
    Only(Vec<String>),
}

/// The manner in which the schemas of tools are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Schemas {
    /// In the form that all providers take (`schema_form.rs`).
    #[default]
    Formed,
    /// As the tools have them: records of calls from before that form are made again so.
    AsTold,
}

/// The worth of thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Tier {
    /// The ordinary model.
    #[default]
    Low,
    /// The better, dearer one.
    High,
}

/// A prompt view and the tools for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The space: spaces share the calls at a time.
    pub space: Space,
    /// The thread it is asked for (header `x-thinkd-thread`).
    pub thread: ThreadId,
    /// The asker (header `x-thinkd-module`); may have a model of its own.
    pub module: Who,
    /// The tier.
    pub tier: Tier,
    /// The messages for the model: the stable ones first.
    pub messages: Vec<Message>,
    /// The tools that it may call.
    pub tools: Arc<[ToolSpec]>,
    /// The tools of which it must call one, if there are any.
    pub choice: ToolChoice,
    /// The manner in which their schemas are sent.
    pub schemas: Schemas,
}

/// A request made ready for one provider: the exact bytes to be sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Prepared {
    /// The space: spaces share the calls at a time.
    pub space: Space,
    /// The thread it is asked for.
    pub thread: ThreadId,
    /// The asker.
    pub module: Who,
    /// The tier it is asked at.
    pub tier: Tier,
    /// The model's name at the provider.
    pub model: String,
    /// Parameters besides messages and tools (`stream`, `temperature`, …).
    pub parameters: Value,
    /// The request body.
    pub body: Json,
    /// The time that it has waited to be sent.
    pub waited: Waited,
    /// The time when the asker goes on without an answer: no pause is begun that ends later.
    pub until: Option<Instant>,
}

impl Prepared {
    /// The hash of the request body.
    pub fn sha256(&self) -> String {
        sha256(self.body.as_str().as_bytes())
    }
}

/// A tool call as the model wrote it. `arguments` may be anything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolCall {
    /// The provider's id for it; may be empty or repeated.
    pub id: String,
    /// The name of the tool, as written.
    pub name: String,
    /// The arguments: JSON if all is well.
    pub arguments: String,
}

impl ToolCall {
    /// A call without an id: ids are ours.
    pub fn new(name: String, arguments: &Value) -> Self {
        Self {
            id: String::new(),
            name,
            arguments: arguments.to_string(),
        }
    }
}

impl From<thinking_language::Call> for ToolCall {
    /// A call that a text means.
    fn from(call: thinking_language::Call) -> Self {
        Self {
            id: String::new(),
            name: call.name,
            arguments: call.arguments,
        }
    }
}

/// The cost of a call, as far as the provider said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usage {
    /// Tokens of the prompt.
    pub input_tokens: u64,
    /// Tokens of the answer.
    pub output_tokens: u64,
    /// Tokens of the prompt that came from the provider's cache.
    pub cached_tokens: u64,
}

impl Usage {
    /// In and out.
    pub fn tokens(&self) -> u64 {
        self.input_tokens + self.output_tokens
    }

    /// The larger of each count: some providers send counts again, without those of before.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            input_tokens: self.input_tokens.max(other.input_tokens),
            output_tokens: self.output_tokens.max(other.output_tokens),
            cached_tokens: self.cached_tokens.max(other.cached_tokens),
        }
    }
}

/// A whole answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// Its words, possibly none.
    pub text: String,
    /// Its tool calls, in order.
    pub calls: Vec<ToolCall>,
    /// Its cost.
    pub usage: Usage,
    /// The provider's word for why it ended.
    pub finish: String,
    /// A limit of tokens cut it: its words end in the middle.
    pub is_cut: bool,
    /// Habits of the model by which the request was sent otherwise than prepared.
    pub adjusted: Vec<Habit>,
}

impl Answer {
    /// The words, if they are whole. Fails where a limit of tokens cut them: their end is unknown.
    pub fn whole_words(&self) -> Result<&str, Failure> {
        if self.is_cut {
            let text = "the model's answer was cut off at its limit of tokens; raise max_tokens or leave it out";
            let failure = Failure::new(FailureKind::Model, text);
            return Err(failure.with(json!({ "reason": "cut_off", "key": "max_tokens" })));
        }
        Ok(&self.text)
    }
}

/// A piece of an answer as it comes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// More words.
    Text(String),
    /// More of the tool call at `index`: its name once, then its arguments bit by bit.
    Call {
        /// The index of the call in the answer.
        index: usize,
        /// Its name, when it becomes known.
        name: Option<String>,
        /// More of its arguments.
        arguments: String,
    },
    /// The whole answer: always the last piece, and there always is one unless the stream ends in a failure.
    End(Answer),
}

/// A model that can be asked, and the habits that were learned of it.
#[derive(Debug, Clone)]
pub struct AskedModel {
    /// Its askers: `low`, `high`, or a module with a model of its own.
    pub of: Vec<String>,
    /// The model and its endpoint, without secrets.
    pub name: String,
    /// Its habits.
    pub learned: Vec<Learned>,
}

/// The pieces of one answer. Dropping it closes the connection to the provider.
pub type Pieces = BoxStream<'static, Result<Piece, Failure>>;

/// A language model.
pub trait Model: Send + Sync + 'static {
    /// Returns the request as it would be sent. Deterministic: the same request gives the same
    /// bytes.
    fn prepare(&self, request: &Request) -> Prepared;

    /// Sends it. Failures (kind `model` or `timeout`) come as the last item.
    fn ask(&self, prepared: Prepared) -> Pieces;

    /// One line for people: which model at which endpoint.
    fn name(&self) -> String;

    /// The same of the one model that answers a module at a tier.
    fn asked(&self, _module: &Who, _tier: Tier) -> String {
        self.name()
    }

    /// Returns the models behind it, with the habits that were learned of each.
    fn known(&self) -> Vec<AskedModel> {
        Vec::new()
    }
}
