//! What a trial asks models: what follows from a claim, and whether there is a counterexample.
//! Every call leaves its record in the thread of the trials; what a model says is data until the
//! rules have looked at it.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::bench::{Bench, OnTrial};
use super::said::{Derive, Reflect, Said, Silent, Weigh};
use crate::event::statement::Valid;
use crate::mind::call::{Ended, PromptView, TurnPlace, Until};
use crate::mind::turn_writer::Lost;
use crate::model::prompt::Template;
use crate::model::provider::Tier;
use crate::runtime::kinds::typed_question::{TypedQuestion, typed_answer};
use crate::tools::knowledge::Passage;
use crate::words::failure::Who;
use crate::words::time;

impl Bench<'_> {
    /// Asks a model about a statement by one call of a tool of this name. `more`: values of the
    /// prompt beside the statement. The record of the call waits with the statement.
    async fn ask<T: DeserializeOwned + JsonSchema>(
        &self,
        on: &mut OnTrial,
        purpose: &'static str,
        prompt: (&Template, &Template),
        more: Vec<(String, String)>,
    ) -> Said<T> {
        let typed = TypedQuestion {
            who: Who::Trial,
            purpose,
            tier: Tier::Low,
            prompt,
        };
        let mut question = typed.of::<T>(0);
        question.values = vec![
            ("now".to_owned(), time::now().to_string()),
            ("statement".to_owned(), quoted(&on.row.text)),
        ];
        question.values.extend(more);
        let client = &self.trials.ground.mind.client;
        let place = TurnPlace {
            space: self.journal.space.clone(),
            thread: self.row.thread.clone(),
            turn: 0,
            purse: on.purse.clone(),
        };
        let ready = client
            .prepare(&place, &PromptView::of_nothing(self.row.clone()), &question)
            .await?;
        let until = Until::ms(self.trials.memory().answer_ms);
        let ended = client.ask(&ready, until, self.stop.token(), |_| {}).await;
        let record = ready.record(&place, &ended, json!({ "statement": on.row.id }));
        let record = record.rooted(on.purse.root());
        let said = match ended {
            Ended::Stopped => return Err(Lost::Stale),
            Ended::Failed(failure) => Err(Silent::broke(failure.text)),
            Ended::Answered(answer) => typed_answer(&question, &answer).map_err(Silent::says),
        };
        on.records.push(record);
        Ok(said)
    }

    /// Asks what follows from a claim.
    pub async fn ask_derivation(&self, on: &mut OnTrial) -> Said<Derive> {
        let prompts = self.trials.ground.mind.client.prompts();
        let prompt = (&prompts.trial_derive, &prompts.trial_claim);
        self.ask(on, "derive", prompt, Vec::new()).await
    }

    /// Asks for a counterexample.
    pub async fn ask_counterexample(&self, on: &mut OnTrial, of: &str) -> Said<Reflect> {
        let prompts = self.trials.ground.mind.client.prompts();
        let prompt = (&prompts.trial_reflect, &prompts.trial_prediction);
        let values = predicted(on, of);
        self.ask(on, "reflect", prompt, values.into()).await
    }

    /// Asks what passages say of a prediction.
    pub async fn ask_weight(
        &self,
        on: &mut OnTrial,
        of: &str,
        passages: &[Passage],
    ) -> Said<Weigh> {
        let prompts = self.trials.ground.mind.client.prompts();
        let prompt = (&prompts.trial_weigh, &prompts.trial_passages);
        let passages = ("passages".to_owned(), json!(passages).to_string());
        let values = predicted(on, of).into_iter().chain([passages]);
        self.ask(on, "weigh", prompt, values.collect()).await
    }
}

/// Returns what a prompt says of a prediction.
fn predicted(on: &OnTrial, of: &str) -> [(String, String); 2] {
    [
        ("prediction".to_owned(), quoted(of)),
        ("time".to_owned(), said_time(on.trial.valid())),
    ]
}

/// Others' words as one JSON string: nothing in them can end it.
pub(super) fn quoted(text: &str) -> String {
    json!(text).to_string()
}

/// Returns the time for which a statement is said to hold, in words.
fn said_time(valid: Valid) -> String {
    match (valid.from, valid.to) {
        (None, None) => "now; no time is given".into(),
        (Some(from), None) => format!("from {from} on"),
        (None, Some(to)) => format!("until {to}"),
        (Some(from), Some(to)) => format!("from {from} until {to}"),
    }
}
