//! The frames of clients: their shapes, and how text becomes one; a message posted over HTTP is one, too.
//! The server's frames are in `websocket/outgoing.rs`; `websocket/client.rs` acts on these.

use serde::Deserialize;
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::ids;
use super::json::{self, Body};
use super::limits::Limits;
use super::problem::{Pointed, Problem, Slug, Wrongs};
use thinkd_event::draft::InputKind;
use thinkd_event::envelope::Payload;
use thinkd_session::handle::Session;
use thinkd_session::right::Right;
use thinkd_thread::settings::Policy;
use thinkd_words::id::{INTEGER_MAX, Name, Seq, ThreadId};

/// The socket's protocol, as a subprotocol and in `hello`.
pub const PROTOCOL: &str = "thinkd.v1";

/// Longest `id` of a frame, in bytes.
const ID_MAX: usize = 255;

/// Something said to the mind, or perceived by it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Said {
    /// The thread it is for; `main` when absent. An unused id creates a conversation.
    #[schema(example = "main")]
    pub thread: Option<String>,
    /// An idempotency key (a UUID): the id of the last (or only) event. The same again is acknowledged as `duplicate`.
    #[schema(format = "uuid")]
    pub event_id: Option<String>,
    /// Words.
    pub text: Option<String>,
    /// Images, after the words.
    #[serde(default)]
    pub images: Vec<Media>,
    /// Sounds, after the images.
    #[serde(default)]
    pub audio: Vec<Media>,
    /// Its effect while a turn runs, in place of the thread's policy: `enqueue` waits for the next
    /// turn, `steer` joins this one before its next call of the decision, `interrupt` starts over
    /// with it, `reject` refuses it.
    pub policy: Option<Policy>,
}

/// An image or a sound: either `data`, or `blob`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Media {
    /// The bytes in base64.
    pub data: Option<String>,
    /// The media type; found out from the bytes when absent.
    #[serde(rename = "mimeType")]
    #[schema(example = "image/png")]
    pub mime_type: Option<String>,
    /// The SHA-256 of a blob uploaded before.
    pub blob: Option<String>,
}

/// A named trigger: something that happened outside.
#[derive(Debug, Clone, PartialEq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Trigger {
    /// Its name: 1 to 32 of a-z, 0-9, _ and -.
    #[schema(example = "daily_review")]
    pub event: String,
    /// The payload: the facts known about it. Its `text`, if any, is the text that the mind reads.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub payload: Payload,
    /// The thread it is for; `main` when absent.
    #[schema(example = "main")]
    pub thread: Option<String>,
    /// An idempotency key (a UUID): the id of its event.
    #[schema(format = "uuid")]
    pub event_id: Option<String>,
}

/// The events to follow from now on, in place of those that were followed before.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Subscribe {
    /// Only this thread; the whole space when absent.
    #[schema(example = "main")]
    pub thread: Option<String>,
    /// With `thread`: and all below it.
    #[serde(default)]
    pub subtree: bool,
    /// Events with any of these tags, without regard to case; all but `debug` when empty.
    #[serde(default)]
    pub tags: Vec<String>,
    /// `debug` events, too, beside the others, and `work` hints.
    #[serde(default)]
    pub debug: bool,
    /// First replay the events with a greater `seq`; 0 is everything. Without it only events to
    /// come are shown.
    #[schema(value_type = Option<i64>, minimum = 0)]
    pub after: Option<Seq>,
    /// The epoch that `after` belongs to, from `hello`.
    #[schema(format = "uuid")]
    pub epoch: Option<String>,
}

/// Follow nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Unsubscribe {}

/// Let a waiting tool call run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Approve {
    /// The approval's id.
    pub approval: String,
    /// Other arguments than proposed.
    #[schema(value_type = Option<Object>)]
    pub arguments: Option<Payload>,
    /// Why.
    pub reason: Option<String>,
}

/// Let a waiting tool call not run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Deny {
    /// The approval's id.
    pub approval: String,
    /// Why.
    pub reason: Option<String>,
}

/// The result of a waiting tool call, which does not run.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Respond {
    /// The approval's id.
    pub approval: String,
    /// The result.
    pub text: String,
}

/// The answer to a question of the mind.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The question's id.
    pub question: String,
    /// The answer; of a question with a schema, JSON as text.
    pub text: String,
}

/// Make a thread with the past of another, up to the end of a turn.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForkThread {
    /// The thread to fork; `main` when absent.
    #[schema(example = "main")]
    pub of: Option<String>,
    /// The event up to which its past comes along: the end of a turn, or else the last end before
    /// it. When absent, the last end of all, or that before the turn about `instead_of`.
    #[schema(value_type = Option<i64>, minimum = 0)]
    pub at: Option<Seq>,
    /// The id of the fork; drawn by the server when absent.
    #[schema(example = "main-again")]
    pub thread: Option<String>,
    /// The id of an input that `message` takes the place of: the past is without it. Of one with
    /// several parts, that of the last. Not together with `at`.
    #[schema(format = "uuid")]
    pub instead_of: Option<String>,
    /// The first message of the fork; without it the fork waits for one.
    pub message: Option<Said>,
}

/// Cancel the turn that runs in a thread.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Cancel {
    /// The thread; `main` when absent.
    #[schema(example = "main")]
    pub thread: Option<String>,
    /// And the turns of all threads below it.
    #[serde(default)]
    pub subtree: bool,
}

/// Ask for a `pong` with the cursor reached.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Ping {}

/// Credentials, as the first frame.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
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
    /// `respond`
    Respond(Respond),
    /// `answer`
    Answer(Answer),
    /// `fork`
    Fork(ForkThread),
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
    /// The frame, or the problem with it.
    pub frame: Result<ClientFrame, Problem>,
}

/// Reads a frame of a client; none: of one that has still to show a credential.
pub fn read(text: &str, limits: &Limits, client: Option<&Session>) -> Framed {
    let mut wrongs = Wrongs::default();
    match json::members(text, limits, &mut wrongs) {
        Ok(members) => from_members(members, wrongs, client),
        Err(problem) => Framed {
            id: None,
            frame: Err(problem),
        },
    }
}

/// Returns the frame of these members (a request body is one too); `wrongs` has the errors in their
/// text. As soon as the type is known the client's right is checked: nothing else is judged for a
/// client without it.
pub fn from_members(
    mut members: Map<String, Value>,
    mut wrongs: Wrongs,
    client: Option<&Session>,
) -> Framed {
    let id = take_id(&mut members, &mut wrongs);
    let kind = take_type(&mut members, &mut wrongs);
    let right = kind.as_deref().and_then(right);
    if let Some((client, right)) = client.zip(right)
        && let Err(denied) = client.require(right)
    {
        let frame = Err(denied.into());
        return Framed { id, frame };
    }
    let frame = kind.and_then(|kind| of_type(&kind, members, &mut wrongs));
    Framed {
        id,
        frame: wrongs.or(frame),
    }
}

/// The right that a type of frame needs; none: to have come in, or not even that.
fn right(kind: &str) -> Option<Right> {
    match kind {
        "message" | "sensory" | "trigger" | "answer" | "fork" | "cancel" => Some(Right::Speak),
        "approve" | "deny" | "respond" => Some(Right::Judge),
        "subscribe" => Some(Right::Read),
        _ => None,
    }
}

fn take_id(members: &mut Map<String, Value>, wrongs: &mut Wrongs) -> Option<String> {
    match members.remove("id") {
        None | Some(Value::Null) => None,
        Some(Value::String(id)) if id.len() <= ID_MAX => Some(id),
        Some(_) => {
            let detail = format!("id is a text of at most {ID_MAX} bytes");
            wrongs.add(Slug::InvalidFrame, "/id", detail);
            None
        }
    }
}

fn take_type(members: &mut Map<String, Value>, wrongs: &mut Wrongs) -> Option<String> {
    match members.remove("type") {
        None => Some("message".into()),
        Some(Value::String(kind)) => Some(kind),
        Some(_) => {
            wrongs.add(Slug::InvalidFrame, "/type", "type is a text");
            None
        }
    }
}

fn of_type(kind: &str, members: Map<String, Value>, wrongs: &mut Wrongs) -> Option<ClientFrame> {
    Some(match kind {
        "message" => ClientFrame::Input(InputKind::Message, json::body(members, wrongs)?),
        "sensory" => ClientFrame::Input(InputKind::Sensory, json::body(members, wrongs)?),
        "trigger" => ClientFrame::Trigger(json::body(members, wrongs)?),
        "subscribe" => {
            let subscribe = json::body(members, wrongs);
            *wrongs = std::mem::take(wrongs).reworded(cursor);
            ClientFrame::Subscribe(subscribe?)
        }
        "unsubscribe" => ClientFrame::Unsubscribe(json::body(members, wrongs)?),
        "approve" => ClientFrame::Approve(json::body(members, wrongs)?),
        "deny" => ClientFrame::Deny(json::body(members, wrongs)?),
        "respond" => ClientFrame::Respond(json::body(members, wrongs)?),
        "answer" => ClientFrame::Answer(json::body(members, wrongs)?),
        "fork" => ClientFrame::Fork(json::body(members, wrongs)?),
        "cancel" => ClientFrame::Cancel(json::body(members, wrongs)?),
        "ping" => ClientFrame::Ping(json::body(members, wrongs)?),
        "auth" => ClientFrame::Auth(json::body(members, wrongs)?),
        other => {
            let other: String = other.chars().take(40).collect();
            let detail =
                format!("{other:?} is no type of frame; see /asyncapi.yaml for those there are");
            wrongs.add(Slug::UnknownType, "/type", detail);
            return None;
        }
    })
}

/// A cursor that is none is a problem of its own.
fn cursor(slug: Slug, wrong: Pointed) -> (Slug, Pointed) {
    if wrong.pointer != "/after" {
        return (slug, wrong);
    }
    let detail = ids::CURSOR.to_owned();
    (Slug::InvalidCursor, Pointed { detail, ..wrong })
}

impl Body for ForkThread {
    fn check(&self, wrongs: &mut Wrongs) {
        for (pointer, id) in [("/of", &self.of), ("/thread", &self.thread)] {
            if let Some(id) = id {
                wrongs.note(pointer, ThreadId::parse(id));
            }
        }
        if self.at.is_some_and(|at| !(0..=INTEGER_MAX).contains(&at)) {
            let detail = "at is a seq: a whole number from 0 to 9007199254740991";
            wrongs.add(Slug::InvalidFrame, "/at", detail);
        }
        let input = self.instead_of.as_deref();
        if let Some(Err(wrong)) = input.map(|it| ids::uuid(it, "/instead_of")) {
            wrongs.absorb(wrong);
        }
        if self.at.is_some() && self.instead_of.is_some() {
            let detail = "give either at or instead_of, which says its own place";
            wrongs.add(Slug::InvalidFrame, "/at", detail);
        }
        let Some(message) = &self.message else { return };
        let mut own = Wrongs::default();
        message.check(&mut own);
        if message.thread.is_some() {
            let detail = "the first message is the fork's, whose id is `thread` beside `message`";
            own.add(Slug::InvalidFrame, "/thread", detail);
        }
        if message.policy.is_some() {
            let detail = "the first message of a fork meets no running turn: leave policy out";
            own.add(Slug::InvalidFrame, "/policy", detail);
        }
        let mut own = own.reworded(|slug, wrong| {
            let pointer = format!("/message{}", wrong.pointer);
            (slug, Pointed { pointer, ..wrong })
        });
        if let Some(problem) = own.take() {
            wrongs.absorb(problem);
        }
    }
}

impl Body for Said {
    fn check(&self, wrongs: &mut Wrongs) {
        ids::check_place(self.thread.as_deref(), self.event_id.as_deref(), wrongs);
        if self.images.is_empty() && self.audio.is_empty() {
            let text = self.text.as_deref().unwrap_or_default();
            let detail = "at least one of text, images and audio is needed";
            wrongs.unsaid("", text, detail);
        }
        for (member, items) in [("images", &self.images), ("audio", &self.audio)] {
            for (index, item) in items.iter().enumerate() {
                if item.data.is_some() == item.blob.is_some() {
                    let pointer = format!("/{member}/{index}");
                    wrongs.add(Slug::InvalidFrame, pointer, "give either data or blob");
                }
            }
        }
    }
}

impl Body for Trigger {
    fn check(&self, wrongs: &mut Wrongs) {
        ids::check_place(self.thread.as_deref(), self.event_id.as_deref(), wrongs);
        wrongs.note("/event", Name::parse(&self.event));
        check_text(&self.payload, wrongs);
    }
}

/// Adds an error if the `text` of a trigger's payload is no text.
pub(super) fn check_text(payload: &Payload, wrongs: &mut Wrongs) {
    if payload.get("text").is_some_and(|text| !text.is_string()) {
        wrongs.add(Slug::InvalidFrame, "/payload/text", "text is a text");
    }
}

impl Body for Subscribe {
    fn check(&self, wrongs: &mut Wrongs) {
        ids::check_place(self.thread.as_deref(), None, wrongs);
        if let Some(Err(wrong)) = self.epoch.as_deref().map(|text| ids::uuid(text, "/epoch")) {
            wrongs.absorb(wrong);
        }
        if self.after.is_some_and(|after| after < 0) {
            wrongs.add(Slug::InvalidCursor, "/after", ids::CURSOR);
        }
    }
}

impl Body for Cancel {
    fn check(&self, wrongs: &mut Wrongs) {
        ids::check_place(self.thread.as_deref(), None, wrongs);
    }
}

impl Body for Respond {
    fn check(&self, wrongs: &mut Wrongs) {
        wrongs.unsaid("/text", &self.text, "say something");
    }
}

impl Body for Answer {
    fn check(&self, wrongs: &mut Wrongs) {
        wrongs.unsaid("/text", &self.text, "say something");
    }
}

impl Body for Unsubscribe {}
impl Body for Approve {}
impl Body for Deny {}
impl Body for Ping {}
impl Body for Authenticate {}
