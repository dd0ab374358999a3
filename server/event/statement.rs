//! Statements as the log has them: a claim, its derivation, readings of instruments, the outcome of a trial (`event/trial.rs`).

use caseless::Caseless as _;
use serde::{Deserialize, Serialize};
use thinkd_facts::Members;
use unicode_normalization::UnicodeNormalization as _;
use utoipa::ToSchema;

use thinkd_words::id::Seq;
use thinkd_words::spelling::words;
use thinkd_words::time::Timestamp;

pub mod people;

/// Most characters of a statement.
pub const STATEMENT_MAX: usize = 2000;
/// Most characters of a name: a subject, a relation, an object.
pub const NAME_MAX: usize = 200;
/// Most characters of a prediction, a quote, a note.
pub const SENTENCE_MAX: usize = 1000;
/// Most predictions of a statement.
pub const PREDICTIONS_MAX: usize = 3;
/// Most sources that a statement names; of more only these are kept.
pub const SOURCES_MAX: usize = 64;
/// Most statements that are shown as contradicting one; of more there is a count.
pub const AGAINST_MAX: usize = 8;
/// Most statements that one is derived from.
pub const PREMISES_MAX: usize = 32;

words! {
    /// The status of a statement. `Display` writes its word.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
    #[serde(rename_all = "lowercase")]
    pub enum Status {
        /// To be tried, or tried without an outcome.
        Proposed = "proposed",
        /// Tried, and nothing speaks against it so far.
        Surviving = "surviving",
        /// Survived, and so did one that contradicts it.
        Contested = "contested",
        /// Survived, and something that it was derived from was withdrawn since.
        Untested = "untested",
        /// A trial refuted it.
        Falsified = "falsified",
        /// True once, and not any more.
        Ended = "ended",
        /// An operator withdrew it.
        Retracted = "retracted",
    }
}

impl Status {
    /// Statuses of a statement that is held.
    pub const HELD: [Self; 2] = [Self::Surviving, Self::Contested];

    /// Returns true if it is held to be so: only such statements are knowledge.
    pub const fn is_held(self) -> bool {
        matches!(self, Self::Surviving | Self::Contested)
    }

    /// Returns true if it was held and is withdrawn, so that statements derived from it have lost
    /// their ground.
    pub const fn is_withdrawn(self) -> bool {
        matches!(self, Self::Falsified | Self::Retracted | Self::Untested)
    }
}

/// The claimant of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Claimant {
    /// A person, or a thread with a person's words in the batch of the turn that claims it.
    User {
        /// The person, when known.
        name: Option<String>,
    },
    /// A thread, of a statement that no person said.
    Mind,
}

/// The origin of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The claimant.
    pub by: Claimant,
    /// The events that it comes from.
    pub seqs: Vec<Seq>,
    /// The words of these that it rests on.
    pub quote: Option<String>,
    /// The person's own word counts (`event/word.rs`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub word: bool,
}

/// A claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claim {
    /// The statement.
    pub text: String,
    /// The origin.
    pub source: Source,
    /// The statements that it is derived from.
    pub premises: Vec<String>,
    /// The event from outside that the turn goes back to which claims it; none: people claim it, or
    /// work that they began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub root: Option<Seq>,
}

/// A statement as an edge of a graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Triple {
    /// The thing that it is about.
    pub subject: String,
    /// The way in which the two belong together.
    pub relation: String,
    /// The value that it says of the subject.
    pub object: String,
    /// A subject has one object of this relation at a time.
    pub single: bool,
}

/// The time at which a statement is said to hold. A null is no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Valid {
    /// From then on.
    pub from: Option<Timestamp>,
    /// Until then; not then any more.
    pub to: Option<Timestamp>,
}

impl Valid {
    /// Returns true if it holds at a time.
    pub fn is_at(&self, at: Timestamp) -> bool {
        self.from.is_none_or(|from| from <= at) && self.to.is_none_or(|to| at < to)
    }

    /// Returns true if both hold at some time.
    pub fn overlaps(&self, other: &Self) -> bool {
        let begins_before = |one: &Self, other: &Self| match (one.from, other.to) {
            (Some(from), Some(to)) => from < to,
            _ => true,
        };
        begins_before(self, other) && begins_before(other, self)
    }
}

words! {
    /// The instrument that tests a prediction.
    #[derive(
        Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ToSchema,
    )]
    #[serde(rename_all = "lowercase")]
    pub enum Instrument {
        /// The knowledge base that is configured.
        Knowledge = "knowledge",
        /// Code that is run.
        Code = "code",
        /// A person that did not claim it.
        User = "user",
        /// A model that looks for a counterexample.
        #[default]
        Reflection = "reflection",
    }
}

impl Instrument {
    /// Returns true for all but reflection.
    pub const fn is_experiment(self) -> bool {
        !matches!(self, Self::Reflection)
    }
}

/// An observable consequence of a statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prediction {
    /// The observation if the statement is so.
    pub text: String,
    /// The observation if the statement is not so.
    pub fails_if: String,
    /// The query of a knowledge base, where that can say it.
    pub search: Option<String>,
    /// Code with a value that says if it is so, where code can.
    pub code: Option<String>,
    /// The question to a person, where one can know it.
    pub question: Option<String>,
    /// The instrument that was chosen.
    pub instrument: Instrument,
    /// Why this one.
    pub reason: String,
}

/// The derivation of a claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Derived {
    /// The statement as an edge of a graph, if it is one.
    pub triple: Option<Triple>,
    /// When it is said to hold.
    pub valid: Valid,
    /// The predictions that follow from it.
    pub predictions: Vec<Prediction>,
    /// Predictions that were not taken, and why.
    pub rejected: Vec<String>,
}

impl Derived {
    /// Returns its text for people.
    pub fn said(&self) -> String {
        match self.predictions.len() {
            1 => "1 prediction follows from it".to_owned(),
            count => format!("{count} predictions follow from it"),
        }
    }
}

words! {
    /// The answer of an instrument.
    #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Answer {
        /// As predicted.
        Yes = "yes",
        /// Not as predicted.
        No = "no",
        /// No answer: the instrument could not say, or something broke on the way.
        #[default]
        None = "none",
        /// A person was asked, and has not answered yet.
        Asked = "asked",
    }
}

/// One reading of an instrument.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The position of the prediction, counted from 0.
    pub prediction: usize,
    /// The instrument that read it.
    pub instrument: Instrument,
    /// Why that was chosen.
    pub choice: String,
    /// Its answer.
    pub answer: Answer,
    /// The reason of the answer, or of the break.
    pub note: String,
    /// The words of the source that decide.
    pub quote: Option<String>,
    /// The source: an address, the output of code, a question.
    pub source: Option<String>,
    /// Of a no: the value that the same subject has of the same relation since.
    pub later: Option<Later>,
    /// Of a question to a person: the time until which an answer is waited for.
    pub until: Option<Timestamp>,
    /// Of no answer: something broke on the way, and the instrument said nothing at all.
    #[serde(default)]
    pub broke: bool,
}

impl Reading {
    /// Returns its text for people.
    pub fn said(&self) -> String {
        let said = match self.answer {
            Answer::None => "no answer",
            answer => answer.as_str(),
        };
        let prediction = self.prediction + 1;
        let by = self.instrument.as_str();
        format!("prediction {prediction}: {by} says {said}: {}", self.note)
    }

    /// Returns a reading of a prediction that says nothing yet. `choice`: why this instrument.
    pub fn begun(prediction: usize, instrument: Instrument, choice: String) -> Self {
        Self {
            prediction,
            instrument,
            choice,
            ..Self::default()
        }
    }

    /// Returns true if people were asked, and none answered: it says nothing of the prediction, and
    /// something else is read.
    pub fn is_unanswered(&self) -> bool {
        self.instrument == Instrument::User && self.answer == Answer::None && self.quote.is_none()
    }

    /// Returns true if people were asked and said that they do not know.
    pub fn is_unknown_to_people(&self) -> bool {
        self.instrument == Instrument::User && self.answer == Answer::None && self.quote.is_some()
    }
}

/// A prediction that a trial asks about, and its statement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Members)]
pub struct OfTrial {
    /// The statement of the trial that asks: the answer is a reading of it.
    #[fact(missing)]
    pub statement: String,
    /// The place of its prediction, from 0.
    #[fact(missing)]
    pub prediction: usize,
}

/// A later value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Later {
    /// The object.
    pub object: String,
    /// Since when, where the source says it.
    pub from: Option<Timestamp>,
}

/// The outcome for a statement.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// There is no such statement: the text was no claim, or nothing that could be tested follows
    /// from it.
    #[default]
    Refused,
    /// Another statement says the same: that one has its sources now.
    Joined,
    /// The statement has this status now.
    #[serde(untagged)]
    Is(Status),
}

impl Outcome {
    /// The word in the log.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Is(status) => status.as_str(),
            Self::Refused => "refused",
            Self::Joined => "joined",
        }
    }
}

/// The outcome of a trial, or of a statement without one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    /// The outcome now.
    pub outcome: Outcome,
    /// Why.
    pub reason: String,
    /// When it is said to hold, as of now.
    pub valid: Valid,
    /// The instruments that carried it with a yes, while it is held.
    pub carried: Vec<Instrument>,
    /// The number of trials it has survived.
    pub survived: u64,
    /// The number of tries in vain since.
    pub tries: u64,
    /// The number of tries in a row in which something broke on the way: such a trial is no try.
    #[serde(default)]
    pub breaks: u64,
    /// The number of tries after it had been falsified.
    pub reopened: u64,
    /// When it is tried again; null: it is not.
    pub due: Option<Timestamp>,
    /// The statements that contradict it, or the one it was joined to.
    pub others: Vec<String>,
    /// The operator, of an operator's act.
    pub by: Option<String>,
    /// True if readings were taken for it.
    pub tried: bool,
    /// The instruments beside reflection that there were for it then: when another one comes, a
    /// statement that no other instrument has tested is tried again.
    #[serde(default)]
    pub available: Vec<Instrument>,
    /// The instruments beside reflection that can say something of its predictions; null: they were
    /// not recorded.
    #[serde(default)]
    pub testable: Option<Vec<Instrument>>,
    /// The most calls with which it is tested again for its age and use; 0: this is no word of
    /// that.
    #[serde(default)]
    pub retest: u64,
}

impl Judged {
    /// Returns the word on a statement that no instrument carries.
    pub fn of(outcome: Outcome, reason: String, valid: Valid) -> Self {
        Self {
            outcome,
            reason,
            valid,
            ..Self::default()
        }
    }

    /// Returns true if an experiment carried it, and not reflection alone.
    pub fn is_tested(&self) -> bool {
        self.carried.iter().any(|it| it.is_experiment())
    }
}

/// A name or a statement as it is compared: folded, one space between words, no full stop at the end.
pub fn folded(text: &str) -> String {
    let folded: String = text.nfkc().default_case_fold().nfkc().collect();
    let bare = spaced(&folded);
    let bare = bare.trim_end_matches(['.', '!', '。']);
    bare.trim_end().to_owned()
}

/// A date as models write it: a year, a month, a day, or a moment.
pub fn date(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let begin = match text.len() {
        4 => format!("{text}-01-01T00:00:00Z"),
        7 => format!("{text}-01T00:00:00Z"),
        10 => format!("{text}T00:00:00Z"),
        _ => text.to_owned(),
    };
    Timestamp::parse(&begin)
}

/// A text with one space between words, as quotes are compared: where a line ends says nothing.
pub fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A text, at most so many characters of it.
pub fn cut(text: &str, most: usize) -> String {
    text.trim().chars().take(most).collect()
}
