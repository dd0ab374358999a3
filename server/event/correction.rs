//! A correction says in a thread that a statement is not held any more, or never was, which came from some of its events, or which these returned.

use serde::{Deserialize, Serialize};

use super::statement::Status;
use thinkd_words::defaults::{is_yes, yes};
use thinkd_words::id::Seq;

/// Most corrections that a thread keeps, the newest.
pub const CORRECTIONS_MAX: usize = 32;
/// Most events of a thread that one correction names, the newest.
pub const EVENTS_MAX: usize = 16;
/// Most characters of the statement that it repeats.
pub const TEXT_MAX: usize = 120;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Correction {
    /// The statement: its id.
    pub statement: String,
    /// Its beginning, so that a reader knows to which part of these events this applies.
    pub says: String,
    /// The status since then; held: earlier corrections of it do not count any more.
    pub status: Status,
    /// The event that says so.
    pub since: Seq,
    /// True if the statement was held before that; false: never.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub was_held: bool,
    /// The events of the thread from which it came, or that returned it, in order.
    pub of: Vec<Seq>,
}

impl Status {
    /// Returns true if it is known not to be so, or has lost its ground.
    pub const fn has_fallen(self) -> bool {
        self.is_withdrawn() || matches!(self, Self::Ended)
    }
}

impl Correction {
    /// Takes it into those of its thread: the last word on a statement counts.
    pub fn take_into(&self, all: &mut Vec<Self>) {
        all.retain(|it| it.statement != self.statement);
        if self.status.has_fallen() {
            all.push(self.clone());
            all.drain(..all.len().saturating_sub(CORRECTIONS_MAX));
        }
    }
}
