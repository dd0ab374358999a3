//! The desk is what the nodes of one mission work with: the board, the models, the budget, and the ledger that stores what they say. Cheap to clone; it is
//! given to nodes as an argument.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use serde::{Serialize, Serializer};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::board::Board;
use super::resting::Rest;
use super::said::Refusal;
use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::envelope::Event;
use crate::event::estimate::Records;
use crate::event::fact::Fact;
use crate::event::fact::task::{TAG, TaskFact};
use crate::event::mission::{TaskId, Wanted};
use crate::event::statement::Claim;
use crate::event::task::TaskNews;
use crate::log::error::StoreError;
use crate::log::feed::{Follower, Tail};
use crate::log::query::{Order, Query};
use crate::log::thread_row::ThreadRow;
use crate::mind::call::ModelClient;
use crate::mind::turn_writer::Lost;
use crate::pipelines::ledger::Ledger;
use crate::recall::choices::Chosen;
use crate::recall::finder::Recall;
use crate::runtime::ground::Waker;
use crate::runtime::mission::Options;
use crate::thread::quota::Purse;
use crate::tools::approval::Rules;
use crate::tools::code::runner::Runner;
use crate::tools::knowledge::Search;
use crate::tools::toolbox::{Shelf, Tools};
use crate::words::failure::Failure;
use crate::words::id::{Seq, Space, ThreadId};

/// Fewest bytes for the values of a prompt, however small the window.
pub(super) const ROOM_LEAST: usize = 1 << 10;
/// How many events are read at a time to hear what people say.
const HEARD_AT_ONCE: u32 = 100;
/// How long to rest when the log cannot be read.
const REST: Duration = Duration::from_secs(1);

/// See the module.
#[derive(Clone)]
pub(super) struct Desk(pub(super) Arc<Parts>);

/// What a desk is made of.
pub(super) struct Parts {
    pub ledger: Ledger,
    pub client: Arc<ModelClient>,
    pub tools: Arc<Tools>,
    pub purse: Purse,
    pub space: Space,
    /// The mission's own thread.
    pub row: ThreadRow,
    pub wanted: Wanted,
    pub options: Options,
    pub code: Arc<Runner>,
    pub knowledge: Option<Arc<Search>>,
    pub recall: Arc<Recall>,
    /// Most frameworks of the space.
    pub frameworks_max: u32,
    /// Most claims of the space that wait for their trial.
    pub claims_max: u32,
    pub answer_ms: u64,
    pub stop: CancellationToken,
    // A plain mutex: held for a look or a change, never across an await.
    pub board: Mutex<Board>,
    /// What came of routes in this space.
    // A plain mutex: held for a look or a change, never across an await.
    pub records: Mutex<Records>,
    /// As many as tasks may be worked on at a time.
    pub places: Arc<Semaphore>,
    /// Why nothing is begun any more: a budget that is used up, or no model to ask.
    pub spent: OnceLock<Failure>,
    /// Wakes who looks for what is stored.
    pub waker: Waker,
    /// How often people have changed tasks since the mission was taken up.
    pub edits: watch::Sender<u64>,
    /// Which frameworks were chosen for tasks that have not begun to use them.
    // A plain mutex: held for a look or a change, never across an await.
    pub chosen: Mutex<BTreeMap<TaskId, Vec<Chosen>>>,
    /// Most bytes of a prompt: fewer since a model refused one for its length.
    pub window: AtomicUsize,
    /// Which flows wait for people.
    pub rest: Rest,
    /// How long people are waited for.
    pub approvals: Arc<Rules>,
    /// The version of what people are told of plans.
    pub plan_version: String,
    /// Most bytes of what stands in one event.
    pub event_bytes: usize,
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

    /// What it may put before people, and do tasks with.
    pub fn tools(&self) -> &Shelf {
        &self.0.tools.mission
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

    pub fn recall(&self) -> &Recall {
        &self.0.recall
    }

    pub fn frameworks_max(&self) -> u32 {
        self.0.frameworks_max
    }

    pub fn claims_max(&self) -> u32 {
        self.0.claims_max
    }

    /// Claims something, if fewer claims than that wait for their trial. False: there are as many.
    pub async fn claim(&self, thread: &ThreadId, id: Uuid, claim: Claim) -> bool {
        let [claimed, due] = Draft::claimed(thread, id, claim);
        let claimed = claimed.only_if(Condition::FewerWaiting(self.0.claims_max));
        match self.0.ledger.say(vec![claimed, due]).await {
            Ok(()) => true,
            Err(Lost::Store(StoreError::Unmet(_))) => false,
            Err(lost) => self.0.ledger.lose(lost).await,
        }
    }

    /// Something is to be tried.
    pub fn wake_trials(&self) {
        self.0
            .waker
            .wake(self.space(), &ThreadId::of_trials(), None);
    }

    pub fn rest(&self) -> &Rest {
        &self.0.rest
    }

    pub fn approvals(&self) -> &Rules {
        &self.0.approvals
    }

    pub fn plan_version(&self) -> &str {
        &self.0.plan_version
    }

    pub fn event_bytes(&self) -> usize {
        self.0.event_bytes
    }

    /// Bytes for the values of a prompt that has so many others.
    pub fn room(&self, others: usize) -> usize {
        let window = self.0.window.load(Ordering::Relaxed);
        window.saturating_sub(others).max(ROOM_LEAST)
    }

    /// From now on the values of a prompt take at most half of what those of a refused one took, beside as many others.
    pub fn halve(&self, others: usize, values: usize) {
        let window = others + values / 2;
        self.0.window.fetch_min(window, Ordering::Relaxed);
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
        let mut row = self.0.row.clone();
        if let Some(task) = task {
            row.thread = row.thread.of_task(task);
            row.settings["title"] = self.board().get(task).map(|now| now.name.clone()).into();
        }
        (row.thread.clone(), row)
    }

    pub fn board(&self) -> MutexGuard<'_, Board> {
        // A panic while this short lock was held left nothing half done.
        self.0.board.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What came of routes in this space so far.
    pub fn records(&self) -> MutexGuard<'_, Records> {
        // As above.
        self.0
            .records
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Frameworks were chosen for a task.
    pub fn chose(&self, task: TaskId, chosen: Vec<Chosen>) {
        // As above.
        self.0
            .chosen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(task, chosen);
    }

    /// Which ones, once; none: nobody chose in this life.
    pub fn chosen(&self, task: TaskId) -> Option<Vec<Chosen>> {
        self.0
            .chosen
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .remove(&task)
    }

    /// What is said in the flow of a task, or of the mission: it is stored with the value of the node that runs there.
    pub fn beside(&self, task: Option<TaskId>, drafts: impl IntoIterator<Item = Draft>) {
        self.0.ledger.beside(
            &task.map_or_else(String::new, |task| task.to_string()),
            drafts,
        );
    }

    /// Something is said of a task in its own thread.
    pub fn say(&self, task: TaskId, news: impl IntoIterator<Item = TaskNews>) {
        let thread = self.0.row.thread.of_task(task);
        self.beside(
            Some(task),
            news.into_iter()
                .map(|what| Draft::task(&thread, task, what)),
        );
    }

    /// What has to be so for anything to become of a task: people have not skipped it.
    pub fn to_come(&self, task: TaskId) -> Condition {
        Condition::TaskToCome {
            mission: self.mission_thread().clone(),
            task,
            open: false,
        }
    }

    /// The node that runs for a task is stored with the one that follows at once, in one append.
    pub fn joins_next(&self, task: TaskId) {
        self.0.ledger.joins_next(&task.to_string());
    }

    /// What was refused is said where it was wanted.
    pub fn refuse(&self, task: Option<TaskId>, refused: impl IntoIterator<Item = Refusal>) {
        let (thread, _) = self.seat(task);
        let say = |(about, of, why)| Draft::task(&thread, about, TaskNews::Refused { of, why });
        self.beside(task, refused.into_iter().map(say));
    }

    /// Hears what people say of the tasks of a mission while it is worked on: what was told of the mission since, and what is behind that, from the log.
    pub async fn follow(&self, mut follower: Follower, mut seen: Seq) -> Infallible {
        loop {
            match follower.after(seen, HEARD_AT_ONCE as usize) {
                Tail::Events(events) if events.is_empty() => follower.changed().await,
                Tail::Events(events) => {
                    for shown in events {
                        seen = shown.event.seq;
                        self.hear(&shown.event);
                    }
                }
                Tail::Behind => match self.hear_behind(seen).await {
                    Ok(heard) => seen = heard,
                    Err(error) => {
                        tracing::warn!(%error, mission = %self.mission_thread(), "what people say of its tasks cannot be read; it is tried again");
                        tokio::time::sleep(REST).await;
                    }
                },
            }
        }
    }

    /// The same for what was said after `seen`, as the log has it now. Returns how far that is.
    async fn hear_behind(&self, seen: Seq) -> Result<Seq, StoreError> {
        let (store, space) = (self.0.client.store(), self.space());
        let head = store.head(space).await?.seq;
        let query = Query {
            thread: Some(self.mission_thread().clone()),
            tags: vec![TAG.to_owned()],
            after: Some(seen),
            before: Some(head + 1),
            order: Order::Ascending,
            limit: HEARD_AT_ONCE,
            ..Query::default()
        };
        let events = store.events(space, &query).await?;
        events.iter().for_each(|event| self.hear(event));
        let is_all = events.len() < HEARD_AT_ONCE as usize;
        Ok(events
            .last()
            .filter(|_| !is_all)
            .map_or(head, |last| last.seq))
    }

    /// Takes in what people said of the tasks.
    fn hear(&self, event: &Event) {
        // What is said while a task is worked on stands in a thread of its own.
        if event.thread != *self.mission_thread() {
            return;
        }
        let Fact::Task(TaskFact { task, what }) = event.fact() else {
            return;
        };
        match &what {
            TaskNews::Changed {
                name,
                description,
                requires,
                rank,
                ..
            } => {
                self.board()
                    .change(task, name, description, requires, *rank);
            }
            TaskNews::Over { reason, .. } => self
                .board()
                .skip(task, reason.as_deref().unwrap_or_default()),
            _ => return,
        }
        self.0.edits.send_modify(|edits| *edits += 1);
    }

    /// Waits until people do not want a task any more.
    pub async fn skipped(&self, task: TaskId) {
        let mut edits = self.0.edits.subscribe();
        while !self.board().is_skipped(task) {
            if edits.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }

    /// A task as its row is by now: people may have changed it up to when work on it began.
    pub async fn refresh(&self, task: TaskId) {
        let store = self.0.client.store();
        let before = task.0.checked_sub(1).map(TaskId);
        let row = match store
            .tasks(&self.0.space, &self.0.row.thread, before, Some(1))
            .await
        {
            Ok(rows) => rows.into_iter().find(|row| row.task == task),
            Err(error) => self.lose(error).await,
        };
        if let (Some(row), Some(now)) = (row, self.board().get_mut(task)) {
            (now.name, now.description, now.requires) = (row.name, row.description, row.requires);
        }
    }

    /// A place to work at. One that is given back lets another task begin.
    pub async fn place(&self) -> Option<OwnedSemaphorePermit> {
        // Nobody closes it.
        self.0.places.clone().acquire_owned().await.ok()
    }

    /// Why nothing is begun any more, if so.
    pub fn spent(&self) -> Option<&Failure> {
        self.0.spent.get()
    }

    /// Nothing is begun any more. The first word counts.
    pub fn is_spent(&self, why: Failure) {
        let _ = self.0.spent.set(why);
    }

    /// The store failed: the mission stands still until it is dropped, and is taken up again later.
    pub async fn lose<T>(&self, error: StoreError) -> T {
        self.0.ledger.lose(Lost::Store(error)).await
    }
}
