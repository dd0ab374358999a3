//! The facts of words in a turn: of a submodule, and of the decision, which says, thinks and asks.

use serde_json::json;
use thinkd_facts::Fact;

use super::family::{Byline, Declared, Family, Piece, Plain, Role};
use crate::draft::{Draft, When, tags};
use crate::envelope::{Modality, Source, Visibility, tag};
use crate::raw::Raw;
use crate::spec::{CALL_MAYBE, Spec, TEXT, TURN, spec};
use thinkd_words::id::{Name, ThreadId};

/// A submodule said something. No other submodule sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Fact)]
#[fact(name = "submodule-said", modality = Text, visibility = Submodule, role = Aside,
       tags("submodule:<name>" = submodule, "follow-up?" = is_follow_up, "late?" = is_late))]
pub struct Remark<'a> {
    /// Its name.
    #[fact(tag = "submodule:")]
    pub submodule: &'a str,
    /// The turn.
    pub turn: u64,
    /// After the turn's deadline, or after it was removed.
    #[fact(flag = "late")]
    pub is_late: bool,
    /// In answer to the broadcast decision.
    #[fact(flag = "follow-up")]
    pub is_follow_up: bool,
    /// Its words.
    #[fact(or_default)]
    pub text: &'a str,
}

/// The decision said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decided<'a> {
    /// The turn.
    pub turn: u64,
    /// Its words.
    pub text: &'a str,
    /// Their kind.
    pub what: Decision<'a>,
    /// The tool call that said it.
    pub call_id: Option<&'a str>,
}

/// The kind of the decision's words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision<'a> {
    /// Words beside (or instead of) its tool calls.
    Said,
    /// A message of the thread to itself: the next turn starts with it.
    Thought,
    /// The reason not to act.
    NoAction,
    /// A question to one submodule.
    Question(&'a str),
}

impl<'a> Decided<'a> {
    pub(super) fn specs() -> Vec<Spec> {
        vec![
            spec!(
                /// The decision's own words beside its tool calls.
                /// They are addressed to no person or program outside.
                "decision-said", ["decision"]; TEXT, TURN,
            ),
            spec!(
                /// A message of the thread to itself: the next turn starts with it.
                "thought", ["decision", "thought"]; TEXT, TURN, CALL_MAYBE,
            ),
            spec!(
                /// The decision not to act, with its reason.
                "no-action", ["decision", "no-action"]; TEXT, TURN, CALL_MAYBE,
            ),
            spec!(
                /// A question of the decision to one submodule.
                "question", ["decision", "question", "submodule:<name>"]; TEXT, TURN, CALL_MAYBE,
            ),
        ]
    }

    pub(super) fn decode(raw: Raw<'a>) -> Option<Self> {
        let what = match raw.tags.get(1).map(String::as_str) {
            None => Decision::Said,
            Some(tag::THOUGHT) => Decision::Thought,
            Some(tag::NO_ACTION) => Decision::NoAction,
            Some(tag::QUESTION) => Decision::Question(raw.value("submodule:")?),
            Some(_) => return None,
        };
        Some(Self {
            turn: raw.turn()?,
            text: raw.said("text"),
            what,
            call_id: raw.text("call_id"),
        })
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let tags = match self.what {
            Decision::Said => tags([tag::DECISION]),
            Decision::Thought => tags([tag::DECISION, tag::THOUGHT]),
            Decision::NoAction => tags([tag::DECISION, tag::NO_ACTION]),
            Decision::Question(submodule) => tags([
                tag::DECISION,
                tag::QUESTION,
                &format!("submodule:{submodule}"),
            ]),
        };
        let payload = json!({ "text": self.text, "turn": self.turn });
        Draft::new(thread, Source::Internal, Modality::Text, tags, payload)
            .payload_some("call_id", self.call_id)
    }
}

impl<'a> Family<'a> for Remark<'a> {
    fn submodule(&self) -> Option<&'a str> {
        Some(self.submodule)
    }

    fn byline(&self, _raw: Raw<'a>) -> Byline<'a> {
        let late = self.is_late.then_some(Piece::Word(" (late)"));
        let follow_up = self.is_follow_up.then_some(Piece::Word(" (follow-up)"));
        let submodule = [Piece::Word("voice "), Piece::Name(self.submodule.into())];
        submodule.into_iter().chain(late).chain(follow_up).collect()
    }

    fn label(&self) -> Option<String> {
        Some(self.submodule.to_owned())
    }
}

impl Declared for Decided<'_> {
    fn plain(&self) -> Plain {
        let kind = match self.what {
            Decision::Said => "decision-said",
            Decision::Thought => "thought",
            Decision::NoAction => "no-action",
            Decision::Question(_) => "question",
        };
        Plain::new(kind, Visibility::Heard, Role::Decision).waking(self.what == Decision::Thought)
    }
}

impl<'a> Family<'a> for Decided<'a> {
    fn call_id(&self) -> Option<&'a str> {
        self.call_id
    }

    fn is_from_itself(&self, _own: &ThreadId) -> bool {
        self.what == Decision::Thought
    }

    fn byline(&self, _raw: Raw<'a>) -> Byline<'a> {
        match self.what {
            Decision::Said => vec![Piece::Word("decision")],
            Decision::Thought => vec![Piece::Word("thought")],
            Decision::NoAction => vec![Piece::Word("no action")],
            Decision::Question(submodule) => {
                vec![Piece::Word("question to "), Piece::Name(submodule.into())]
            }
        }
    }

    fn label(&self) -> Option<String> {
        Some(match self.what {
            Decision::Question(submodule) => format!("decision asks {submodule}"),
            _ => "decision".to_owned(),
        })
    }
}

impl Draft {
    /// A submodule said something.
    pub fn submodule_said(
        thread: &ThreadId,
        turn: u64,
        name: &Name,
        when: When,
        text: &str,
    ) -> Self {
        let is_late = when == When::Late;
        let is_follow_up = when == When::FollowUp;
        Remark {
            submodule: name.as_str(),
            turn,
            is_late,
            is_follow_up,
            text,
        }
        .encode(thread)
    }

    fn decided(thread: &ThreadId, turn: u64, text: &str, what: Decision<'_>) -> Self {
        Decided {
            turn,
            text,
            what,
            call_id: None,
        }
        .encode(thread)
    }

    /// The decision's own words beside (or instead of) its tool calls.
    pub fn decision_said(thread: &ThreadId, turn: u64, text: &str) -> Self {
        Self::decided(thread, turn, text, Decision::Said)
    }

    /// A message of the thread to itself: the next turn starts with it.
    pub fn thought(thread: &ThreadId, turn: u64, text: &str) -> Self {
        Self::decided(thread, turn, text, Decision::Thought)
    }

    /// The decision not to act, with its reason.
    pub fn no_action(thread: &ThreadId, turn: u64, reason: &str) -> Self {
        Self::decided(thread, turn, reason, Decision::NoAction)
    }

    /// A question of the decision to one submodule.
    pub fn question(thread: &ThreadId, turn: u64, submodule: &Name, question: &str) -> Self {
        Self::decided(
            thread,
            turn,
            question,
            Decision::Question(submodule.as_str()),
        )
    }
}
