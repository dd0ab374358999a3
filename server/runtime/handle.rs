//! Who runs which thread: takes input into the log, wakes threads, gives each to one driver at a time, stops them.
//! A thread with nothing to do is not in here at all.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::options::Options;
use super::runner;
use super::schedule::Schedule;
use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::envelope::Event;
use crate::event::fact::Fact;
use crate::event::set::{Change, Set};
use crate::log::feed::Hint;
use crate::log::query::{Query, Show};
use crate::log::store::{self, Append, Fence, Status, Store, ThreadRow};
use crate::log::unserved::Work;
use crate::mind::call::Caller;
use crate::mind::turn::driver::{Mind, Told};
use crate::mind::turn::stop::{Stop, Why};
use crate::model::prompt::Prompts;
use crate::model::provider::Model;
use crate::tasks::share::{Place, Places, Processors};
use crate::thread::history;
use crate::thread::quota::Quotas;
use crate::thread::settings::Settings;
use crate::tools::spawning::Spawner;
use crate::tools::supplies::Supplies;
use crate::tools::toolbox::Tools;
use crate::words::id::{Name, Seq, Space, ThreadId};

/// Why something was refused. Nothing was stored.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Refused {
    /// No such thread, submodule, …; what is named is what the caller wrote.
    #[error("there is no {0}")]
    NotFound(String),
    /// The thread has ended.
    #[error(
        "the thread {0} has ended and takes no more messages; speak in another one: a message to an unused id begins it"
    )]
    Ended(ThreadId),
    /// The thread's policy is `reject` and a turn runs.
    #[error("the thread {0} is busy and refuses input while a turn runs (policy reject)")]
    Busy(ThreadId),
    /// Too many inputs wait.
    #[error("{0} inputs wait for the thread already; send again when some have had their turn")]
    QueueFull(u32),
    /// Too many runs of pipelines at a time.
    #[error(
        "this server works on {of_space} runs of pipelines of this space already, or on {all} of all spaces \
         (limits.space_share, pipelines.at_once); start it again when one has ended"
    )]
    TooManyRuns {
        /// Most of one space.
        of_space: u32,
        /// Most of all.
        all: u32,
    },
    /// A limit on how many there may be.
    #[error("there may be at most {limit} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The limit.
        limit: u32,
    },
    /// What should be created exists.
    #[error("{0} exists already")]
    Exists(String),
    /// What is asked for is understood but cannot be done.
    #[error("{0}")]
    Unprocessable(String),
    /// The store said no.
    #[error(transparent)]
    Store(#[from] store::Error),
}

/// A contact that a new thread has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewContact {
    /// What it calls it.
    pub name: Name,
    /// The thread.
    pub thread: ThreadId,
    /// What it does, wants and offers.
    pub description: String,
}

/// What a new thread should be like.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NewThread {
    /// A suggestion for the last part of its id.
    pub label: Option<Name>,
    /// The thread it is created below.
    pub parent: Option<ThreadId>,
    /// Whom it can send to, besides its parent.
    pub contacts: Vec<NewContact>,
    /// Everything else.
    pub settings: Settings,
}

/// A handle on the running minds; cheap to clone.
#[derive(Clone)]
pub struct Runtime(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) store: Arc<dyn Store>,
    pub(super) mind: Mind,
    pub(super) options: Options,
    pub(super) quotas: Quotas,
    /// Makes the next subthread of a sequence.
    pub(super) spawner: Spawner,
    // Plain mutexes: held for look-ups, never across an await.
    pub(super) active: Mutex<HashMap<(Space, ThreadId), Active>>,
    pub(super) leases: Mutex<HashMap<Fence, Arc<Stop>>>,
    pub(super) opened: Mutex<HashSet<Space>>,
    pub(super) tasks: TaskTracker,
    /// Places for runs of pipelines.
    pub(super) places: Places,
    /// Places for turns.
    pub(super) schedule: Schedule,
    /// A timer was set.
    pub(super) timer_set: Notify,
    pub(super) all: CancellationToken,
    pub(super) draining: AtomicBool,
}

/// A thread that is being run here.
#[derive(Default)]
pub(super) struct Active {
    /// Something woke it since its runner last looked.
    pub(super) again: bool,
    /// The turn it is about to begin is to be cancelled.
    pub(super) cancel: bool,
    /// The turn that runs.
    pub(super) stop: Option<Arc<Stop>>,
    /// What that turn is about came up to here; 0: it has not begun.
    pub(super) taken: Seq,
    /// It was ended from here, which was shown.
    pub(super) ended: bool,
    /// The place of a run that was started here.
    pub(super) place: Option<Place>,
}

impl Active {
    /// Cancels the turn that runs, or the one it is about to begin.
    pub(super) fn cancel(&mut self) -> bool {
        match &self.stop {
            Some(stop) => stop.stop(Why::Cancel),
            None => self.cancel = true,
        }
        true
    }

    /// A turn begins.
    pub(super) fn begin(&mut self, stop: &Arc<Stop>) {
        self.stop = Some(stop.clone());
        if std::mem::take(&mut self.cancel) {
            stop.stop(Why::Cancel);
        }
    }
}

impl Inner {
    pub(super) fn new(
        store: Arc<dyn Store>,
        model: Arc<dyn Model>,
        prompts: Arc<Prompts>,
        tools: Arc<Tools>,
        history: history::Options,
        options: Options,
        told: Told,
    ) -> Self {
        let tasks = TaskTracker::new();
        let budget = Arc::new(options.budget.clone());
        let (prompts_too, limits) = (prompts.clone(), options.tool_limits);
        let supplies = Supplies { store: store.clone(), prompts: prompts_too, budget: budget.clone(), limits };
        let mind = Mind {
            tools,
            caller: Arc::new(Caller::new(store.clone(), model, prompts, history)),
            options: options.turn.clone(),
            budget,
            told,
            processors: Processors::new(threads(), options.space_share),
            tally: Arc::default(),
            beside: tasks.clone(),
        };
        Self {
            quotas: Quotas::new(store.clone(), mind.budget.clone()),
            spawner: Spawner::new(&supplies),
            store,
            mind,
            places: Places::new("pipelines.at_once", options.pipeline_limits.at_once, options.space_share),
            schedule: Schedule::new(options.workers, options.space_share, options.scheduling),
            timer_set: Notify::new(),
            options,
            active: Mutex::default(),
            leases: Mutex::default(),
            opened: Mutex::default(),
            tasks,
            all: CancellationToken::new(),
            draining: AtomicBool::new(false),
        }
    }
}

/// The threads of the runtime this runs in.
fn threads() -> usize {
    tokio::runtime::Handle::current().metrics().num_workers()
}

impl Runtime {
    /// Starts: takes up what waits, and looks for more now and then.
    pub fn start(
        store: Arc<dyn Store>,
        model: Arc<dyn Model>,
        prompts: Arc<Prompts>,
        tools: Arc<Tools>,
        history: history::Options,
        options: Options,
    ) -> Self {
        let inner = Arc::new_cyclic(|weak: &Weak<Inner>| {
            let weak = weak.clone();
            let told = move |space: &Space, event: &Event| {
                weak.upgrade().into_iter().for_each(|inner| Self(inner).told(space, event));
            };
            Inner::new(store, model, prompts, tools, history, options, Arc::new(told))
        });
        let runtime = Self(inner);
        let watch = &runtime.0.options.supervisor;
        let (search, look) = (runtime.clone().scan(), runtime.clone().look_at_waits());
        // The look at those that wait for one another comes to an end; the search does not.
        let search = async move {
            tokio::join!(search, look);
        };
        runtime.0.tasks.spawn(watch.watch("the search for threads that wait", search));
        runtime.0.tasks.spawn(watch.watch("the renewal of leases", runtime.clone().renew()));
        runtime.0.tasks.spawn(watch.watch("the timers", runtime.clone().fire_timers()));
        runtime
    }

    /// The processors, which spaces share.
    pub fn processors(&self) -> &Processors {
        &self.0.mind.processors
    }

    /// Sees to it that what an event asks for happens: that a thread it wakes is looked after, a timer it sets is waited for.
    pub(super) fn told(&self, space: &Space, event: &Event) {
        if let Some(status) = event.ended_as().and_then(Status::parse) {
            // The turn that runs here; another server follows the threads whose turns it runs.
            self.stop_turn(space, &event.thread, Why::Cancel);
            self.show_end(space, &event.thread, status);
        } else if event.wakes() || event.part().is_some() {
            self.wake(space.clone(), event.thread.clone());
        } else if matches!(event.fact(), Fact::Set(Set { change: Change::Timer(_), .. })) {
            self.0.timer_set.notify_one();
        }
        if let Some((due, _)) = event.rest_of_end() {
            let (runtime, space, thread) = (self.clone(), space.clone(), event.thread.clone());
            self.0.tasks.spawn(async move {
                if let Err(error) = runtime.do_rest_of_end(&space, &thread, due).await {
                    tracing::warn!(%error, %space, %thread, "what follows from the end of a thread could not be done; it is tried again");
                }
            });
        }
    }

    /// Cancels the turn that runs in a thread, or is about to, down to the provider's connection; where another server may
    /// run it, that one is told through the log. False: there is none.
    pub async fn cancel(&self, space: &Space, thread: &ThreadId) -> Result<bool, Refused> {
        let row = self.known_thread(space, thread).await?;
        if thread.is_of_runs() && !row.status.is_final() {
            self.cancel_run(space, thread, None).await?;
            return Ok(true);
        }
        if self.stop_turn(space, thread, Why::Cancel) {
            return Ok(true);
        }
        if row.woken <= row.handled || row.status.is_final() {
            return Ok(false);
        }
        if !self.0.store.is_shared() {
            let mut active = lock(&self.0.active);
            return Ok(active.get_mut(&(space.clone(), thread.clone())).is_some_and(Active::cancel));
        }
        self.0.store.append(Append::free(space, vec![Draft::cancel(thread, row.turn_at_hand())])).await?;
        Ok(true)
    }

    /// The prompt view of the model call behind an event (the call's own record, or anything that the call produced):
    /// made anew from the log, with `exact` saying whether it is, byte for byte, what was sent.
    pub async fn prompt_view(&self, space: &Space, event_id: Uuid) -> Result<Value, Refused> {
        let none = || Refused::NotFound(format!("model call behind event {event_id}"));
        let event = self.0.store.event(space, event_id).await?.ok_or_else(none)?;
        let record =
            if matches!(event.fact(), Fact::Call(_)) { Some(event) } else { self.record_behind(space, &event).await? };
        Ok(self.0.mind.caller.rebuild(space, &record.ok_or_else(none)?).await?)
    }

    /// The last call of the event's own module before it.
    pub(super) async fn record_behind(&self, space: &Space, event: &Event) -> Result<Option<Event>, store::Error> {
        let fact = event.fact();
        let is_frame = matches!(fact, Fact::TurnStarted(_) | Fact::TurnEnded(_));
        let Some(turn) = event.turn().filter(|_| !is_frame) else { return Ok(None) };
        let module = match fact.voice() {
            Some(name) => format!("call:submodule:{name}"),
            None => "call:decision".to_owned(),
        };
        let query = Query {
            thread: Some(event.thread.clone()),
            tags: vec![module],
            before: Some(event.seq),
            show: Show::All,
            limit: 1,
            ..Query::default()
        };
        let record = self.0.store.events(space, &query).await?.into_iter().next();
        Ok(record.filter(|record| record.turn() == Some(turn)))
    }

    /// The store, for reading.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.store
    }

    /// How many threads are being run.
    pub fn running(&self) -> usize {
        lock(&self.0.active).len()
    }

    /// Stops taking up turns, gives those that run `grace`, then leaves them for a later start to take up.
    pub async fn drain(&self, grace: Duration) {
        self.0.draining.store(true, Ordering::Release);
        let begin = tokio::time::Instant::now();
        while self.running() > 0 && begin.elapsed() < grace {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        self.0.all.cancel();
        self.0.tasks.close();
        // What is left now has been told to stop; a tool that does not listen is not waited for.
        if tokio::time::timeout(Duration::from_secs(5), self.0.tasks.wait()).await.is_err() {
            tracing::warn!("some work did not stop in time and is taken up at the next start");
        }
    }

    /// Gives a new space its first voices, once. To be called before anything else is done for a space: what is appended
    /// before makes it look old.
    pub async fn open(&self, space: &Space) -> Result<(), Refused> {
        if lock(&self.0.opened).contains(space) {
            return Ok(());
        }
        let opened = self.first_voices(space).await;
        self.0.store.unserved().note(space, Work::Opening, &opened);
        opened?;
        lock(&self.0.opened).insert(space.clone());
        Ok(())
    }

    pub(super) async fn first_voices(&self, space: &Space) -> Result<(), store::Error> {
        // Not "an empty log": a refused frame may have been noted in it before.
        if !self.0.options.default_submodules || self.0.store.ever(space, "set:submodule").await? {
            return Ok(());
        }
        let thread = ThreadId::default();
        let voice = |(name, prompt): &(Name, String)| {
            let draft = Draft::changed(&thread, "submodule", name.as_str(), json!({ "prompt": prompt }));
            draft.only_if(Condition::NewSubmodule { name: name.clone(), most: usize::MAX })
        };
        let drafts: Vec<Draft> = self.0.mind.caller.prompts().submodules.iter().map(voice).collect();
        if drafts.is_empty() {
            return Ok(());
        }
        match self.0.store.append(Append::free(space, drafts)).await {
            // Unmet: another server opened the space at the same time.
            Ok(_) | Err(store::Error::Unmet(_)) => Ok(()),
            Err(error) => Err(error),
        }
    }

    pub(super) async fn known_thread(&self, space: &Space, thread: &ThreadId) -> Result<ThreadRow, Refused> {
        let row = self.0.store.thread(space, thread).await?;
        row.ok_or_else(|| Refused::NotFound(format!("thread {thread}")))
    }

    pub(super) fn stop_turn(&self, space: &Space, thread: &ThreadId, why: Why) -> bool {
        let active = lock(&self.0.active);
        let stop = active.get(&(space.clone(), thread.clone())).and_then(|active| active.stop.as_ref());
        stop.inspect(|stop| stop.stop(why)).is_some()
    }

    /// Shows what a thread comes to now that its turn is over. One that has ended stays ended, whatever its last turn came to.
    /// Returns whether it has more to do, as the append says that ended the turn: the lease was given back in it, so that what another
    /// server has stored since is looked after there.
    pub(super) async fn show(&self, key: &(Space, ThreadId), status: Status, queued: u32) -> bool {
        let (space, thread) = key;
        let Ok(row) = self.0.store.thread_lately(space, thread).await else { return true };
        let ended = row.as_ref().map(|row| row.status).filter(|status| status.is_final());
        // Under the lock, so that an end is not overtaken by what was read before it.
        let active = lock(&self.0.active);
        // Nothing waits for a thread that will have no turn any more.
        let queued = if ended.is_some() { 0 } else { queued };
        if ended.is_some() || !active.get(key).is_some_and(|active| active.ended) {
            self.hint_status(space, thread, ended.unwrap_or(status), queued);
        }
        row.as_ref().is_some_and(runner::has_work)
    }

    /// Shows that a thread was ended from here, whatever its last turn still comes to.
    pub(super) fn show_end(&self, space: &Space, thread: &ThreadId, status: Status) {
        let mut active = lock(&self.0.active);
        active.get_mut(&(space.clone(), thread.clone())).into_iter().for_each(|active| active.ended = true);
        self.hint_status(space, thread, status, 0);
    }

    pub(super) fn hint_status(&self, space: &Space, thread: &ThreadId, status: Status, queued: u32) {
        self.0.store.feed().hint(space, 0, Hint::Status { thread: thread.clone(), status, queued });
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic while one of these short locks was held left nothing half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
