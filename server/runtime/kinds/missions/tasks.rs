//! The tasks of a mission as its flows share them: the board, what people change of it, and the
//! places to work at.

use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};

use super::board::{Board, TaskNow};
use crate::event::agreement::Pool;
use crate::event::fact::task::{TaskFact, TaskNews};
use crate::event::mission::{TaskId, Value};
use crate::tasks::lock::lock;

/// See the module.
pub(super) struct Tasks {
    // A plain mutex: held for a look or a change, never across an await.
    board: Mutex<Board>,
    /// How often people have changed tasks since the mission was taken up.
    edits: watch::Sender<u64>,
    /// As many as tasks may be worked on at a time.
    places: Arc<Semaphore>,
}

impl Tasks {
    pub fn new(board: Board, width: u32) -> Self {
        Self {
            board: Mutex::new(board),
            edits: watch::Sender::new(0),
            places: Arc::new(Semaphore::new(width as usize)),
        }
    }

    pub fn board(&self) -> MutexGuard<'_, Board> {
        lock(&self.board)
    }

    /// Returns what `look` makes of a task, if there is one of this number.
    pub fn of<T>(&self, task: TaskId, look: impl FnOnce(&TaskNow) -> T) -> Option<T> {
        self.board().get(task).map(look)
    }

    /// Returns the worth of a task.
    pub fn value(&self, task: TaskId) -> Value {
        self.of(task, |now| now.new.value).unwrap_or(Value::Low)
    }

    /// Returns what a task that is under way takes its tries from, where so many calls are left.
    pub fn pool(&self, calls: u64) -> Pool {
        let (open, begun) = self.board().to_come();
        Pool {
            calls,
            open,
            begun: begun.saturating_sub(1),
        }
    }

    /// Returns a task as those are told of it who work on it: with what was done before, and with
    /// its parts.
    pub fn described(&self, task: TaskId) -> String {
        let board = self.board();
        board.get(task).map_or_else(String::new, |now| {
            let before = now.new.requires.iter();
            let before = before.filter_map(|it| Some(board.get(*it)?.shown()));
            let mut described = now.described();
            described["id"] = task.to_string().into();
            described["before"] = before.collect();
            described.to_string()
        })
    }

    /// Takes in what people said of a task.
    pub fn hear(&self, TaskFact { task, what }: TaskFact) {
        match what {
            TaskNews::Changed { .. } => self.board().change(task, what),
            TaskNews::Over { reason, .. } => {
                self.board().skip(task, &reason.unwrap_or_default());
            }
            _ => return,
        }
        self.edits.send_modify(|edits| *edits += 1);
    }

    /// Waits until people do not want a task any more.
    pub async fn skipped(&self, task: TaskId) {
        let mut edits = self.edits.subscribe();
        while !self.board().is_skipped(task) {
            if edits.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// Waits for a place to work at. One that is given back lets another task begin.
    pub async fn place(&self) -> Option<OwnedSemaphorePermit> {
        // Nobody closes it.
        self.places.clone().acquire_owned().await.ok()
    }
}
