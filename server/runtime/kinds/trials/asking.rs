//! What a trial asks models: what follows from a claim, and whether there is a counterexample. Every call leaves its record in the thread of the
//! trials; what a model says is data until the rules have looked at it.

use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::event::draft::Draft;
use crate::event::statement::{
    Answer, Derived, Instrument, Later, NAME_MAX, Prediction, Reading, SENTENCE_MAX, Triple, Valid, cut, date,
};
use crate::event::{method, trial};
use crate::log::thread_row::ThreadRow;
use crate::mind::call::{Ended, ModelClient, PromptView, Question, TurnPlace, Until};
use crate::mind::turn::stop::Stop;
use crate::mind::turn_writer::Lost;
use crate::model::prompt::Template;
use crate::model::provider::{Tier, ToolChoice, ToolSpec, ToolSpecs};
use crate::tools::knowledge::Passage;
use crate::tools::schema;
use crate::tools::tool::decoded;
use crate::words::failure::{Failure, FailureKind, Who};
use crate::words::text::{Json, Text};
use crate::words::time::Timestamp;

/// Most predictions of an answer that are looked at.
const LOOKED_AT: usize = 12;
/// Longest code of a prediction, in characters.
const CODE_MAX: usize = 8000;

/// What a model says follows from a claim.
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

/// What a model says of a prediction.
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

/// What a model says of passages.
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

/// A call that was made: its record, and what came of it.
pub(super) struct Said<T> {
    pub record: Draft,
    pub said: Result<T, Failure>,
}

/// What is asked of a model.
struct Ask<'a> {
    purpose: &'static str,
    system: &'a Template,
    tail: &'a Template,
    values: Vec<(String, String)>,
    tool: &'static str,
    /// The statement that it is about: its record says so.
    statement: &'a str,
}

/// Asks models in the name of the trials of a space.
pub(super) struct Asker<'a> {
    pub client: &'a ModelClient,
    pub place: TurnPlace,
    /// The row of the thread of the trials.
    pub row: ThreadRow,
    pub stop: &'a Stop,
    pub answer_ms: u64,
}

impl Asker<'_> {
    /// Asks a model for one call of a tool.
    async fn ask<T: DeserializeOwned + JsonSchema>(&self, ask: Ask<'_>) -> Result<Said<T>, Lost> {
        let Ask { purpose, system, tail, values, tool, statement } = ask;
        let parameters = Json::of(&schema::strict::<T>());
        let spec = ToolSpec { name: tool.into(), description: "Your answer.".into(), parameters, is_strict: true };
        let question = Question {
            who: Who::Trial,
            purpose,
            round: 0,
            system: Text::new(system.source().as_str()),
            tail: tail.clone(),
            values,
            prompt: None,
            own: Vec::new(),
            tools: ToolSpecs::new(vec![spec]),
            choice: ToolChoice::Only(tool.into()),
            tier: Tier::Low,
        };
        let Self { client, place, .. } = self;
        let ready = client.prepare(place, &PromptView::of_nothing(self.row.clone()), &question).await?;
        let until = Until::ms(self.answer_ms);
        let ended = client.ask(&ready, until, self.stop.token(), |_| {}).await;
        let record = ready.record(place, &ended, json!({ "statement": statement }));
        let said = match ended {
            Ended::Stopped => return Err(Lost::Stale),
            Ended::Failed(failure) => Err(failure),
            Ended::Answered(answer) => answer
                .calls
                .iter()
                .find(|call| call.name == tool)
                .ok_or_else(|| Failure::new(FailureKind::Model, format!("the model did not call {tool}")))
                .and_then(|call| decoded(tool, serde_json::from_str(&call.arguments).unwrap_or_default())),
        };
        Ok(Said { record, said })
    }

    /// Asks what follows from a claim.
    pub async fn derive(&self, id: &str, text: &str, now: Timestamp) -> Result<Said<Derive>, Lost> {
        let prompts = self.client.prompts();
        let values = vec![("now".to_owned(), now.to_string()), ("statement".to_owned(), quoted(text))];
        let (system, tail) = (&prompts.trial_derive, &prompts.trial_claim);
        self.ask(Ask { purpose: "derive", system, tail, values, tool: "derive", statement: id }).await
    }

    /// Asks for a counterexample.
    pub async fn reflect(
        &self,
        id: &str,
        (text, valid): (&str, Valid),
        prediction: &str,
        now: Timestamp,
    ) -> Result<Said<Reflect>, Lost> {
        let prompts = self.client.prompts();
        let values = vec![
            ("now".to_owned(), now.to_string()),
            ("statement".to_owned(), quoted(text)),
            ("prediction".to_owned(), quoted(prediction)),
            ("time".to_owned(), said_time(valid)),
        ];
        let (system, tail) = (&prompts.trial_reflect, &prompts.trial_prediction);
        self.ask(Ask { purpose: "reflect", system, tail, values, tool: "reflect", statement: id }).await
    }
}

impl Asker<'_> {
    /// Asks what passages say of a prediction.
    pub async fn weigh(
        &self,
        id: &str,
        (text, valid): (&str, Valid),
        prediction: &str,
        passages: &[Passage],
        now: Timestamp,
    ) -> Result<Said<Weigh>, Lost> {
        let prompts = self.client.prompts();
        let values = vec![
            ("now".to_owned(), now.to_string()),
            ("statement".to_owned(), quoted(text)),
            ("prediction".to_owned(), quoted(prediction)),
            ("time".to_owned(), said_time(valid)),
            ("passages".to_owned(), json!(passages).to_string()),
        ];
        let (system, tail) = (&prompts.trial_weigh, &prompts.trial_passages);
        self.ask(Ask { purpose: "weigh", system, tail, values, tool: "weigh", statement: id }).await
    }
}

/// Others' words as one JSON string: nothing in them can end it.
pub(super) fn quoted(text: &str) -> String {
    json!(text).to_string()
}

/// When something is said to hold, in words.
pub(super) fn said_time(valid: Valid) -> String {
    match (valid.from, valid.to) {
        (None, None) => "now; no time is given".into(),
        (Some(from), None) => format!("from {from} on"),
        (None, Some(to)) => format!("until {to}"),
        (Some(from), Some(to)) => format!("from {from} until {to}"),
    }
}

fn triple([subject, relation, object]: [Option<String>; 3], single: bool) -> Option<Triple> {
    let name = |name: Option<String>| name.map(|name| cut(&name, NAME_MAX)).filter(|name| !name.is_empty());
    Some(Triple { subject: name(subject)?, relation: name(relation)?, object: name(object)?, single })
}

fn some(text: Option<String>, most: usize) -> Option<String> {
    text.map(|text| cut(&text, most)).filter(|text| !text.is_empty())
}

/// What a derivation is about, before it is compared with what is held.
pub(super) struct Draftlike {
    pub triple: Option<Triple>,
    pub valid: Valid,
    pub predictions: Vec<(Prediction, Option<Triple>)>,
}

impl Derive {
    /// What was derived; or why it is no claim.
    pub fn read(self) -> Result<Draftlike, String> {
        if !self.is_claim {
            let why = some(self.why, SENTENCE_MAX).unwrap_or_else(|| "it says nothing that could be so or not".into());
            return Err(format!("it is no claim: {why}"));
        }
        let single = self.single_valued;
        let when = |text: Option<String>| text.as_deref().and_then(date);
        let (from, to) = (when(self.valid_from), when(self.valid_to));
        // A time that ends before it begins says nothing.
        let valid =
            if from.zip(to).is_some_and(|(from, to)| to <= from) { Valid::default() } else { Valid { from, to } };
        let triple_of = triple([self.subject, self.relation, self.object], single);
        let prediction = |it: Predicted| {
            let triple = triple([it.subject, it.relation, it.object], single);
            let prediction = Prediction {
                text: cut(&it.text, SENTENCE_MAX),
                fails_if: cut(&it.fails_if, SENTENCE_MAX),
                search: some(it.search, SENTENCE_MAX),
                // Code that is cut is other code.
                code: it.code.filter(|code| code.chars().count() <= CODE_MAX && !code.trim().is_empty()),
                question: some(it.question, SENTENCE_MAX),
                instrument: Instrument::Reflection,
                reason: String::new(),
            };
            (prediction, triple)
        };
        let predictions = self.predictions.into_iter().take(LOOKED_AT).map(prediction).collect();
        Ok(Draftlike { triple: triple_of, valid, predictions })
    }
}

impl Draftlike {
    /// What can be used of it, with an instrument for each prediction.
    pub fn derived(self, statement: &str, known: &[(Triple, Valid)], rules: &trial::Rules) -> Derived {
        // What repeats the claim's own edge says nothing about what is known: a change has to be able to come in.
        let own = self.triple.clone();
        let is_own = |it: &Triple| own.as_ref().is_some_and(|own| method::is_same(own, it));
        let predictions =
            self.predictions.into_iter().map(|(it, triple)| (it, triple.filter(|triple| !is_own(triple))));
        let (mut predictions, rejected) = method::usable(statement, predictions.collect(), known);
        for prediction in &mut predictions {
            (prediction.instrument, prediction.reason) = method::chosen(prediction, &rules.available, &[], 0);
        }
        Derived { triple: self.triple, valid: self.valid, predictions, rejected }
    }
}

impl Reflect {
    /// As a reading.
    pub fn reading(self, prediction: usize, choice: String) -> Reading {
        let answer = match self.answer {
            Reflected::Refuted => Answer::No,
            Reflected::Holds => Answer::Yes,
            Reflected::Unknown => Answer::None,
        };
        let note = cut(&self.reason, SENTENCE_MAX);
        let later = some(self.later_object, NAME_MAX).filter(|_| answer == Answer::No);
        let from = self.later_from.as_deref().and_then(date);
        Reading {
            prediction,
            instrument: Instrument::Reflection,
            choice,
            answer,
            // A counterexample is its own source.
            quote: (answer == Answer::No).then(|| note.clone()),
            note,
            source: None,
            later: later.map(|object| Later { object, from }),
            until: None,
        }
    }
}

impl Weigh {
    /// As a reading of these passages: what decides has to stand in one of them.
    pub fn reading(self, passages: &[Passage], prediction: usize, choice: String) -> Reading {
        let none = |choice, why: &str| no_answer(prediction, Instrument::Knowledge, choice, why);
        let answer = match self.answer {
            Weighed::Supports => Answer::Yes,
            Weighed::Refutes => Answer::No,
            Weighed::Silent => return none(choice, &self.reason),
        };
        let quote = spaced(&self.quote.unwrap_or_default());
        if quote.is_empty() {
            return none(choice, "what the model says of the passages rests on no words of them");
        }
        let Some(from) = passages.iter().find(|it| spaced(&it.text).contains(&quote)) else {
            let why = format!("the words that the model quotes do not stand in any passage: {quote}");
            return none(choice, &why);
        };
        let source = if from.url.is_empty() { &from.title } else { &from.url };
        let later = some(self.later_object, NAME_MAX).filter(|_| answer == Answer::No);
        let since = self.later_from.as_deref().and_then(date);
        Reading {
            answer,
            note: cut(&self.reason, SENTENCE_MAX),
            quote: Some(cut(&quote, SENTENCE_MAX)),
            source: Some(source.clone()),
            later: later.map(|object| Later { object, from: since }),
            ..none(choice, "")
        }
    }
}

/// A text with one space between words: where a line ends says nothing.
fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A reading that came to nothing: what breaks is no answer.
pub(super) fn no_answer(prediction: usize, instrument: Instrument, choice: String, why: &str) -> Reading {
    Reading {
        prediction,
        instrument,
        choice,
        answer: Answer::None,
        note: cut(why, SENTENCE_MAX),
        quote: None,
        source: None,
        later: None,
        until: None,
    }
}
