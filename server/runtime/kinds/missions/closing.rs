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

/// The answers of those of its own tasks, in plain words.
pub(super) fn what_there_is(
    board: &Board,
    why: Option<&str>,
    of: impl Fn(TaskId) -> bool,
) -> String {
    let mut text = why.map_or_else(String::new, |why| {
        format!("The mission ended before its tasks did: {why}.\n")
    });
    let own = board.parts(None).count().max(1);
    let tasks: Vec<_> = board.parts(None).filter(|(task, _)| of(*task)).collect();
    let said = |now: &TaskNow| match (&now.answer, &now.reason) {
        (Some(answer), _) => (":", answer.clone()),
        (None, Some(reason)) => (" failed:", reason.clone()),
        (None, None) => (" was not done", String::new()),
    };
    let head = |(task, now): &(TaskId, &TaskNow)| format!("{task} {}{}", now.name, said(now).0);
    // Of some of them there is a part of the whole answer.
    let heads: usize = tasks.iter().map(|it| head(it).len() + 2).sum();
    let room = (REPORT_MAX * tasks.len() / own).saturating_sub(heads);
    let sizes = tasks.iter().map(|(_, now)| size(&said(now).1));
    let share = share(sizes.collect(), room);
    for it in &tasks {
        let line = format!("{} {}", head(it), cut_middle(&said(it.1).1, share));
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.trim_end().to_owned()
}
