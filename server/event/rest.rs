//! Rest is the remaining work of a thread's end that did not fit into one append. A timer of the thread carries it as its note.

use serde::{Deserialize, Serialize};

use super::draft::Draft;
use super::envelope::Event;
use super::fact::Fact;
use super::fact::set::{Change, Set, Timer};
use crate::timer::Purpose;
use thinkd_words::id::{self, ThreadId};
use thinkd_words::time::Timestamp;

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Rest {
    /// Threads below it are yet to end with it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub below: bool,
    /// Threads below it are yet to get another parent.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub children: bool,
    /// Threads that know it are yet to be told; of those that have it as a contact, all behind this
    /// id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tell: Option<String>,
    /// The last thing it said, for those.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub last: String,
}

impl Rest {
    /// Reads the note of a timer. One that is no such note was set by a server that knew of threads
    /// below alone.
    pub fn of(note: &str) -> Self {
        serde_json::from_str(note).unwrap_or(Self {
            below: true,
            ..Self::default()
        })
    }

    /// Returns true if all is done.
    pub const fn is_nothing(&self) -> bool {
        !self.below && !self.children && self.tell.is_none()
    }
}

impl Event {
    /// Returns the rest of its thread's end, and the time until which a server sees to it; none: it
    /// is no event of such a rest.
    pub fn rest_of_end(&self) -> Option<(Timestamp, Rest)> {
        match self.fact() {
            Fact::Set(Set {
                key,
                change: Change::Timer(Some(timer)),
                ..
            }) if Purpose::of(key) == Purpose::Ending => Some((timer.due, Rest::of(&timer.note))),
            _ => None,
        }
    }
}

impl Draft {
    /// The timer of a thread that has ended with work left: until then one server sees to the rest,
    /// and no other has to. `None`: all is done.
    pub fn rest_of_end(thread: &ThreadId, rest: Option<(Timestamp, &Rest)>) -> Self {
        let note = |rest| serde_json::to_string(rest).unwrap_or_default();
        let timer = rest.map(|(due, rest)| Timer {
            due,
            note: note(rest),
            set: None,
        });
        Self::set(thread, &Purpose::Ending.to_string(), Change::Timer(timer))
    }

    /// The word of a thread's end, stored once for each thread that is told: by its id.
    #[must_use]
    pub fn once(self, ended: &ThreadId) -> Self {
        let id = id::about(&format!("the end of {ended} told in {}", self.thread));
        self.with_id(id)
    }
}
