//! A draft is an event before it is stored: without `seq` and `ts`. Its content is a fact
//! (`event/fact.rs`); the constructors of drafts stand beside their families.

use serde_json::{Map, Value};
use uuid::Uuid;

use super::condition::Condition;
use super::envelope::{Event, Meta, Modality, Payload, Source, tag, wakes};
use thinkd_words::id::ThreadId;
use thinkd_words::spelling::words;
use thinkd_words::time::Timestamp;

/// An event to be: everything but the members that the store stamps.
#[derive(Debug, Clone, PartialEq)]
pub struct Draft {
    /// Its id, when it had to be known before (a client's idempotency key, a streamed reply).
    pub event_id: Option<Uuid>,
    /// The thread it belongs to.
    pub thread: ThreadId,
    /// The source of the event.
    pub source: Source,
    /// The modality of its content.
    pub modality: Modality,
    /// Its content.
    pub payload: Payload,
    /// Its tags.
    pub tags: Vec<String>,
    /// The conditions under which it is stored.
    pub conditions: Vec<Condition>,
}

words! {
    /// The kind of input that a client sent.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum InputKind {
        /// Something said to the mind.
        Message = "message",
        /// Something perceived.
        Sensory = "sensory",
    }
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
                *map = std::mem::take(map)
                    .into_iter()
                    .map(|(k, v)| (k.replace('\0', "\u{fffd}"), v))
                    .collect();
            }
            map.values_mut().for_each(replace_nul);
        }
        _ => {}
    }
}

/// A value without NUL characters, as it is stored.
#[must_use]
pub fn without_nul(mut value: Value) -> Value {
    replace_nul(&mut value);
    value
}

/// Most levels of nesting in a payload: stored JSON must be readable, and readers of JSON have
/// limits.
pub const DEPTH_MAX: usize = 64;

/// Returns true if a value is nested at most so deep.
pub fn is_within_depth(value: &Value, depth: usize) -> bool {
    match value {
        Value::Array(items) => {
            depth > 0 && items.iter().all(|item| is_within_depth(item, depth - 1))
        }
        Value::Object(members) => {
            depth > 0
                && members
                    .values()
                    .all(|member| is_within_depth(member, depth - 1))
        }
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
        let thread = thread.clone();
        let payload = object(payload);
        Self {
            event_id: None,
            thread,
            source,
            modality,
            payload,
            tags,
            conditions: Vec::new(),
        }
    }

    /// One without a payload.
    pub fn empty(thread: &ThreadId, source: Source, modality: Modality, tags: Vec<String>) -> Self {
        Self::new(thread, source, modality, tags, Value::Object(Map::new()))
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

    /// The same, with this member.
    #[must_use]
    pub fn payload(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.payload.insert(key.to_owned(), value.into());
        self
    }

    /// The same, with this member where it has a value.
    #[must_use]
    pub fn payload_some(self, key: &str, value: Option<impl Into<Value>>) -> Self {
        match value {
            Some(value) => self.payload(key, value),
            None => self,
        }
    }

    /// The same, made by the tool call `call_id` (which leaves no action and no result beside it).
    #[must_use]
    pub fn of_call(self, call_id: &str) -> Self {
        self.payload("call_id", call_id)
    }

    /// Returns the event this would be, without its place in the log: a preview for questions about
    /// its effects.
    pub fn preview(&self) -> Event {
        Event {
            event_id: self.event_id.unwrap_or_default(),
            ts: Timestamp::from_micros(0),
            source: self.source,
            modality: self.modality,
            payload: self.payload.clone(),
            meta: Meta {
                tags: self.tags.clone(),
            },
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
        self.tags
            .iter_mut()
            .filter(|tag| tag.contains('\0'))
            .for_each(|tag| *tag = tag.replace('\0', "\u{fffd}"));
        self
    }

    /// Returns true if it has the tag (exactly).
    pub fn has(&self, tag: &str) -> bool {
        self.tags.iter().any(|t| t == tag)
    }

    /// The same, marked as text of a model that could not be read.
    #[must_use]
    pub fn unreadable(self) -> Self {
        self.tagged([tag::UNREADABLE])
    }

    /// Returns true if it starts a turn of its thread.
    pub fn wakes(&self) -> bool {
        wakes(self.modality, &self.tags)
    }

    /// The same failure, of a follow-up or a late answer.
    #[must_use]
    pub fn when(self, when: When) -> Self {
        self.tagged(when.tags())
    }

    /// The same, with a member more.
    #[must_use]
    pub fn with(self, key: &str, value: impl Into<Value>) -> Self {
        self.payload(key, value)
    }
}
