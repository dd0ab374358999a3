//! A condition is a requirement of a draft on the log when it is stored. The append checks it in
//! its transaction, where no other append can overtake the check.

use std::collections::BTreeSet;
use std::fmt;

use super::mission::TaskId;
use thinkd_words::id::{Name, Seq, ThreadId};
use thinkd_words::spelling::words;
use thinkd_words::time::Timestamp;

/// See the module. Where it is not so, nothing of the append is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// The event is its thread's first.
    NewThread,
    /// The event's thread has not ended.
    NotEnded,
    /// The event's thread ends with this event: nothing was appended to it since it was looked at.
    EndsWith(Seq),
    /// These events wait in the mailbox of the event's thread: no turn has had or has them, and no
    /// client took them back.
    Wait(Vec<Seq>),
    /// This was the last turn of the event's thread, and it is over.
    AtRestAfter(u64),
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
    /// Nothing has happened to the schedule since then: neither a change nor a firing.
    ScheduleStands {
        /// Its name.
        name: Name,
        /// The event that it was changed by last.
        changed: Seq,
        /// When it is due, where it is; all that are due until then are looked at together.
        due: Option<Timestamp>,
    },
    /// The space has no schedule of this name, and fewer than so many.
    NewSchedule {
        /// Its name.
        name: Name,
        /// The most schedules there may be, the new one included.
        most: usize,
    },
    /// The space has no submodule of this name, and fewer than so many.
    NewSubmodule {
        /// Its name.
        name: Name,
        /// The most submodules there may be, the new one included.
        most: usize,
    },
    /// The space has a submodule of this name.
    HasSubmodule(Name),
    /// The settings of the space were last changed by this event; 0: they were never changed.
    SettingsAt(Seq),
    /// The description of a tool of another server, as models are told it, was last settled by this
    /// event; 0: never.
    PinAt {
        /// The tool.
        tool: String,
        /// The event.
        seq: Seq,
    },
    /// A statement is there, and was changed last by this event.
    StatementAt {
        /// Its id.
        id: String,
        /// The event.
        changed: Seq,
    },
    /// No statement of the space says this, save those that have ended.
    FirstSaying(String),
    /// No statement changed behind this event and is held that is derived from others, or that is about these.
    NoneHeldSince {
        /// The event.
        seq: Seq,
        /// The normal forms of a subject's names, and a relation, if it is an edge.
        about: Option<(BTreeSet<String>, String)>,
    },
    /// No names were merged or un-merged behind this event.
    NoneMergedSince(Seq),
    /// A framework is there, and nothing has been said of it since this event.
    FrameworkAt {
        /// Its id.
        id: String,
        /// The event.
        changed: Seq,
    },
    /// The space has fewer frameworks than so many.
    FewerFrameworks(usize),
    /// Fewer statements of the space than so many are to be tried.
    FewerWaiting(u32),
    /// The space has a submodule of this name, and with this prompt.
    PromptIs {
        /// Its name.
        name: Name,
        /// Its prompt.
        prompt: String,
    },
    /// The space has a submodule of this name, and it is asked after the decision, or is not.
    FollowUpIs {
        /// Its name.
        name: Name,
        /// The member as it is.
        follow_up: bool,
    },
    /// A task of a mission is there and not over.
    TaskToCome {
        /// The mission.
        mission: ThreadId,
        /// The task.
        task: TaskId,
        /// Nor begun.
        open: bool,
    },
    /// Nothing has become of a task of a mission since.
    TaskAt {
        /// The mission.
        mission: ThreadId,
        /// The task.
        task: TaskId,
        /// When it was changed last.
        updated: Timestamp,
    },
    /// A request to people is there, and like this.
    Request {
        /// Its id.
        id: String,
        /// Its progress.
        state: RequestState,
    },
}

/// The room for one more claim among those of its space that wait for their trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    /// There is room, however many others are claimed beside it.
    Ample,
    /// There is room if no others are claimed at the same time: the append counts.
    Scarce,
    /// There is no room.
    None,
}

impl Room {
    /// The most claims of a space that are under way at once.
    pub const AMPLE: u32 = 500;
}

words! {
    /// The kind of a request to people, and how far it is.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum RequestState {
        /// A tool call waits for a verdict.
        Approval = "approval",
        /// A tool call was granted, and has not started.
        Granted = "granted",
        /// A granted tool call has started, and has no result.
        Started = "started",
        /// A question is open.
        Question = "question",
        /// A call of a client's tool waits for the client.
        Client = "client",
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewThread => f.write_str("the thread is there already"),
            Self::NotEnded => f.write_str("the thread has ended already"),
            Self::EndsWith(seq) => write!(f, "the thread does not end with event {seq} any more"),
            Self::Wait(_) => f.write_str("an input was taken back, or is with a turn already"),
            Self::AtRestAfter(turn) => write!(f, "a turn after turn {turn} has begun"),
            Self::FewerSubthreads(most) => write!(f, "the thread has {most} subthreads already"),
            Self::FewerThreads(most) => write!(
                f,
                "the space has {most} threads already that have not ended"
            ),
            Self::TaskToCome {
                task, open: true, ..
            } => write!(f, "work on {task} has begun already"),
            Self::TaskToCome {
                task, open: false, ..
            } => write!(f, "{task} is over already"),
            Self::TaskAt { task, .. } => write!(f, "something has become of {task} meanwhile"),
            Self::TimerStands { name, .. } => write!(f, "the timer {name} is over"),
            Self::ScheduleStands { name, .. } => {
                write!(f, "the schedule {name} was changed or fired meanwhile")
            }
            Self::NewSchedule { name, most } => {
                write!(
                    f,
                    "the schedule {name} is there already, or {most} others are"
                )
            }
            Self::NewSubmodule { name, most } => {
                write!(
                    f,
                    "the submodule {name} is there already, or {most} others are"
                )
            }
            Self::HasSubmodule(name) => write!(f, "there is no submodule {name}"),
            Self::PromptIs { name, .. } => {
                write!(f, "the submodule {name} has another prompt now, or is gone")
            }
            Self::FollowUpIs { name, .. } => {
                write!(
                    f,
                    "the submodule {name} has another follow_up now, or is gone"
                )
            }
            Self::Request { id, .. } => write!(f, "the request {id} is settled"),
            Self::PinAt { tool, .. } => write!(
                f,
                "somebody has settled what models are told of {tool} meanwhile"
            ),
            Self::StatementAt { id, .. } => {
                write!(f, "something has become of the statement {id} meanwhile")
            }
            Self::FirstSaying(_) => f.write_str("somebody has claimed the same meanwhile"),
            Self::FrameworkAt { id, .. } => {
                write!(f, "something has been said of the framework {id} meanwhile")
            }
            Self::FewerFrameworks(most) => write!(f, "the space has {most} frameworks already"),
            Self::FewerWaiting(most) => write!(
                f,
                "{most} statements of the space wait for their trial already"
            ),
            Self::NoneHeldSince { seq, .. } => {
                write!(f, "other statements are held since event {seq}")
            }
            Self::NoneMergedSince(seq) => {
                write!(f, "names were merged or un-merged since event {seq}")
            }
            Self::SettingsAt(seq) => write!(
                f,
                "event {seq} is not the last change of a setting any more"
            ),
        }
    }
}
