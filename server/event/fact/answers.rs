//! What others ask of a fact: where it comes from, whom it wakes, which call it belongs to; and the same of an event or a draft.

use serde::Deserialize as _;

use super::Fact;
use crate::event::calls::Came;
use crate::event::draft::Draft;
use crate::event::envelope::{Event, tag};
use crate::event::gather::Part;
use crate::event::intent::Intent;
use crate::event::process::Waking;
use crate::event::raw::Raw;
use crate::event::remark::Decision;
use crate::event::run::{RunFact, RunKey, RunNews};
use crate::event::set::{Change, Set};
use crate::event::told::{News, Told};
use crate::event::turn;
use crate::words::failure::By;
use crate::words::id::{Name, Seq, ThreadId};

impl<'a> Fact<'a> {
    /// Whether it came from outside the mind: a client's input, a trigger, the clock; of what is unknown, whatever says so.
    pub fn is_from_outside(&self) -> bool {
        match self {
            Self::Told(told) => matches!(told.news, News::Timer { .. }),
            Self::Unknown(raw) => raw.has(tag::TIMER) || self.is_root(),
            _ => self.is_root(),
        }
    }

    /// Whether another thread spoke to it, or is told to have ended or to be stuck.
    pub fn is_from_others(&self, own: &ThreadId) -> bool {
        match self {
            Self::Message(message) => message.from != own.as_str(),
            Self::Told(told) => matches!(told.news, News::Ended { .. } | News::Stuck { .. }),
            Self::Unknown(raw) => raw.has(tag::MESSAGE) && raw.text("from") != Some(own.as_str()),
            Self::Input(_)
            | Self::Trigger(_)
            | Self::TurnStarted(_)
            | Self::TurnEnded(_)
            | Self::TurnCancel(_)
            | Self::Remark(_)
            | Self::Decided(_)
            | Self::Call(_)
            | Self::Action(_)
            | Self::Result(_)
            | Self::Reply(_)
            | Self::Set(_)
            | Self::Failure(_)
            | Self::ClientFailure(_)
            | Self::Run(_)
            | Self::Node(_) => false,
        }
    }

    /// What it means to a thread that waits; `None` when it wakes nobody.
    pub fn waking(&self) -> Option<Waking> {
        if !self.wakes() {
            return None;
        }
        let overrules = match self {
            Self::Told(told) => told.overrules,
            Self::Unknown(raw) => raw.has(tag::OVERRULES),
            _ => false,
        };
        let by = self.by().and_then(|from| ThreadId::parse(from).ok());
        Some(Waking { by, outside: self.is_root(), overrules })
    }

    /// The submodule that said it, did it or failed.
    pub fn voice(&self) -> Option<&'a str> {
        let submodule = |by: By<'a>| match by {
            By::Submodule(name) => Some(name),
            By::Decision | By::Tool(_) | By::Pipeline(_) | By::Core => None,
        };
        match self {
            Self::Remark(remark) => Some(remark.voice),
            Self::Action(action) => submodule(action.by),
            Self::Result(result) => result.voice,
            Self::Failure(failed) => submodule(failed.who),
            Self::Unknown(raw) => raw.value("submodule:").filter(|_| !raw.has(tag::DECISION)),
            Self::Input(_)
            | Self::Trigger(_)
            | Self::TurnStarted(_)
            | Self::TurnEnded(_)
            | Self::TurnCancel(_)
            | Self::Decided(_)
            | Self::Call(_)
            | Self::Reply(_)
            | Self::Message(_)
            | Self::Told(_)
            | Self::Set(_)
            | Self::ClientFailure(_)
            | Self::Run(_)
            | Self::Node(_) => None,
        }
    }

    /// Whether other events go back to it: it is what somebody outside said, or the answer of somebody outside.
    pub fn is_root(&self) -> bool {
        match self {
            Self::Input(_) | Self::Trigger(_) => true,
            Self::Unknown(raw) => raw.has(tag::INPUT) || raw.has(tag::ANSWER),
            Self::TurnStarted(_)
            | Self::TurnEnded(_)
            | Self::TurnCancel(_)
            | Self::Remark(_)
            | Self::Decided(_)
            | Self::Call(_)
            | Self::Action(_)
            | Self::Result(_)
            | Self::Reply(_)
            | Self::Message(_)
            | Self::Told(_)
            | Self::Set(_)
            | Self::Failure(_)
            | Self::ClientFailure(_)
            | Self::Run(_)
            | Self::Node(_) => false,
        }
    }

    /// Whether the thread `own` woke itself, or only what it tried did: a thought, a message to itself, the end of a wait that is of no
    /// use.
    pub fn is_from_itself(&self, own: &ThreadId) -> bool {
        match self {
            Self::Message(message) => message.from == own.as_str(),
            Self::Decided(decided) => decided.what == Decision::Thought,
            Self::Told(told) => told.overrules && !matches!(told.news, News::Timer { .. }),
            Self::Unknown(raw) => raw.has(tag::THOUGHT) || (raw.has(tag::OVERRULES) && !raw.has(tag::TIMER)),
            Self::Input(_)
            | Self::Trigger(_)
            | Self::TurnStarted(_)
            | Self::TurnEnded(_)
            | Self::TurnCancel(_)
            | Self::Remark(_)
            | Self::Call(_)
            | Self::Action(_)
            | Self::Result(_)
            | Self::Reply(_)
            | Self::Set(_)
            | Self::Failure(_)
            | Self::ClientFailure(_)
            | Self::Run(_)
            | Self::Node(_) => false,
        }
    }

    /// Whether it says in its thread that something went wrong, of a tool call, too.
    pub fn is_failure(&self) -> bool {
        match self {
            Self::Failure(_) => true,
            Self::Result(result) => matches!(result.came, Came::Failed(_)),
            Self::Unknown(raw) => raw.has(tag::FAILURE) && !raw.has(tag::DEBUG),
            Self::Input(_)
            | Self::Trigger(_)
            | Self::TurnStarted(_)
            | Self::TurnEnded(_)
            | Self::TurnCancel(_)
            | Self::Remark(_)
            | Self::Decided(_)
            | Self::Call(_)
            | Self::Action(_)
            | Self::Reply(_)
            | Self::Message(_)
            | Self::Told(_)
            | Self::Set(_)
            | Self::ClientFailure(_)
            | Self::Run(_)
            | Self::Node(_) => false,
        }
    }

    /// The tool call that it belongs to.
    pub fn call_id(&self) -> Option<&'a str> {
        match self {
            Self::Decided(decided) => decided.call_id,
            Self::Action(action) => Some(action.call_id),
            Self::Result(result) => Some(result.call_id),
            Self::Reply(reply) => Some(reply.call_id),
            Self::Told(told) => told.call_id,
            Self::Unknown(raw) => raw.text("call_id"),
            Self::Input(_)
            | Self::Trigger(_)
            | Self::TurnStarted(_)
            | Self::TurnEnded(_)
            | Self::TurnCancel(_)
            | Self::Remark(_)
            | Self::Call(_)
            | Self::Message(_)
            | Self::Set(_)
            | Self::Failure(_)
            | Self::ClientFailure(_)
            | Self::Run(_)
            | Self::Node(_) => None,
        }
    }

    /// The thread that it is from, or is about, and that is not outside.
    fn by(&self) -> Option<&'a str> {
        match self {
            Self::Message(message) => Some(message.from),
            Self::Told(told) => match told.news {
                News::Ended { thread, .. } | News::Stuck { thread, .. } => Some(thread),
                News::Spawned { .. }
                | News::Archived { .. }
                | News::Resumed { .. }
                | News::Cleared { .. }
                | News::TimerSet { .. }
                | News::Timer { .. }
                | News::PlanComplete { .. }
                | News::WatchRaised { .. }
                | News::WatchSet { .. }
                | News::WatchClosed { .. }
                | News::Gathered { .. }
                | News::Error { .. } => None,
            },
            Self::Unknown(raw) => raw.text("from").filter(|_| !self.is_root()),
            Self::Input(_)
            | Self::Trigger(_)
            | Self::TurnStarted(_)
            | Self::TurnEnded(_)
            | Self::TurnCancel(_)
            | Self::Remark(_)
            | Self::Decided(_)
            | Self::Call(_)
            | Self::Action(_)
            | Self::Result(_)
            | Self::Reply(_)
            | Self::Set(_)
            | Self::Failure(_)
            | Self::ClientFailure(_)
            | Self::Run(_)
            | Self::Node(_) => None,
        }
    }

    /// Whether others go by which event from outside it goes back to: what a call used, what a thread was made for, what wakes another
    /// thread, or this one later.
    fn has_root(&self) -> bool {
        match self {
            Self::TurnStarted(_) | Self::Call(_) | Self::Message(_) => true,
            Self::Told(told) => {
                matches!(told.news, News::Spawned { .. } | News::Ended { .. } | News::Stuck { .. })
            }
            Self::Set(set) => match &set.change {
                Change::Timer(_) => true,
                Change::Thread(thread) => thread.settings.is_some(),
                _ => false,
            },
            Self::Input(_)
            | Self::Trigger(_)
            | Self::TurnEnded(_)
            | Self::TurnCancel(_)
            | Self::Remark(_)
            | Self::Decided(_)
            | Self::Action(_)
            | Self::Result(_)
            | Self::Reply(_)
            | Self::Failure(_)
            | Self::ClientFailure(_)
            | Self::Run(_)
            | Self::Node(_)
            | Self::Unknown(_) => false,
        }
    }

    /// What its turn intends since this result.
    pub fn intent(&self) -> Option<Intent> {
        match self {
            Self::Result(result) => Intent::deserialize(result.intent?).ok(),
            _ => None,
        }
    }
}

impl Event {
    /// What it says.
    pub fn fact(&self) -> Fact<'_> {
        Raw::from(self).into()
    }

    /// The event from outside that it goes back to, as far as it says: itself, if it is one. What a client writes into a payload says
    /// nothing about it.
    pub fn root(&self) -> Option<Seq> {
        if self.fact().is_root() { Some(self.seq) } else { Raw::from(self).seq("root") }
    }

    /// The tokens that a model call used, in and out, as its record says.
    pub fn tokens(&self) -> u64 {
        match self.fact() {
            Fact::Call(record) => record.tokens(),
            _ => 0,
        }
    }

    /// Whether it asks for the end of the turn of this number.
    pub fn cancels(&self, number: u64) -> bool {
        matches!(self.fact(), Fact::TurnCancel(turn::Cancel { turn }) if turn == number)
    }

    /// The status with which it ends its thread, if it does.
    pub fn ended_as(&self) -> Option<&str> {
        match self.fact() {
            Fact::Set(Set { change: Change::Thread(thread), .. }) => thread.status,
            _ => None,
        }
    }

    /// Whether it ends its thread.
    pub fn ends_thread(&self) -> bool {
        self.ended_as().is_some()
    }

    /// Whether the thread woke itself, or only what it tried did: see `Fact::is_from_itself`.
    pub fn is_from_itself(&self) -> bool {
        self.fact().is_from_itself(&self.thread)
    }

    /// Whether it came from outside the mind: a client's input, a trigger, an answer, the clock.
    pub fn is_from_outside(&self) -> bool {
        self.fact().is_from_outside()
    }

    /// The subthread of a gathering whose end it tells, or that it cannot go on.
    pub fn part(&self) -> Option<Part> {
        match self.fact() {
            Fact::Told(Told { news: News::Ended { counted, .. } | News::Stuck { counted, .. }, .. }) => counted.part,
            _ => None,
        }
    }

    /// What it means to a thread that waits; `None` when it wakes nobody.
    pub fn waking(&self) -> Option<Waking> {
        self.fact().waking()
    }

    /// What its turn intends since this result.
    pub fn intent(&self) -> Option<Intent> {
        self.fact().intent()
    }

    /// The run that begins with this event.
    pub fn begins_run(&self) -> Option<RunKey> {
        match self.fact() {
            Fact::Run(RunFact { pipeline, what: RunNews::Started { .. }, .. }) => {
                Some(RunKey { id: self.event_id, pipeline: Name::parse(pipeline).ok()? })
            }
            _ => None,
        }
    }
}

impl Draft {
    /// What it says.
    pub fn fact(&self) -> Fact<'_> {
        Raw::from(self).into()
    }

    /// What its turn will intend when this is stored.
    pub fn preview_intent(&self) -> Option<Intent> {
        self.fact().intent()
    }

    /// The same, with the event from outside that it goes back to (its root), where others go by that. One that says so already keeps it.
    #[must_use]
    pub fn rooted(self, root: Option<Seq>) -> Self {
        let root = root.filter(|_| !self.payload.contains_key("root") && self.fact().has_root());
        self.payload_some("root", root)
    }
}
