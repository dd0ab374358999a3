//! What a trial asks models: what follows from a claim, and whether there is a counterexample. Every call leaves its record in the thread of the
//! trials; what a model says is data until the rules have looked at it.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::said::{Derive, Reflect, Silent, Weigh};
use crate::event::draft::Draft;
use crate::event::statement::Valid;
use crate::log::thread_row::ThreadRow;
use crate::mind::call::{Ended, ModelClient, PromptView, TurnPlace, Until};
use crate::mind::turn::stop::Stop;
use crate::mind::turn_writer::Lost;
use crate::model::prompt::Template;
use crate::model::provider::Tier;
use crate::runtime::kinds::typed_question::{TypedQuestion, typed_answer};
use crate::thread::quota::Purse;
use crate::tools::knowledge::Passage;
use crate::words::failure::Who;
use crate::words::time::Timestamp;

/// A call that was made: its record, and what came of it.
pub(super) struct Said<T> {
    pub record: Draft,
    pub said: Result<T, Silent>,
}

/// A statement as models are asked about it.
pub(super) struct Case<'a> {
    pub id: &'a str,
    pub text: &'a str,
    pub valid: Valid,
    /// The calls for it draw on this.
    pub purse: &'a Purse,
}

/// What is asked of a model.
struct Ask<'a> {
    /// Purpose, which is the name of the only tool, too.
    purpose: &'static str,
    system: &'a Template,
    tail: &'a Template,
    values: Vec<(String, String)>,
    /// The statement that it is about: its record says so.
    about: &'a Case<'a>,
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
        let about = ask.about;
        let typed = TypedQuestion {
            who: Who::Trial,
            purpose: ask.purpose,
            tool: ask.purpose,
            tier: Tier::Low,
            prompt: (ask.system, ask.tail),
        };
        let mut question = typed.of::<T>(0);
        question.values = ask.values;
        let client = self.client;
        let place = TurnPlace {
            purse: about.purse.clone(),
            ..self.place.clone()
        };
        let ready = client
            .prepare(&place, &PromptView::of_nothing(self.row.clone()), &question)
            .await?;
        let until = Until::ms(self.answer_ms);
        let ended = client.ask(&ready, until, self.stop.token(), |_| {}).await;
        let record = ready.record(&place, &ended, json!({ "statement": about.id }));
        let record = record.rooted(about.purse.root());
        let said = match ended {
            Ended::Stopped => return Err(Lost::Stale),
            Ended::Failed(failure) => Err(Silent::broke(failure.text)),
            Ended::Answered(answer) => typed_answer(&question, &answer).map_err(Silent::says),
        };
        Ok(Said { record, said })
    }

    /// Asks what follows from a claim.
    pub async fn derive(&self, about: &Case<'_>, now: Timestamp) -> Result<Said<Derive>, Lost> {
        let prompts = self.client.prompts();
        let values = vec![
            ("now".to_owned(), now.to_string()),
            ("statement".to_owned(), quoted(about.text)),
        ];
        let (system, tail) = (&prompts.trial_derive, &prompts.trial_claim);
        self.ask(Ask {
            purpose: "derive",
            system,
            tail,
            values,
            about,
        })
        .await
    }

    /// Asks for a counterexample.
    pub async fn reflect(
        &self,
        about: &Case<'_>,
        prediction: &str,
        now: Timestamp,
    ) -> Result<Said<Reflect>, Lost> {
        let prompts = self.client.prompts();
        let values = vec![
            ("now".to_owned(), now.to_string()),
            ("statement".to_owned(), quoted(about.text)),
            ("prediction".to_owned(), quoted(prediction)),
            ("time".to_owned(), said_time(about.valid)),
        ];
        let (system, tail) = (&prompts.trial_reflect, &prompts.trial_prediction);
        self.ask(Ask {
            purpose: "reflect",
            system,
            tail,
            values,
            about,
        })
        .await
    }

    /// Asks what passages say of a prediction.
    pub async fn weigh(
        &self,
        about: &Case<'_>,
        prediction: &str,
        passages: &[Passage],
        now: Timestamp,
    ) -> Result<Said<Weigh>, Lost> {
        let prompts = self.client.prompts();
        let values = vec![
            ("now".to_owned(), now.to_string()),
            ("statement".to_owned(), quoted(about.text)),
            ("prediction".to_owned(), quoted(prediction)),
            ("time".to_owned(), said_time(about.valid)),
            ("passages".to_owned(), json!(passages).to_string()),
        ];
        let (system, tail) = (&prompts.trial_weigh, &prompts.trial_passages);
        self.ask(Ask {
            purpose: "weigh",
            system,
            tail,
            values,
            about,
        })
        .await
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
