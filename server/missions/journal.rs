//! The journal of a mission: the events of it and of its tasks, stored with the value of the node
//! that writes them, and the events that end tasks.

use super::board::{Board, TaskNow};
use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::fact::set::Thread;
use thinkd_event::fact::task::TaskNews;
use thinkd_event::mission::{TaskId, TaskStatus};
use thinkd_log::error::Stored;
use thinkd_log::status::Status;
use thinkd_mind::turn_writer::Lost;
use thinkd_pipelines::ledger::Ledger;
use thinkd_words::id::ThreadId;

/// Something that was not done, and why.
pub(super) type Refusal = (TaskId, String, String);

/// See the module.
pub(super) struct Journal {
    pub ledger: Ledger,
    /// The mission's own thread.
    pub mission: ThreadId,
}

impl Journal {
    /// Returns the thread of a task, or of the mission.
    pub fn thread(&self, task: Option<TaskId>) -> ThreadId {
        task.map_or_else(|| self.mission.clone(), |task| self.mission.of_task(task))
    }

    /// Adds events in the flow of a task, or of the mission. They are stored with the value of the
    /// node that runs there.
    pub fn beside(&self, task: Option<TaskId>, drafts: impl IntoIterator<Item = Draft>) {
        let flow = task.map_or_else(String::new, |task| task.to_string());
        self.ledger.beside(&flow, drafts);
    }

    /// Something is said of a task in its own thread.
    pub fn say(&self, task: TaskId, news: TaskNews) {
        let thread = self.mission.of_task(task);
        self.beside(Some(task), [Draft::task(&thread, task, news)]);
    }

    /// Records refusals in the thread that wanted the refused thing.
    pub fn refuse_all(&self, task: Option<TaskId>, refused: impl IntoIterator<Item = Refusal>) {
        let thread = self.thread(task);
        let say = |(about, of, why)| Draft::task(&thread, about, TaskNews::Refused { of, why });
        self.beside(task, refused.into_iter().map(say));
    }

    /// Something that was wanted for a task, or the mission, was refused.
    pub fn refuse(&self, task: Option<TaskId>, of: impl Into<String>, why: impl Into<String>) {
        let about = task.unwrap_or(TaskId(0));
        self.refuse_all(task, [(about, of.into(), why.into())]);
    }

    /// Returns the condition of every event of a task: people have not skipped it.
    pub fn to_come(&self, task: TaskId) -> Condition {
        to_come(&self.mission, task, false)
    }

    /// The node that runs for a task is stored with the one that follows at once, in one append.
    pub fn joins_next(&self, task: TaskId) {
        self.ledger.joins_next(&task.to_string());
    }

    /// Returns the result of a read. If it failed the mission stands still until it is dropped, and
    /// is taken up again later.
    pub async fn found<T>(&self, read: Stored<T>) -> T {
        match read {
            Ok(found) => found,
            Err(error) => self.ledger.lose(Lost::Store(error)).await,
        }
    }
}

/// Returns the condition of every event of a task: people have not skipped it. `open`: nor has it
/// begun.
pub(super) fn to_come(mission: &ThreadId, task: TaskId, open: bool) -> Condition {
    Condition::TaskToCome {
        mission: mission.clone(),
        task,
        open,
    }
}

/// Returns the event that ends the thread of a task; without a reason why it failed the task is
/// closed.
pub(super) fn ended_thread(thread: &ThreadId, reason: Option<&str>) -> Draft {
    let status = reason.map_or(Status::Done, |_| Status::Failed).as_str();
    let change = Thread {
        status: Some(status),
        reason,
        ..Thread::default()
    };
    Draft::set_thread(thread, change)
}

/// Returns the events that end a task, and its thread with it.
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

/// Returns the events of tasks that a mission leaves behind when it ends before they do. One that
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
