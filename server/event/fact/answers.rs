//! The questions that readers ask of a fact, an event or a draft: where it comes from, whom it wakes, which call it belongs to. The families
//! answer them (`fact/family.rs`).

use super::family::{Byline, Role};
use super::remark::Decision;
use super::run::{RunFact, RunKey, RunNews};
use super::set::{Change, Set};
use super::told::{News, Told};
use super::{Fact, Kind, turn};
use crate::draft::Draft;
use crate::envelope::{Event, Visibility, tag};
use crate::gather::GatherPart;
use crate::intent::Intent;
use crate::process::Waking;
use crate::raw::Raw;
use thinkd_words::id::{Name, Seq, ThreadId};

impl<'a> Fact<'a> {
    /// Its kind in the documents; none: unknown, or in a form that they do not have.
    pub fn kind(&self) -> Option<Kind> {
        self.family().plain().kind
    }

    /// Returns whether it is a message of the thread to itself.
    pub fn is_thought(&self) -> bool {
        matches!(self, Self::Decided(said) if said.what == Decision::Thought)
    }

    /// Returns the readers that may see it. The store goes by tags (`Event::visibility`), which say
    /// the same.
    pub fn visibility(&self) -> Visibility {
        self.family().plain().visibility
    }

    /// Returns true if it starts a turn of its thread. The store goes by tags (`Event::wakes`),
    /// which say the same.
    pub fn wakes(&self) -> bool {
        self.family().plain().wakes
    }

    /// Returns its role in the turn of the number that it carries.
    pub fn role(&self) -> Role {
        self.family().plain().role
    }

    /// Returns true if it changes more of its thread's row than every event does.
    pub fn changes_thread(&self) -> bool {
        self.family().plain().changes_thread
    }

    /// Returns the speaker in its entry of a view. `event` is the one that says it.
    pub fn byline(&self, event: &'a Event) -> Byline<'a> {
        self.family().byline(event.into())
    }

    /// Returns the words of its entry of a view, where they differ from its text.
    pub fn content(&self) -> Option<String> {
        self.family().content()
    }

    /// Returns the speaker or actor, in a few words for the terminal; none: the event's source says
    /// it.
    pub fn label(&self) -> Option<String> {
        self.family().label()
    }

    /// The submodule that said it, did it or failed.
    pub fn submodule(&self) -> Option<&'a str> {
        self.family().submodule()
    }

    /// The tool call that it belongs to.
    pub fn call_id(&self) -> Option<&'a str> {
        self.family().call_id()
    }

    /// Returns the intent of its turn since this result.
    pub fn intent(&self) -> Option<Intent> {
        self.family().intent()
    }

    /// Returns true if it says in its thread that something went wrong, of a tool call, too.
    pub fn is_failure(&self) -> bool {
        self.family().is_failure()
    }

    /// Returns true if other events go back to it: words from outside, or an answer from outside.
    pub fn is_root(&self) -> bool {
        self.family().is_root()
    }

    /// Returns true if it came from outside the mind: a client's input, a trigger, the clock; of an
    /// unknown fact, if it says so.
    pub fn is_from_outside(&self) -> bool {
        self.family().is_from_outside()
    }

    /// Returns true if another thread than `own` spoke to it, or is told to have ended or to be
    /// stuck.
    pub fn is_from_others(&self, own: &ThreadId) -> bool {
        self.family().is_from_others(own)
    }

    /// Returns true if the thread `own` woke itself, or only its own attempts did: a thought, a
    /// message to itself, the end of a wait that is of no use.
    pub fn is_from_itself(&self, own: &ThreadId) -> bool {
        self.family().is_from_itself(own)
    }

    /// Returns its meaning to a thread that waits; `None` when it wakes none.
    pub fn waking(&self) -> Option<Waking> {
        let family = self.family();
        if !family.plain().wakes {
            return None;
        }
        let by = family.by().and_then(|from| ThreadId::parse(from).ok());
        Some(Waking {
            by,
            outside: family.is_root(),
            ends_any_wait: family.ends_any_wait(),
        })
    }
}

impl Event {
    /// Returns the fact in the event.
    pub fn fact(&self) -> Fact<'_> {
        Raw::from(self).into()
    }

    /// Returns whether it is a message that the thread sent to itself.
    pub fn is_thought(&self) -> bool {
        self.fact().is_thought()
    }

    /// Returns the event from outside that it goes back to, as far as it says: itself, if it is
    /// one. A client's words in a payload say nothing about it.
    pub fn root(&self) -> Option<Seq> {
        match self.fact() {
            Fact::Trigger(trigger) => trigger.root().or(Some(self.seq)),
            fact if fact.is_root() => Some(self.seq),
            _ => Raw::from(self).seq("root"),
        }
    }

    /// Returns the marks that people are to notice about it, as its tags say it: of an event of a
    /// newer build, too.
    pub fn marks(&self) -> Vec<&str> {
        let marks = [
            tag::THOUGHT,
            tag::NO_ACTION,
            tag::LATE,
            tag::FOLLOW_UP,
            tag::PARTIAL,
            tag::FAILURE,
        ];
        marks.into_iter().filter(|mark| self.has(mark)).collect()
    }

    /// The tokens that a model call used, in and out, as its record says.
    pub fn tokens(&self) -> u64 {
        match self.fact() {
            Fact::Call(record) => record.tokens(),
            _ => 0,
        }
    }

    /// Returns true if it asks for the end of the turn of this number.
    pub fn cancels(&self, number: u64) -> bool {
        matches!(self.fact(), Fact::TurnCancel(turn::Cancel { turn, .. }) if turn == number)
    }

    /// The status with which it ends its thread, if it does.
    pub fn ended_as(&self) -> Option<&str> {
        match self.fact() {
            Fact::Set(Set {
                change: Change::Thread(thread),
                ..
            }) => thread.status,
            _ => None,
        }
    }

    /// Returns true if it ends its thread.
    pub fn ends_thread(&self) -> bool {
        self.ended_as().is_some()
    }

    /// Returns true if the thread woke itself, or only its own attempts did: see
    /// `Fact::is_from_itself`.
    pub fn is_from_itself(&self) -> bool {
        self.fact().is_from_itself(&self.thread)
    }

    /// Returns true if it came from outside the mind: a client's input, a trigger, an answer, the
    /// clock.
    pub fn is_from_outside(&self) -> bool {
        self.fact().is_from_outside()
    }

    /// Returns the subthread of a gathering that it tells of: its end, or its halt.
    pub fn part(&self) -> Option<GatherPart> {
        match self.fact() {
            Fact::Told(Told {
                news: News::Ended { counted, .. } | News::Stuck { counted, .. },
                ..
            }) => counted.part,
            _ => None,
        }
    }

    /// Returns its meaning to a thread that waits; `None` when it wakes none.
    pub fn waking(&self) -> Option<Waking> {
        self.fact().waking()
    }

    /// Returns the intent of its turn since this result.
    pub fn intent(&self) -> Option<Intent> {
        self.fact().intent()
    }

    /// The run that begins with this event.
    pub fn begins_run(&self) -> Option<RunKey> {
        match self.fact() {
            Fact::Run(RunFact {
                pipeline,
                what: RunNews::Started { .. },
                ..
            }) => {
                let id = self.event_id;
                let thread = self.thread.clone();
                Some(RunKey {
                    id,
                    pipeline: Name::parse(pipeline).ok()?,
                    thread,
                })
            }
            _ => None,
        }
    }
}

impl Draft {
    /// Returns the fact in the draft.
    pub fn fact(&self) -> Fact<'_> {
        Raw::from(self).into()
    }

    /// Returns the intent of its turn once this is stored.
    pub fn preview_intent(&self) -> Option<Intent> {
        self.fact().intent()
    }

    /// The same, with the event from outside that it goes back to (its root), where others go by that. One that says so already keeps it.
    #[must_use]
    pub fn rooted(self, root: Option<Seq>) -> Self {
        let root =
            root.filter(|_| !self.payload.contains_key("root") && self.fact().family().has_root());
        self.payload_some("root", root)
    }

    /// The same; the record of a call names the event from outside that the mission goes back to which made it.
    #[must_use]
    pub fn caused(self, cause: Option<Seq>) -> Self {
        let cause = cause.filter(|_| matches!(self.fact(), Fact::Call(_)));
        self.payload_some("cause", cause)
    }
}
