//! Why something that was asked for from outside is not done.

use thinkd_event::fork::RANGES_MAX;
use thinkd_log::error::StoreError;
use thinkd_thread::new_thread::NotMade;
use thinkd_words::id::{MAIN, Name, Seq, ThreadId};

/// Why something was refused. Nothing was stored.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Refused {
    /// No such thread, submodule, …; the name is the one that the caller wrote.
    #[error("there is no {0}")]
    NotFound(String),
    /// The thread has ended.
    #[error("the thread {0} has ended and takes nothing more; POST /threads makes another one")]
    Ended(ThreadId),
    /// The thread's policy is `reject` and a turn runs.
    #[error("the thread {0} is busy and refuses input while a turn runs (policy reject)")]
    Busy(ThreadId),
    /// An earlier run of the schedule is under way.
    #[error(
        "an earlier run of the schedule {0} is under way, and it does not overlap (overlap: skip); run it when that one is done"
    )]
    RunUnderWay(Name),
    /// Too many inputs wait.
    #[error("{0} inputs wait for the thread already; send again when some have had their turn")]
    QueueFull(u32),
    /// Too many runs of pipelines at a time.
    #[error(
        "this server works on {of_space} runs of pipelines of this space already, or on {all} of all spaces; \
         start it again when one has ended"
    )]
    TooManyRuns {
        /// Most of one space.
        of_space: u32,
        /// Most of all.
        all: u32,
    },
    /// Too many of something at a time: another time it can be done.
    #[error("{0}")]
    Crowded(String),
    /// The model did not answer.
    #[error("{0}")]
    ModelFailed(String),
    /// A limit on how many there may be.
    #[error("there may be at most {limit} {what}")]
    TooMany {
        /// The counted things.
        what: &'static str,
        /// The limit.
        limit: u32,
    },
    /// The thing to create exists.
    #[error("{0} exists already")]
    Exists(String),
    /// Another act was first.
    #[error("{0}")]
    Settled(String),
    /// An input is with a turn already, or has had it.
    #[error("{0}")]
    Taken(String),
    /// A tool is not the one that was proposed any more.
    #[error("{0}")]
    ToolChanged(String),
    /// A person's answer does not fit the question.
    #[error("{0}")]
    InvalidArguments(String),
    /// Other people have to say it.
    #[error("{0}")]
    NotYours(String),
    /// The settings were changed meanwhile.
    #[error(
        "event {last} changed the settings last, not event {expected}, as was expected: read them again (GET /settings), and send \
         {last} as expected_seq if the change is still wanted"
    )]
    SettingsChanged {
        /// The event that the caller knows.
        expected: Seq,
        /// The one that changed them last.
        last: Seq,
    },
    /// Something has been said of a framework meanwhile.
    #[error(
        "event {last} said something of the framework last, not event {expected}, as was expected: read it again, and send {last} as \
         expected_seq if the change is still wanted"
    )]
    FrameworkChanged {
        /// The event that the caller knows.
        expected: Seq,
        /// The one that said something of it last.
        last: Seq,
    },
    /// A position beyond the end of the log.
    #[error("the log ends with event {head}, so there is no event {at}")]
    Ahead {
        /// The position.
        at: Seq,
        /// The log's end.
        head: Seq,
    },
    /// The event at a position is another thread's.
    #[error("event {at} is not in {thread}: name one of its events (GET /events?thread={thread})")]
    OfAnother {
        /// The position.
        at: Seq,
        /// The thread that was asked for.
        thread: ThreadId,
    },
    /// The wish is understood but cannot be done.
    #[error("{0}")]
    Unprocessable(String),
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<NotMade> for Refused {
    fn from(why_not: NotMade) -> Self {
        let too_many = |what, limit: u64| Self::TooMany {
            what,
            limit: u32::try_from(limit).unwrap_or(u32::MAX),
        };
        match why_not {
            NotMade::Main => Self::Unprocessable(format!(
                "{MAIN} is kept for the conversation that a message without a thread goes to; choose another label for a process"
            )),
            NotMade::OfRuns(parent) => Self::Unprocessable(format!(
                "{parent} is kept for runs of pipelines, which have no subthreads"
            )),
            NotMade::Ended(parent) => Self::Ended(parent),
            NotMade::Depth(most) => {
                Self::Unprocessable(format!("threads may be nested {most} deep (budget.depth)"))
            }
            NotMade::Subthreads(most) => too_many(
                "subthreads of a thread that have not ended (budget.subthreads)",
                most,
            ),
            NotMade::Contacts(most) => too_many("contacts of a thread", most),
            NotMade::Threads(most) => too_many_threads(most),
            NotMade::Ranges => too_many(
                "ranges of other threads' events in the past of a fork; fork a thread nearer to the first one",
                RANGES_MAX as u64,
            ),
            NotMade::Id(why) => Self::Unprocessable(why),
            NotMade::NoFreeId => {
                Self::Unprocessable("no free id was found for the label; choose another".into())
            }
        }
    }
}

/// A thread that is not there can be neither made nor spoken to.
pub(super) fn too_many_threads(limit: u64) -> Refused {
    let limit = u32::try_from(limit).unwrap_or(u32::MAX);
    Refused::TooMany {
        what: "threads in a space that have not ended; end some that are not needed",
        limit,
    }
}
