//! The answer to a mission from all its tasks: by one call, or where these do not fit one prompt,
//! by a call for each part of them, one after the other.

use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use unhurried::{Context, node};

use super::asking::{ANSWER, Ask, Came, ask, others};
use super::board::Board;
use super::desk::{Desk, Done};
use super::fitting::{cut_middle, size};
use super::said::{Report, filled};
use thinkd_event::mission::{ANSWER_MAX, REPORT_MAX, TaskId};
use thinkd_event::statement::cut;
use thinkd_tasks::level::level;

/// Bytes for a word on the tasks that stand elsewhere.
const NOTE: usize = 256;

/// The answer from some of the tasks, and how many of all tasks are answered with that.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Part {
    text: String,
    done: usize,
}

/// Returns the answer to the mission; none: a budget is used up.
pub(super) async fn report(desk: &Desk) -> Done<Option<String>> {
    let mut texts = Vec::new();
    let mut done = 0;
    let all = desk.tasks.board().len();
    while done < all.max(1) {
        let part = answer(Context::new(done), desk.clone()).await?;
        if let Came::To(part) = part.noted(&desk.asker) {
            texts.push(part.text);
            done = part.done.max(done + 1);
            continue;
        }
        if texts.is_empty() {
            return Ok(None);
        }
        // What was answered stays; of the others their answers stand as they are.
        let board = desk.tasks.board();
        let rest: Vec<TaskId> = board.all().skip(done).map(|(task, _)| task).collect();
        texts.push(what_there_is(&board, None, |task| rest.contains(&task)));
        break;
    }
    let share = level(REPORT_MAX, texts.iter().map(|it| size(it)).collect());
    let texts: Vec<String> = texts.iter().map(|it| cut_middle(it, share)).collect();
    Ok(Some(texts.join("\n\n")))
}

/// Returns the answer from as many tasks behind the first so many as fit one prompt; where calls
/// are few, from as many as leave a call for each of the others.
#[node]
pub(super) async fn answer(done: usize, desk: Desk) -> Came<Part> {
    let question = Ask::about(&desk, ANSWER, None);
    let others = match others::<Report>(&desk, &question).await {
        Ok(others) => others,
        Err(failure) => return Came::ToNothing(failure.text),
    };
    let room = desk.asker.room(others + question.size() + NOTE);
    let (ids, tasks) = next_part(&desk, done, room);
    let fits = |said: &Report| filled("the answer", &said.answer);
    let text = match ask::<Report>(&desk, question.with("tasks", tasks), fits).await {
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
    let mut ids = Vec::new();
    let mut tasks = Vec::new();
    for (task, now) in board.all().skip(done) {
        let shown = now.shown();
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

/// Returns the answers of those of its own tasks, in plain words.
pub(super) fn what_there_is(
    board: &Board,
    why: Option<&str>,
    of: impl Fn(TaskId) -> bool,
) -> String {
    let ended = |why| format!("The mission ended before its tasks did: {why}.\n");
    let mut text = why.map_or_else(String::new, ended);
    let own = board.parts(None).count().max(1);
    let tasks = board.parts(None).filter(|(task, _)| of(*task));
    // What stands before its words, and those.
    let said = tasks.map(|(task, now)| {
        let (how, words) = match (&now.answer, &now.reason) {
            (Some(answer), _) => (":", answer.as_str()),
            (None, Some(reason)) => (" failed:", reason.as_str()),
            (None, None) => (" was not done", ""),
        };
        (format!("{task} {}{how}", now.new.name), words)
    });
    let said: Vec<(String, &str)> = said.collect();
    // Of some of them there is a part of the whole answer.
    let heads: usize = said.iter().map(|(head, _)| head.len() + 2).sum();
    let room = (REPORT_MAX * said.len() / own).saturating_sub(heads);
    let share = level(room, said.iter().map(|(_, words)| size(words)).collect());
    for (head, words) in said {
        let line = format!("{head} {}", cut_middle(words, share));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.trim_end().to_owned()
}
