//! Schedules as the log has them: the triggers that are fired, their threads and times; and the
//! words of a firing on itself.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::envelope::Payload;
use thinkd_words::id::{Name, Seq, ThreadId};
use thinkd_words::recurrence::{Times, When};
use thinkd_words::time::{SKEW, Timestamp};

/// The member of a trigger's payload in which a schedule says why it fires.
pub const MEMBER: &str = "schedule";
/// The time after its due time within which a run is caught up with, in seconds: a day.
pub const CATCH_UP_S: f64 = 86_400.0;

/// A schedule, as it was created or changed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Schedule {
    /// The thread that the trigger goes to.
    pub thread: ThreadId,
    /// The trigger's name.
    pub event: Name,
    /// The payload of the trigger.
    pub payload: Payload,
    /// When.
    pub when: When,
    /// The treatment of a due time while an earlier run is under way.
    pub overlap: Overlap,
    /// The number of seconds after a due time within which its run is caught up with.
    pub catch_up_s: f64,
    /// The purpose, or the reason of the pause.
    pub note: String,
    /// True if it is paused.
    pub paused: bool,
    /// When it is due next; none: it is paused.
    pub due: Option<Timestamp>,
    /// The last due time that was seen to: none up to then is seen to again.
    #[serde(default)]
    pub through: Option<Timestamp>,
    /// The event of its last run.
    #[serde(default)]
    pub last: Option<Seq>,
    /// When it was set, by the clock of the server that set it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<Timestamp>,
    /// The event from outside that the turn goes back to which made it; none: people did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<Seq>,
}

/// The changes of a schedule: those that are there.
#[derive(Debug, Clone, Default)]
pub struct ScheduleChange {
    /// The thread that the trigger goes to.
    pub thread: Option<ThreadId>,
    /// The trigger's name.
    pub event: Option<Name>,
    /// The payload of the trigger.
    pub payload: Option<Payload>,
    /// When.
    pub when: Option<When>,
    /// The treatment of a due time while an earlier run is under way.
    pub overlap: Option<Overlap>,
    /// The number of seconds after a due time within which its run is caught up with.
    pub catch_up_s: Option<f64>,
    /// The purpose, or the reason of the pause.
    pub note: Option<String>,
    /// True if it is paused.
    pub paused: Option<bool>,
}

impl ScheduleChange {
    /// A schedule with this changed, due from now on.
    pub fn of(&self, old: &Schedule, now: Timestamp) -> Schedule {
        let Self {
            thread,
            event,
            payload,
            when,
            overlap,
            catch_up_s,
            note,
            paused,
        } = self.clone();
        Schedule {
            thread: thread.unwrap_or_else(|| old.thread.clone()),
            event: event.unwrap_or_else(|| old.event.clone()),
            payload: payload.unwrap_or_else(|| old.payload.clone()),
            when: when.map_or_else(|| old.when.clone(), |when| when.starting(now)),
            overlap: overlap.unwrap_or(old.overlap),
            catch_up_s: catch_up_s.unwrap_or(old.catch_up_s),
            note: note.unwrap_or_else(|| old.note.clone()),
            paused: paused.unwrap_or(old.paused),
            set: Some(now),
            // It is theirs from now on.
            root: None,
            // In another thread no run is under way.
            last: old.last.filter(|_| {
                self.thread
                    .as_ref()
                    .is_none_or(|thread| *thread == old.thread)
            }),
            ..old.clone()
        }
    }
}

impl Schedule {
    /// The same by the right clock, where the clock was ahead when it was set or fired: due times
    /// not reached yet are not seen to. The caller finds its due time.
    pub fn righted(&self, now: Timestamp) -> Option<Self> {
        let begun = self.set.max(self.through);
        begun
            .filter(|begun| *begun > now.after(SKEW))
            .map(|begun| Self {
                when: self.when.clone().begun(begun, now),
                through: None,
                set: Some(now),
                ..self.clone()
            })
    }
}

/// The fate of a due time while an earlier run waits in the mailbox or has its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Overlap {
    /// The due time is left out, and an event says so.
    Skip,
    /// The due time waits in the mailbox, as any other input.
    Queue,
}

/// Due times that were seen to, by a run or by an event that says why there is none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Firing {
    /// The schedule.
    pub name: Name,
    /// The first of them.
    pub first: Timestamp,
    /// The last of them.
    pub last: Timestamp,
    /// The number of due times.
    pub count: u64,
    /// The latest of them, in order; all, if they are not very many. Of missed ones none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub due: Vec<Timestamp>,
    /// When it is due next; none: never again, and the schedule is gone.
    pub next: Option<Timestamp>,
    /// The event from outside that the run goes back to; none: the run is from outside itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<Seq>,
}

impl Firing {
    /// These due times of a schedule.
    pub fn new(name: &Name, times: Times, next: Option<Timestamp>) -> Self {
        let Times {
            first,
            last,
            count,
            named,
        } = times;
        Self {
            name: name.clone(),
            first,
            last,
            count,
            due: named,
            next,
            root: None,
        }
    }

    /// The same, of a schedule that a turn made: its runs go back to the same event, or to a later one that its thread has heard.
    #[must_use]
    pub fn caused(self, made: Option<Seq>, heard: Option<Seq>) -> Self {
        Self {
            root: made.map(|made| heard.map_or(made, |heard| heard.max(made))),
            ..self
        }
    }

    /// The due times, in a few words.
    pub fn times(&self) -> String {
        match self.count {
            1 => format!("the due time {}", self.first),
            count => format!("{count} due times from {} to {}", self.first, self.last),
        }
    }

    /// As a member of a payload.
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// The words of a trigger that was fired out of turn.
pub fn at_once(name: &Name) -> Value {
    json!({ "name": name, "now": true })
}
