//! The event: what happened, in the one envelope that everything inside thinkd speaks.
//! What an event says is a fact (`event/fact.rs`), which reads and writes its tags and payload.
//! Position and time are not: the store stamps `seq`, `ts` and, where none was given, the id.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::words::id::{Seq, ThreadId};
use crate::words::time::Timestamp;

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
#[serde(deny_unknown_fields)]
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
    /// A node came to no value, and its run went on.
    pub const ABANDONED: &str = "abandoned";
    pub const FAILED: &str = "failed";
    pub const RESUMED: &str = "resumed";
    pub const CANCEL: &str = "cancel";
    pub const THREAD: &str = "thread";
    pub const THREAD_ENDED: &str = "thread-ended";
    pub const THREAD_STUCK: &str = "thread-stuck";
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

pub(super) fn visibility(modality: Modality, tags: &[String]) -> Visibility {
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

pub(super) fn wakes(modality: Modality, tags: &[String]) -> bool {
    let has = |tag: &str| tags.iter().any(|t| t == tag);
    modality != Modality::State && !has(tag::DEBUG) && !has(tag::PART) && WAKING.iter().any(|waking| has(waking))
}

/// Any of these starts a turn.
const WAKING: [&str; 7] =
    [tag::INPUT, tag::THOUGHT, tag::MESSAGE, tag::THREAD_ENDED, tag::THREAD_STUCK, tag::TIMER, tag::OVERRULES];

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
