//! Who runs which thread: takes input into the log, wakes threads, gives each to one driver at a time, stops them.
//! A thread with nothing to do is not in here at all.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use uuid::Uuid;

use crate::call::{Caller, Place};
use crate::event::{Draft, Event, InputKind, Part, Payload, TurnOutcome, tag};
use crate::failure::{Failure, FailureKind, Who};
use crate::history;
use crate::id::{self, Name, Seq, Space, ThreadId};
use crate::model::Model;
use crate::prompt::Prompts;
use crate::scribe::{Lost, Scribe};
use crate::store::feed::Hint;
use crate::store::{self, Append, Appended, Fence, Order, Placed, Query, Show, Status, Store, SubmoduleRow, ThreadRow};
use crate::thread::Settings;
use crate::tools;
use crate::turn::driver::{Driver, Mind, Stop, Why};
use crate::turn::{self, Budget, Turn};

pub use crate::thread::Policy;

/// Something from outside for a thread.
#[derive(Debug, Clone, PartialEq)]
pub struct Input {
    /// The space, from the credential.
    pub space: Space,
    /// The thread.
    pub thread: ThreadId,
    /// Who says it, as far as known.
    pub user: Option<String>,
    /// The client's idempotency key: the id of the last (or only) event.
    pub event_id: Option<Uuid>,
    /// What it is.
    pub content: InputContent,
}

/// What an input consists of.
#[derive(Debug, Clone, PartialEq)]
pub enum InputContent {
    /// Something said or perceived; at least one part; media are stored as blobs already.
    Parts(InputKind, Vec<Part>),
    /// A named trigger.
    Trigger(Name, Payload),
}

/// What became of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received {
    /// A turn begins with it.
    Started,
    /// It waits for the next turn.
    Queued,
    /// It was there already.
    Duplicate,
}

/// Why something was refused. Nothing was stored.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Refused {
    /// No such thread, submodule, …; what is named is what the caller wrote.
    #[error("there is no {0}")]
    NotFound(String),
    /// The thread has ended.
    #[error("the thread {0} has ended and takes no more messages")]
    Ended(ThreadId),
    /// The thread's policy is `reject` and a turn runs.
    #[error("the thread {0} is busy and refuses input while a turn runs (policy reject)")]
    Busy(ThreadId),
    /// Too many inputs wait.
    #[error("{0} inputs wait for the thread already; send again when some have had their turn")]
    QueueFull(u32),
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

/// What a new thread should be like.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NewThread {
    /// A suggestion for the last part of its id.
    pub label: Option<Name>,
    /// The thread it is created below.
    pub parent: Option<ThreadId>,
    /// Everything else.
    pub settings: Settings,
}

/// How threads are run.
#[derive(Debug, Clone)]
pub struct Options {
    /// How turns go.
    pub turn: turn::Options,
    /// What they may use up.
    pub budget: Budget,
    /// The longest a tool call may take.
    pub tool_timeout: Duration,
    /// Most inputs that may wait for one thread.
    pub queue_max: u32,
    /// Most submodules in a space.
    pub submodules_max: u32,
    /// Whether a new space begins with the voices of `prompts/submodules`.
    pub default_submodules: bool,
    /// How long a lease on a thread lasts unless it is renewed.
    pub lease: Duration,
    /// How often to look for threads that wait and nobody runs.
    pub scan: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            turn: turn::Options::default(),
            budget: Budget::default(),
            tool_timeout: Duration::from_secs(30),
            queue_max: 100,
            submodules_max: 32,
            default_submodules: true,
            lease: Duration::from_secs(10),
            scan: Duration::from_secs(3),
        }
    }
}

/// A handle on the running minds; cheap to clone.
#[derive(Clone)]
pub struct Runtime(Arc<Inner>);

struct Inner {
    store: Arc<dyn Store>,
    mind: Mind,
    options: Options,
    // Plain mutexes: held for look-ups, never across an await.
    active: Mutex<HashMap<(Space, ThreadId), Active>>,
    leases: Mutex<HashMap<Fence, Arc<Stop>>>,
    opened: Mutex<HashSet<Space>>,
    tasks: TaskTracker,
    all: CancellationToken,
    draining: AtomicBool,
}

/// A thread that is being run here.
#[derive(Default)]
struct Active {
    /// Something woke it since its runner last looked.
    again: bool,
    /// The turn that runs.
    stop: Option<Arc<Stop>>,
}

/// What looking after a thread came to.
enum Looked {
    /// A turn was run: look again.
    Worked,
    /// Nothing to do, or somebody else does it.
    Nothing,
}

/// Most events read at once to find a batch or take up a turn, and most such pages.
const PAGE: u32 = 500;
const PAGES_MAX: usize = 200;

impl Runtime {
    /// Starts: takes up what waits, and looks for more now and then.
    pub fn start(
        store: Arc<dyn Store>,
        model: Arc<dyn Model>,
        prompts: Arc<Prompts>,
        history: history::Options,
        options: Options,
    ) -> Self {
        let tasks = TaskTracker::new();
        let mind = Mind {
            decision_tools: tools::conversation(&prompts),
            voice_tools: tools::submodule(&prompts),
            caller: Arc::new(Caller::new(store.clone(), model, prompts, history)),
            options: options.turn.clone(),
            tool_limit: options.tool_timeout,
            beside: tasks.clone(),
        };
        let runtime = Self(Arc::new(Inner {
            store,
            mind,
            options,
            active: Mutex::default(),
            leases: Mutex::default(),
            opened: Mutex::default(),
            tasks,
            all: CancellationToken::new(),
            draining: AtomicBool::new(false),
        }));
        runtime.0.tasks.spawn(runtime.clone().scan());
        runtime.0.tasks.spawn(runtime.clone().renew());
        runtime
    }

    /// Appends an input and wakes its thread. Returns after the commit; never waits for a model.
    pub async fn submit(&self, input: Input) -> Result<(Received, Vec<Placed>), Refused> {
        let Input { space, thread, user, event_id, content } = input;
        self.open(&space).await?;
        let row = self.0.store.thread(&space, &thread).await?;
        let busy = self.is_active(&space, &thread) || row.as_ref().is_some_and(|row| row.woken > row.handled);
        let settings = row.as_ref().map(|row| Settings::of(&row.settings)).unwrap_or_default();
        let policy = settings.policy.unwrap_or(self.0.options.turn.policy);
        if let Err(refused) = self.admit(&space, &thread, row.as_ref(), busy, policy).await {
            // A repeated input is answered as the first time, whatever the thread has come to since.
            let known = match event_id {
                Some(id) => self.0.store.event(&space, id).await?.is_some(),
                None => false,
            };
            if !known {
                return Err(refused);
            }
        }
        let id = event_id.unwrap_or_else(id::fresh);
        let drafts = match content {
            InputContent::Parts(kind, parts) => Draft::input(&thread, kind, parts, user.as_deref(), id),
            InputContent::Trigger(name, payload) => {
                vec![Draft::trigger(&thread, &name, payload, user.as_deref()).with_id(id)]
            }
        };
        let Appended::Stored(placed) = self.0.store.append(Append::free(&space, drafts)).await? else {
            return Err(Refused::Unprocessable("the input was dropped by the store".into()));
        };
        if placed.iter().all(|placed| placed.duplicate) {
            return Ok((Received::Duplicate, placed));
        }
        if busy && policy == Policy::Interrupt {
            self.stop_turn(&space, &thread, Why::Interrupt);
        }
        self.wake(space, thread);
        Ok((if busy { Received::Queued } else { Received::Started }, placed))
    }

    async fn admit(
        &self,
        space: &Space,
        thread: &ThreadId,
        row: Option<&ThreadRow>,
        busy: bool,
        policy: Policy,
    ) -> Result<(), Refused> {
        let Some(row) = row else {
            // A conversation of its own is created by its first message; below another thread, that one must exist.
            return match thread.parent() {
                Some(parent) if self.0.store.thread(space, &parent).await?.is_none() => {
                    Err(Refused::NotFound(format!("thread {parent}")))
                }
                _ => Ok(()),
            };
        };
        if row.status.is_final() {
            return Err(Refused::Ended(thread.clone()));
        }
        if busy && policy == Policy::Reject {
            return Err(Refused::Busy(thread.clone()));
        }
        let max = self.0.options.queue_max;
        if row.woken > row.handled && self.0.store.queued(space, thread, max).await? >= max {
            return Err(Refused::QueueFull(max));
        }
        Ok(())
    }

    /// Cancels the turn that runs in a thread, down to the provider's connection. False: none ran here.
    pub async fn cancel(&self, space: &Space, thread: &ThreadId) -> Result<bool, Refused> {
        self.known_thread(space, thread).await?;
        Ok(self.stop_turn(space, thread, Why::Cancel))
    }

    /// Ends a thread (status `stopped`): its turn is cancelled, it takes no more messages.
    pub async fn end(&self, space: &Space, thread: &ThreadId) -> Result<ThreadRow, Refused> {
        let row = self.known_thread(space, thread).await?;
        if row.status.is_final() {
            return Err(Refused::Ended(thread.clone()));
        }
        let change = json!({ "status": Status::Stopped.as_str() });
        let ended = Draft::changed(thread, "thread", thread.as_str(), change);
        self.0.store.append(Append::free(space, vec![ended])).await?;
        self.stop_turn(space, thread, Why::Cancel);
        self.hint_status(space, thread, Status::Stopped, 0);
        self.known_thread(space, thread).await
    }

    /// Creates a conversation. The server assigns the id: the label, with a number where that is taken.
    pub async fn create_thread(&self, space: &Space, new: NewThread) -> Result<ThreadRow, Refused> {
        self.open(space).await?;
        if let Some(parent) = &new.parent {
            self.known_thread(space, parent).await?;
        }
        if let Some(voices) = &new.settings.submodules {
            let known = self.0.store.submodules(space).await?;
            if let Some(name) = voices.iter().find(|name| !known.iter().any(|row| row.name == **name)) {
                return Err(Refused::NotFound(format!("submodule {name}")));
            }
        }
        let settings = serde_json::to_value(&new.settings).unwrap_or_default();
        for label in labels(new.label.as_ref()) {
            let thread = match &new.parent {
                Some(parent) => parent.child(&label),
                None => ThreadId::parse(label.as_str()),
            };
            let thread = thread.map_err(|error| Refused::Unprocessable(error.to_string()))?;
            if self.0.store.thread(space, &thread).await?.is_some() {
                continue;
            }
            // Two who create the same id at once: the id of the event is made from it, so that one of them finds it taken.
            let id = id::part_of(Uuid::nil(), 0);
            let id = Uuid::new_v5(&id, format!("thread {space} {thread}").as_bytes());
            let created =
                Draft::changed(&thread, "thread", thread.as_str(), json!({ "settings": settings })).with_id(id);
            match self.0.store.append(Append::free(space, vec![created])).await {
                Ok(Appended::Stored(placed)) if placed.iter().all(|placed| !placed.duplicate) => {
                    return self.known_thread(space, &thread).await;
                }
                Ok(_) | Err(store::Error::Conflict(_)) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(Refused::Unprocessable("no free id was found for the label; choose another".into()))
    }

    /// Creates a submodule (`create`) or gives one another prompt.
    pub async fn set_submodule(
        &self,
        space: &Space,
        name: &Name,
        prompt: &str,
        create: bool,
    ) -> Result<SubmoduleRow, Refused> {
        self.open(space).await?;
        let rows = self.0.store.submodules(space).await?;
        let known = rows.iter().any(|row| row.name == *name);
        let limit = self.0.options.submodules_max;
        match (create, known) {
            (true, true) => return Err(Refused::Exists(format!("the submodule {name}"))),
            (false, false) => return Err(Refused::NotFound(format!("submodule {name}"))),
            (true, false) if rows.len() >= limit as usize => {
                return Err(Refused::TooMany { what: "submodules in a space", limit });
            }
            _ => {}
        }
        let change = json!({ "prompt": prompt });
        let draft = Draft::changed(&ThreadId::default(), "submodule", name.as_str(), change);
        self.0.store.append(Append::free(space, vec![draft])).await?;
        let rows = self.0.store.submodules(space).await?;
        rows.into_iter().find(|row| row.name == *name).ok_or_else(|| Refused::NotFound(format!("submodule {name}")))
    }

    /// Removes a submodule.
    pub async fn remove_submodule(&self, space: &Space, name: &Name) -> Result<(), Refused> {
        self.open(space).await?;
        if !self.0.store.submodules(space).await?.iter().any(|row| row.name == *name) {
            return Err(Refused::NotFound(format!("submodule {name}")));
        }
        let draft = Draft::changed(&ThreadId::default(), "submodule", name.as_str(), Value::Null);
        self.0.store.append(Append::free(space, vec![draft])).await?;
        Ok(())
    }

    /// The prompt view of the model call behind an event (the call's own record, or anything that the call produced):
    /// made anew from the log, with `exact` saying whether it is, byte for byte, what was sent.
    pub async fn prompt_view(&self, space: &Space, event_id: Uuid) -> Result<Value, Refused> {
        let none = || Refused::NotFound(format!("model call behind event {event_id}"));
        let event = self.0.store.event(space, event_id).await?.ok_or_else(none)?;
        let record =
            if event.tag_value("call:").is_some() { Some(event) } else { self.record_behind(space, &event).await? };
        Ok(self.0.mind.caller.rebuild(space, &record.ok_or_else(none)?).await?)
    }

    /// The last call of the event's own module before it.
    async fn record_behind(&self, space: &Space, event: &Event) -> Result<Option<Event>, store::Error> {
        let Some(turn) = event.turn().filter(|_| !event.has(tag::TURN)) else { return Ok(None) };
        let module = match event.tag_value("submodule:") {
            Some(name) if !event.has(tag::DECISION) => format!("call:submodule:{name}"),
            _ => "call:decision".to_owned(),
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

    /// Gives a new space its first voices, once.
    async fn open(&self, space: &Space) -> Result<(), Refused> {
        if lock(&self.0.opened).contains(space) {
            return Ok(());
        }
        if self.0.options.default_submodules && self.0.store.head(space).await?.seq == 0 {
            let thread = ThreadId::default();
            let voice = |(name, prompt): &(Name, String)| {
                // An id made from the name: two servers that open the same space at once add each voice once.
                let id = Uuid::new_v5(&Uuid::nil(), format!("submodule {space} {name}").as_bytes());
                Draft::changed(&thread, "submodule", name.as_str(), json!({ "prompt": prompt })).with_id(id)
            };
            let drafts: Vec<Draft> = self.0.mind.caller.prompts().submodules.iter().map(voice).collect();
            if !drafts.is_empty() {
                self.0.store.append(Append::free(space, drafts)).await?;
            }
        }
        lock(&self.0.opened).insert(space.clone());
        Ok(())
    }

    async fn known_thread(&self, space: &Space, thread: &ThreadId) -> Result<ThreadRow, Refused> {
        let row = self.0.store.thread(space, thread).await?;
        row.ok_or_else(|| Refused::NotFound(format!("thread {thread}")))
    }

    fn is_active(&self, space: &Space, thread: &ThreadId) -> bool {
        lock(&self.0.active).contains_key(&(space.clone(), thread.clone()))
    }

    fn stop_turn(&self, space: &Space, thread: &ThreadId, why: Why) -> bool {
        let active = lock(&self.0.active);
        let stop = active.get(&(space.clone(), thread.clone())).and_then(|active| active.stop.as_ref());
        stop.inspect(|stop| stop.stop(why)).is_some()
    }

    fn hint_status(&self, space: &Space, thread: &ThreadId, status: Status, queued: u32) {
        self.0.store.feed().hint(space, Hint::Status { thread: thread.clone(), status, queued });
    }

    /// Sees to it that somebody looks after a thread.
    fn wake(&self, space: Space, thread: ThreadId) {
        if self.0.draining.load(Ordering::Acquire) {
            return;
        }
        let key = (space, thread);
        let mut active = lock(&self.0.active);
        if let Some(active) = active.get_mut(&key) {
            active.again = true;
            return;
        }
        active.insert(key.clone(), Active::default());
        drop(active);
        self.0.tasks.spawn(self.clone().look_after(key));
    }

    /// Runs a thread's turns until it has nothing to do.
    async fn look_after(self, key: (Space, ThreadId)) {
        let mut pause = Duration::from_millis(50);
        loop {
            if let Some(active) = lock(&self.0.active).get_mut(&key) {
                active.again = false;
            }
            let looked = self.look(&key).await;
            if let Err(error) = &looked {
                tracing::warn!(space = %key.0, thread = %key.1, %error, "the thread could not be run; it is tried again");
                tokio::select! {
                    () = self.0.all.cancelled() => {}
                    () = tokio::time::sleep(pause) => pause = (pause * 2).min(Duration::from_secs(5)),
                }
            }
            let stopping = self.0.draining.load(Ordering::Acquire) || self.0.all.is_cancelled();
            let mut active = lock(&self.0.active);
            let again = active.get(&key).is_some_and(|active| active.again);
            if stopping || (matches!(looked, Ok(Looked::Nothing)) && !again) {
                active.remove(&key);
                return;
            }
        }
    }

    async fn look(&self, key: &(Space, ThreadId)) -> Result<Looked, store::Error> {
        let (space, thread) = key;
        let store = &self.0.store;
        let waits = |row: &ThreadRow| row.woken > row.handled && !row.status.is_final();
        let Some(row) = store.thread(space, thread).await?.filter(waits) else { return Ok(Looked::Nothing) };
        let Some(fence) = store.lease(space, thread, self.0.options.lease).await? else { return Ok(Looked::Nothing) };
        // Under the lease the row cannot change but by input; before it, another server may have had a turn.
        let row = store.thread(space, thread).await?.filter(waits).unwrap_or(row);
        let stop = Arc::new(Stop::new(&self.0.all));
        lock(&self.0.leases).insert(fence.clone(), stop.clone());
        if let Some(active) = lock(&self.0.active).get_mut(key) {
            active.stop = Some(stop.clone());
        }
        self.hint_status(space, thread, Status::Thinking, 0);
        let looked = self.take_turn(&row, fence.clone(), stop).await;
        lock(&self.0.leases).remove(&fence);
        if let Some(active) = lock(&self.0.active).get_mut(key) {
            active.stop = None;
        }
        if !matches!(looked, Ok(Looked::Worked)) {
            store.release(&fence).await?;
        }
        self.hint_status(space, thread, Status::Idle, 0);
        looked
    }

    async fn take_turn(&self, row: &ThreadRow, fence: Fence, stop: Arc<Stop>) -> Result<Looked, store::Error> {
        let place = Place { space: fence.space.clone(), thread: row.thread.clone(), turn: 0 };
        let settings = Settings::of(&row.settings);
        let mut voices = self.0.store.submodules(&fence.space).await?;
        if let Some(heard) = &settings.submodules {
            voices.retain(|voice| heard.contains(&voice.name));
        }
        let (turn, opening, batch) = match self.open_turn(&fence.space, row).await? {
            Some(turn) => (turn, None, Vec::new()),
            None => {
                let batch = self.batch(&fence.space, row).await?;
                let names: Vec<Name> = voices.iter().map(|voice| voice.name.clone()).collect();
                let seqs: Vec<Seq> = batch.iter().map(|event| event.seq).collect();
                let opening = Draft::turn_started(&row.thread, row.turn + 1, &seqs, &names);
                (
                    Turn::new(row.turn + 1, seqs, names, &self.0.options.turn, &self.0.options.budget),
                    Some(opening),
                    batch,
                )
            }
        };
        let place = Place { turn: turn.number(), ..place };
        let scribe = Arc::new(Scribe::new(self.0.store.clone(), fence, opening.clone()));
        if opening.is_some() && self.talks_to_itself(row, &batch) {
            return self.silence(&scribe, &place, turn.upto()).await;
        }
        let upto = turn.upto();
        let driver = Driver {
            mind: self.0.mind.clone(),
            scribe: scribe.clone(),
            place: place.clone(),
            turn,
            voices,
            settings,
            stop,
        };
        let ended = match tokio::spawn(driver.run()).await {
            Ok(ended) => ended,
            Err(broke) => self.broke(&scribe, &place, upto, &broke.to_string()).await,
        };
        match ended {
            Ok(Some(_)) => Ok(Looked::Worked),
            Ok(None) | Err(Lost::Stale) => Ok(Looked::Nothing),
            Err(Lost::Store(error)) => Err(error),
        }
    }

    /// A panic in a turn is contained: it becomes a failure, and the thread goes on with what comes next.
    async fn broke(&self, scribe: &Scribe, place: &Place, upto: Seq, why: &str) -> Result<Option<TurnOutcome>, Lost> {
        let failure = Failure::new(FailureKind::Internal, format!("the turn broke down: {why}"));
        let failure = Draft::failure(&place.thread, Some(place.turn), &Who::Core, &failure);
        let ended = Draft::turn_ended(&place.thread, place.turn, TurnOutcome::Failed, upto);
        scribe.close(vec![failure, ended]).await?;
        Ok(Some(TurnOutcome::Failed))
    }

    fn talks_to_itself(&self, row: &ThreadRow, batch: &[Event]) -> bool {
        !batch.iter().any(Event::is_from_outside) && u64::from(row.self_messages) > self.0.options.budget.self_messages
    }

    /// Ends a chain of messages to itself, visibly.
    async fn silence(&self, scribe: &Scribe, place: &Place, upto: Seq) -> Result<Looked, store::Error> {
        let limit = self.0.options.budget.self_messages;
        let text = format!(
            "the thread has sent itself {limit} messages in a row (budget.self_messages); it waits for something from outside"
        );
        let failure =
            Failure::new(FailureKind::Budget, text).with(json!({ "limit": limit, "key": "budget.self_messages" }));
        let failure = Draft::failure(&place.thread, Some(place.turn), &Who::Core, &failure);
        let ended = Draft::turn_ended(&place.thread, place.turn, TurnOutcome::Failed, upto);
        match scribe.close(vec![failure, ended]).await {
            Ok(_) => Ok(Looked::Worked),
            Err(Lost::Stale) => Ok(Looked::Nothing),
            Err(Lost::Store(error)) => Err(error),
        }
    }

    /// The turn that was begun and not ended, as far as it came.
    async fn open_turn(&self, space: &Space, row: &ThreadRow) -> Result<Option<Turn>, store::Error> {
        if row.status != Status::Thinking {
            return Ok(None);
        }
        let mut turn: Option<Turn> = None;
        let number = row.turn;
        self.each_after(space, row, Show::All, |event| {
            match &mut turn {
                Some(turn) => turn.apply(&event),
                None => {
                    let begun = Turn::begun_by(&event, &self.0.options.turn, &self.0.options.budget);
                    turn = begun.filter(|turn| turn.number() == number);
                }
            }
            true
        })
        .await?;
        Ok(turn)
    }

    /// What waits in the mailbox: everything that wakes, with the parts that came with it.
    async fn batch(&self, space: &Space, row: &ThreadRow) -> Result<Vec<Event>, store::Error> {
        let mut batch = Vec::new();
        self.each_after(space, row, Show::Visible, |event| {
            if event.wakes() || event.has(tag::INPUT) {
                batch.push(event);
            }
            true
        })
        .await?;
        while batch.last().is_some_and(|event: &Event| !event.wakes()) {
            batch.pop();
        }
        Ok(batch)
    }

    /// Reads the thread's events after `handled`, up to its head.
    async fn each_after(
        &self,
        space: &Space,
        row: &ThreadRow,
        show: Show,
        mut take: impl FnMut(Event) -> bool,
    ) -> Result<(), store::Error> {
        let mut after = row.handled;
        for _ in 0..PAGES_MAX {
            let query = Query {
                thread: Some(row.thread.clone()),
                after: Some(after),
                show,
                order: Order::Ascending,
                limit: PAGE,
                ..Query::default()
            };
            let events = self.0.store.events(space, &query).await?;
            let full = events.len() == PAGE as usize;
            for event in events {
                after = event.seq;
                if !take(event) {
                    return Ok(());
                }
            }
            if !full {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Looks for threads that wait and nobody runs: after a start, and when another server has died.
    async fn scan(self) {
        loop {
            match self.0.store.waiting(PAGE).await {
                Ok(waiting) => waiting.into_iter().for_each(|(space, thread)| self.wake(space, thread)),
                Err(error) => tracing::warn!(%error, "could not look for waiting threads"),
            }
            tokio::select! {
                () = self.0.all.cancelled() => return,
                () = tokio::time::sleep(self.0.options.scan) => {}
            }
        }
    }

    /// Prolongs the leases of running turns; a turn whose lease is lost is left.
    async fn renew(self) {
        loop {
            tokio::select! {
                () = self.0.all.cancelled() => return,
                () = tokio::time::sleep(self.0.options.lease / 3) => {}
            }
            let held: Vec<Fence> = lock(&self.0.leases).keys().cloned().collect();
            if held.is_empty() {
                continue;
            }
            match self.0.store.renew(&held, self.0.options.lease).await {
                Ok(lost) => {
                    let leases = lock(&self.0.leases);
                    lost.iter().filter_map(|fence| leases.get(fence)).for_each(|stop| stop.stop(Why::Leave));
                }
                Err(error) => tracing::warn!(%error, "leases could not be renewed"),
            }
        }
    }
}

/// Ids to try for a label: itself, then with numbers.
fn labels(label: Option<&Name>) -> Vec<Name> {
    let drawn = || format!("t-{}", &id::fresh().simple().to_string()[20..]);
    let stem = label.map_or_else(drawn, |label| label.as_str().to_owned());
    let short = &stem[..stem.len().min(28)];
    let numbered = (2..100).map(|number| format!("{short}-{number}"));
    std::iter::once(stem.clone()).chain(numbered).filter_map(|label| Name::parse(&label).ok()).collect()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic while one of these short locks was held left nothing half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
