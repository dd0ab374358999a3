//! Questions of a trial to models: the predictions that follow from a claim, and whether there is a
//! counterexample. Every call leaves its record in the thread of the trials. A model's answer is
//! data until the rules have looked at it.

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::json;

use super::bench::OnTrial;
use super::said::{Said, Silent};
use thinkd_event::statement::Valid;
use thinkd_mind::call::{Ended, PromptView, TurnPlace, Until};
use thinkd_mind::turn_writer::Lost;
use thinkd_model::provider::Tier;
use thinkd_runtime::typed_question::{Form, typed_answer};
use thinkd_words::failure::Who;
use thinkd_words::time;

/// Question for the predictions of a claim.
pub(super) const DERIVE: Form = Form::new("derive", |it| (&it.trial_derive, &it.trial_claim));
/// Question for a counterexample.
pub(super) const REFLECT: Form =
    Form::new("reflect", |it| (&it.trial_reflect, &it.trial_prediction));
/// Question for the verdict of passages on a prediction.
pub(super) const WEIGH: Form = Form::new("weigh", |it| (&it.trial_weigh, &it.trial_passages));

/// Asks a model about a statement. `more`: values of the prompt beside the statement. The record of
/// the call waits with the statement.
pub(super) async fn ask<T: DeserializeOwned + JsonSchema>(
    on: &mut OnTrial<'_>,
    form: Form,
    more: Vec<(String, String)>,
) -> Said<T> {
    let client = &on.bench.trials.ground.mind.client;
    let mut question = form.question::<T>(Who::Trial, Tier::Low, client.prompts());
    question.values = vec![
        ("now".to_owned(), time::now().to_string()),
        ("statement".to_owned(), quoted(&on.row.text)),
    ];
    question.values.extend(more);
    let place = TurnPlace {
        space: on.bench.journal.space.clone(),
        thread: on.bench.row.thread.clone(),
        turn: 0,
        purse: on.purse.clone(),
    };
    let view = PromptView::of_nothing(on.bench.row.clone());
    let ready = client.prepare(&place, &view, &question).await?;
    let until = Until::ms(on.bench.journal.memory().answer_ms);
    let stop = on.bench.stop.token();
    let ended = client.ask(&ready, until, stop, |_| {}).await;
    let record = ready.record(&place, &ended, json!({ "statement": on.row.id }));
    let record = record.rooted(on.purse.root());
    let said = match ended {
        Ended::Stopped => return Err(Lost::Stale.into()),
        Ended::Failed(failure) => Err(Silent::Broke(failure.text)),
        Ended::Answered(answer) => typed_answer(&question, &answer).map_err(Silent::Says),
    };
    on.records.push(record);
    said
}

/// Returns the values of a prompt about a prediction.
pub(super) fn predicted(on: &OnTrial<'_>, of: &str) -> [(String, String); 2] {
    [
        ("prediction".to_owned(), quoted(of)),
        ("time".to_owned(), said_time(on.trial.valid())),
    ]
}

/// Returns others' words as one JSON string: nothing in them can end it.
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
