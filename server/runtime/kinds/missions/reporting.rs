//! The answer to a mission from all its tasks: by one call, or where these do not fit one prompt, by a call for each part of them, one after the other.

use serde::{Deserialize, Serialize};
use serde_json::json;
use unhurried::{Context, NodeExecutionError, node};

use super::asking::{Ask, Came};
use super::closing::{shown, what_there_is};
use super::desk::Desk;
use super::fitting::{cut_middle, share, size};
use super::said::Report;
use super::steps::quoted;
use crate::event::mission::{ANSWER_MAX, REPORT_MAX, TaskId};
use crate::event::statement::cut;
use crate::model::provider::Tier;

/// Bytes for a word on the tasks that stand elsewhere.
const NOTE: usize = 256;

/// The answer from some of the tasks, and how many of all tasks are answered with that.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Part {
    text: String,
    done: usize,
}

/// The answer to the mission; none: a budget is used up.
pub(super) async fn report(desk: &Desk) -> Result<Option<String>, NodeExecutionError> {
    let (mut texts, mut done, all) = (Vec::new(), 0, desk.board().len());
    while done < all.max(1) {
        match desk.noting(answer(Context::new(done), desk.clone()).await?) {
            Came::To(part) => {
                texts.push(part.text);
                done = part.done.max(done + 1);
            }
            Came::ToNothing(_) | Came::Spent(_) if texts.is_empty() => return Ok(None),
            // What was answered stays; of the others their answers stand as they are.
            Came::ToNothing(_) | Came::Spent(_) => {
                let board = desk.board();
                let rest: Vec<TaskId> = board.all().skip(done).map(|(task, _)| task).collect();
                texts.push(what_there_is(&board, None, |task| rest.contains(&task)));
                break;
            }
        }
    }
    let share = share(texts.iter().map(|it| size(it)).collect(), REPORT_MAX);
    let texts: Vec<String> = texts.iter().map(|it| cut_middle(it, share)).collect();
    Ok(Some(texts.join("\n\n")))
}

/// The answer from as many tasks behind the first so many as fit one prompt; where calls are few, from as many as leave a call for each of the others.
#[node]
pub(super) async fn answer(done: usize, desk: Desk) -> Came<Part> {
    let prompts = desk.client().prompts();
    let mut ask = Ask {
        node: "answer",
        tool: "answer",
        task: None,
        tier: Tier::Low,
        system: &prompts.mission_answer,
        tail: &prompts.mission_tasks,
        values: vec![("mission".to_owned(), quoted(&desk.wanted().mission))],
    };
    let others = match desk.others::<Report>(&ask).await {
        Ok(others) => others,
        Err(failure) => return Came::ToNothing(failure.text),
    };
    let taken = others + ask.values[0].1.len() + NOTE;
    let (ids, tasks) = desk.next_part(done, desk.room(taken));
    ask.values.push(("tasks".to_owned(), tasks));
    let some = |said: &Report| match said.answer.trim().is_empty() {
        true => Err("the answer is empty".to_owned()),
        false => Ok(()),
    };
    let text = match desk.ask::<Report>(ask, some).await {
        Came::To(said) => cut(&said.answer, ANSWER_MAX),
        Came::ToNothing(_) => what_there_is(&desk.board(), None, |task| ids.contains(&task)),
        Came::Spent(why) => return Came::Spent(why),
    };
    let done = done + ids.len();
    Came::To(Part { text, done })
}

impl Desk {
    /// The next tasks that are answered from, and as models are told of them.
    fn next_part(&self, done: usize, mut room: usize) -> (Vec<TaskId>, String) {
        let calls = usize::try_from(self.figures().calls_left).unwrap_or(usize::MAX);
        let board = self.board();
        let least = (board.len() - done).div_ceil(calls.max(1));
        let (mut ids, mut tasks) = (Vec::new(), Vec::new());
        for (task, now) in board.all().skip(done) {
            let shown = shown(task, now);
            let left = room.checked_sub(shown.to_string().len() + 1);
            if left.is_none() && ids.len() >= least.max(1) {
                break;
            }
            room = left.unwrap_or(0);
            ids.push(task);
            tasks.push(shown);
        }
        let all = board.len();
        if ids.len() < all {
            tasks.push(json!(format!(
                "These are {} of {all} tasks: answer from them alone; other parts of the answer are about the others.",
                ids.len()
            )));
        }
        (ids, json!(tasks).to_string())
    }
}
