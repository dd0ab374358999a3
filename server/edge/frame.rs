//! The frames of clients: their shapes, and how text becomes one. What the server says is in `outgoing.rs`.
//! Nothing is done about them here; `client.rs` does that.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::json;
use super::limits::Limits;
use super::problem::{Problem, Slug};
use crate::event::{InputKind, Payload};
use crate::id::Seq;

/// Longest `id` of a frame, in bytes.
const ID_MAX: usize = 255;

/// Something said to the mind, or perceived by it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Said {
    /// The thread it is for; `main` when absent. An unused id creates a conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "main")]
    pub thread: Option<String>,
    /// An idempotency key (a UUID): the id of the last (or only) event. The same again is acknowledged as `duplicate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = "uuid")]
    pub event_id: Option<String>,
    /// Words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Images, after the words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<Media>,
    /// Sounds, after the images.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub audio: Vec<Media>,
}

/// An image or a sound: either `data`, or `blob`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Media {
    /// The bytes in base64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// The media type; found out from the bytes when absent.
    #[serde(default, rename = "mimeType", skip_serializing_if = "Option::is_none")]
    #[schema(example = "image/png")]
    pub mime_type: Option<String>,
    /// The SHA-256 of a blob uploaded before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
}

/// A named trigger: something that happened outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Trigger {
    /// Its name: 1 to 32 of a-z, 0-9, _ and -.
    #[schema(example = "daily_review")]
    pub event: String,
    /// What is known about it. Its `text`, if any, is what the mind reads.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub payload: Payload,
    /// The thread it is for; `main` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "main")]
    pub thread: Option<String>,
    /// An idempotency key (a UUID): the id of its event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = "uuid")]
    pub event_id: Option<String>,
}

/// What to follow from now on; replaces what was followed before.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Subscribe {
    /// Only this thread; the whole space when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "main")]
    pub thread: Option<String>,
    /// With `thread`: and all below it.
    #[serde(default)]
    pub subtree: bool,
    /// Events with any of these tags, without regard to case; all but `debug` when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// First replay what has a greater `seq`; 0 is everything. Without it only what comes is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i64>, minimum = 0)]
    pub after: Option<Seq>,
    /// The epoch that `after` belongs to, from `hello`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(format = "uuid")]
    pub epoch: Option<String>,
}

/// Follow nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Unsubscribe {}

/// Let a waiting tool call run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// The approval's id.
    pub approval: String,
    /// Other arguments than proposed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub arguments: Option<Payload>,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Let a waiting tool call not run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Deny {
    /// The approval's id.
    pub approval: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The answer to a question of the mind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The question's id.
    pub question: String,
    /// The answer.
    pub text: String,
}

/// Cancel the turn that runs in a thread.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// The thread; `main` when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "main")]
    pub thread: Option<String>,
}

/// Ask for a `pong` with the cursor reached.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Ping {}

/// Credentials, as the first frame.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Authenticate {
    /// A key or token.
    pub token: String,
}

/// A frame of a client.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientFrame {
    /// `message` (also without a type) and `sensory`.
    Input(InputKind, Said),
    /// `trigger`
    Trigger(Trigger),
    /// `subscribe`
    Subscribe(Subscribe),
    /// `unsubscribe`
    Unsubscribe(Unsubscribe),
    /// `approve`
    Approve(Approve),
    /// `deny`
    Deny(Deny),
    /// `answer`
    Answer(Answer),
    /// `cancel`
    Cancel(Cancel),
    /// `ping`
    Ping(Ping),
    /// `auth`
    Auth(Authenticate),
}

/// A client's frame and its `id`. The `id` is known as soon as the text is an object, so that a refusal can carry it.
pub struct Framed {
    /// The `id`, to be echoed.
    pub id: Option<String>,
    /// The frame, or what is wrong with it.
    pub frame: Result<ClientFrame, Problem>,
}

/// Reads a frame.
pub fn read(text: &str, limits: &Limits) -> Framed {
    match json::parse(text, limits).and_then(json::object) {
        Ok(members) => from_members(members),
        Err(problem) => Framed { id: None, frame: Err(problem) },
    }
}

/// Reads a frame from its members (a request body is one too).
pub fn from_members(mut members: Map<String, Value>) -> Framed {
    match take_id(&mut members) {
        Ok(id) => Framed { id, frame: take_type(&mut members).and_then(|kind| of_type(&kind, members)) },
        Err(problem) => Framed { id: None, frame: Err(problem) },
    }
}

fn take_id(members: &mut Map<String, Value>) -> Result<Option<String>, Problem> {
    match members.remove("id") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(id)) if id.len() <= ID_MAX => Ok(Some(id)),
        Some(_) => Err(Problem::at(Slug::InvalidFrame, "/id", format!("id is a string of at most {ID_MAX} bytes"))),
    }
}

fn take_type(members: &mut Map<String, Value>) -> Result<String, Problem> {
    match members.remove("type") {
        None => Ok("message".into()),
        Some(Value::String(kind)) => Ok(kind),
        Some(_) => Err(Problem::at(Slug::InvalidFrame, "/type", "type is a string")),
    }
}

fn of_type(kind: &str, members: Map<String, Value>) -> Result<ClientFrame, Problem> {
    fn body<T: DeserializeOwned>(members: Map<String, Value>) -> Result<T, Problem> {
        json::decode(Value::Object(members))
    }
    Ok(match kind {
        "message" => ClientFrame::Input(InputKind::Message, body(members)?),
        "sensory" => ClientFrame::Input(InputKind::Sensory, body(members)?),
        "trigger" => ClientFrame::Trigger(body(members)?),
        "subscribe" => ClientFrame::Subscribe(body(members).map_err(cursor_problem)?),
        "unsubscribe" => ClientFrame::Unsubscribe(body(members)?),
        "approve" => ClientFrame::Approve(body(members)?),
        "deny" => ClientFrame::Deny(body(members)?),
        "answer" => ClientFrame::Answer(body(members)?),
        "cancel" => ClientFrame::Cancel(body(members)?),
        "ping" => ClientFrame::Ping(body(members)?),
        "auth" => ClientFrame::Auth(body(members)?),
        other => {
            let other: String = other.chars().take(40).collect();
            let detail = format!("{other:?} is no type of frame; see /asyncapi.yaml for those there are");
            return Err(Problem::at(Slug::UnknownType, "/type", detail));
        }
    })
}

/// A cursor that is none is a problem of its own.
fn cursor_problem(problem: Problem) -> Problem {
    match &problem.errors[..] {
        [error] if error.pointer == "/after" => {
            Problem::at(Slug::InvalidCursor, "/after", "after is a seq: 0 or greater")
        }
        _ => problem,
    }
}
