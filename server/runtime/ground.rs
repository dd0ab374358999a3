//! The ground of every kind of work: the store, the mind, the running threads and the quotas. It
//! has the way back to the runtime that runs the work, from the time it has started.

use std::sync::{Arc, OnceLock, Weak};

use tokio_util::task::TaskTracker;

use super::opening::Opening;
use super::options::Options;
use super::refused::{Refused, too_many_threads};
use super::running::{Running, ThreadKey};
use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::envelope::Event;
use thinkd_log::appended::{Append, Appended, Placed};
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_log::thread_row::ThreadRow;
use thinkd_mind::call::ModelClient;
use thinkd_mind::turn::driver::{Mind, OnStored};
use thinkd_model::provider::Model;
use thinkd_recall::finder::Recall;
use thinkd_tasks::share::{Place, Processors};
use thinkd_thread::history;
use thinkd_thread::quota::Quotas;
use thinkd_tools::approval::Rules;
use thinkd_tools::code::runner::Runner;
use thinkd_tools::spawning::Spawner;
use thinkd_tools::supplies::Supplies;
use thinkd_tools::toolbox::Tools;
use thinkd_words::id::{Space, ThreadId};

/// See the module; cheap to clone.
#[derive(Clone)]
pub struct Ground {
    /// The log and its rows.
    pub store: Arc<dyn Store>,
    /// The mind, which asks models.
    pub mind: Mind,
    /// The options for running threads.
    pub options: Arc<Options>,
    /// The quotas of use.
    pub quotas: Arc<Quotas>,
    /// Finds held statements.
    pub recall: Arc<Recall>,
    /// The rules for waiting for people.
    pub approvals: Arc<Rules>,
    /// Makes subthreads.
    pub spawner: Spawner,
    /// The threads that are run here.
    pub running: Running,
    /// Opens spaces.
    pub opening: Arc<Opening>,
    /// The runner of code.
    pub code: Arc<Runner>,
    /// The way to the runtime.
    pub waker: Waker,
}

impl Ground {
    /// Returns the ground from the supplies of the composition root. To be called inside of a tokio
    /// runtime: spaces share its threads.
    pub fn new(
        supplies: Supplies,
        tools: Arc<Tools>,
        model: Arc<dyn Model>,
        history: history::Options,
        options: Options,
    ) -> Self {
        let spawner = Spawner(supplies.clone());
        let Supplies {
            store,
            prompts,
            budget,
            code,
            recall,
            approvals,
            ..
        } = supplies;
        let waker = Waker::default();
        let options = Arc::new(options);
        let threads = tokio::runtime::Handle::current().metrics().num_workers();
        let client = ModelClient::new(store.clone(), model, prompts.clone(), history);
        let mind = Mind {
            tools,
            client: Arc::new(client.telling_self(options.mood.is_on())),
            options: options.turn.clone(),
            budget: budget.clone(),
            recalling: options.memory.recalling(recall.clone()),
            mood: options.mood.clone(),
            on_stored: waker.on_stored(),
            processors: Processors::new(threads, options.space_share),
            tally: Arc::default(),
            beside: TaskTracker::new(),
        };
        let submodules = match options.default_submodules {
            true => prompts.submodules.clone(),
            false => Vec::new(),
        };
        Self {
            quotas: Arc::new(Quotas::new(store.clone(), budget)),
            running: Running::new(store.clone()),
            opening: Arc::new(Opening::new(store.clone(), submodules)),
            store,
            mind,
            options,
            recall,
            approvals,
            spawner,
            code,
            waker,
        }
    }

    /// Returns the row of a thread that must be there.
    pub async fn known_thread(
        &self,
        space: &Space,
        thread: &ThreadId,
    ) -> Result<ThreadRow, Refused> {
        let row = self.store.thread(space, thread).await?;
        row.ok_or_else(|| Refused::NotFound(format!("thread {thread}")))
    }

    /// Stores the event with which a run or a mission begins, where the space has room for one more
    /// thread. `what`: its name for people.
    pub async fn begin(
        &self,
        space: &Space,
        started: Draft,
        what: &str,
    ) -> Result<Vec<Placed>, Refused> {
        let started = started.only_if(self.options.room_in_space());
        match self.store.append(Append::free(space, vec![started])).await {
            Ok(Appended::Stored(placed)) => Ok(placed),
            Ok(Appended::Stale) => {
                let text = format!("the {what} was dropped by the store");
                Err(Refused::Unprocessable(text))
            }
            Err(StoreError::Unmet(Condition::FewerThreads(limit))) => Err(too_many_threads(limit)),
            Err(error) => Err(error.into()),
        }
    }
}

/// The acts of a runtime on request.
pub trait Wakes: Send + Sync {
    /// Has a thread looked after, at this place if it has one already.
    fn wake(&self, key: ThreadKey, place: Option<Place>);
    /// Does the work that a stored event asks for.
    fn on_stored(&self, space: &Space, event: &Event);
}

/// The way to the runtime; cheap to clone. Where none has started, or none lives any more, nothing is done: a start looks for
/// everything that waits.
#[derive(Clone, Default)]
pub struct Waker(Arc<OnceLock<Weak<dyn Wakes>>>);

impl Waker {
    /// The runtime has started. Only the first is known.
    pub fn leads_to(&self, runtime: Weak<dyn Wakes>) {
        let _ = self.0.set(runtime);
    }

    /// See `Wakes`.
    pub fn wake(&self, space: &Space, thread: &ThreadId, place: Option<Place>) {
        if let Some(runtime) = self.runtime() {
            runtime.wake((space.clone(), thread.clone()), place);
        }
    }

    /// Returns the function that is told of every stored event.
    pub fn on_stored(&self) -> OnStored {
        let waker = self.clone();
        Arc::new(move |space: &Space, event: &Event| {
            if let Some(runtime) = waker.runtime() {
                runtime.on_stored(space, event);
            }
        })
    }

    fn runtime(&self) -> Option<Arc<dyn Wakes>> {
        self.0.get().and_then(Weak::upgrade)
    }
}
