//! The answer to a mission from all its tasks: by one call, or where these do not fit one prompt,
//! by a call for each part of them, one after the other.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use unhurried::{Context, NodeExecutionError, node};

use super::asking::{ANSWER, Ask, Came, ask, others};
use super::closing::{shown, what_there_is};
use super::desk::Desk;
use super::fitting::{cut_middle, share, size};
use super::said::Report;
use crate::event::mission::{ANSWER_MAX, REPORT_MAX, TaskId};
use crate::event::statement::cut;

/// Bytes for a word on the tasks that stand elsewhere.
const NOTE: usize = 256;

/// The answer from some of the tasks, and how many of all tasks are answered with that.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Part {
    text: String,
    done: usize,
}

/// Returns the answer to the mission; none: a budget is used up.
pub(super) async fn report(desk: &Desk) -> Result<Option<String>, NodeExecutionError> {
    let (mut texts, mut done, all) = (Vec::new(), 0, desk.tasks.board().len());
    while done < all.max(1) {
        let part = answer(Context::new(done), desk.clone()).await?;
        match part.noted(&desk.asker) {
            Came::To(part) => {
                texts.push(part.text);
                done = part.done.max(done + 1);
            }
            Came::ToNothing(_) | Came::Spent(_) if texts.is_empty() => return Ok(None),
            // What was answered stays; of the others their answers stand as they are.
            Came::ToNothing(_) | Came::Spent(_) => {
                let board = desk.tasks.board();
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

/// Returns the answer from as many tasks behind the first so many as fit one prompt; where calls
/// are few, from as many as leave a call for each of the others.
#[node]
pub(super) async fn answer(done: usize, desk: Desk) -> Came<Part> {
    let question = Ask::of(ANSWER, None).quoted("mission", &desk.wanted.mission);
    let others = match others::<Report>(&desk, &question).await {
        Ok(others) => others,
        Err(failure) => return Came::ToNothing(failure.text),
    };
    let room = desk.asker.room(others + question.size() + NOTE);
    let (ids, tasks) = next_part(&desk, done, room);
    let some = |said: &Report| match said.answer.trim() {
        "" => Err("the answer is empty".to_owned()),
        _ => Ok(()),
    };
    let text = match ask::<Report>(&desk, question.with("tasks", tasks), some).await {
        Came::To(said) => cut(&said.answer, ANSWER_MAX),
        Came::ToNothing(_) => what_there_is(&desk.tasks.board(), None, |task| ids.contains(&task)),
        Came::Spent(why) => return Came::Spent(why),
    };
    let done = done + ids.len();
    Came::To(Part { text, done })
}

/// Returns the next tasks that are answered from, and as models are told of them.
fn next_part(desk: &Desk, done: usize, mut room: usize) -> (Vec<TaskId>, Json) {
    let calls = usize::try_from(desk.asker.calls_left()).unwrap_or(usize::MAX);
    let board = desk.tasks.board();
    let all = board.len();
    let least = (all - done).div_ceil(calls.max(1));
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
    if ids.len() < all {
        let note = format!(
            "These are {} of {all} tasks: answer from them alone; other parts of the answer are about the others.",
            ids.len()
        );
        tasks.push(json!(note));
    }
    (ids, json!(tasks))
}
