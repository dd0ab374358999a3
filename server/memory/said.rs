//! Models' answers in a trial, in the shape they have to have, and their usable part: predictions
//! that could be tested, readings with quotes that stand where they should. `memory/asking.rs` asks
//! for them.

use schemars::JsonSchema;
use serde::Deserialize;

use thinkd_event::entity::is_identity;
use thinkd_event::statement::{
    Answer, Derived, Instrument, Later, NAME_MAX, Prediction, Reading, SENTENCE_MAX, Triple, Valid,
    cut, date, spaced,
};
use thinkd_event::trial::Rules;
use thinkd_event::{evidence, method};
use thinkd_log::error::StoreError;
use thinkd_mind::turn_writer::Lost;
use thinkd_tools::knowledge::Passage;
use thinkd_words::time::Timestamp;

/// Most predictions of an answer that are looked at.
const LOOKED_AT: usize = 12;
/// Longest code of a prediction, in characters.
const CODE_MAX: usize = 8000;

/// A model's derivation from a claim.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Derive {
    is_claim: bool,
    why: Option<String>,
    subject: Option<String>,
    relation: Option<String>,
    object: Option<String>,
    single_valued: bool,
    valid_from: Option<String>,
    valid_to: Option<String>,
    predictions: Vec<Predicted>,
}

/// One prediction of it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Predicted {
    text: String,
    fails_if: String,
    search: Option<String>,
    code: Option<String>,
    question: Option<String>,
    subject: Option<String>,
    relation: Option<String>,
    object: Option<String>,
}

/// A model's word on a prediction.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Reflect {
    answer: Reflected,
    reason: String,
    later_object: Option<String>,
    later_from: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Reflected {
    Refuted,
    Holds,
    Unknown,
}

/// A model's word on passages.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Weigh {
    answer: Weighed,
    quote: Option<String>,
    reason: String,
    later_object: Option<String>,
    later_from: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Weighed {
    Supports,
    Refutes,
    Silent,
}

fn triple([subject, relation, object]: [Option<String>; 3], single: bool) -> Option<Triple> {
    Some(Triple {
        subject: some(subject, NAME_MAX)?,
        relation: some(relation, NAME_MAX)?,
        object: some(object, NAME_MAX)?,
        single,
    })
}

fn some(text: Option<String>, most: usize) -> Option<String> {
    text.map(|text| cut(&text, most))
        .filter(|text| !text.is_empty())
}

/// Returns the later value that a model names beside a no.
fn later(answer: Answer, object: Option<String>, from: Option<&str>) -> Option<Later> {
    let object = some(object, NAME_MAX).filter(|_| answer == Answer::No)?;
    let from = from.and_then(date);
    Some(Later { object, from })
}

/// A derivation before it is compared with held statements.
pub(super) struct Draftlike {
    pub triple: Option<Triple>,
    pub valid: Valid,
    pub predictions: Vec<(Prediction, Option<Triple>)>,
}

impl Derive {
    /// Returns the derivation; or the reason that it is no claim.
    pub fn read(self) -> Result<Draftlike, String> {
        if !self.is_claim {
            let why = some(self.why, SENTENCE_MAX)
                .unwrap_or_else(|| "it says nothing that could be so or not".into());
            return Err(format!("it is no claim: {why}"));
        }
        let single = self.single_valued && !self.relation.as_deref().is_some_and(is_identity);
        let when = |text: Option<String>| text.as_deref().and_then(date);
        let from = when(self.valid_from);
        let to = when(self.valid_to);
        // A time that ends before it begins says nothing.
        let valid = if from.zip(to).is_some_and(|(from, to)| to <= from) {
            Valid::default()
        } else {
            Valid { from, to }
        };
        let triple_of = triple([self.subject, self.relation, self.object], single);
        let prediction = |it: Predicted| {
            let triple = triple([it.subject, it.relation, it.object], single);
            let is_code =
                |code: &String| code.chars().count() <= CODE_MAX && !code.trim().is_empty();
            let prediction = Prediction {
                text: cut(&it.text, SENTENCE_MAX),
                fails_if: cut(&it.fails_if, SENTENCE_MAX),
                search: some(it.search, SENTENCE_MAX),
                // Code that is cut is other code.
                code: it.code.filter(is_code),
                question: some(it.question, SENTENCE_MAX),
                instrument: Instrument::Reflection,
                reason: String::new(),
            };
            (prediction, triple)
        };
        let predictions = self.predictions.into_iter().take(LOOKED_AT);
        Ok(Draftlike {
            triple: triple_of,
            valid,
            predictions: predictions.map(prediction).collect(),
        })
    }
}

impl Draftlike {
    /// Returns the time that predictions are about: that of the claim; of one without any, from now
    /// on.
    pub fn time(&self, now: Timestamp) -> Valid {
        let is_untimed = self.valid == Valid::default();
        Valid {
            from: self.valid.from.or(is_untimed.then_some(now)),
            to: self.valid.to,
        }
    }

    /// `time`, `known`: the time that they are about, and the held values that contradict them.
    pub fn derived(
        self,
        statement: &str,
        (time, known): (Valid, &[(Triple, Valid)]),
        rules: &Rules,
    ) -> Derived {
        // What repeats the claim's own edge says nothing about what is known: a change has to be
        // able to come in.
        let own = self.triple.as_ref();
        let is_own = |it: &Triple| own.is_some_and(|own| method::is_same(own, it));
        let others = |(it, triple): (_, Option<Triple>)| (it, triple.filter(|it| !is_own(it)));
        let predictions = self.predictions.into_iter().map(others).collect();
        let (mut predictions, rejected) = method::usable(statement, predictions, time, known);
        for prediction in &mut predictions {
            (prediction.instrument, prediction.reason) =
                method::chosen(prediction, &rules.available, &[], 0);
        }
        Derived {
            triple: self.triple,
            valid: self.valid,
            predictions,
            rejected,
        }
    }
}

impl Reflect {
    /// As a reading.
    pub fn reading(self, begun: Reading) -> Reading {
        let answer = match self.answer {
            Reflected::Refuted => Answer::No,
            Reflected::Holds => Answer::Yes,
            Reflected::Unknown => Answer::None,
        };
        let note = cut(&self.reason, SENTENCE_MAX);
        Reading {
            answer,
            // A counterexample is its own source.
            quote: (answer == Answer::No).then(|| note.clone()),
            note,
            later: later(answer, self.later_object, self.later_from.as_deref()),
            ..begun
        }
    }
}

impl Weigh {
    /// Returns it as a reading of these passages: the quote that decides has to stand in one of
    /// them, and to speak of the claim.
    pub fn reading(
        self,
        passages: &[Passage],
        claimed: &Claimed<'_>,
        begun: Reading,
    ) -> Said<Reading> {
        let answer = match self.answer {
            Weighed::Supports => Answer::Yes,
            Weighed::Refutes => Answer::No,
            Weighed::Silent => return Err(Silent::Says(self.reason)),
        };
        let quote = spaced(&self.quote.unwrap_or_default());
        if quote.is_empty() {
            let why = "what the model says of the passages rests on no words of them";
            return Err(Silent::Says(why.to_owned()));
        }
        let Some(from) = passages.iter().find(|it| spaced(&it.text).contains(&quote)) else {
            let why = "the words that the model quotes do not stand in any passage";
            return Err(Silent::Says(format!("{why}: {quote}")));
        };
        if !evidence::speaks_of(&quote, claimed.texts, claimed.triple) {
            let why = "the words that the model quotes name nothing of the claim";
            return Err(Silent::Says(format!("{why}: {quote}")));
        }
        let source = match from.url.as_str() {
            "" => &from.title,
            url => url,
        };
        Ok(Reading {
            answer,
            note: cut(&self.reason, SENTENCE_MAX),
            quote: Some(cut(&quote, SENTENCE_MAX)),
            source: Some(source.to_owned()),
            later: later(answer, self.later_object, self.later_from.as_deref()),
            ..begun
        })
    }
}

/// The claim that a passage has to speak of.
pub(super) struct Claimed<'a> {
    /// The statement, and the prediction that follows from it.
    pub texts: &'a [&'a str],
    pub triple: Option<&'a Triple>,
}

/// The answer of a model, or of another instrument.
pub(super) type Said<T> = Result<T, Silent>;

/// The reason for no answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Silent {
    /// The answer says nothing of it.
    #[error("{0}")]
    Says(String),
    /// The question could not be asked: the next time there may be an answer.
    #[error("{0}")]
    Broke(String),
    /// The trial does not go on.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// The log could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Silent {
    /// Returns the reason, and true if something broke on the way.
    pub fn why(self) -> Result<(String, bool), Lost> {
        match self {
            Self::Says(why) => Ok((why, false)),
            Self::Broke(why) => Ok((why, true)),
            Self::Lost(lost) => Err(lost),
            Self::Store(error) => Err(error.into()),
        }
    }
}

/// Returns the reading, or a reading without an answer if the instrument had none; one that breaks
/// is no answer.
pub(super) fn answered(read: Said<Reading>, begun: Reading) -> Result<Reading, Lost> {
    read.or_else(|silent| {
        let (why, broke) = silent.why()?;
        Ok(Reading {
            note: cut(&why, SENTENCE_MAX),
            broke,
            ..begun
        })
    })
}
