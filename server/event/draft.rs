//! Events to be: every kind is made by a constructor here, or beside its own words in `event/`, so that its tags and payload are
//! decided in one place.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::condition::Condition;
use super::envelope::{Event, Meta, Modality, Payload, Source, TurnOutcome, tag, wakes};
use crate::words::failure::{Failure, Who};
use crate::words::id::{Name, Seq, ThreadId};
use crate::words::time::Timestamp;

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
    /// What has to be so when it is stored.
    pub conditions: Vec<Condition>,
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
    pub(super) fn tags(self) -> Option<&'static str> {
        match self {
            Self::InTime => None,
            Self::Late => Some(tag::LATE),
            Self::FollowUp => Some(tag::FOLLOW_UP),
        }
    }
}

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

pub(super) fn tags<const N: usize>(tags: [&str; N]) -> Vec<String> {
    tags.iter().map(|t| (*t).to_owned()).collect()
}

impl Draft {
    pub(super) fn new(
        thread: &ThreadId,
        source: Source,
        modality: Modality,
        tags: Vec<String>,
        payload: Value,
    ) -> Self {
        let (thread, payload) = (thread.clone(), object(payload));
        Self { event_id: None, thread, source, modality, payload, tags, conditions: Vec::new() }
    }

    /// The same, with this id.
    #[must_use]
    pub fn with_id(mut self, id: Uuid) -> Self {
        self.event_id = Some(id);
        self
    }

    /// The same, to be stored only if this is so.
    #[must_use]
    pub fn only_if(mut self, condition: Condition) -> Self {
        self.conditions.push(condition);
        self
    }

    pub(super) fn tagged(mut self, more: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.tags.extend(more.into_iter().map(Into::into));
        self
    }

    pub(super) fn payload(mut self, key: &str, value: impl Into<Value>) -> Self {
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
        let mut payload = Value::Object(self.payload);
        replace_nul(&mut payload);
        self.payload = object(payload);
        self.tags.iter_mut().filter(|tag| tag.contains('\0')).for_each(|tag| *tag = tag.replace('\0', "\u{fffd}"));
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
                draft.tagged([tag::PART]).with_id(crate::words::id::part_of(last_id, index))
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

    /// From now on the thread is told of these tools.
    pub fn tools_opened(thread: &ThreadId, names: &[&str]) -> Self {
        Self::changed(thread, "tools", "open", json!({ "open": names }))
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
    /// The call's id within the thread.
    pub call_id: &'a str,
}

impl Call<'_> {
    pub(super) fn result(&self, thread: &ThreadId) -> Draft {
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
