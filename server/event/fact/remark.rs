//! The facts of words in a turn: what a submodule says; what the decision says, thinks and asks.

use serde_json::json;

use super::Kind;
use super::family::{Byline, Family, Piece, Role};
use crate::event::draft::{Draft, When, tags};
use crate::event::envelope::{Modality, Source, Visibility, tag};
use crate::event::raw::Raw;
use crate::event::spec::{CALL_MAYBE, Spec, TEXT, TURN};
use crate::words::id::{Name, ThreadId};

/// A submodule said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remark<'a> {
    /// Which.
    pub submodule: &'a str,
    /// The turn.
    pub turn: u64,
    /// After the turn's deadline, or after it was removed.
    pub is_late: bool,
    /// In answer to the broadcast decision.
    pub is_follow_up: bool,
    /// What.
    pub text: &'a str,
}

/// The decision said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decided<'a> {
    /// The turn.
    pub turn: u64,
    /// What.
    pub text: &'a str,
    /// What it is.
    pub what: Decision<'a>,
    /// The tool call that said it.
    pub call_id: Option<&'a str>,
}

/// What the decision's words are.
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

pub(super) const REMARK: Spec = Spec {
    name: "submodule-said",
    about: "A submodule said something. No other submodule sees it.",
    tags: &["submodule:<name>", "follow-up?", "late?"],
    members: &[TEXT, TURN],
    open: false,
};
pub(super) const SAID: Spec = Spec {
    name: "decision-said",
    about: "The decision's own words beside its tool calls. Nobody outside is addressed.",
    tags: &["decision"],
    members: &[TEXT, TURN],
    open: false,
};
pub(super) const THOUGHT: Spec = Spec {
    name: "thought",
    about: "A message of the thread to itself: the next turn starts with it.",
    tags: &["decision", "thought"],
    members: &[TEXT, TURN, CALL_MAYBE],
    open: false,
};
pub(super) const NO_ACTION: Spec = Spec {
    name: "no-action",
    about: "The decision not to act, with its reason.",
    tags: &["decision", "no-action"],
    members: &[TEXT, TURN, CALL_MAYBE],
    open: false,
};
pub(super) const QUESTION: Spec = Spec {
    name: "question",
    about: "A question of the decision to one submodule.",
    tags: &["decision", "question", "submodule:<name>"],
    members: &[TEXT, TURN, CALL_MAYBE],
    open: false,
};

impl<'a> Remark<'a> {
    pub(super) fn decode(raw: Raw<'a>) -> Option<Self> {
        Some(Self {
            submodule: raw.value("submodule:")?,
            turn: raw.turn()?,
            is_late: raw.has(tag::LATE),
            is_follow_up: raw.has(tag::FOLLOW_UP),
            text: raw.said("text"),
        })
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let Self {
            submodule,
            turn,
            is_late,
            is_follow_up,
            text,
        } = self;
        let payload = json!({ "text": text, "turn": turn });
        Draft::new(
            thread,
            Source::Internal,
            Modality::Text,
            tags([&format!("submodule:{submodule}")]),
            payload,
        )
        .tagged(is_follow_up.then_some(tag::FOLLOW_UP))
        .tagged(is_late.then_some(tag::LATE))
    }
}

impl<'a> Decided<'a> {
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
        let payload = json!({ "text": self.text, "turn": self.turn });
        let draft = Draft::new(
            thread,
            Source::Internal,
            Modality::Text,
            tags([tag::DECISION]),
            payload,
        );
        let draft = match self.what {
            Decision::Said => draft,
            Decision::Thought => draft.tagged([tag::THOUGHT]),
            Decision::NoAction => draft.tagged([tag::NO_ACTION]),
            Decision::Question(submodule) => {
                draft.tagged([tag::QUESTION, &format!("submodule:{submodule}")])
            }
        };
        draft.payload_some("call_id", self.call_id)
    }
}

impl<'a> Family<'a> for Remark<'a> {
    fn kind(&self) -> Option<Kind> {
        Some(Kind::Remark)
    }

    fn visibility(&self) -> Visibility {
        Visibility::Submodule
    }

    fn wakes(&self) -> bool {
        false
    }

    fn role(&self) -> Role {
        Role::Aside
    }

    fn changes_thread(&self) -> bool {
        false
    }

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

impl<'a> Family<'a> for Decided<'a> {
    fn kind(&self) -> Option<Kind> {
        Some(match self.what {
            Decision::Said => Kind::Said,
            Decision::Thought => Kind::Thought,
            Decision::NoAction => Kind::NoAction,
            Decision::Question(_) => Kind::Question,
        })
    }

    fn visibility(&self) -> Visibility {
        Visibility::Heard
    }

    fn wakes(&self) -> bool {
        self.what == Decision::Thought
    }

    fn role(&self) -> Role {
        Role::Decision
    }

    fn changes_thread(&self) -> bool {
        false
    }

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
            Decision::Said | Decision::Thought | Decision::NoAction => "decision".to_owned(),
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
        let (is_late, is_follow_up) = (when == When::Late, when == When::FollowUp);
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

/// One of each, for the documents and the tests.
pub(super) fn examples(thread: &ThreadId, name: &Name) -> Vec<Draft> {
    let late = Draft::submodule_said(thread, 7, name, When::FollowUp, "Said, and removed.")
        .when(When::Late);
    vec![
        Draft::submodule_said(thread, 7, name, When::InTime, "The price is missing."),
        late,
        Draft::decision_said(thread, 7, "I look it up first."),
        Draft::thought(thread, 7, "Then I compare the two.").of_call("c7.0.1"),
        Draft::no_action(thread, 7, "Nobody asked.").of_call("c7.0.0"),
        Draft::question(thread, 7, name, "Is that sure?").of_call("c7.0.0"),
    ]
}
