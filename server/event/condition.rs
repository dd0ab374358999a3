//! A condition is what a draft requires of the log when it is stored. The append checks it in its transaction, where nobody can overtake the
//! check.

use std::fmt;

use crate::words::id::{Name, Seq};
use crate::words::time::Timestamp;

/// See the module. Where it is not so, nothing of the append is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// The event is its thread's first.
    NewThread,
    /// The event's thread has not ended.
    NotEnded,
    /// The event's thread ends with this event: nothing was appended to it since it was looked at.
    EndsWith(Seq),
    /// The event's thread has fewer subthreads than this that have not ended.
    FewerSubthreads(u64),
    /// The event's thread is there, or the space has fewer threads than this that have not ended.
    FewerThreads(u64),
    /// The event's thread has set this timer, and for then.
    TimerStands {
        /// Its name.
        name: String,
        /// When it is due.
        due: Timestamp,
    },
    /// The space has no submodule of this name, and fewer than so many.
    NewSubmodule {
        /// Its name.
        name: Name,
        /// How many there may be with it.
        most: usize,
    },
    /// The space has a submodule of this name.
    HasSubmodule(Name),
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewThread => f.write_str("the thread is there already"),
            Self::NotEnded => f.write_str("the thread has ended already"),
            Self::EndsWith(seq) => write!(f, "the thread does not end with event {seq} any more"),
            Self::FewerSubthreads(most) => write!(f, "the thread has {most} subthreads already"),
            Self::FewerThreads(most) => write!(f, "the space has {most} threads already that have not ended"),
            Self::TimerStands { name, .. } => write!(f, "the timer {name} is over"),
            Self::NewSubmodule { name, most } => {
                write!(f, "the submodule {name} is there already, or {most} others are")
            }
            Self::HasSubmodule(name) => write!(f, "there is no submodule {name}"),
        }
    }
}
