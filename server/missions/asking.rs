//! Questions of a mission to models: one strict call of one tool, asked again if the answer cannot
//! be used, within the budget of the mission. Every call leaves its record beside the value of the
//! node that made it.

use std::time::Duration;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::desk::{Asker, Desk, ROOM_LEAST};
use super::fitting::fit;
use thinkd_event::mission::TaskId;
use thinkd_mind::call::{Ended, PromptView, Question, Ready, TurnPlace, Until};
use thinkd_model::offline::UNCONFIGURED;
use thinkd_model::prompt::Prompts;
use thinkd_model::provider::Tier;
use thinkd_runtime::typed_question::{Form, typed_answer};
use thinkd_words::failure::{Failure, FailureKind, Who};
use thinkd_words::id::Name;

/// Most calls of a model for one answer while its provider fails.
const TRIES: u32 = 3;
/// Values that take less than this part of the window fit it.
const FAR: usize = 4;
/// Most times that a prompt is halved which a model refused for its length.
const HALVED_MAX: u32 = 8;
/// Pause between a failed call and the next one; four times as long after each.
const PAUSE: Duration = Duration::from_millis(250);

// The questions that missions ask: the purpose of each, and its prompts.
pub(super) const DECOMPOSE: Form = Form::new("decompose", |it| {
    (&it.mission_decompose, &it.mission_wanted)
});
pub(super) const SPLIT: Form =
    Form::new("decompose", |it| (&it.mission_decompose, &it.mission_split));
pub(super) const CONSIDER: Form =
    Form::new("consider", |it| (&it.mission_consider, &it.mission_task));
pub(super) const SOLVE: Form = Form::new("solve", |it| (&it.mission_solve, &it.mission_try));
pub(super) const APPLY: Form = Form::new("apply", |it| (&it.mission_apply, &it.mission_known));
pub(super) const FRAMEWORK: Form =
    Form::new("framework", |it| (&it.mission_framework, &it.mission_make));
pub(super) const GUIDELINE: Form =
    Form::new("guideline", |it| (&it.mission_guideline, &it.mission_runs));
pub(super) const JUDGE: Form = Form::new("judge", |it| (&it.mission_judge, &it.mission_verdict));
pub(super) const REPLAN: Form = Form::new("replan", |it| (&it.mission_replan, &it.mission_behind));
pub(super) const ANSWER: Form = Form::new("answer", |it| (&it.mission_answer, &it.mission_tasks));

/// The result of a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Came<T> {
    /// This.
    To(T),
    /// Nothing that can be used, and why.
    ToNothing(String),
    /// A budget refused the call, and says so.
    Spent(String),
}

impl<T> Came<T> {
    /// Returns the same; that a budget is used up is noted. The first word counts.
    pub fn noted(self, asker: &Asker) -> Self {
        if let Self::Spent(why) = &self {
            let _ = asker.spent.set(Failure::new(FailureKind::Budget, why));
        }
        self
    }
}

/// A question to a model.
pub(super) struct Ask {
    form: Form,
    /// The task that it is about; none: the mission.
    task: Option<TaskId>,
    tier: Tier,
    values: Vec<(String, String)>,
}

impl Ask {
    /// Returns a question to the ordinary model.
    pub fn of(form: Form, task: impl Into<Option<TaskId>>) -> Self {
        Self {
            form,
            task: task.into(),
            tier: Tier::Low,
            values: Vec::new(),
        }
    }

    /// Returns a question about the mission, or a task of it.
    pub fn about(desk: &Desk, form: Form, task: impl Into<Option<TaskId>>) -> Self {
        let ask = Self::of(form, task).quoted("mission", &desk.wanted.mission);
        match ask.task {
            Some(task) => ask.with("task", desk.tasks.described(task)),
            None => ask,
        }
    }

    /// Returns the same, to this tier.
    pub fn by(self, tier: Tier) -> Self {
        Self { tier, ..self }
    }

    /// Returns the same with one more value, which is JSON.
    pub fn with(mut self, name: &str, value: impl ToString) -> Self {
        self.values.push((name.to_owned(), value.to_string()));
        self
    }

    /// Returns the same with others' words as one JSON string: nothing in them can end it.
    pub fn quoted(self, name: &str, words: &str) -> Self {
        self.with(name, json!(words))
    }

    /// Returns how many bytes its values have.
    pub fn size(&self) -> usize {
        size(&self.values)
    }

    /// Returns the question without its values.
    fn question<T: JsonSchema>(&self, prompts: &Prompts, round: u64) -> Result<Question, Failure> {
        let node = Name::parse(self.form.purpose)
            .map_err(|error| Failure::new(FailureKind::Internal, error.to_string()))?;
        let question = self
            .form
            .question::<T>(Who::Mission(node), self.tier, prompts);
        Ok(Question { round, ..question })
    }
}

fn size(values: &[(String, String)]) -> usize {
    values.iter().map(|(_, text)| text.len()).sum()
}

/// Asks a model for one call of a tool. An answer without such a call, or one that `fits` refuses,
/// is asked for once more, with the reason.
pub(super) async fn ask<T: DeserializeOwned + JsonSchema>(
    desk: &Desk,
    mut ask: Ask,
    fits: impl Fn(&T) -> Result<(), String>,
) -> Came<T> {
    let mut wrong = String::new();
    for nudge in 0..2 {
        if nudge > 0 {
            let told = &[("tool", ask.form.purpose), ("wrong", &wrong)];
            ask = ask.with("nudge", desk.prompts().mission_nudge.fill(told));
        }
        match ask_once::<T>(desk, &ask, nudge).await {
            Ok(said) => match said.and_then(|said| fits(&said).map(|()| said)) {
                Ok(said) => return Came::To(said),
                Err(why) => wrong = why,
            },
            Err(failure) => {
                let is_unconfigured = failure.reason() == Some(UNCONFIGURED);
                if failure.kind != FailureKind::Budget && !is_unconfigured {
                    return Came::ToNothing(failure.text);
                }
                // The first word counts.
                let _ = desk.asker.spent.set(failure.clone());
                return Came::Spent(failure.text);
            }
        }
    }
    Came::ToNothing(wrong)
}

/// Asks for one answer: a valid call, or the defect of it. The error: there is no answer.
async fn ask_once<T: DeserializeOwned + JsonSchema>(
    desk: &Desk,
    ask: &Ask,
    round: u64,
) -> Result<Result<T, String>, Failure> {
    let mut question = ask.question::<T>(desk.prompts(), round)?;
    let mut pause = PAUSE;
    let mut attempt = 0;
    let mut halved = 0;
    let mut refused = usize::MAX;
    loop {
        question.values.clone_from(&ask.values);
        // What is far from the window needs no measure.
        if halved > 0 || ask.size() > desk.asker.room(0) / FAR {
            let others = others::<T>(desk, ask).await?;
            fit(&mut question.values, desk.asker.room(others));
        }
        let failure = match call(desk, ask.task, &question).await {
            Ended::Answered(answer) => return Ok(typed_answer(&question, &answer)),
            Ended::Failed(failure) => failure,
            // The mission is being left, perhaps to go on elsewhere: this must not be taken for an
            // answer.
            Ended::Stopped => std::future::pending().await,
        };
        // One that does not get shorter is refused again.
        let size = size(&question.values);
        if failure.is_too_long() && halved < HALVED_MAX && size > ROOM_LEAST && size < refused {
            desk.asker.halve(others::<T>(desk, ask).await?, size);
            (halved, refused) = (halved + 1, size);
            continue;
        }
        attempt += 1;
        if attempt >= TRIES || !failure.retryable {
            return Err(failure);
        }
        tokio::time::sleep(pause).await;
        pause *= 4;
    }
}

/// Makes one call, and its record.
async fn call(desk: &Desk, task: Option<TaskId>, question: &Question) -> Ended {
    let (place, ready) = ready(desk, task, question).await;
    let mind = &desk.ground.mind;
    let until = Until::ms(mind.options.decision_timeout_ms);
    let ended = mind.client.ask(&ready, until, &desk.asker.stop, |_| {});
    let ended = ended.await;
    let more = json!({ "mission": desk.journal.mission, "task": task.map(|task| task.0) });
    let record = ready.record(&place, &ended, more);
    desk.journal.beside(task, [record]);
    ended
}

async fn ready(desk: &Desk, task: Option<TaskId>, question: &Question) -> (TurnPlace, Ready) {
    let row = desk.seat(task);
    let place = TurnPlace {
        space: desk.space.clone(),
        thread: row.thread.clone(),
        turn: 1,
        purse: desk.asker.purse.clone(),
    };
    let client = &desk.ground.mind.client;
    let view = PromptView::of_nothing(row);
    let ready = client.prepare(&place, &view, question).await;
    (place, desk.journal.found(ready).await)
}

/// Returns the number of bytes of a prompt besides its values.
pub(super) async fn others<T: JsonSchema>(desk: &Desk, ask: &Ask) -> Result<usize, Failure> {
    let question = ask.question::<T>(desk.prompts(), 0)?;
    let (_, ready) = ready(desk, ask.task, &question).await;
    Ok(ready.size())
}
