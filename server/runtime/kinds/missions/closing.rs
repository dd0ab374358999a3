//! How a mission ends: what is said of tasks that are over, and the answer where no model gives it.

use serde_json::{Value as Json, json};

use super::board::{Board, TaskNow};
use super::fitting::{cut_middle, share, size};
use crate::event::draft::Draft;
use crate::event::fact::set::Thread;
use crate::event::mission::{REPORT_MAX, TaskId, TaskStatus};
use crate::event::task::TaskNews;
use crate::log::status::Status;
use crate::words::id::ThreadId;

/// Returns what ends the thread of a task; without a reason why it failed the task is closed.
pub(super) fn ended_thread(thread: &ThreadId, reason: Option<&str>) -> Draft {
    let status = reason.map_or(Status::Done, |_| Status::Failed).as_str();
    let change = Thread {
        status: Some(status),
        reason,
        ..Thread::default()
    };
    Draft::set_thread(thread, change)
}

/// Returns what is said of a task that is over, and of its thread with it.
pub(super) fn over(
    mission: &ThreadId,
    task: TaskId,
    answer: Option<String>,
    reason: Option<String>,
) -> [Draft; 2] {
    let thread = mission.of_task(task);
    let ended = ended_thread(&thread, reason.as_deref());
    [
        Draft::task(&thread, task, TaskNews::over(answer, reason)),
        ended,
    ]
}

/// Returns what is said of tasks that a mission leaves behind when it ends before they do. One that
/// was not begun has no thread that could end.
pub(super) fn left(mission: &ThreadId, board: &Board, why: &str) -> Vec<Draft> {
    let over = |(task, now): (TaskId, &TaskNow)| match now.status {
        TaskStatus::InProgress => over(mission, task, None, Some(why.to_owned())).to_vec(),
        _ => {
            let news = TaskNews::over(None, Some(why.to_owned()));
            vec![Draft::task(mission, task, news)]
        }
    };
    let unfinished = board.all().filter(|(_, now)| !now.status.is_over());
    unfinished.flat_map(over).collect()
}

/// Returns a task as models are told of it.
pub(super) fn shown(task: TaskId, now: &TaskNow) -> Json {
    let mut shown = json!({ "id": task.to_string(), "name": now.new.name, "status": now.status });
    for (key, value) in [("answer", &now.answer), ("reason", &now.reason)] {
        if let Some(value) = value {
            shown[key] = value.as_str().into();
        }
    }
    shown
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
    let share = share(said.iter().map(|(_, words)| size(words)).collect(), room);
    for (head, words) in said {
        let line = format!("{head} {}", cut_middle(words, share));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.trim_end().to_owned()
}
