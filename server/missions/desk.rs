//! The desk has the values and services that the nodes of one mission work with. Cheap to clone; it
//! is given to nodes as an argument.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use serde::{Serialize, Serializer};
use tokio_util::sync::CancellationToken;
use unhurried::NodeExecutionError;

use super::board::Tasks;
use super::journal::Journal;
use super::resting::Rest;
use thinkd_event::estimate::Records;
use thinkd_event::mission::{Figures, TaskId, Wanted};
use thinkd_log::thread_row::ThreadRow;
use thinkd_model::prompt::Prompts;
use thinkd_runtime::ground::Ground;
use thinkd_runtime::mission::Options;
use thinkd_tasks::lock::lock;
use thinkd_thread::quota::Purse;
use thinkd_tools::knowledge::Search;
use thinkd_words::failure::Failure;
use thinkd_words::id::Space;

/// Fewest bytes for the values of a prompt, however small the window.
pub(super) const ROOM_LEAST: usize = 1 << 10;

/// The result of a flow: a node that is not carried out ends it.
pub(super) type Done<T> = Result<T, NodeExecutionError>;

/// See the module.
pub(super) type Desk = Arc<Parts>;

/// The parts of a desk.
pub(super) struct Parts {
    pub ground: Ground,
    pub knowledge: Option<Arc<Search>>,
    pub space: Space,
    /// The mission's own thread.
    pub row: ThreadRow,
    pub wanted: Wanted,
    pub journal: Journal,
    pub asker: Asker,
    pub tasks: Tasks,
    /// Results of routes in this space.
    // A plain mutex: held for a look or a change, never across an await.
    pub records: Mutex<Records>,
    /// The flows that wait for people.
    pub rest: Rest,
}

/// The same for all nodes of a mission: nothing that a journal would have to compare.
impl Serialize for Parts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl Parts {
    pub fn options(&self) -> &Options {
        &self.ground.options.mission
    }

    pub fn prompts(&self) -> &Prompts {
        self.ground.mind.client.prompts()
    }

    /// Returns a row for questions in the thread of a task, or of the mission.
    pub fn seat(&self, task: Option<TaskId>) -> ThreadRow {
        let mut row = self.row.clone();
        row.thread = self.journal.thread(task);
        if let Some(task) = task {
            row.settings["title"] = self.tasks.of(task, |now| now.new.name.clone()).into();
        }
        row
    }

    /// Returns the results of routes in this space so far.
    pub fn records(&self) -> MutexGuard<'_, Records> {
        lock(&self.records)
    }

    /// Returns the calls and tasks that the mission has left.
    pub fn figures(&self) -> Figures {
        Figures {
            calls_left: self.asker.calls_left(),
            tasks_left: self.tasks.board().left(),
        }
    }
}

/// The asker of a mission: the models it asks, the token that stops its calls, and the rest of its
/// budget.
pub(super) struct Asker {
    pub purse: Purse,
    pub stop: CancellationToken,
    /// Most bytes of a prompt: fewer since a model refused one for its length.
    pub window: AtomicUsize,
    /// Why nothing is begun any more: a budget that is used up, or no model to ask.
    pub spent: OnceLock<Failure>,
}

impl Asker {
    /// Returns how many bytes the values of a prompt may have that has so many others.
    pub fn room(&self, others: usize) -> usize {
        let window = self.window.load(Ordering::Relaxed);
        window.saturating_sub(others).max(ROOM_LEAST)
    }

    /// Lowers the window after a refused prompt: its values take at most half the bytes from now
    /// on, beside as many others.
    pub fn halve(&self, others: usize, values: usize) {
        let window = others + values / 2;
        self.window.fetch_min(window, Ordering::Relaxed);
    }

    /// Returns how many model calls are left.
    pub fn calls_left(&self) -> u64 {
        self.purse.calls_left().unwrap_or(u64::MAX >> 12)
    }

    /// Returns whether nothing is begun any more.
    pub fn is_spent(&self) -> bool {
        self.spent.get().is_some()
    }
}
