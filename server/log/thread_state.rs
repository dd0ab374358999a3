//! The state in a thread's row besides counters: for whom it waits, its plan, the events that it no
//! longer sees. Most threads have none of it, so it is one column, empty then.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fork::Fork;
use thinkd_event::correction::Correction;
use thinkd_event::gather::Gather;
use thinkd_event::mood::Mood;
use thinkd_event::outcome::Counts;
use thinkd_event::process::{Waiting, Watch};
use thinkd_event::summary::Held;
use thinkd_event::unshown::Unshown;
use thinkd_event::worked::Worked;
use thinkd_words::defaults::is_zero;
use thinkd_words::id::{Seq, ThreadId};

/// See the module.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ThreadState {
    /// For whom it waits, or waited when it was woken last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting: Option<Waiting>,
    /// Why it ended, or cannot go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Of a mission that has ended: its tasks, counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Counts>,
    /// The end of its last turn, if that failed or was cancelled.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// Messages sent to other threads, since something came from outside.
    #[serde(skip_serializing_if = "is_zero")]
    pub sends: u32,
    /// Subthreads that have not ended and are not put aside.
    #[serde(skip_serializing_if = "is_zero")]
    pub subthreads: u32,
    /// Its plan: condition, steps, whether it is complete.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan: Option<Value>,
    /// The position from which on it is shown its events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cleared: Option<Position>,
    /// Its watches, by id.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub watches: BTreeMap<String, Watch>,
    /// The gatherings of work that it sent out together and waits to have back, by id.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub gathers: BTreeMap<String, Gather>,
    /// Rare tools that its model is told of, in the order in which they were opened.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub open: Vec<String>,
    /// Questions to people that are open, by id: a message may answer the only one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<String>,
    /// True if it was put aside, to make room for another: it does not count as a subthread any
    /// more.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub archived: bool,
    /// True if a person paused it: only a person's word to go on, or a cancel, ends that.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// The last event that the running turn is about: events up to here wait no longer. 0: none
    /// runs.
    #[serde(skip_serializing_if = "is_zero")]
    pub taken: Seq,
    /// Inputs in its mailbox that were taken back: the first and the last part of each, which is the one that counts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub withdrawn: Vec<(Seq, Seq)>,
    /// Inputs in its mailbox that the running turn took in: the first and the last part of each.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steered: Vec<(Seq, Seq)>,
    /// Inputs in its mailbox that an earlier turn took in, while others wait before them: these
    /// have had their turn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub had: Vec<(Seq, Seq)>,
    /// The parts of it that models are not shown.
    #[serde(skip_serializing_if = "Unshown::is_empty")]
    pub unshown: Unshown,
    /// Of a mission: how long it was worked on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub worked: Option<Worked>,
    /// The event from outside that its last turn goes back to, or else that it was made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<Seq>,
    /// Statements that came from its events, or that these returned, and that are not held any more; the newest last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub corrections: Vec<Correction>,
    /// Of the trials of a space: the event up to which threads are told of the changes of
    /// statements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told: Option<Seq>,
    /// Its parent has ended, and it has another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adopted: Option<Adopted>,
    /// The summaries that stand for events that its decision is not shown any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub summaries: Vec<Held>,
    /// Its mood, as its last turn left it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mood: Option<Mood>,
    /// The number of points of all that happened to it, by which its mood moves.
    #[serde(skip_serializing_if = "is_zero")]
    pub points: i64,
    /// The past that it began with, of a fork.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork: Option<Box<Fork>>,
}

/// Stands before the state of a fork in its column. Builds that know no forks cannot read such a
/// row: they refuse the thread, rather than serve it without its past.
const FORK: &str = "fork:";

/// The parent of a thread since its own has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Adopted {
    /// The nearest living thread above; none: it has no parent any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<ThreadId>,
}

/// A position in a thread: the numbers of its events before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Position {
    /// The number of events that a decision may see.
    pub visible: u64,
    /// The number of events that a submodule may see.
    pub heard: u64,
}

impl Position {
    /// Returns the position so many events before this one.
    pub const fn before(self, events: Self) -> Self {
        Self {
            visible: self.visible.saturating_sub(events.visible),
            heard: self.heard.saturating_sub(events.heard),
        }
    }
}

impl ThreadState {
    /// As it is stored: nothing, for most.
    pub(super) fn to_column(&self) -> String {
        if *self == Self::default() {
            return String::new();
        }
        let json = serde_json::to_string(self).unwrap_or_default();
        match self.fork {
            Some(_) => format!("{FORK}{json}"),
            None => json,
        }
    }

    /// Reads the column. Fails where it is in a form that this build does not know.
    pub(super) fn from_column(column: &str) -> Result<Self, serde_json::Error> {
        match column {
            "" => Ok(Self::default()),
            _ => serde_json::from_str(column.strip_prefix(FORK).unwrap_or(column)),
        }
    }

    /// Returns the part of it that a fork begins with, as rows keep it.
    pub fn inherited(self) -> Self {
        Self {
            plan: self.plan,
            cleared: self.cleared,
            open: self.open,
            unshown: self.unshown,
            corrections: self.corrections,
            summaries: self.summaries,
            mood: self.mood,
            points: self.points,
            ..Self::default()
        }
    }

    /// Returns the thread that it waits for, if it waits for one thread alone.
    pub fn waits_for(&self) -> Option<&ThreadId> {
        self.waiting.as_ref()?.from.as_ref()
    }
}
