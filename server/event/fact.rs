//! The content of an event: one type for all that thinkd writes, read from tags and payload and
//! written back to the same bytes. Each family of facts is a file of `fact/`, which answers the
//! questions of readers (`fact/family.rs`); a new family is its file and this one. Reading borrows
//! from the event, so that it costs a few comparisons and is done where it is asked for. A fact
//! that this build does not know (a newer one wrote it) is `Unknown`: it is kept, shown, and never
//! taken for anything else.

use std::sync::LazyLock;

use serde::Deserialize;

use super::draft::Draft;
use super::envelope::{Meta, Modality, Payload, Source, tag};
use super::raw::Raw;
use super::spec::Spec;
use approval::{Pending, Started, Verdict};
use calls::{Action, Outcome, Record, Reply};
use client::{ClientCall, ClientResults};
use corrected::Corrected;
use entity::EntityFact;
use failed::{ClientFailed, Failed};
use family::Family;
use framework::FrameworkFact;
use input::{Input, Trigger};
use question::{Answer, Question};
use recalled::Recalled;
use remark::{Decided, Remark};
use run::{NodeFact, RunFact};
use schedule::Unrun;
use set::Set;
use statement::{StatementFact, Trials};
use summary::{Summaries, Summary};
use task::TaskFact;
use thinkd_words::id::ThreadId;
use told::{Message, Told};
use withdrawn::Withdrawn;

mod answers;
pub mod approval;
pub mod calls;
pub mod client;
pub mod corrected;
pub mod entity;
pub mod failed;
mod family;
pub mod framework;
pub mod input;
pub mod points;
pub mod question;
pub mod recalled;
pub mod remark;
pub mod run;
pub mod schedule;
pub mod set;
pub mod statement;
pub mod summary;
pub mod task;
pub mod told;
pub mod turn;
mod unknown;
pub mod withdrawn;

pub use family::{Byline, Piece, Role};

macro_rules! families {
    ($($(#[doc = $about:literal])+ $family:ident($type:ty),)*) => {
        /// See the module.
        #[derive(Debug, Clone, PartialEq)]
        pub enum Fact<'a> {
            $($(#[doc = $about])+ $family($type),)*
            /// Nothing that this build knows.
            Unknown(Raw<'a>),
        }

        impl<'a> Fact<'a> {
            fn specs() -> Vec<Spec> {
                [$(<$type>::specs()),*].concat()
            }

            /// The event to be that says it, in this thread.
            pub fn encode(self, thread: &ThreadId) -> Draft {
                match self {
                    $(Self::$family(fact) => fact.encode(thread),)*
                    Self::Unknown(raw) => raw.encode(thread),
                }
            }

            /// The family that answers for it.
            fn family(&self) -> &dyn Family<'a> {
                match self {
                    $(Self::$family(fact) => fact,)*
                    Self::Unknown(raw) => raw,
                }
            }
        }
    };
}

// In the order of the documents.
families! {
    /// A client said or perceived something.
    Input(Input<'a>),
    /// Something outside has happened that has a name.
    Trigger(Trigger<'a>),
    /// An input that waited was taken back.
    Withdrawn(Withdrawn<'a>),
    /// A schedule came to no run.
    Unrun(Unrun<'a>),
    /// A turn begins.
    TurnStarted(turn::Started<'a>),
    /// A running turn takes in messages that join it.
    TurnSteered(turn::Steered),
    /// A turn ends.
    TurnEnded(turn::Ended),
    /// A turn is to end.
    TurnCancel(turn::Cancel),
    /// A submodule said something.
    Remark(Remark<'a>),
    /// The decision said, thought or asked something.
    Decided(Decided<'a>),
    /// A model was asked.
    Call(Record<'a>),
    /// A tool call is about to run.
    Action(Action<'a>),
    /// A tool call came back.
    Result(Outcome<'a>),
    /// An answer to the user.
    Reply(Reply<'a>),
    /// A thread wrote to another.
    Message(Message<'a>),
    /// Something went wrong.
    Failure(Failed<'a>),
    /// A client's frame was refused, or a client was lost.
    ClientFailure(ClientFailed<'a>),
    /// A run of a pipeline.
    Run(RunFact<'a>),
    /// A node of such a run.
    Node(NodeFact<'a>),
    /// A tool call waits for a person.
    ApprovalPending(Pending<'a>),
    /// The verdict on it.
    ApprovalVerdict(Verdict<'a>),
    /// A granted call starts.
    ApprovalStarted(Started<'a>),
    /// A call of a client's tool waits for the client.
    ClientCall(ClientCall<'a>),
    /// The results of such calls came.
    ClientResults(ClientResults<'a>),
    /// A question to a person.
    Question(Question<'a>),
    /// The outcome of it.
    Answer(Answer<'a>),
    /// A turn has recalled held statements.
    Recalled(Recalled<'a>),
    /// A thread is told the new status of a statement.
    Corrected(Corrected),
    /// Something was said of a statement.
    Statement(StatementFact<'a>),
    /// The trials of a space say something of themselves.
    Trials(Trials),
    /// Some of a thread's events were summed up.
    Summary(Summary<'a>),
    /// The summaries of a space say something of themselves.
    Summaries(Summaries),
    /// Names are one, or are not any more.
    Entity(EntityFact),
    /// Something was said of a task of a mission.
    Task(TaskFact),
    /// Something was said of a framework.
    Framework(FrameworkFact<'a>),
    /// The core told a thread something.
    Told(Told<'a>),
    /// Something derived from the log was changed.
    Set(Set<'a>),
}

static SPECS: LazyLock<Vec<Spec>> = LazyLock::new(Fact::specs);

/// A kind of fact, by its name in the documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kind(&'static str);

impl Kind {
    pub(super) const fn named(name: &'static str) -> Self {
        Self(name)
    }

    /// Every one of them, in the order of the documents.
    pub fn all() -> Vec<Self> {
        SPECS.iter().map(|spec| Self(spec.name)).collect()
    }

    /// Its description in the documents.
    pub fn spec(self) -> &'static Spec {
        let found = SPECS.iter().find(|spec| spec.name == self.0);
        found.unwrap_or(&SPECS[0])
    }
}

impl<'a> From<Raw<'a>> for Fact<'a> {
    fn from(raw: Raw<'a>) -> Self {
        read(raw).unwrap_or(Self::Unknown(raw))
    }
}

/// Reads a fact. The first tag says the family; for acts of the decision or of a submodule it says
/// the actor.
fn read(raw: Raw<'_>) -> Option<Fact<'_>> {
    let tag = |index: usize| raw.tags.get(index).map(String::as_str);
    match tag(0)? {
        tag::INPUT if tag(1) == Some("type:trigger") => Trigger::decode(raw).map(Fact::Trigger),
        tag::INPUT => Input::decode(raw).map(Fact::Input),
        withdrawn::TAG => Withdrawn::decode(raw).map(Fact::Withdrawn),
        tag::TURN if tag(1) == Some(tag::STARTED) => {
            turn::Started::decode(raw).map(Fact::TurnStarted)
        }
        tag::TURN if tag(1) == Some(tag::STEERED) => {
            turn::Steered::decode(raw).map(Fact::TurnSteered)
        }
        tag::TURN if tag(1) == Some(tag::ENDED) => turn::Ended::decode(raw).map(Fact::TurnEnded),
        tag::CANCEL => turn::Cancel::decode(raw).map(Fact::TurnCancel),
        tag::RESPONSE => Reply::decode(raw).map(Fact::Reply),
        tag::RESULT => Outcome::decode(raw).map(Fact::Result),
        tag::MESSAGE => Message::decode(raw).map(Fact::Message),
        tag::THREAD => Told::decode(raw).map(Fact::Told),
        tag::STATE => Set::decode(raw).map(Fact::Set),
        tag::FAILURE => Failed::decode(raw).map(Fact::Failure),
        tag::DEBUG if tag(1) == Some(tag::FAILURE) => {
            ClientFailed::decode(raw).map(Fact::ClientFailure)
        }
        tag::DEBUG => Record::decode(raw).map(Fact::Call),
        tag::RUN => RunFact::decode(raw).map(Fact::Run),
        tag::NODE => NodeFact::decode(raw).map(Fact::Node),
        tag::APPROVAL => match tag(1)? {
            "pending" => Pending::decode(raw).map(Fact::ApprovalPending),
            tag::STARTED => Started::decode(raw).map(Fact::ApprovalStarted),
            _ => Verdict::decode(raw).map(Fact::ApprovalVerdict),
        },
        client::CALL => ClientCall::decode(raw).map(Fact::ClientCall),
        client::RESULTS => ClientResults::decode(raw).map(Fact::ClientResults),
        tag::QUESTION if tag(1) == Some("user") => Question::decode(raw).map(Fact::Question),
        tag::ANSWER => Answer::decode(raw).map(Fact::Answer),
        schedule::TAG => Unrun::decode(raw).map(Fact::Unrun),
        recalled::TAG => Recalled::decode(raw).map(Fact::Recalled),
        corrected::TAG => Corrected::decode(raw).map(Fact::Corrected),
        statement::TAG => StatementFact::decode(raw).map(Fact::Statement),
        statement::TRIALS => Trials::decode(raw).map(Fact::Trials),
        summary::TAG => Summary::decode(raw).map(Fact::Summary),
        summary::SUMMARIES => Summaries::decode(raw).map(Fact::Summaries),
        entity::TAG => EntityFact::decode(raw).map(Fact::Entity),
        task::TAG => TaskFact::decode(raw).map(Fact::Task),
        framework::TAG => FrameworkFact::decode(raw).map(Fact::Framework),
        _ if tag(1) == Some(tag::ACTION) => Action::decode(raw).map(Fact::Action),
        tag::DECISION => Decided::decode(raw).map(Fact::Decided),
        by if by.starts_with("submodule:") => Remark::decode(raw).map(Fact::Remark),
        _ => None,
    }
}

/// Examples of every kind, as drafts: for the documents to show, and for the tests to read and write back. Each is a line of
/// `event/fact/examples.jsonl`: an event without `event_id`, `ts` and `seq`.
pub fn examples() -> Vec<Draft> {
    #[derive(Deserialize)]
    struct Example {
        thread: ThreadId,
        source: Source,
        modality: Modality,
        payload: Payload,
        meta: Meta,
    }
    let draft = |it: Example| Draft {
        payload: it.payload,
        ..Draft::empty(&it.thread, it.source, it.modality, it.meta.tags)
    };
    let lines = include_str!("fact/examples.jsonl").lines();
    let read = lines.filter_map(|line| serde_json::from_str(line).ok());
    read.map(draft).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_examples_is_read() {
        let lines = include_str!("fact/examples.jsonl").lines();
        assert_eq!(examples().len(), lines.count());
    }
}
