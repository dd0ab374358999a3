//! Who runs which thread: takes input into the log, wakes threads, gives each to one driver at a time, stops them.
//! A thread with nothing to do is not in here at all.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use super::ends::Ends;
use super::lease_loop::{LeaseLoop, Parts, Times};
use super::options::Options;
use super::refused::Refused;
use super::remote_cancel::RemoteCancel;
use super::running::Running;
use super::runs::{Begun, NewRun, Run, Runs};
use super::timers::Timers;
use super::turns::Turns;
use super::waits::Waits;
use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::envelope::Event;
use crate::event::fact::Fact;
use crate::event::set::{Change, Set};
use crate::log::query::{Query, Show};
use crate::log::store::{self, Append, Status, Store, ThreadRow};
use crate::log::unserved::Work;
use crate::mind::call::Caller;
use crate::mind::submodule::Tally;
use crate::mind::turn::driver::{Mind, OnStored};
use crate::mind::turn::stop::Why;
use crate::model::provider::Model;
use crate::pipelines::registry::Pipeline;
use crate::tasks::share::Processors;
use crate::thread::history;
use crate::thread::quota::Quotas;
use crate::tools::spawning::Spawner;
use crate::tools::supplies::Supplies;
use crate::tools::toolbox::Tools;
use crate::words::id::{Name, Seq, Space, ThreadId};

/// A handle on the running minds; cheap to clone.
#[derive(Clone)]
pub struct Runtime(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) store: Arc<dyn Store>,
    pub(super) caller: Arc<Caller>,
    pub(super) tally: Arc<Tally>,
    pub(super) options: Arc<Options>,
    pub(super) running: Running,
    pub(super) lease_loop: LeaseLoop,
    pub(super) runs: Arc<Runs>,
    pub(super) ends: Ends,
    // A plain mutex: held for look-ups, never across an await.
    opened: Mutex<HashSet<Space>>,
    timers: Timers,
    processors: Processors,
    tasks: TaskTracker,
    all: CancellationToken,
}

impl Inner {
    fn new(
        supplies: Supplies,
        tools: Arc<Tools>,
        model: Arc<dyn Model>,
        history: history::Options,
        options: Options,
        on_stored: OnStored,
    ) -> Self {
        let spawner = Spawner::new(&supplies);
        let Supplies { store, prompts, budget, .. } = supplies;
        let options = Arc::new(options);
        let (tasks, all) = (TaskTracker::new(), CancellationToken::new());
        let processors = Processors::new(threads(), options.space_share);
        let running = Running::new(store.clone());
        let mind = Mind {
            tools,
            caller: Arc::new(Caller::new(store.clone(), model, prompts, history)),
            options: options.turn.clone(),
            budget,
            on_stored: on_stored.clone(),
            processors: processors.clone(),
            tally: Arc::default(),
            beside: tasks.clone(),
        };
        let (caller, tally) = (mind.caller.clone(), mind.tally.clone());
        let quotas = Arc::new(Quotas::new(store.clone(), mind.budget.clone()));
        let waits = Waits { store: store.clone(), on_stored: on_stored.clone(), all: all.clone() };
        let timers = Timers {
            store: store.clone(),
            on_stored: on_stored.clone(),
            set: Arc::default(),
            scan: options.scan,
            all: all.clone(),
        };
        let ends = Ends { store: store.clone(), on_stored, waits: waits.clone(), all: all.clone() };
        let runs = Arc::new(Runs::new(store.clone(), mind.clone(), options.clone(), quotas.clone(), running.clone()));
        let turns = Arc::new(Turns::new(store.clone(), mind, options.clone(), quotas, spawner, running.clone()));
        let parts = Parts {
            store: store.clone(),
            running: running.clone(),
            waits,
            remote: RemoteCancel { store: store.clone(), policy: options.turn.policy },
            processors: processors.clone(),
            tasks: tasks.clone(),
            all: all.clone(),
            times: Times { lease: options.lease, scan: options.scan },
        };
        // The kinds of work there are, a line each.
        let lease_loop = LeaseLoop::new(parts, vec![runs.clone(), turns]);
        let opened = Mutex::default();
        Self { store, caller, tally, options, running, lease_loop, runs, ends, opened, timers, processors, tasks, all }
    }
}

/// The threads of the runtime this runs in.
fn threads() -> usize {
    tokio::runtime::Handle::current().metrics().num_workers()
}

impl Runtime {
    /// Starts: takes up what waits, and looks for more now and then.
    pub fn start(
        supplies: Supplies,
        tools: Arc<Tools>,
        model: Arc<dyn Model>,
        history: history::Options,
        options: Options,
    ) -> Self {
        let inner = Arc::new_cyclic(|weak: &Weak<Inner>| {
            let weak = weak.clone();
            let on_stored = move |space: &Space, event: &Event| {
                weak.upgrade().into_iter().for_each(|inner| Self(inner).on_stored(space, event));
            };
            Inner::new(supplies, tools, model, history, options, Arc::new(on_stored))
        });
        let Inner { lease_loop, ends, timers, tasks, options, .. } = &*inner;
        // The look at those that wait for one another comes to an end; the search does not.
        let (scan, look) = (lease_loop.clone().scan(), ends.waits.clone().look_at_waits());
        let search = async move {
            tokio::join!(scan, look);
        };
        let watch = &options.supervisor;
        tasks.spawn(watch.watch("the search for threads that wait", search));
        tasks.spawn(watch.watch("the renewal of leases", lease_loop.clone().renew()));
        tasks.spawn(watch.watch("the timers", timers.clone().run()));
        Self(inner)
    }

    /// The processors, which spaces share.
    pub fn processors(&self) -> &Processors {
        &self.0.processors
    }

    /// Sees to it that what an event asks for happens: that a thread it wakes is looked after, a timer it sets is waited for.
    fn on_stored(&self, space: &Space, event: &Event) {
        let key = || (space.clone(), event.thread.clone());
        if let Some(status) = event.ended_as().and_then(Status::parse) {
            // The turn that runs here; another server follows the threads whose turns it runs.
            self.0.running.stop(&key(), Why::Cancel);
            self.0.running.show_end(&key(), status);
        } else if event.wakes() || event.part().is_some() {
            self.wake(space, &event.thread);
        } else if matches!(event.fact(), Fact::Set(Set { change: Change::Timer(_), .. })) {
            self.0.timers.set.notify_one();
        }
        if let Some((due, _)) = event.rest_of_end() {
            let (ends, (space, thread)) = (self.0.ends.clone(), key());
            self.0.tasks.spawn(async move {
                if let Err(error) = ends.do_rest_of_end(&space, &thread, due).await {
                    tracing::warn!(%error, %space, %thread, "what follows from the end of a thread could not be done; it is tried again");
                }
            });
        }
    }

    /// Sees to it that somebody looks after a thread.
    pub(super) fn wake(&self, space: &Space, thread: &ThreadId) {
        self.0.lease_loop.wake((space.clone(), thread.clone()), None);
    }

    /// Starts a run of a pipeline. Returns after the commit.
    pub async fn start_run(&self, new: NewRun) -> Result<Run, Refused> {
        let space = new.space.clone();
        let Begun { run, place } = self.0.runs.start(new).await?;
        if place.is_some() {
            self.0.lease_loop.wake((space, run.key.thread()), place);
        }
        Ok(run)
    }

    /// A run of this pipeline.
    pub async fn run(&self, space: &Space, pipeline: &Name, id: Uuid) -> Result<Run, Refused> {
        self.0.runs.run(space, pipeline, id).await
    }

    /// Runs of this pipeline: see `Runs::page`.
    pub async fn runs(
        &self,
        space: &Space,
        pipeline: &Name,
        before: Option<Seq>,
        limit: usize,
    ) -> Result<(Vec<Run>, Option<Seq>), Refused> {
        self.0.runs.page(space, pipeline, before, limit).await
    }

    /// The pipeline of that name.
    pub fn pipeline(&self, name: &Name) -> Result<&Arc<Pipeline>, Refused> {
        self.0.runs.pipeline(name)
    }

    /// All pipelines, by name.
    pub fn pipelines(&self) -> impl Iterator<Item = &Arc<Pipeline>> {
        self.0.options.pipelines.all()
    }

    /// Cancels a run, wherever it runs. One that has ended stays as it is.
    pub async fn cancel_run(&self, space: &Space, thread: &ThreadId, user: Option<&str>) -> Result<(), Refused> {
        let row = self.known_thread(space, thread).await?;
        self.0.runs.cancel(space, &row, user).await?;
        self.0.running.stop(&(space.clone(), thread.clone()), Why::Cancel);
        self.wake(space, thread);
        Ok(())
    }

    /// Cancels the turn that runs in a thread, or is about to, down to the provider's connection; where another server may
    /// run it, that one is told through the log. False: there is none.
    pub async fn cancel(&self, space: &Space, thread: &ThreadId) -> Result<bool, Refused> {
        let row = self.known_thread(space, thread).await?;
        if thread.is_of_runs() && !row.status.is_final() {
            self.cancel_run(space, thread, None).await?;
            return Ok(true);
        }
        let key = (space.clone(), thread.clone());
        if self.0.running.stop(&key, Why::Cancel) {
            return Ok(true);
        }
        if row.woken <= row.handled || row.status.is_final() {
            return Ok(false);
        }
        if !self.0.store.is_shared() {
            return Ok(self.0.running.cancel(&key));
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
        Ok(self.0.caller.rebuild(space, &record.ok_or_else(none)?).await?)
    }

    /// The last call of the event's own module before it.
    async fn record_behind(&self, space: &Space, event: &Event) -> Result<Option<Event>, store::Error> {
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
        self.0.running.len()
    }

    /// Stops taking up turns, gives those that run `grace`, then leaves them for a later start to take up.
    pub async fn drain(&self, grace: Duration) {
        self.0.lease_loop.drain(grace).await;
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
        if self.opened().contains(space) {
            return Ok(());
        }
        let opened = self.first_voices(space).await;
        self.0.store.unserved().note(space, Work::Opening, &opened);
        opened?;
        self.opened().insert(space.clone());
        Ok(())
    }

    async fn first_voices(&self, space: &Space) -> Result<(), store::Error> {
        // Not "an empty log": a refused frame may have been noted in it before.
        if !self.0.options.default_submodules || self.0.store.ever(space, "set:submodule").await? {
            return Ok(());
        }
        let thread = ThreadId::default();
        let voice = |(name, prompt): &(Name, String)| {
            let draft = Draft::changed(&thread, "submodule", name.as_str(), json!({ "prompt": prompt }));
            draft.only_if(Condition::NewSubmodule { name: name.clone(), most: usize::MAX })
        };
        let drafts: Vec<Draft> = self.0.caller.prompts().submodules.iter().map(voice).collect();
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

    fn opened(&self) -> MutexGuard<'_, HashSet<Space>> {
        // A panic while this short lock was held left nothing half done.
        self.0.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
