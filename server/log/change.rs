//! What one event does to the rows that are derived from the log. Which event does what is said in `thread/projection.rs`.

use serde_json::Value;

use super::standing::StandingChange;
use super::store::Status;
use crate::words::id::{Name, Seq, ThreadId};
use crate::words::time::Timestamp;

/// What one event does to a thread's row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ThreadChange {
    /// New settings.
    pub settings: Option<Value>,
    /// A new status.
    pub status: Option<Status>,
    /// It was woken by the event at this seq.
    pub woken: Option<Seq>,
    /// Its mailbox now begins after this seq.
    pub handled: Option<Seq>,
    /// A turn with this number began.
    pub turn: Option<u64>,
    /// More events a decision may see.
    pub visible: u64,
    /// More events a submodule may see.
    pub heard: u64,
    /// Something came from outside: count messages to itself anew, before `self_messages` is added.
    pub from_outside: bool,
    /// Another thread spoke to it: messages to itself count anew, too.
    pub from_others: bool,
    /// More messages to itself.
    pub self_messages: u32,
    /// More model calls.
    pub model_calls: u64,
    /// More tokens.
    pub tokens: u64,
    /// What becomes of the rest of the row.
    pub standing: StandingChange,
}

/// What one event does to rows other than its thread's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A submodule has this prompt now, or (`None`) is gone.
    Submodule {
        /// Its name.
        name: Name,
        /// Its prompt.
        prompt: Option<String>,
    },
    /// A state entry is as said, or (`None`) is gone. Its `updated` is the event's time.
    Entry {
        /// Its key.
        key: String,
        /// Content, related keys, owner.
        value: Option<(String, Vec<String>, String)>,
    },
    /// The event's thread has this contact, or (`None`) has it no longer.
    Contact {
        /// What it calls it.
        name: Name,
        /// The thread, and its description.
        value: Option<(ThreadId, String)>,
    },
    /// The event's thread has set this timer, or (`None`) it is over.
    Timer {
        /// Its name.
        name: String,
        /// When, what for, and the event from outside that it goes back to.
        value: Option<(Timestamp, String, Option<Seq>)>,
    },
    /// Something was used.
    Spent {
        /// By what goes back to this event.
        root: Option<Seq>,
        /// How much.
        spent: Spent,
    },
    /// A change in a form that this build does not know: the row stays as it is.
    Unreadable {
        /// Of what: `contact`, `submodule`, …
        kind: String,
        /// Which.
        key: String,
    },
}

/// What is used up: a sum over the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Spent {
    /// Model calls.
    pub calls: u64,
    /// Tokens, in and out.
    pub tokens: u64,
    /// Subthreads made. Not summed for a whole space.
    pub threads: u64,
}

impl Spent {
    /// Each of the three with its other.
    #[must_use]
    pub fn with(self, other: Self, and: impl Fn(u64, u64) -> u64) -> Self {
        let Self { calls, tokens, threads } = other;
        Self { calls: and(self.calls, calls), tokens: and(self.tokens, tokens), threads: and(self.threads, threads) }
    }
}
