//! The sums of usage, and the addition of an event to them. The change of each event is in
//! `log/thread_fold.rs`; those of other tables are in `projections/`.

use super::thread_row::ThreadRow;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_words::id::Seq;

/// The effects of an event besides the change of its thread's row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Applied {
    /// The use that the thread made, and the events that it goes back to: two, of a mission that a
    /// turn began.
    pub spent: Option<([Option<Seq>; 2], Spent)>,
    /// True if the event is a change in a form that this build does not know: the row it would
    /// change stays as it is.
    pub unreadable: bool,
}

/// A pure function that applies an event, which says this fact, to its thread's row
/// ([`ThreadRow::apply`]). It is handed to a store when it is opened; the same one rebuilds the rows.
/// The row always takes the event's seq and time besides.
pub type Project = fn(&mut ThreadRow, &Event, &Fact<'_>) -> Applied;

/// Usage: a sum over the log.
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
        Self {
            calls: 1,
            tokens,
            threads: 0,
        }
    }

    /// So many threads.
    pub const fn threads(threads: u64) -> Self {
        Self {
            calls: 0,
            tokens: 0,
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
