//! The facts of questions to people: what the mind wants to know of them, and what came back.

use serde_json::{Value, json};

use super::Kind;
use super::family::{Byline, Family, Piece, Role};
use crate::event::draft::{Draft, tags};
use crate::event::envelope::{Modality, Source, Visibility, tag};
use crate::event::raw::Raw;
use crate::event::spec::{Member, Spec, TEXT, TURN};
use crate::event::statement::OfTrial;
use crate::words::id::ThreadId;

/// A question to a person. It is no result of the call that asked: that comes with the answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Question<'a> {
    /// The question's id: that of this event.
    pub question: &'a str,
    /// The turn that asked.
    pub turn: u64,
    /// The call that asked, by its id within the thread.
    pub call_id: &'a str,
    /// What is asked.
    pub text: &'a str,
    /// Answers to choose from; none: any.
    pub choices: Vec<&'a str>,
    /// The JSON schema that an answer must have.
    pub schema: Option<&'a Value>,
    /// The names of those who may answer; none: everybody who may speak.
    pub who: Vec<&'a str>,
    /// Until when an answer is waited for.
    pub expires: &'a str,
    /// The server of tools that asks while it works on the call; none: the mind does.
    pub server: Option<&'a str>,
    /// The trial that asks, of a statement, about a prediction: no model is shown it, and no message answers it.
    pub trial: Option<OfTrial>,
}

/// What came of a question, beside the message of a client that answers one (`Input::answers`).
#[derive(Debug, Clone, PartialEq)]
pub struct Answer<'a> {
    /// The question.
    pub question: &'a str,
    /// The call that asked.
    pub call_id: &'a str,
    /// What came.
    pub what: Answered<'a>,
    /// What it says.
    pub text: &'a str,
    /// The server of tools that asked: it is told, and wakes nobody.
    pub server: Option<&'a str>,
    /// The trial that asked: its reading stands behind it.
    pub trial: Option<OfTrial>,
}

/// How a question ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Answered<'a> {
    /// Somebody answered.
    Given {
        /// Who, when known.
        by: Option<&'a str>,
        /// The answer as JSON, of a question with a schema.
        value: Option<&'a Value>,
    },
    /// People are away.
    Away,
    /// Nobody answered in time.
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

    const fn wakes(self) -> bool {
        !matches!(self, Self::Withdrawn)
    }
}

const STATEMENT: Member = (
    "statement?",
    "string",
    "the statement whose trial asks: the answer is a reading of it",
);
const PREDICTION: Member = ("prediction?", "number", "its prediction, from 0");
const ID: Member = (
    "question_id",
    "string",
    "the question: the id of the event that asked it",
);
const CALL: Member = ("call_id", "string", "the call that asked");
const SERVER: Member = (
    "server?",
    "string",
    "the server of tools that asks while it works on the call: the answer goes there",
);

pub(super) const QUESTION: Spec = Spec {
    name: "user-question",
    about: "The mind, or a server of tools that it called, asks a person: POST /questions/{question_id}, the frame `answer`, or, where it is the mind's only open question of \
            its thread, the next message.",
    tags: &["question", "user"],
    members: &[
        TEXT,
        TURN,
        ID,
        CALL,
        ("choices?", "string[]", "answers to choose from"),
        (
            "schema?",
            "object",
            "the JSON schema that an answer must have",
        ),
        (
            "who?",
            "string[]",
            "the names of those who may answer; without it everybody who may speak",
        ),
        ("expires_at", "string", "until when an answer is waited for"),
        SERVER,
        STATEMENT,
        PREDICTION,
    ],
    open: false,
};

pub(super) const ANSWER: Spec = Spec {
    name: "user-answer",
    about: "What came of a question to a person. The result of the call that asked stands behind it, unless a server of tools asked; of a trial's its reading.",
    tags: &["answer", "away|expired|withdrawn?", "overrules?"],
    members: &[
        TEXT,
        ID,
        CALL,
        ("by?", "string", "who answered, when known"),
        (
            "value?",
            "unknown",
            "the answer as JSON, of a question with a schema",
        ),
        SERVER,
        STATEMENT,
        PREDICTION,
    ],
    open: false,
};

fn texts<'a>(raw: Raw<'a>, key: &str) -> Vec<&'a str> {
    raw.list(key).filter_map(Value::as_str).collect()
}

impl<'a> Question<'a> {
    pub(super) fn decode(raw: Raw<'a>) -> Option<Self> {
        Some(Self {
            question: raw.text("question_id")?,
            turn: raw.turn()?,
            call_id: raw.text("call_id")?,
            text: raw.said("text"),
            choices: texts(raw, "choices"),
            schema: raw.get("schema"),
            who: texts(raw, "who"),
            expires: raw.text("expires_at")?,
            server: raw.text("server"),
            trial: trial_of(raw),
        })
    }

    /// The event to be.
    pub fn encode(self, thread: &ThreadId) -> Draft {
        let modality = modality_of(self.trial.as_ref());
        let Self {
            question,
            turn,
            call_id,
            text,
            choices,
            schema,
            who,
            expires,
            server,
            trial,
        } = self;
        let payload = json!({
            "text": text, "turn": turn, "question_id": question, "call_id": call_id, "expires_at": expires,
        });
        Draft::new(
            thread,
            Source::System,
            modality,
            tags([tag::QUESTION, "user"]),
            payload,
        )
        .payload_some("choices", (!choices.is_empty()).then_some(choices))
        .payload_some("schema", schema.cloned())
        .payload_some("who", (!who.is_empty()).then_some(who))
        .payload_some("server", server)
        .payload_some(
            "statement",
            trial.as_ref().map(|trial| trial.statement.clone()),
        )
        .payload_some("prediction", trial.map(|trial| trial.prediction))
    }
}

impl<'a> Answer<'a> {
    pub(super) fn decode(raw: Raw<'a>) -> Option<Self> {
        let what = match raw.tags.get(1).map(String::as_str) {
            None | Some(tag::OVERRULES) => Answered::Given {
                by: raw.text("by"),
                value: raw.get("value"),
            },
            Some("away") => Answered::Away,
            Some("expired") => Answered::Expired,
            Some("withdrawn") => Answered::Withdrawn,
            Some(_) => return None,
        };
        let (question, call_id) = (raw.text("question_id")?, raw.text("call_id")?);
        let (server, trial) = (raw.text("server"), trial_of(raw));
        Some(Self {
            question,
            call_id,
            what,
            text: raw.said("text"),
            server,
            trial,
        })
    }

    /// The event to be.
    pub fn encode(self, thread: &ThreadId) -> Draft {
        let (wakes, modality) = (self.wakes(), modality_of(self.trial.as_ref()));
        let Self {
            question,
            call_id,
            what,
            text,
            server,
            trial,
        } = self;
        let payload = json!({ "text": text, "question_id": question, "call_id": call_id });
        let (source, by, value) = match what {
            Answered::Given { by, value } => (Source::User, by, value),
            Answered::Away | Answered::Expired | Answered::Withdrawn => {
                (Source::System, None, None)
            }
        };
        Draft::new(thread, source, modality, tags([tag::ANSWER]), payload)
            .payload_some("by", by)
            .payload_some("value", value.cloned())
            .payload_some("server", server)
            .payload_some(
                "statement",
                trial.as_ref().map(|trial| trial.statement.clone()),
            )
            .payload_some("prediction", trial.map(|trial| trial.prediction))
            .tagged(what.tag())
            .tagged(wakes.then_some(tag::OVERRULES))
    }
}

impl Question<'_> {
    /// Whether a call of the mind waits for the answer: a server of tools, or a trial, does else.
    pub fn is_of_the_mind(&self) -> bool {
        self.server.is_none() && self.trial.is_none()
    }
}

fn trial_of(raw: Raw<'_>) -> Option<OfTrial> {
    let statement = raw.text("statement")?.to_owned();
    let prediction = raw
        .get("prediction")
        .and_then(Value::as_u64)
        .and_then(|at| usize::try_from(at).ok())?;
    Some(OfTrial {
        statement,
        prediction,
    })
}

/// What trials ask, models are not shown.
fn modality_of(trial: Option<&OfTrial>) -> Modality {
    if trial.is_some() {
        Modality::State
    } else {
        Modality::Text
    }
}

fn visibility_of(trial: Option<&OfTrial>) -> Visibility {
    if trial.is_some() {
        Visibility::State
    } else {
        Visibility::Heard
    }
}

impl<'a> Family<'a> for Question<'a> {
    fn kind(&self) -> Option<Kind> {
        Some(Kind::UserQuestion)
    }

    fn visibility(&self) -> Visibility {
        visibility_of(self.trial.as_ref())
    }

    fn wakes(&self) -> bool {
        false
    }

    fn role(&self) -> Role {
        // What a server asks is nothing that its call came to.
        if self.is_of_the_mind() {
            Role::Decision
        } else {
            Role::Aside
        }
    }

    // A message may answer the only open one.
    fn changes_thread(&self) -> bool {
        true
    }

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
        let choices = if self.choices.is_empty() {
            String::new()
        } else {
            format!(" ({})", self.choices.join(" | "))
        };
        Some(format!("{}{choices}", self.text))
    }

    fn label(&self) -> Option<String> {
        Some("question".to_owned())
    }
}

impl<'a> Family<'a> for Answer<'a> {
    fn kind(&self) -> Option<Kind> {
        Some(Kind::UserAnswer)
    }

    fn visibility(&self) -> Visibility {
        visibility_of(self.trial.as_ref())
    }

    fn wakes(&self) -> bool {
        self.what.wakes() && self.ends_any_wait()
    }

    fn role(&self) -> Role {
        Role::Aside
    }

    fn changes_thread(&self) -> bool {
        true
    }

    fn is_root(&self) -> bool {
        matches!(self.what, Answered::Given { .. }) && self.ends_any_wait()
    }

    fn is_from_outside(&self) -> bool {
        self.wakes()
    }

    fn ends_any_wait(&self) -> bool {
        self.server.is_none() && self.trial.is_none()
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

/// One of each, for the documents and the tests.
pub(super) fn examples(thread: &ThreadId) -> Vec<Draft> {
    let (question, call_id) = ("0193a1b2-5c3d-7e4f-8a9b-0c1d2e3f4a5c", "c7.0.1");
    let (schema, value) = (json!({ "type": "integer" }), json!(12));
    let asked = Question {
        question,
        turn: 7,
        call_id,
        text: "How many?",
        choices: Vec::new(),
        schema: Some(&schema),
        who: vec!["ada"],
        expires: "2026-11-28T04:25:00.123456Z",
        server: None,
        trial: None,
    };
    let answer = |what, text| {
        Answer {
            question,
            call_id,
            what,
            text,
            server: None,
            trial: None,
        }
        .encode(thread)
    };
    let trial = Some(OfTrial {
        statement: "0193b6c2-7c2e-7aaa-8000-0123456789ab".into(),
        prediction: 0,
    });
    let (what, text) = (Answered::Expired, "nobody answered in time");
    let expired = Answer {
        what,
        text,
        server: None,
        question,
        call_id,
        trial: None,
    };
    let choice = Question {
        text: "Which?",
        choices: vec!["red", "blue"],
        schema: None,
        who: Vec::new(),
        ..asked.clone()
    };
    vec![
        asked.clone().encode(thread),
        choice.encode(thread),
        Question {
            server: Some("files"),
            ..asked.clone()
        }
        .encode(thread),
        Question {
            trial: trial.clone(),
            schema: None,
            who: Vec::new(),
            ..asked.clone()
        }
        .encode(thread),
        answer(
            Answered::Given {
                by: Some("ada"),
                value: Some(&value),
            },
            "12",
        ),
        answer(
            Answered::Given {
                by: None,
                value: None,
            },
            "blue",
        ),
        Answer {
            server: Some("files"),
            ..expired.clone()
        }
        .encode(thread),
        Answer { trial, ..expired }.encode(thread),
        answer(Answered::Away, "away"),
        answer(Answered::Expired, "nobody answered in time"),
        answer(Answered::Withdrawn, "the thread has ended"),
    ]
}
