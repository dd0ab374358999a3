//! How a mission ends: what is said of tasks that are over, and the answer where no model gives it.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::board::{Board, TaskNow};
use crate::event::draft::Draft;
use crate::event::fact::set::Thread;
use crate::event::mission::{TaskId, TaskStatus};
use crate::event::task::TaskNews;
use crate::log::status::Status;
use crate::words::id::ThreadId;

/// A thread that ends with its task.
pub(super) fn ended_thread(thread: &ThreadId, is_closed: bool, reason: Option<&str>) -> Draft {
    let status = if is_closed {
        Status::Done
    } else {
        Status::Failed
    };
    Draft::set_thread(
        thread,
        Thread {
            status: Some(status.as_str()),
            reason,
            ..Thread::default()
        },
    )
}

/// A task is over, and its thread with it.
pub(super) fn over(
    mission: &ThreadId,
    task: TaskId,
    answer: Option<String>,
    reason: Option<String>,
) -> [Draft; 2] {
    let thread = mission.of_task(task);
    let ended = ended_thread(&thread, answer.is_some(), reason.as_deref());
    let failed = TaskStatus::FailedWithCurrentAvailableInstruments;
    let status = if answer.is_some() {
        TaskStatus::Closed
    } else {
        failed
    };
    [
        Draft::task(
            &thread,
            task,
            TaskNews::Over {
                status,
                answer,
                reason,
            },
        ),
        ended,
    ]
}

/// Tasks that a mission leaves behind when it ends before they do. One that was not begun has no thread that could end.
pub(super) fn left(mission: &ThreadId, board: &Board, why: &str) -> Vec<Draft> {
    let status = TaskStatus::FailedWithCurrentAvailableInstruments;
    let over = |(task, now): (TaskId, &TaskNow)| match now.status {
        TaskStatus::InProgress => over(mission, task, None, Some(why.to_owned())).to_vec(),
        _ => {
            let news = TaskNews::Over {
                status,
                answer: None,
                reason: Some(why.to_owned()),
            };
            vec![Draft::task(mission, task, news)]
        }
    };
    board.unfinished().flat_map(over).collect()
}

/// A task as models are told of it.
pub(super) fn shown(task: TaskId, now: &TaskNow) -> Json {
    let mut shown = json!({ "id": task.to_string(), "name": now.name, "status": now.status });
    for (key, value) in [("answer", &now.answer), ("reason", &now.reason)] {
        if let Some(value) = value {
            shown[key] = value.as_str().into();
        }
    }
    shown
}

/// What was achieved, in plain words.
pub(super) fn what_there_is(board: &Board, why: Option<&str>) -> String {
    let mut text = why.map_or_else(String::new, |why| {
        format!("The mission ended before its tasks did: {why}.\n")
    });
    for (task, now) in board.parts(None) {
        // Writing into a string cannot fail.
        let _ = match (&now.answer, &now.reason) {
            (Some(answer), _) => writeln!(text, "{task} {}: {answer}", now.name),
            (None, Some(reason)) => writeln!(text, "{task} {} failed: {reason}", now.name),
            (None, None) => writeln!(text, "{task} {} was not done", now.name),
        };
    }
    text.trim_end().to_owned()
}
