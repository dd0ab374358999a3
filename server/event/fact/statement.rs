//! The facts of statements: what is claimed, what was derived from it, what instruments read, what became of it; and when the trials of a space
//! have work. All are of modality `state`, so that no model is shown them.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use uuid::Uuid;

use super::Kind;
use super::family::{Family, Role};
use crate::event::draft::{Draft, tags};
use crate::event::envelope::{Modality, Source as From, Visibility};
use crate::event::raw::Raw;
use crate::event::spec::{Member, Spec, TEXT};
use crate::event::statement::{Answer, Claim, Derived, Judged, Reading, Source};
use crate::event::trial::News;
use crate::words::id::{Seq, ThreadId};
use crate::words::time::Timestamp;

pub(super) use examples::examples;

mod examples;

/// The first tag.
pub const TAG: &str = "statement";
/// The first tag of what the trials of a space say of themselves.
pub const TRIALS: &str = "trials";

/// The tag of a word that has what is held tested again for its age and use.
pub const RETEST: &str = "retest";

/// Something that was said of a statement.
#[derive(Debug, Clone, PartialEq)]
pub struct StatementFact<'a> {
    /// Which.
    pub statement: &'a str,
    /// What.
    pub what: Said,
}

/// See `StatementFact`.
#[derive(Debug, Clone, PartialEq)]
pub enum Said {
    /// What its trial is a fold of.
    News(Box<News>),
    /// It was claimed again: these are all its sources now.
    Sourced(Vec<Source>),
    /// It is derived from these now.
    Grounded(Vec<String>),
}

/// What the trials of a space say of themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trials {
    /// They have made as many calls in an hour as they may, and wait until then.
    Spent(Timestamp),
    /// There is something to do.
    Due,
    /// All that was due is done, or waits.
    Rested {
        /// Up to there.
        handled: Seq,
        /// Up to there threads are told what became of statements; none: by a server that told nobody.
        told: Option<Seq>,
    },
}

const ID: Member = (
    "statement",
    "string",
    "the statement: the id of the event that claimed it",
);
const TAGGED: &str = "statement:<id>";

pub(super) const CLAIMED: Spec = Spec {
    name: "statement-claimed",
    about: "Somebody claims something: it is to be tried before it is held to be so.",
    tags: &["statement", "claimed", TAGGED],
    members: &[
        TEXT,
        ID,
        (
            "claim",
            "object",
            "text; source: by, seqs, quote, word: it counts as the person's own; premises: the statements it is derived from; root: the event from outside that a turn goes back to which claims it",
        ),
    ],
    open: false,
};
pub(super) const DERIVED: Spec = Spec {
    name: "statement-derived",
    about: "What follows from a claim, and how each prediction is to be tested.",
    tags: &["statement", "derived", TAGGED],
    members: &[
        TEXT,
        ID,
        (
            "derived",
            "object",
            "triple, valid, predictions, rejected: those that were not taken, and why",
        ),
    ],
    open: false,
};
pub(super) const READ: Spec = Spec {
    name: "statement-read",
    about: "An instrument said whether a prediction is so, or could not.",
    tags: &["statement", "read", TAGGED, "yes|no|none|asked"],
    members: &[
        TEXT,
        ID,
        (
            "reading",
            "object",
            "prediction (from 0), instrument, choice, answer, note, quote, source, later, until, broke",
        ),
    ],
    open: false,
};
pub(super) const JUDGED: Spec = Spec {
    name: "statement-judged",
    about: "What became of a statement, by a trial or without one. One that was refused, or joined to another, is gone.",
    tags: &[
        "statement",
        "judged",
        TAGGED,
        "proposed|surviving|contested|untested|falsified|ended|retracted|refused|joined",
        "retest?",
    ],
    members: &[
        TEXT,
        ID,
        (
            "judged",
            "object",
            "outcome, reason, valid, carried, survived, tries, breaks, reopened, due, others, by, tried, available, testable, retest: calls at most",
        ),
    ],
    open: false,
};
pub(super) const SOURCED: Spec = Spec {
    name: "statement-sourced",
    about: "A statement was claimed again: no new one comes of it, and it has one source more.",
    tags: &["statement", "sourced", TAGGED],
    members: &[
        TEXT,
        ID,
        (
            "sources",
            "object[]",
            "all its sources: by, seqs, quote, word",
        ),
    ],
    open: false,
};
pub(super) const GROUNDED: Spec = Spec {
    name: "statement-grounded",
    about: "A statement is derived from these now: one of those that it named is part of another one, or somebody claimed it on other ground.",
    tags: &["statement", "grounded", TAGGED],
    members: &[
        TEXT,
        ID,
        (
            "premises",
            "string[]",
            "the statements that it is derived from: all of them",
        ),
    ],
    open: false,
};
pub(super) const DUE: Spec = Spec {
    name: "trials-due",
    about: "There is something for the trials of the space to do.",
    tags: &["trials", "due"],
    members: &[TEXT],
    open: false,
};
pub(super) const RESTED: Spec = Spec {
    name: "trials-rested",
    about: "The trials of the space have done what was due, or wait for people or for a time.",
    tags: &["trials", "rested"],
    members: &[
        TEXT,
        ("handled", "number", "up to this event"),
        (
            "told?",
            "number",
            "up to this event threads are told what became of statements",
        ),
    ],
    open: false,
};

pub(super) const SPENT: Spec = Spec {
    name: "trials-spent",
    about: "The trials of the space have made as many calls to models in an hour as they may (`memory.calls_per_hour`): what is left waits. At most once an hour.",
    tags: &["trials", "spent"],
    members: &[
        TEXT,
        ("until", "string", "when there is a call again (RFC 3339)"),
    ],
    open: false,
};

fn member<T: DeserializeOwned>(raw: Raw<'_>, key: &str) -> Option<T> {
    T::deserialize(raw.get(key)?).ok()
}

fn value(of: impl serde::Serialize) -> Value {
    // Made of maps with string keys: this cannot fail.
    serde_json::to_value(of).unwrap_or_default()
}

impl<'a> StatementFact<'a> {
    pub(super) fn decode(raw: Raw<'a>) -> Option<Self> {
        let news = |news| Some(Said::News(Box::new(news)));
        let what = match raw.tags.get(1)?.as_str() {
            "claimed" => news(News::Claimed(member::<Claim>(raw, "claim")?)),
            "derived" => news(News::Derived(member::<Derived>(raw, "derived")?)),
            "read" => news(News::Read(member::<Reading>(raw, "reading")?)),
            "judged" => news(News::Judged(member::<Judged>(raw, "judged")?)),
            "sourced" => Some(Said::Sourced(member(raw, "sources")?)),
            "grounded" => Some(Said::Grounded(member(raw, "premises")?)),
            _ => None,
        }?;
        Some(Self {
            statement: raw.text("statement")?,
            what,
        })
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let Self { statement, what } = self;
        let draft = |source, word: &str, text: &str, key: &str, of: Value| {
            let tags = tags([TAG, word, &format!("{TAG}:{statement}")]);
            let payload = json!({ "text": text, "statement": statement, key: of });
            Draft::new(thread, source, Modality::State, tags, payload)
        };
        let news = match what {
            Said::News(news) => *news,
            Said::Sourced(sources) => {
                return draft(
                    From::Internal,
                    "sourced",
                    "claimed again",
                    "sources",
                    value(&sources),
                );
            }
            Said::Grounded(premises) => {
                let text = if premises.is_empty() {
                    "derived from nothing now"
                } else {
                    "derived from others now"
                };
                return draft(
                    From::Internal,
                    "grounded",
                    text,
                    "premises",
                    value(&premises),
                );
            }
        };
        match news {
            News::Claimed(claim) => draft(
                From::Internal,
                "claimed",
                &claim.text,
                "claim",
                value(&claim),
            ),
            News::Derived(derived) => {
                let text = match derived.predictions.len() {
                    1 => "1 prediction follows from it".to_owned(),
                    count => format!("{count} predictions follow from it"),
                };
                draft(From::Internal, "derived", &text, "derived", value(&derived))
            }
            News::Read(reading) => {
                let Reading {
                    prediction,
                    instrument,
                    answer,
                    note,
                    ..
                } = &reading;
                let said = if *answer == Answer::None {
                    "no answer"
                } else {
                    answer.as_str()
                };
                let text = format!(
                    "prediction {}: {} says {said}: {note}",
                    prediction + 1,
                    instrument.as_str()
                );
                let answer = answer.as_str();
                draft(From::Internal, "read", &text, "reading", value(&reading)).tagged([answer])
            }
            News::Judged(judged) => {
                let word = judged.outcome.as_str();
                let text = format!("{word}: {}", judged.reason);
                let source = if judged.by.is_some() {
                    From::User
                } else {
                    From::Internal
                };
                let retest = (judged.retest > 0).then_some(RETEST);
                draft(source, "judged", &text, "judged", value(&judged))
                    .tagged([word])
                    .tagged(retest)
            }
        }
    }
}

impl Trials {
    pub(super) fn decode(raw: Raw<'_>) -> Option<Self> {
        match raw.tags.get(1)?.as_str() {
            "due" => Some(Self::Due),
            "spent" => Some(Self::Spent(Timestamp::parse(raw.text("until")?)?)),
            "rested" => Some(Self::Rested {
                handled: raw.seq("handled")?,
                told: raw.seq("told"),
            }),
            _ => None,
        }
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let draft = |word: &str, text: &str| {
            let payload = json!({ "text": text });
            Draft::new(
                thread,
                From::Internal,
                Modality::State,
                tags([TRIALS, word]),
                payload,
            )
        };
        match self {
            Self::Due => draft("due", "there is something to try"),
            Self::Spent(until) => {
                let text = format!(
                    "as many calls were made in an hour as may be (memory.calls_per_hour): trials wait until {until}"
                );
                draft("spent", &text).payload("until", until.to_string())
            }
            Self::Rested { handled, told } => {
                let draft =
                    draft("rested", "what was due is done, or waits").payload("handled", handled);
                draft.payload_some("told", told)
            }
        }
    }
}

impl<'a> Family<'a> for StatementFact<'a> {
    fn kind(&self) -> Option<Kind> {
        Some(match &self.what {
            Said::Sourced(_) => Kind::StatementSourced,
            Said::Grounded(_) => Kind::StatementGrounded,
            Said::News(news) => match **news {
                News::Claimed(_) => Kind::StatementClaimed,
                News::Derived(_) => Kind::StatementDerived,
                News::Read(_) => Kind::StatementRead,
                News::Judged(_) => Kind::StatementJudged,
            },
        })
    }

    fn visibility(&self) -> Visibility {
        Visibility::State
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

    fn label(&self) -> Option<String> {
        Some("world model".into())
    }
}

impl<'a> Family<'a> for Trials {
    fn kind(&self) -> Option<Kind> {
        Some(match self {
            Self::Due => Kind::TrialsDue,
            Self::Spent(_) => Kind::TrialsSpent,
            Self::Rested { .. } => Kind::TrialsRested,
        })
    }

    fn visibility(&self) -> Visibility {
        Visibility::State
    }

    // Its thread has no mailbox of events that wake: see `thread/projection.rs`.
    fn wakes(&self) -> bool {
        false
    }

    fn role(&self) -> Role {
        Role::Aside
    }

    fn changes_thread(&self) -> bool {
        true
    }

    fn label(&self) -> Option<String> {
        Some("world model".into())
    }
}

impl Draft {
    /// Something was said of a statement.
    pub fn statement(thread: &ThreadId, statement: &str, news: News) -> Self {
        StatementFact {
            statement,
            what: Said::News(Box::new(news)),
        }
        .encode(thread)
    }

    /// Something is claimed in a thread, and is to be tried.
    pub fn claimed(thread: &ThreadId, id: Uuid, claim: Claim) -> [Self; 2] {
        let draft = Self::statement(thread, &id.to_string(), News::Claimed(claim)).with_id(id);
        [draft, Self::trials(Trials::Due)]
    }

    /// A statement was claimed again.
    pub fn statement_sourced(thread: &ThreadId, statement: &str, sources: Vec<Source>) -> Self {
        StatementFact {
            statement,
            what: Said::Sourced(sources),
        }
        .encode(thread)
    }

    /// A statement is derived from these now.
    pub fn statement_grounded(thread: &ThreadId, statement: &str, premises: Vec<String>) -> Self {
        StatementFact {
            statement,
            what: Said::Grounded(premises),
        }
        .encode(thread)
    }

    /// What the trials of a space say of themselves.
    pub fn trials(what: Trials) -> Self {
        what.encode(&ThreadId::of_trials())
    }
}
