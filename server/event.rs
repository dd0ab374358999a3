//! The event: what happened, in the one envelope that everything inside thinkd speaks.
//! Every kind of event is made by a constructor here, so that its tags and payload are decided in one place.
//! Position and time are not: the store stamps `seq`, `ts` and, where none was given, the id.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::failure::{Failure, Who};
use crate::id::{Name, Seq, ThreadId};
use crate::time::Timestamp;

mod gather;
mod intent;
mod process;
mod run;

pub use gather::{Back, Gather, Part as GatherPart};
pub use intent::{Intent, Operation};
pub use process::{Ending, ErrorCode, Feedback, GATHER, WAIT, Waiting, Waking, Watch};
pub use run::{Held, RunKey, RunOutcome};

/// Where an event comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// A person or program outside.
    User,
    /// A tool's result.
    Tool,
    /// The core, speaking to threads and readers.
    System,
    /// A voice or the decision.
    Internal,
}

/// What an event carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Modality {
    /// `payload.text` is the content.
    Text,
    /// `payload.blob` is an image.
    Image,
    /// `payload.blob` is a sound.
    Audio,
    /// A change of something derived from the log; never shown to a model.
    State,
}

macro_rules! word {
    ($type:ident { $($variant:ident = $word:literal),* $(,)? }) => {
        impl $type {
            /// The word on the wire and in the store.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),* }
            }
            /// The value of a wire word.
            pub fn parse(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$variant),)* _ => None }
            }
        }
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    };
}
word!(Source { User = "user", Tool = "tool", System = "system", Internal = "internal" });
word!(Modality { Text = "text", Image = "image", Audio = "audio", State = "state" });

/// An event's content: an object, with `text` in nearly every case.
pub type Payload = Map<String, Value>;

/// What is said about an event besides its content. Closed: no causal ids, ever.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Meta {
    /// What kind of event this is, for readers and filters.
    pub tags: Vec<String>,
}

/// An event as stored: the Event Format's six fields and its address in the log. Immutable.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Its identity (a UUID).
    pub event_id: Uuid,
    /// When it was stored; never decreasing along `seq`; information, not order.
    #[schema(value_type = String, example = "2026-11-21T04:25:00.123456Z")]
    pub ts: Timestamp,
    /// Where it comes from.
    pub source: Source,
    /// What it carries.
    pub modality: Modality,
    /// Its content.
    #[schema(value_type = Object)]
    pub payload: Payload,
    /// Its tags.
    pub meta: Meta,
    /// The thread it belongs to.
    #[schema(value_type = String, example = "main")]
    pub thread: ThreadId,
    /// Its position in the space's log.
    #[schema(value_type = i64)]
    pub seq: Seq,
}

impl Event {
    /// Whether the event has the tag (exactly).
    pub fn has(&self, tag: &str) -> bool {
        self.meta.tags.iter().any(|t| t == tag)
    }

    /// What follows `prefix` in the first tag that starts with it: `tag_value("tool:")` of `tool:reply` is `reply`.
    pub fn tag_value(&self, prefix: &str) -> Option<&str> {
        self.meta.tags.iter().find_map(|t| t.strip_prefix(prefix))
    }

    /// `payload.text`, or nothing.
    pub fn text(&self) -> &str {
        self.payload.get("text").and_then(Value::as_str).unwrap_or_default()
    }

    /// The number of the turn that produced it.
    pub fn turn(&self) -> Option<u64> {
        self.payload.get("turn").and_then(Value::as_u64)
    }

    /// Whether a model may see it: neither `debug` nor of modality `state`.
    pub fn is_visible(&self) -> bool {
        self.visibility() >= Visibility::Voice
    }

    /// Who may see it.
    pub fn visibility(&self) -> Visibility {
        visibility(self.modality, &self.meta.tags)
    }

    /// Whether it starts a turn of its thread.
    pub fn wakes(&self) -> bool {
        wakes(self.modality, &self.meta.tags)
    }

    /// The tokens that a model call used, in and out, as its record says.
    pub fn tokens(&self) -> u64 {
        let usage = |key| self.payload.get("usage").and_then(|usage| usage.get(key)).and_then(Value::as_u64);
        usage("input_tokens").unwrap_or(0) + usage("output_tokens").unwrap_or(0)
    }

    /// Whether it asks for the end of the turn of this number.
    pub fn cancels(&self, turn: u64) -> bool {
        self.has(tag::CANCEL) && self.turn() == Some(turn)
    }

    /// Whether it ends its thread from outside.
    pub fn ends_thread(&self) -> bool {
        let change = self.payload.get("change").filter(|_| self.has("set:thread"));
        change.is_some_and(|change| change["status"].is_string())
    }

    /// Whether the thread woke itself, or only what it tried did: a thought, a message to itself, the end of a wait that is of no use.
    pub fn is_from_itself(&self) -> bool {
        let from = || self.payload.get("from").and_then(Value::as_str);
        let own = self.has(tag::MESSAGE) && from() == Some(self.thread.as_str());
        own || self.has(tag::THOUGHT) || (self.has(tag::OVERRULES) && !self.has(tag::TIMER))
    }

    /// Whether it came from outside the mind: a client's input, a trigger, an answer, the clock.
    pub fn is_from_outside(&self) -> bool {
        self.has(tag::INPUT) || self.has(tag::ANSWER) || self.has(tag::TIMER)
    }
}

/// The tags that code asks for. Readers' tags with a value are `submodule:<name>`, `tool:<name>`, `turn:<n>`,
/// `type:<kind>`, `trigger:<name>`, `set:<kind>`, `call:<module>`.
pub mod tag {
    #![expect(missing_docs, reason = "each constant is its own word; the contract's event table says what it marks")]
    pub const INPUT: &str = "input";
    pub const PART: &str = "part";
    pub const TURN: &str = "turn";
    pub const STARTED: &str = "started";
    pub const ENDED: &str = "ended";
    pub const LATE: &str = "late";
    pub const FOLLOW_UP: &str = "follow-up";
    pub const DECISION: &str = "decision";
    pub const THOUGHT: &str = "thought";
    pub const NO_ACTION: &str = "no-action";
    pub const QUESTION: &str = "question";
    pub const ANSWER: &str = "answer";
    pub const ACTION: &str = "action";
    pub const RESULT: &str = "result";
    pub const RESPONSE: &str = "response";
    pub const PARTIAL: &str = "partial";
    pub const FAILURE: &str = "failure";
    pub const DEBUG: &str = "debug";
    pub const STATE: &str = "state";
    pub const CLIENT: &str = "client";
    pub const MESSAGE: &str = "message";
    pub const RUN: &str = "run";
    pub const NODE: &str = "node";
    pub const FINISHED: &str = "finished";
    pub const FAILED: &str = "failed";
    pub const RESUMED: &str = "resumed";
    pub const CANCEL: &str = "cancel";
    pub const THREAD: &str = "thread";
    pub const THREAD_ENDED: &str = "thread-ended";
    pub const TIMER: &str = "timer";
    pub const OVERRULES: &str = "overrules";
    pub const UNREADABLE: &str = "unreadable";
}

/// Who may see an event, from nobody who does not ask to everybody. The numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i16)]
pub enum Visibility {
    /// Tagged `debug`: only readers who ask for it.
    Debug = 0,
    /// Of modality `state`: readers.
    State = 1,
    /// What a submodule said, did or failed at: readers and the decision, but no submodule, so that voices stay independent.
    Voice = 2,
    /// All else: readers, the decision and the submodules.
    Heard = 3,
}

fn visibility(modality: Modality, tags: &[String]) -> Visibility {
    let has = |tag: &str| tags.iter().any(|t| t == tag);
    if has(tag::DEBUG) {
        Visibility::Debug
    } else if modality == Modality::State {
        Visibility::State
    } else if !has(tag::DECISION) && tags.iter().any(|t| t.starts_with("submodule:")) {
        Visibility::Voice
    } else {
        Visibility::Heard
    }
}

fn wakes(modality: Modality, tags: &[String]) -> bool {
    let has = |tag: &str| tags.iter().any(|t| t == tag);
    modality != Modality::State && !has(tag::DEBUG) && !has(tag::PART) && WAKING.iter().any(|waking| has(waking))
}

/// Any of these starts a turn.
const WAKING: [&str; 6] = [tag::INPUT, tag::THOUGHT, tag::MESSAGE, tag::THREAD_ENDED, tag::TIMER, tag::OVERRULES];

/// An event to be: everything but what the store stamps.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// Its id, when somebody had to know it before (a client's idempotency key, a streamed reply).
    pub event_id: Option<Uuid>,
    /// The thread it belongs to.
    pub thread: ThreadId,
    /// Where it comes from.
    pub source: Source,
    /// What it carries.
    pub modality: Modality,
    /// Its content.
    pub payload: Payload,
    /// Its tags.
    pub tags: Vec<String>,
}

/// What kind of input a client sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InputKind {
    /// Something said to the mind.
    Message,
    /// Something perceived.
    Sensory,
}

/// One part of an input.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Words.
    Text(String),
    /// Media that is already stored as a blob.
    Media {
        /// Image or audio.
        modality: Modality,
        /// SHA-256 of the bytes, 64 hex digits.
        blob: String,
        /// The media type.
        mime: String,
        /// Size in bytes.
        bytes: u64,
    },
}

/// When a submodule said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Before the turn's deadline.
    InTime,
    /// After it.
    Late,
    /// In answer to the broadcast decision.
    FollowUp,
}

impl When {
    fn tags(self) -> Option<&'static str> {
        match self {
            Self::InTime => None,
            Self::Late => Some(tag::LATE),
            Self::FollowUp => Some(tag::FOLLOW_UP),
        }
    }
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnOutcome {
    /// Through all its steps.
    Done,
    /// Somebody cancelled it.
    Cancelled,
    /// A newer input replaced it; the next turn has both.
    Interrupted,
    /// It could not go on; a failure event says why.
    Failed,
}
word!(TurnOutcome { Done = "done", Cancelled = "cancelled", Interrupted = "interrupted", Failed = "failed" });

fn replace_nul(value: &mut Value) {
    match value {
        Value::String(text) if text.contains('\0') => *text = text.replace('\0', "\u{fffd}"),
        Value::Array(items) => items.iter_mut().for_each(replace_nul),
        Value::Object(map) => {
            if map.keys().any(|key| key.contains('\0')) {
                *map = std::mem::take(map).into_iter().map(|(k, v)| (k.replace('\0', "\u{fffd}"), v)).collect();
            }
            map.values_mut().for_each(replace_nul);
        }
        _ => {}
    }
}

/// How deep a value in a payload may be nested: what is stored must be readable, and readers of JSON have limits.
pub const DEPTH_MAX: usize = 64;

/// Whether a value is nested at most so deep.
pub fn is_within_depth(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(items) => depth > 0 && items.iter().all(|item| is_within_depth(item, depth - 1)),
        Value::Object(members) => depth > 0 && members.values().all(|member| is_within_depth(member, depth - 1)),
        _ => true,
    }
}

fn object(value: Value) -> Payload {
    match value {
        Value::Object(map) => map,
        other => Map::from_iter([("value".to_owned(), other)]),
    }
}

fn tags<const N: usize>(tags: [&str; N]) -> Vec<String> {
    tags.iter().map(|t| (*t).to_owned()).collect()
}

impl Draft {
    fn new(thread: &ThreadId, source: Source, modality: Modality, tags: Vec<String>, payload: Value) -> Self {
        Self { event_id: None, thread: thread.clone(), source, modality, payload: object(payload), tags }
    }

    /// The same, with this id.
    #[must_use]
    pub fn with_id(mut self, id: Uuid) -> Self {
        self.event_id = Some(id);
        self
    }

    fn tagged(mut self, more: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tags.extend(more.into_iter().map(Into::into));
        self
    }

    fn payload(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.payload.insert(key.to_owned(), value.into());
        self
    }

    /// The same, made by the tool call `call_id` (which leaves no action and no result beside it).
    #[must_use]
    pub fn of_call(self, call_id: &str) -> Self {
        self.payload("call_id", call_id)
    }

    /// The event this would be, without its place in the log: for asking what would follow from it.
    pub fn preview(&self) -> Event {
        Event {
            event_id: self.event_id.unwrap_or_default(),
            ts: Timestamp::from_micros(0),
            source: self.source,
            modality: self.modality,
            payload: self.payload.clone(),
            meta: Meta { tags: self.tags.clone() },
            thread: self.thread.clone(),
            seq: 0,
        }
    }

    /// The same without NUL characters, which not every database can hold; a model or tool may have written some.
    #[must_use]
    pub fn without_nul(mut self) -> Self {
        self.payload.values_mut().for_each(replace_nul);
        self
    }

    /// Whether it has the tag (exactly).
    pub fn has(&self, tag: &str) -> bool {
        self.tags.iter().any(|t| t == tag)
    }

    /// The same, marked as what a model wrote and could not be read.
    #[must_use]
    pub fn unreadable(self) -> Self {
        self.tagged([tag::UNREADABLE])
    }

    /// Whether it starts a turn of its thread.
    pub fn wakes(&self) -> bool {
        wakes(self.modality, &self.tags)
    }

    /// A client's input as events: one a part, in order; the last one carries the given id and wakes the thread,
    /// earlier ones are tagged `part` and have ids derived from it, so that a retry is recognised as a whole.
    pub fn input(thread: &ThreadId, kind: InputKind, parts: Vec<Part>, user: Option<&str>, last_id: Uuid) -> Vec<Self> {
        let kind = match kind {
            InputKind::Message => "type:message",
            InputKind::Sensory => "type:sensory",
        };
        let last = parts.len().saturating_sub(1);
        let part = |(index, part)| {
            let (modality, payload) = match part {
                Part::Text(text) => (Modality::Text, json!({ "text": text })),
                Part::Media { modality, blob, mime, bytes } => {
                    (modality, json!({ "blob": blob, "mime": mime, "bytes": bytes }))
                }
            };
            let draft = Self::new(thread, Source::User, modality, tags([tag::INPUT, kind]), payload);
            let draft = match user {
                Some(user) => draft.payload("user", user),
                None => draft,
            };
            if index == last {
                draft.with_id(last_id)
            } else {
                draft.tagged([tag::PART]).with_id(crate::id::part_of(last_id, index))
            }
        };
        parts.into_iter().enumerate().map(part).collect()
    }

    /// A named trigger. `payload` is the caller's; a `text` is added where it has none.
    pub fn trigger(thread: &ThreadId, name: &Name, payload: Payload, user: Option<&str>) -> Self {
        let tags = tags([tag::INPUT, "type:trigger", &format!("trigger:{name}")]);
        let mut draft = Self::new(thread, Source::System, Modality::Text, tags, Value::Object(payload));
        draft.payload.entry("text").or_insert_with(|| Value::from(format!("trigger {name}")));
        match user {
            Some(user) => draft.payload("user", user),
            None => draft,
        }
    }

    /// A turn begins: its number, and its batch: the seqs of all that woke the thread and waited, in order.
    /// `voices` are the submodules it listens to.
    pub fn turn_started(thread: &ThreadId, turn: u64, batch: &[Seq], voices: &[Name]) -> Self {
        let text = format!("turn {turn} started");
        let payload = json!({ "text": text, "turn": turn, "batch": batch, "submodules": voices });
        let tags = tags([tag::TURN, tag::STARTED, &format!("turn:{turn}")]);
        Self::new(thread, Source::Internal, Modality::State, tags, payload)
    }

    /// A turn ends. `handled` is where the thread's mailbox now begins.
    pub fn turn_ended(thread: &ThreadId, turn: u64, outcome: TurnOutcome, handled: Seq) -> Self {
        let text = format!("turn {turn} ended: {outcome}");
        let payload = json!({ "text": text, "turn": turn, "outcome": outcome, "handled": handled });
        let tags = tags([tag::TURN, tag::ENDED, &format!("turn:{turn}")]);
        Self::new(thread, Source::Internal, Modality::State, tags, payload)
    }

    /// A submodule said something.
    pub fn submodule_said(thread: &ThreadId, turn: u64, name: &Name, when: When, text: &str) -> Self {
        let payload = json!({ "text": text, "turn": turn });
        Self::new(thread, Source::Internal, Modality::Text, tags([&format!("submodule:{name}")]), payload)
            .tagged(when.tags())
    }

    /// The decision's own words beside (or instead of) its tool calls.
    pub fn decision_said(thread: &ThreadId, turn: u64, text: &str) -> Self {
        let payload = json!({ "text": text, "turn": turn });
        Self::new(thread, Source::Internal, Modality::Text, tags([tag::DECISION]), payload)
    }

    /// A message of the thread to itself: the next turn starts with it.
    pub fn thought(thread: &ThreadId, turn: u64, text: &str) -> Self {
        Self::decision_said(thread, turn, text).tagged([tag::THOUGHT])
    }

    /// The decision not to act, with its reason.
    pub fn no_action(thread: &ThreadId, turn: u64, reason: &str) -> Self {
        Self::decision_said(thread, turn, reason).tagged([tag::NO_ACTION])
    }

    /// A question of the decision to one submodule.
    pub fn question(thread: &ThreadId, turn: u64, submodule: &Name, question: &str) -> Self {
        Self::decision_said(thread, turn, question).tagged([tag::QUESTION, &format!("submodule:{submodule}")])
    }

    /// A tool call of the decision or a submodule, as it is about to run.
    pub fn action(thread: &ThreadId, turn: u64, by: &Who, tool: &str, call_id: &str, arguments: &Value) -> Self {
        let text = format!("{tool} {arguments}");
        let payload = json!({ "text": text, "turn": turn, "tool": tool, "call_id": call_id, "arguments": arguments });
        let tags = tags([&by.to_string(), tag::ACTION, &format!("tool:{tool}")]);
        Self::new(thread, Source::Internal, Modality::Text, tags, payload)
    }

    /// What a tool call came back with.
    pub fn result(thread: &ThreadId, call: &Call<'_>, output: Value, duration_ms: u64) -> Self {
        let text = match &output {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        call.result(thread).payload("text", text).payload("output", output).payload("duration_ms", duration_ms)
    }

    /// What a tool call failed with: its result, tagged as a failure.
    pub fn result_failed(thread: &ThreadId, call: &Call<'_>, failure: &Failure, duration_ms: u64) -> Self {
        let problem = json!({
            "kind": failure.kind.to_string(), "text": failure.text,
            "retryable": failure.retryable, "detail": failure.detail,
        });
        call.result(thread)
            .tagged([tag::FAILURE.to_owned(), failure.kind.to_string()])
            .payload("text", failure.text.as_str())
            .payload("problem", problem)
            .payload("kind", failure.kind.to_string())
            .payload("duration_ms", duration_ms)
    }

    /// A reply to the user: the result of the tool `reply`. `partial` when it was cut off.
    pub fn reply(thread: &ThreadId, turn: u64, call_id: &str, text: &str, partial: bool) -> Self {
        let payload = json!({ "text": text, "turn": turn, "call_id": call_id, "tool": "reply" });
        let tags = tags([tag::RESPONSE, tag::RESULT, "tool:reply"]);
        Self::new(thread, Source::Tool, Modality::Text, tags, payload).tagged(partial.then_some(tag::PARTIAL))
    }

    /// The record of one model call: from it, the call can be rebuilt.
    pub fn call_record(thread: &ThreadId, turn: u64, module: &Who, record: Value) -> Self {
        let tags = tags([tag::DEBUG, &format!("call:{module}")]);
        Self::new(thread, Source::Internal, Modality::State, tags, record)
            .payload("text", format!("{module} asked the model"))
            .payload("turn", turn)
            .payload("module", module.to_string())
    }

    /// A change of something derived from the log. `change` null: it is gone.
    pub fn changed(thread: &ThreadId, kind: &str, key: &str, change: Value) -> Self {
        let verb = if change.is_null() { "removed" } else { "set" };
        let payload = json!({ "text": format!("{kind} {key} {verb}"), "kind": kind, "key": key, "change": change });
        let tags = tags([tag::STATE, &format!("set:{kind}")]);
        Self::new(thread, Source::Internal, Modality::State, tags, payload)
    }

    /// Somebody wants a turn to end that another server runs.
    pub fn cancel(thread: &ThreadId, turn: u64) -> Self {
        let payload = json!({ "text": format!("turn {turn} is to be cancelled"), "turn": turn });
        Self::new(thread, Source::User, Modality::State, tags([tag::CANCEL, &format!("turn:{turn}")]), payload)
    }

    /// A failure, in the thread it concerns.
    pub fn failure(thread: &ThreadId, turn: Option<u64>, who: &Who, failure: &Failure) -> Self {
        let kind = failure.kind.to_string();
        let payload = json!({
            "text": failure.text, "kind": kind, "retryable": failure.retryable, "detail": failure.detail,
        });
        let draft =
            Self::new(thread, Source::System, Modality::Text, tags([tag::FAILURE, &kind, &who.to_string()]), payload);
        match turn {
            Some(turn) => draft.payload("turn", turn),
            None => draft,
        }
    }

    /// The same failure, of a follow-up or a late answer.
    #[must_use]
    pub fn when(self, when: When) -> Self {
        self.tagged(when.tags())
    }

    /// A client frame that was refused, or a client that was lost: for readers who look for it.
    pub fn client_failure(thread: &ThreadId, what: &str, detail: Value) -> Self {
        let payload = json!({ "text": what, "kind": "client", "retryable": false, "detail": detail });
        Self::new(thread, Source::System, Modality::Text, tags([tag::DEBUG, tag::FAILURE, tag::CLIENT]), payload)
    }
}

/// Which tool call a result belongs to.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The turn it was made in.
    pub turn: u64,
    /// Who made it.
    pub by: &'a Who,
    /// The tool.
    pub tool: &'a str,
    /// The call's id within the turn.
    pub call_id: &'a str,
}

impl Call<'_> {
    fn result(&self, thread: &ThreadId) -> Draft {
        let payload = json!({ "turn": self.turn, "tool": self.tool, "call_id": self.call_id });
        let draft = Draft::new(
            thread,
            Source::Tool,
            Modality::Text,
            tags([tag::RESULT, &format!("tool:{}", self.tool)]),
            payload,
        );
        match self.by {
            Who::Submodule(_) => draft.tagged([self.by.to_string()]),
            _ => draft,
        }
    }
}
