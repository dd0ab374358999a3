//! What one event does to its thread's row, and what it adds to the sums of what is used. Which event does what is said in
//! `thread/projection.rs`; what it does to other tables, in `projections/`.

use serde_json::Value;

use super::status::Status;
use super::thread_state::ThreadStateChange;
use crate::event::envelope::Event;
use crate::event::fact::Fact;
use crate::words::id::Seq;

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
    pub state: ThreadStateChange,
    /// The use that it made, and the events that it goes back to: two, of a mission that a turn began.
    pub spent: Option<([Option<Seq>; 2], Spent)>,
    /// The event is a change in a form that this build does not know: what it would change stays as it is.
    pub unreadable: bool,
}

/// How an event, which says this fact, changes its thread's row: a pure function, handed to a store when it is opened; the same one
/// rebuilds the rows. The row always takes the event's seq and time besides.
pub type Project = fn(&Event, &Fact<'_>) -> ThreadChange;

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
    /// A model call that used so many tokens.
    pub const fn call(tokens: u64) -> Self {
        let (calls, threads) = (1, 0);
        Self {
            calls,
            tokens,
            threads,
        }
    }

    /// So many threads.
    pub const fn threads(threads: u64) -> Self {
        let (calls, tokens) = (0, 0);
        Self {
            calls,
            tokens,
            threads,
        }
    }

    /// Each of the three with its other.
    #[must_use]
    pub fn with(self, other: Self, and: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            calls: and(self.calls, other.calls),
            tokens: and(self.tokens, other.tokens),
            threads: and(self.threads, other.threads),
        }
    }
}
