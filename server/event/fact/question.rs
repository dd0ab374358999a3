//! The facts of questions to people: the question of the mind, and its answer.

use serde_json::Value;
use thinkd_facts::Fact;

use super::family::{Byline, Family, Piece, Role};
use crate::draft::Draft;
use crate::envelope::{Modality, Source, Visibility, tag};
use crate::raw::Raw;
use crate::spec::{Flat, Member};
use crate::statement::OfTrial;

/// The mind, or a server of tools that it called, asks a person: POST /questions/{question_id},
/// the frame `answer`, or, where it is the agent's only open question of
/// its thread, the next message.
///
/// It is no result of the call that asked: that comes with the answer.
#[derive(Debug, Clone, PartialEq, Default, Fact)]
#[fact(name = "user-question", tags("question", "user"), source = System, modality = modality_of(trial),
       visibility = visibility_of(&self.trial), role = self.role(), changes_thread = true, label = "question")]
pub struct Question<'a> {
    /// The words.
    #[fact(or_default)]
    pub text: &'a str,
    /// The turn.
    pub turn: u64,
    /// The question: the id of the event that asked it.
    #[fact(name = "question_id")]
    pub question: &'a str,
    /// The call that asked.
    pub call_id: &'a str,
    /// Answers to choose from.
    #[fact(optional)]
    pub choices: Vec<&'a str>,
    /// The JSON schema that an answer must have.
    #[fact(kind = "object")]
    pub schema: Option<&'a Value>,
    /// The names of the people that may answer; without it all people that may speak.
    #[fact(optional)]
    pub who: Vec<&'a str>,
    /// Until when an answer is waited for.
    #[fact(name = "expires_at")]
    pub expires: &'a str,
    /// The server of tools that asks while it works on the call: the answer goes there.
    pub server: Option<&'a str>,
    /// The trial that asks, of a statement, about a prediction: no model is shown it, and no message answers it.
    #[fact(flat)]
    pub trial: Option<OfTrial>,
}

/// The outcome of a question to a person. The result of the call that asked stands behind it,
/// unless a server of tools asked; of a trial's its reading.
///
/// A message of a client may answer one, too (`Input::answers`).
#[derive(Debug, Clone, PartialEq, Fact)]
#[fact(name = "user-answer",
       tags("answer", "away|expired|withdrawn?" = what.tag(), "overrules?" = self.wakes()),
       source = what.source(), modality = modality_of(trial),
       visibility = visibility_of(&self.trial), role = Aside, wakes = self.wakes(), changes_thread = true)]
pub struct Answer<'a> {
    /// The words.
    #[fact(or_default)]
    pub text: &'a str,
    /// The question: the id of the event that asked it.
    #[fact(name = "question_id")]
    pub question: &'a str,
    /// The call that asked.
    pub call_id: &'a str,
    /// The outcome.
    #[fact(flat)]
    pub what: Answered<'a>,
    /// The server of tools that asks while it works on the call: the answer goes there.
    pub server: Option<&'a str>,
    /// The trial that asked: its reading stands behind it.
    #[fact(flat)]
    pub trial: Option<OfTrial>,
}

/// The outcome of a question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Answered<'a> {
    /// A person answered.
    Given {
        /// The person, when known.
        by: Option<&'a str>,
        /// The answer as JSON, of a question with a schema.
        value: Option<&'a Value>,
    },
    /// People are away.
    Away,
    /// No answer came in time.
    Expired,
    /// Its thread has ended, or was cancelled.
    Withdrawn,
}

impl Answered<'_> {
    const fn tag(self) -> Option<&'static str> {
        match self {
            Self::Given { .. } => None,
            Self::Away => Some("away"),
            Self::Expired => Some("expired"),
            Self::Withdrawn => Some("withdrawn"),
        }
    }

    const fn source(self) -> Source {
        match self {
            Self::Given { .. } => Source::User,
            _ => Source::System,
        }
    }
}

impl<'a> Flat<'a> for Answered<'a> {
    fn members() -> Vec<Member> {
        vec![
            ("by?", "string", "who answered, when known"),
            (
                "value?",
                "unknown",
                "the answer as JSON, of a question with a schema",
            ),
        ]
    }

    fn read(raw: Raw<'a>) -> Option<Self> {
        Some(match raw.tags.get(1).map(String::as_str) {
            None | Some(tag::OVERRULES) => Self::Given {
                by: raw.text("by"),
                value: raw.get("value"),
            },
            Some("away") => Self::Away,
            Some("expired") => Self::Expired,
            Some("withdrawn") => Self::Withdrawn,
            Some(_) => return None,
        })
    }

    fn write(self, draft: Draft) -> Draft {
        match self {
            Self::Given { by, value } => draft
                .payload_some("by", by)
                .payload_some("value", value.cloned()),
            _ => draft,
        }
    }
}

impl Question<'_> {
    /// Returns true if a call of the mind waits for the answer, and not a server of tools, or a
    /// trial.
    pub fn is_of_the_mind(&self) -> bool {
        self.server.is_none() && self.trial.is_none()
    }

    // What a server asks is nothing that its call came to.
    fn role(&self) -> Role {
        if self.is_of_the_mind() {
            Role::Decision
        } else {
            Role::Aside
        }
    }
}

impl Answer<'_> {
    fn wakes(&self) -> bool {
        self.what != Answered::Withdrawn && self.is_of_the_mind()
    }

    fn is_of_the_mind(&self) -> bool {
        self.server.is_none() && self.trial.is_none()
    }
}

/// Returns the modality of a question: models are not shown those of trials.
fn modality_of(trial: &Option<OfTrial>) -> Modality {
    trial.as_ref().map_or(Modality::Text, |_| Modality::State)
}

fn visibility_of(trial: &Option<OfTrial>) -> Visibility {
    let asks = trial.as_ref();
    asks.map_or(Visibility::Heard, |_| Visibility::State)
}

// A message may answer the only open one.
impl<'a> Family<'a> for Question<'a> {
    fn call_id(&self) -> Option<&'a str> {
        Some(self.call_id)
    }

    fn byline(&self, _raw: Raw<'a>) -> Byline<'a> {
        vec![
            Piece::Word("question to the user "),
            Piece::Name(self.call_id.into()),
        ]
    }

    fn content(&self) -> Option<String> {
        Some(match self.choices.as_slice() {
            [] => self.text.to_owned(),
            choices => format!("{} ({})", self.text, choices.join(" | ")),
        })
    }
}

impl<'a> Family<'a> for Answer<'a> {
    fn is_root(&self) -> bool {
        matches!(self.what, Answered::Given { .. }) && self.is_of_the_mind()
    }

    fn is_from_outside(&self) -> bool {
        self.wakes()
    }

    fn ends_any_wait(&self) -> bool {
        self.is_of_the_mind()
    }

    fn byline(&self, _raw: Raw<'a>) -> Byline<'a> {
        let by = match self.what {
            Answered::Given { by: Some(by), .. } => {
                vec![Piece::Word(" of "), Piece::Name(by.into())]
            }
            _ => Vec::new(),
        };
        [Piece::Word("answer "), Piece::Name(self.call_id.into())]
            .into_iter()
            .chain(by)
            .collect()
    }

    fn label(&self) -> Option<String> {
        Some(match self.what {
            Answered::Given { by: Some(by), .. } => format!("answer ({by})"),
            _ => "answer".to_owned(),
        })
    }
}
