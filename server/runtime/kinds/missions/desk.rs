//! The desk is what the nodes of one mission work with: the board, the models, the budget, and the ledger that stores what they say. Cheap to clone; it is
//! given to nodes as an argument.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use serde::{Serialize, Serializer};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::board::Board;
use super::said::Refusal;
use crate::event::draft::Draft;
use crate::event::fact::task::TaskNews;
use crate::event::mission::{TaskId, Wanted};
use crate::log::error::StoreError;
use crate::log::thread_row::ThreadRow;
use crate::mind::call::ModelClient;
use crate::mind::turn_writer::Lost;
use crate::pipelines::ledger::Ledger;
use crate::runtime::mission::Options;
use crate::thread::quota::Purse;
use crate::tools::code::runner::Runner;
use crate::tools::knowledge::Search;
use crate::words::id::{Space, ThreadId};

/// See the module.
#[derive(Clone)]
pub(super) struct Desk(Arc<Parts>);

/// What a desk is made of.
pub(super) struct Parts {
    pub ledger: Ledger,
    pub client: Arc<ModelClient>,
    pub purse: Purse,
    pub space: Space,
    /// The mission's own thread.
    pub row: ThreadRow,
    pub wanted: Wanted,
    pub options: Options,
    pub code: Arc<Runner>,
    pub knowledge: Option<Arc<Search>>,
    pub answer_ms: u64,
    pub stop: CancellationToken,
    // A plain mutex: held for a look or a change, never across an await.
    pub board: Mutex<Board>,
    /// As many as tasks may be worked on at a time.
    pub places: Arc<Semaphore>,
    /// What a budget said that is used up.
    pub spent: OnceLock<String>,
}

/// The same for all nodes of a mission: nothing that a journal would have to compare.
impl Serialize for Desk {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_unit()
    }
}

impl Desk {
    pub fn new(parts: Parts) -> Self {
        Self(Arc::new(parts))
    }

    pub fn client(&self) -> &ModelClient {
        &self.0.client
    }

    pub fn purse(&self) -> &Purse {
        &self.0.purse
    }

    pub fn space(&self) -> &Space {
        &self.0.space
    }

    pub fn wanted(&self) -> &Wanted {
        &self.0.wanted
    }

    pub fn options(&self) -> &Options {
        &self.0.options
    }

    pub fn code(&self) -> &Runner {
        &self.0.code
    }

    pub fn knowledge(&self) -> Option<&Search> {
        self.0.knowledge.as_deref()
    }

    pub fn answer_ms(&self) -> u64 {
        self.0.answer_ms
    }

    pub fn stop(&self) -> &CancellationToken {
        &self.0.stop
    }

    /// The thread of the mission.
    pub fn mission_thread(&self) -> &ThreadId {
        &self.0.row.thread
    }

    /// The thread of a task, or of the mission, and a row for what is asked there.
    pub fn seat(&self, task: Option<TaskId>) -> (ThreadId, ThreadRow) {
        let thread = task.map_or_else(|| self.0.row.thread.clone(), |task| self.0.row.thread.of_task(task));
        (thread.clone(), ThreadRow { thread, ..self.0.row.clone() })
    }

    pub fn board(&self) -> MutexGuard<'_, Board> {
        // A panic while this short lock was held left nothing half done.
        self.0.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is said in the flow of a task, or of the mission: it is stored with the value of the node that runs there.
    pub fn beside(&self, task: Option<TaskId>, drafts: impl IntoIterator<Item = Draft>) {
        self.0.ledger.beside(&task.map_or_else(String::new, |task| task.to_string()), drafts);
    }

    /// Something is said of a task in its own thread.
    pub fn say(&self, task: TaskId, news: impl IntoIterator<Item = TaskNews>) {
        let thread = self.0.row.thread.of_task(task);
        self.beside(Some(task), news.into_iter().map(|what| Draft::task(&thread, task, what)));
    }

    /// What was refused is said where it was wanted.
    pub fn refuse(&self, task: Option<TaskId>, refused: impl IntoIterator<Item = Refusal>) {
        let (thread, _) = self.seat(task);
        let say = |(about, of, why)| Draft::task(&thread, about, TaskNews::Refused { of, why });
        self.beside(task, refused.into_iter().map(say));
    }

    /// A place to work at. One that is given back lets another task begin.
    pub async fn place(&self) -> Option<OwnedSemaphorePermit> {
        // Nobody closes it.
        self.0.places.clone().acquire_owned().await.ok()
    }

    /// What a budget said that is used up: nothing is begun any more.
    pub fn spent(&self) -> Option<&str> {
        self.0.spent.get().map(String::as_str)
    }

    /// A budget is used up. The first word counts.
    pub fn is_spent(&self, why: String) {
        let _ = self.0.spent.set(why);
    }

    /// The store failed: the mission stands still until it is dropped, and is taken up again later.
    pub async fn lose<T>(&self, error: StoreError) -> T {
        self.0.ledger.lose(Lost::Store(error)).await
    }
}
