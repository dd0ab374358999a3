//! What a mission asks models: one strict call of one tool, again where what came of it is none, within the budget of the mission. Every call leaves
//! its record beside the value of the node that made it.

use std::time::Duration;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::desk::{Desk, ROOM_LEAST};
use super::fitting::fit;
use crate::event::mission::TaskId;
use crate::mind::call::{Ended, PromptView, Question, Ready, TurnPlace, Until};
use crate::model::offline::UNCONFIGURED;
use crate::model::prompt::Template;
use crate::model::provider::Tier;
use crate::runtime::kinds::typed_question::{TypedQuestion, typed_answer};
use crate::words::failure::{Failure, FailureKind, Who};
use crate::words::id::Name;

/// So often is a model asked whose provider failed.
const TRIES: u32 = 3;
/// Values that take less than this part of the window fit it.
const FAR: usize = 4;
/// Most times that a prompt is halved which a model refused for its length.
const HALVED_MAX: u32 = 8;
/// How long after a failed call the next one is made; four times as long after each.
const PAUSE: Duration = Duration::from_millis(250);

/// What came of asking.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) enum Came<T> {
    /// This.
    To(T),
    /// Nothing that can be used, and why.
    ToNothing(String),
    /// A budget refused the call, and says so.
    Spent(String),
}

/// What is asked.
pub(super) struct Ask<'a> {
    /// The node that asks: `mission:<node>`.
    pub node: &'static str,
    /// The only tool.
    pub tool: &'static str,
    /// The task that it is about; none: the mission.
    pub task: Option<TaskId>,
    pub tier: Tier,
    pub system: &'a Template,
    pub tail: &'a Template,
    pub values: Vec<(String, String)>,
}

/// Returns a question without its values.
fn question<T: JsonSchema>(ask: &Ask<'_>, round: u64) -> Result<Question, Failure> {
    let node = Name::parse(ask.node)
        .map_err(|error| Failure::new(FailureKind::Internal, error.to_string()))?;
    let typed = TypedQuestion {
        who: Who::Mission(node),
        purpose: ask.node,
        tool: ask.tool,
        tier: ask.tier,
        prompt: (ask.system, ask.tail),
    };
    Ok(typed.of::<T>(round))
}

impl Desk {
    /// Asks a model for one call of a tool. What is no such call, or refused by `fits`, is asked for once more, with what was wrong.
    pub async fn ask<T: DeserializeOwned + JsonSchema>(
        &self,
        mut ask: Ask<'_>,
        fits: impl Fn(&T) -> Result<(), String>,
    ) -> Came<T> {
        let mut wrong = String::new();
        for nudge in 0..2 {
            if nudge > 0 {
                let told = self
                    .client()
                    .prompts()
                    .mission_nudge
                    .fill(&[("tool", ask.tool), ("wrong", &wrong)]);
                ask.values.retain(|(name, _)| name != "nudge");
                ask.values.push(("nudge".to_owned(), told));
            }
            match self.ask_once::<T>(&ask, nudge).await {
                Ok(said) => match said.and_then(|said| fits(&said).map(|()| said)) {
                    Ok(said) => return Came::To(said),
                    Err(why) => wrong = why,
                },
                Err(failure)
                    if failure.kind == FailureKind::Budget
                        || failure.reason() == Some(UNCONFIGURED) =>
                {
                    self.is_spent(failure.clone());
                    return Came::Spent(failure.text);
                }
                Err(failure) => return Came::ToNothing(failure.text),
            }
        }
        Came::ToNothing(wrong)
    }

    /// One answer: a call as it should be, or what is wrong with it. The error: there is no answer.
    async fn ask_once<T: DeserializeOwned + JsonSchema>(
        &self,
        ask: &Ask<'_>,
        round: u64,
    ) -> Result<Result<T, String>, Failure> {
        let mut question = question::<T>(ask, round)?;
        let mut pause = PAUSE;
        let (mut attempt, mut halved, mut refused) = (0, 0, usize::MAX);
        loop {
            question.values.clone_from(&ask.values);
            // What is far from the window needs no measure.
            if halved > 0 || bytes(&question) > self.room(0) / FAR {
                let others = self.others::<T>(ask).await?;
                fit(&mut question.values, self.room(others));
            }
            let failure = match self.call(ask, &question).await? {
                Ended::Answered(answer) => return Ok(typed_answer(&question, &answer)),
                Ended::Failed(failure) => failure,
                // The mission is being left, perhaps to go on elsewhere: this must not be taken for an answer.
                Ended::Stopped => std::future::pending().await,
            };
            // One that does not get shorter is refused again.
            let size = bytes(&question);
            if failure.is_too_long() && halved < HALVED_MAX && size > ROOM_LEAST && size < refused {
                self.halve(self.others::<T>(ask).await?, size);
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

    /// One call, and its record.
    async fn call(&self, ask: &Ask<'_>, question: &Question) -> Result<Ended, Failure> {
        let (place, ready) = self.ready(ask.task, question).await;
        let ended = self
            .client()
            .ask(&ready, Until::ms(self.answer_ms()), self.stop(), |_| {})
            .await;
        let more = json!({ "mission": self.mission_thread(), "task": ask.task.map(|task| task.0) });
        self.beside(ask.task, [ready.record(&place, &ended, more)]);
        Ok(ended)
    }

    async fn ready(&self, task: Option<TaskId>, question: &Question) -> (TurnPlace, Ready) {
        let (thread, row) = self.seat(task);
        let place = TurnPlace {
            space: self.space().clone(),
            thread,
            turn: 1,
            purse: self.purse().clone(),
        };
        let view = PromptView::of_nothing(row);
        match self.client().prepare(&place, &view, question).await {
            Ok(ready) => (place, ready),
            Err(error) => self.lose(error).await,
        }
    }

    /// Bytes of a prompt besides its values.
    pub async fn others<T: JsonSchema>(&self, ask: &Ask<'_>) -> Result<usize, Failure> {
        let question = question::<T>(ask, 0)?;
        let (_, ready) = self.ready(ask.task, &question).await;
        Ok(ready.size())
    }
}

/// Bytes of the values of a question.
fn bytes(question: &Question) -> usize {
    question.values.iter().map(|(_, text)| text.len()).sum()
}
