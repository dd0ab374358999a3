//! The envelope is the closed form of every event: six fields, the thread and the `seq`. The
//! content of an event is a fact (`event/fact.rs`). The store stamps `seq`, `ts` and, where none
//! was given, the id.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use thinkd_words::id::{Seq, ThreadId};
use thinkd_words::spelling::words;
use thinkd_words::time::Timestamp;

words! {
    /// The origin of an event.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum Source {
        /// A person or program outside.
        User = "user",
        /// A tool's result.
        Tool = "tool",
        /// The core, speaking to threads and readers.
        System = "system",
        /// A submodule or the decision.
        Internal = "internal",
    }
}

words! {
    /// The kind of content that an event carries.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum Modality {
        /// `payload.text` is the content.
        Text = "text",
        /// `payload.blob` is an image.
        Image = "image",
        /// `payload.blob` is a sound.
        Audio = "audio",
        /// A change of something derived from the log; never shown to a model.
        State = "state",
    }
}

/// An event's content: an object, with `text` in nearly every case.
pub type Payload = Map<String, Value>;

/// Data on an event besides its content. Closed: no causal ids, ever.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Meta {
    /// The kind of the event, as tags for readers and filters.
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
    /// Its origin.
    pub source: Source,
    /// The kind of its content.
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
    /// Returns true if the event has the tag (exactly).
    pub fn has(&self, tag: &str) -> bool {
        self.meta.tags.iter().any(|t| t == tag)
    }

    /// Returns the rest behind `prefix` of the first tag that starts with it: `tag_value("tool:")`
    /// of `tool:reply` is `reply`.
    pub fn tag_value(&self, prefix: &str) -> Option<&str> {
        self.meta.tags.iter().find_map(|t| t.strip_prefix(prefix))
    }

    /// `payload.text`, or nothing.
    pub fn text(&self) -> &str {
        self.payload
            .get("text")
            .and_then(Value::as_str)
            .unwrap_or_default()
    }

    /// The number of the turn that produced it.
    pub fn turn(&self) -> Option<u64> {
        self.payload.get("turn").and_then(Value::as_u64)
    }

    /// Returns true if a model may see it: neither `debug` nor of modality `state`.
    pub fn is_visible(&self) -> bool {
        self.visibility() >= Visibility::Submodule
    }

    /// Returns the readers that may see it.
    pub fn visibility(&self) -> Visibility {
        visibility(self.modality, &self.meta.tags)
    }

    /// Returns true if it starts a turn of its thread.
    pub fn wakes(&self) -> bool {
        wakes(self.modality, &self.meta.tags)
    }
}

/// The tags that code asks for. Readers' tags with a value are `submodule:<name>`, `tool:<name>`, `turn:<n>`,
/// `type:<kind>`, `trigger:<name>`, `set:<kind>`, `call:<module>`.
pub mod tag {
    /// Something from outside: said, perceived, or triggered.
    pub const INPUT: &str = "input";
    /// All but the last event of one input with media; news of one part of a gathering. Wakes no
    /// thread.
    pub const PART: &str = "part";
    /// Begin the tags by which a door finds a message again: a hash or an id follows.
    pub const MARKS: [&str; 3] = ["door:", "door-after:", "door-id:"];
    /// The beginning or end of a turn.
    pub const TURN: &str = "turn";
    /// Beside `turn`, `run` or `node`: it begins.
    pub const STARTED: &str = "started";
    /// Beside `turn` or `run`: it is over.
    pub const ENDED: &str = "ended";
    /// A turn took in messages that join it.
    pub const STEERED: &str = "steered";
    /// Words of a submodule after the deadline of its turn.
    pub const LATE: &str = "late";
    /// Words that a submodule added after it had heard the decision.
    pub const FOLLOW_UP: &str = "follow-up";
    /// Said or done by the decision.
    pub const DECISION: &str = "decision";
    /// A thought of the decision.
    pub const THOUGHT: &str = "thought";
    /// The decision to do nothing.
    pub const NO_ACTION: &str = "no-action";
    /// A question of the decision to a submodule, or, as the first tag, to a person.
    pub const QUESTION: &str = "question";
    /// Beside `input`, or as the first tag: the answer of a person to a question.
    pub const ANSWER: &str = "answer";
    /// A tool call that waits for a person, and the verdict on it.
    pub const APPROVAL: &str = "approval";
    /// A tool call.
    pub const ACTION: &str = "action";
    /// The result of a tool call.
    pub const RESULT: &str = "result";
    /// A reply to the user.
    pub const RESPONSE: &str = "response";
    /// Beside `response`: the part of a reply that was said before it was cut off.
    pub const PARTIAL: &str = "partial";
    /// An error inside the server.
    pub const FAILURE: &str = "failure";
    /// Shown only to readers that ask for it: records of model calls and the like.
    pub const DEBUG: &str = "debug";
    /// A change of derived state: a setting, a note, a timer, a thread.
    pub const STATE: &str = "state";
    /// A message from another thread, or from the thread to itself.
    pub const MESSAGE: &str = "message";
    /// The beginning, resumption, cancel or end of a run of a pipeline.
    pub const RUN: &str = "run";
    /// The beginning or end of a node of a run.
    pub const NODE: &str = "node";
    /// Beside `run` or `node`: it came to no value.
    pub const FAILED: &str = "failed";
    /// A cancel that reaches whichever server runs the turn or the run.
    pub const CANCEL: &str = "cancel";
    /// News of a thread from the core: ends, timers, watches, subthreads.
    pub const THREAD: &str = "thread";
    /// News: a thread has ended.
    pub const THREAD_ENDED: &str = "thread-ended";
    /// News: a process cannot go on.
    pub const THREAD_STUCK: &str = "thread-stuck";
    /// News: a timer fired.
    pub const TIMER: &str = "timer";
    /// Wakes a thread that waits for another one.
    pub const OVERRULES: &str = "overrules";
    /// Text of a model that could not be read as actions.
    pub const UNREADABLE: &str = "unreadable";
}

/// The readers that may see an event, from those that ask for it to all. The numbers are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(i16)]
pub enum Visibility {
    /// Tagged `debug`: only readers that ask for it.
    Debug = 0,
    /// Of modality `state`: readers.
    State = 1,
    /// Words, actions and failures of a submodule: readers and the decision, but no submodule, so
    /// that submodules stay independent.
    Submodule = 2,
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
        Visibility::Submodule
    } else {
        Visibility::Heard
    }
}

pub(super) fn wakes(modality: Modality, tags: &[String]) -> bool {
    let has = |tag: &str| tags.iter().any(|t| t == tag);
    modality != Modality::State
        && !has(tag::DEBUG)
        && !has(tag::PART)
        && WAKING.iter().any(|waking| has(waking))
}

/// Any of these starts a turn.
const WAKING: [&str; 7] = [
    tag::INPUT,
    tag::THOUGHT,
    tag::MESSAGE,
    tag::THREAD_ENDED,
    tag::THREAD_STUCK,
    tag::TIMER,
    tag::OVERRULES,
];

words! {
    /// The outcome of a turn.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum TurnOutcome {
        /// Through all its steps.
        Done = "done",
        /// A cancel ended it.
        Cancelled = "cancelled",
        /// A newer input replaced it; the next turn has both.
        Interrupted = "interrupted",
        /// The turn could not go on; a failure event says why.
        Failed = "failed",
    }
}
