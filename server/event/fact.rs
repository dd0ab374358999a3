//! What an event says: one type for all that thinkd writes, read from tags and payload and written back to the same bytes. Each family of
//! facts is a file beside this one. Reading borrows from the event, so that it costs a few comparisons and is done where it is asked for.
//! What this build does not know (a newer one wrote it) is `Unknown`: it is kept, shown, and never taken for anything else.

use super::calls::{Action, Came, Outcome, Record, Reply};
use super::draft::Draft;
use super::envelope::{Visibility, tag, visibility, wakes};
use super::failed::{ClientFailed, Failed};
use super::input::{Input, Trigger};
use super::process::Feedback;
use super::raw::Raw;
use super::remark::{Decided, Decision, Remark};
use super::run::{NodeFact, NodeNews, RunFact, RunNews};
use super::set::{self, Change, Set};
use super::spec::Spec;
use super::told::{Message, Told};
use super::{calls, failed, input, remark, run, told, turn};
use crate::words::failure::{Failure, FailureKind, Who};
use crate::words::id::{Name, ThreadId};

mod answers;

/// See the module.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact<'a> {
    /// A client said or perceived something.
    Input(Input<'a>),
    /// Something outside has happened that has a name.
    Trigger(Trigger<'a>),
    /// A turn begins.
    TurnStarted(turn::Started<'a>),
    /// A turn ends.
    TurnEnded(turn::Ended),
    /// Somebody wants a turn to end.
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
    /// The core told a thread something.
    Told(Told<'a>),
    /// Something derived from the log was changed.
    Set(Set<'a>),
    /// Something went wrong.
    Failure(Failed<'a>),
    /// A client's frame was refused, or a client was lost.
    ClientFailure(ClientFailed<'a>),
    /// A run of a pipeline.
    Run(RunFact<'a>),
    /// A node of such a run.
    Node(NodeFact<'a>),
    /// Nothing that this build knows.
    Unknown(Raw<'a>),
}

macro_rules! kinds {
    ($($kind:ident)*) => {
        /// Every kind of fact that is written down in the documents; `Told` and `Set` have kinds of their own.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[expect(missing_docs, reason = "`spec` says what each is")]
        pub enum Kind {
            $($kind,)*
            Told(Feedback),
            Set(set::Kind),
        }

        impl Kind {
            /// Every one of them, in the order of the documents.
            pub fn all() -> Vec<Self> {
                let told = Feedback::ALL.into_iter().map(Self::Told);
                [$(Self::$kind),*].into_iter().chain(told).chain(set::Kind::ALL.into_iter().map(Self::Set)).collect()
            }
        }
    };
}
kinds! {
    Input Trigger TurnStarted TurnEnded TurnCancel Remark Said Thought NoAction Question Call Action Result ResultFailed Reply
    Message Failure NodeFailed ClientFailure RunStarted RunResumed RunCancel RunEnded NodeStarted NodeFinished NodeAbandoned
}

impl Kind {
    /// What the documents say of it.
    pub const fn spec(self) -> &'static Spec {
        match self {
            Self::Input => &input::INPUT,
            Self::Trigger => &input::TRIGGER,
            Self::TurnStarted => &turn::STARTED,
            Self::TurnEnded => &turn::ENDED,
            Self::TurnCancel => &turn::CANCEL,
            Self::Remark => &remark::REMARK,
            Self::Said => &remark::SAID,
            Self::Thought => &remark::THOUGHT,
            Self::NoAction => &remark::NO_ACTION,
            Self::Question => &remark::QUESTION,
            Self::Call => &calls::RECORD,
            Self::Action => &calls::ACTION,
            Self::Result => &calls::RESULT,
            Self::ResultFailed => &calls::RESULT_FAILED,
            Self::Reply => &calls::REPLY,
            Self::Message => &told::MESSAGE,
            Self::Failure => &failed::FAILURE,
            Self::NodeFailed => &failed::NODE_FAILED,
            Self::ClientFailure => &failed::CLIENT,
            Self::RunStarted => &run::STARTED,
            Self::RunResumed => &run::RESUMED,
            Self::RunCancel => &run::CANCEL,
            Self::RunEnded => &run::ENDED,
            Self::NodeStarted => &run::NODE_STARTED,
            Self::NodeFinished => &run::NODE_FINISHED,
            Self::NodeAbandoned => &run::NODE_ABANDONED,
            Self::Told(what) => what.spec(),
            Self::Set(kind) => kind.spec(),
        }
    }
}

impl<'a> From<Raw<'a>> for Fact<'a> {
    fn from(raw: Raw<'a>) -> Self {
        read(raw).unwrap_or(Self::Unknown(raw))
    }
}

/// The first tag says the family, but for what somebody did: there it says who.
fn read(raw: Raw<'_>) -> Option<Fact<'_>> {
    let tag = |index: usize| raw.tags.get(index).map(String::as_str);
    match tag(0)? {
        tag::INPUT if tag(1) == Some("type:trigger") => Trigger::decode(raw).map(Fact::Trigger),
        tag::INPUT => Input::decode(raw).map(Fact::Input),
        tag::TURN if tag(1) == Some(tag::STARTED) => turn::Started::decode(raw).map(Fact::TurnStarted),
        tag::TURN if tag(1) == Some(tag::ENDED) => turn::Ended::decode(raw).map(Fact::TurnEnded),
        tag::CANCEL => turn::Cancel::decode(raw).map(Fact::TurnCancel),
        tag::RESPONSE => Reply::decode(raw).map(Fact::Reply),
        tag::RESULT => Outcome::decode(raw).map(Fact::Result),
        tag::MESSAGE => Message::decode(raw).map(Fact::Message),
        tag::THREAD => Told::decode(raw).map(Fact::Told),
        tag::STATE => Set::decode(raw).map(Fact::Set),
        tag::FAILURE => Failed::decode(raw).map(Fact::Failure),
        tag::DEBUG if tag(1) == Some(tag::FAILURE) => ClientFailed::decode(raw).map(Fact::ClientFailure),
        tag::DEBUG => Record::decode(raw).map(Fact::Call),
        tag::RUN => RunFact::decode(raw).map(Fact::Run),
        tag::NODE => NodeFact::decode(raw).map(Fact::Node),
        _ if tag(1) == Some(tag::ACTION) => Action::decode(raw).map(Fact::Action),
        tag::DECISION => Decided::decode(raw).map(Fact::Decided),
        by if by.starts_with("submodule:") => Remark::decode(raw).map(Fact::Remark),
        _ => None,
    }
}

impl<'a> Fact<'a> {
    /// The event to be that says it, in this thread.
    pub fn encode(self, thread: &ThreadId) -> Draft {
        match self {
            Self::Input(fact) => fact.encode(thread),
            Self::Trigger(fact) => fact.encode(thread),
            Self::TurnStarted(fact) => fact.encode(thread),
            Self::TurnEnded(fact) => fact.encode(thread),
            Self::TurnCancel(fact) => fact.encode(thread),
            Self::Remark(fact) => fact.encode(thread),
            Self::Decided(fact) => fact.encode(thread),
            Self::Call(fact) => fact.encode(thread),
            Self::Action(fact) => fact.encode(thread),
            Self::Result(fact) => fact.encode(thread),
            Self::Reply(fact) => fact.encode(thread),
            Self::Message(fact) => fact.encode(thread),
            Self::Told(fact) => fact.encode(thread),
            Self::Set(fact) => fact.encode(thread),
            Self::Failure(fact) => fact.encode(thread),
            Self::ClientFailure(fact) => fact.encode(thread),
            Self::Run(fact) => fact.encode(thread),
            Self::Node(fact) => fact.encode(thread),
            Self::Unknown(raw) => {
                let Raw { source, modality, tags, payload, .. } = raw;
                Draft::new(thread, source, modality, tags.to_vec(), payload.clone().into())
            }
        }
    }

    /// Its kind in the documents; none: unknown, or in a form that is not.
    pub fn kind(&self) -> Option<Kind> {
        Some(match self {
            Self::Input(_) => Kind::Input,
            Self::Trigger(_) => Kind::Trigger,
            Self::TurnStarted(_) => Kind::TurnStarted,
            Self::TurnEnded(_) => Kind::TurnEnded,
            Self::TurnCancel(_) => Kind::TurnCancel,
            Self::Remark(_) => Kind::Remark,
            Self::Decided(decided) => match decided.what {
                Decision::Said => Kind::Said,
                Decision::Thought => Kind::Thought,
                Decision::NoAction => Kind::NoAction,
                Decision::Question(_) => Kind::Question,
            },
            Self::Call(_) => Kind::Call,
            Self::Action(_) => Kind::Action,
            Self::Result(result) => match result.came {
                Came::Output(_) => Kind::Result,
                Came::Failed(_) => Kind::ResultFailed,
            },
            Self::Reply(_) => Kind::Reply,
            Self::Message(_) => Kind::Message,
            Self::Told(told) => Kind::Told(told.news.what()),
            Self::Set(Set { change: Change::Unreadable { .. }, .. }) | Self::Unknown(_) => return None,
            Self::Set(set) => Kind::Set(set.change.kind()),
            Self::Failure(Failed { node: Some(_), .. }) => Kind::NodeFailed,
            Self::Failure(_) => Kind::Failure,
            Self::ClientFailure(_) => Kind::ClientFailure,
            Self::Run(run) => match run.what {
                RunNews::Started { .. } => Kind::RunStarted,
                RunNews::Resumed { .. } => Kind::RunResumed,
                RunNews::Cancel { .. } => Kind::RunCancel,
                RunNews::Ended { .. } => Kind::RunEnded,
            },
            Self::Node(node) => match node.what {
                NodeNews::Started => Kind::NodeStarted,
                NodeNews::Recorded { .. } | NodeNews::Passed => Kind::NodeFinished,
                NodeNews::Abandoned { .. } => Kind::NodeAbandoned,
            },
        })
    }

    /// Who may see it. The store goes by tags (`Event::visibility`), which say the same.
    pub fn visibility(&self) -> Visibility {
        match self {
            Self::Call(_) | Self::ClientFailure(_) => Visibility::Debug,
            Self::TurnStarted(_)
            | Self::TurnEnded(_)
            | Self::TurnCancel(_)
            | Self::Set(_)
            | Self::Run(_)
            | Self::Node(_) => Visibility::State,
            Self::Remark(_) => remark::VISIBILITY,
            Self::Action(action) => action.visibility(),
            Self::Result(result) => result.visibility(),
            Self::Failure(failed) => failed.visibility(),
            Self::Input(_)
            | Self::Trigger(_)
            | Self::Decided(_)
            | Self::Reply(_)
            | Self::Message(_)
            | Self::Told(_) => Visibility::Heard,
            Self::Unknown(raw) => visibility(raw.modality, raw.tags),
        }
    }

    /// Whether it starts a turn of its thread. The store goes by tags (`Event::wakes`), which say the same.
    pub fn wakes(&self) -> bool {
        match self {
            Self::Input(input) => !input.is_part,
            Self::Trigger(_) | Self::Message(_) => true,
            Self::Decided(decided) => decided.wakes(),
            Self::Told(told) => told.wakes(),
            Self::TurnStarted(_)
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
            Self::Unknown(raw) => wakes(raw.modality, raw.tags),
        }
    }
}

/// Examples of every kind, as drafts: what the documents show, and what the tests read and write back.
pub fn examples() -> Vec<Draft> {
    let thread = ThreadId::default();
    let (Ok(name), Ok(child)) = (Name::parse("critic"), ThreadId::parse("main.bob")) else { return Vec::new() };
    let voice = Who::Submodule(name.clone());
    let failure = Failure::new(FailureKind::Timeout, "no answer within 20000 ms").retryable();
    let families = [
        input::examples(&thread, &name),
        turn::examples(&thread),
        remark::examples(&thread, &name),
        calls::examples(&thread, &voice, &failure),
        told::examples(&thread, &name, &child),
        set::examples(&thread, &name, &child),
        failed::examples(&thread, &voice, &failure),
        run::examples(&failure),
    ];
    families.into_iter().flatten().collect()
}
