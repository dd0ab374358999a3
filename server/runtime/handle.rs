//! The runtime: the lease loop over the kinds of work that the composition root gives it, and the
//! causes that wake threads: stored events, timers, the end of waits. It knows no kind.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::append::append_told;
use super::ends::Ends;
use super::firing::Firing;
use super::ground::{Ground, Wakes};
use super::lease_loop::LeaseLoop;
use super::mailbox;
use super::options::Options;
use super::prompt_view;
use super::refused::Refused;
use super::requests::Requests;
use super::running::ThreadKey;
use super::timers::Timers;
use super::turns::input::Inbox;
use super::waits::Waits;
use super::work::Work;
use thinkd_event::draft::Draft;
use thinkd_event::envelope::{Event, TurnOutcome};
use thinkd_event::fact::Fact;
use thinkd_event::fact::set::{Change, Set};
use thinkd_event::fact::statement::Trials;
use thinkd_event::fact::summary::Summaries;
use thinkd_log::appended::Placed;
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_log::status::Status;
use thinkd_mind::turn::stop::Why;
use thinkd_recall::finder::Recall;
use thinkd_tasks::share::{Place, Processors};
use thinkd_words::budget::Budget;
use thinkd_words::id::{Space, ThreadId};
use thinkd_words::setting::Setting;

/// Time that a stopping server waits for tasks that do not listen to being stopped.
const LAST_TASKS: Duration = Duration::from_secs(5);

/// A handle on the runtime; cheap to clone.
#[derive(Clone)]
pub struct Runtime(pub(super) Arc<Inner>);

pub(super) struct Inner {
    pub(super) ground: Ground,
    pub(super) lease_loop: LeaseLoop,
    pub(super) ends: Ends,
    pub(super) inbox: Inbox,
    pub(super) firing: Firing,
    timers: Timers,
    requests: Requests,
    all: CancellationToken,
}

impl Runtime {
    /// Starts: takes up waiting work, and looks for more now and then.
    pub fn start(ground: Ground, kinds: Vec<Arc<dyn Work>>) -> Self {
        let all = CancellationToken::new();
        let on_stored = ground.waker.on_stored();
        let Ground {
            store,
            options,
            mind,
            ..
        } = &ground;
        let requests = Requests {
            store: store.clone(),
            tools: mind.tools.clone(),
            on_stored: on_stored.clone(),
            output_bytes: options.tool_limits.output_bytes,
            all: all.clone(),
        };
        let waits = Waits {
            store: store.clone(),
            on_stored: on_stored.clone(),
            all: all.clone(),
        };
        let ends = Ends {
            store: store.clone(),
            on_stored: on_stored.clone(),
            waits: waits.clone(),
            all: all.clone(),
        };
        let inbox = Inbox::new(&ground);
        let firing = Firing {
            store: store.clone(),
            inbox: inbox.clone(),
            quotas: ground.quotas.clone(),
        };
        let timers = Timers {
            store: store.clone(),
            firing: firing.clone(),
            on_stored,
            set: Arc::default(),
            scan: options.scan,
            all: all.clone(),
        };
        let lease_loop = LeaseLoop::new(ground.clone(), waits.clone(), all.clone(), kinds);
        let inner = Arc::new(Inner {
            ground,
            lease_loop,
            ends,
            inbox,
            firing,
            timers,
            requests,
            all,
        });
        let wakes: Arc<dyn Wakes> = inner.clone();
        inner.ground.waker.leads_to(Arc::downgrade(&wakes));
        inner.watch_tasks(waits);
        Self(inner)
    }

    /// Returns the processors, which spaces share.
    pub fn processors(&self) -> &Processors {
        &self.0.ground.mind.processors
    }

    /// Returns the requests to people, which take their answers.
    pub fn requests(&self) -> &Requests {
        &self.0.requests
    }

    /// Returns the limits on the use by turns, threads and spaces.
    pub fn budget(&self) -> &Budget {
        &self.0.ground.mind.budget
    }

    /// Returns the options for running threads.
    pub fn options(&self) -> &Options {
        &self.0.ground.options
    }

    /// Returns the store, for reading.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.0.ground.store
    }

    /// Returns the recall, which finds held statements.
    pub fn recall(&self) -> &Recall {
        &self.0.ground.recall
    }

    /// Returns the number of threads that are being run.
    pub fn running(&self) -> usize {
        self.0.ground.running.len()
    }

    /// Appends events that need no lease, and wakes the threads that they wake.
    pub async fn append_free(
        &self,
        space: &Space,
        drafts: Vec<Draft>,
    ) -> Result<Vec<Placed>, StoreError> {
        let ground = &self.0.ground;
        append_told(&*ground.store, &ground.mind.on_stored, space, drafts).await
    }

    /// Gives a new space its first submodules, once: see `Opening`.
    pub async fn open(&self, space: &Space) -> Result<(), Refused> {
        Ok(self.0.ground.opening.open(space).await?)
    }

    /// Cancels the work on a thread that is under way, or is about to be, down to the provider's connection; where another server
    /// may do it, that one is told through the log. False: there is none.
    pub async fn cancel(
        &self,
        space: &Space,
        thread: &ThreadId,
        user: Option<&str>,
    ) -> Result<bool, Refused> {
        let row = self.0.ground.known_thread(space, thread).await?;
        let was_at_work = match self.0.lease_loop.kind_of(thread) {
            Some(kind) => kind.cancel(space, &row, user).await?,
            None => false,
        };
        let waited = self
            .0
            .requests
            .withdraw(space, thread, "the thread was cancelled")
            .await?;
        Ok(was_at_work || waited)
    }

    /// Cancels the same in a thread and in all below it. Returns the number of threads in which
    /// there was something to cancel.
    pub async fn cancel_subtree(
        &self,
        space: &Space,
        thread: &ThreadId,
        user: Option<&str>,
    ) -> Result<u64, Refused> {
        // The thread itself first: it makes no more of them.
        let mut count = u64::from(self.cancel(space, thread, user).await?);
        let mut after = None;
        loop {
            let store = &self.0.ground.store;
            let page = store
                .descendants(space, thread, after.as_ref(), mailbox::PAGE)
                .await?;
            for row in &page {
                let was_at_work = match self.0.lease_loop.kind_of(&row.thread) {
                    Some(kind) => kind.cancel_with_above(space, row).await?,
                    None => false,
                };
                let requests = &self.0.requests;
                let why = "the thread was cancelled";
                let waited = requests.withdraw(space, &row.thread, why).await?;
                count += u64::from(was_at_work || waited);
            }
            match page.last() {
                Some(last) if page.len() == mailbox::PAGE as usize => {
                    after = Some(last.thread.clone());
                }
                _ => return Ok(count),
            }
        }
    }

    /// Returns the prompt view of the model call behind an event (the call's own record, or
    /// anything that the call produced): made anew from the log. `exact` says whether it is, byte
    /// for byte, the prompt that was sent.
    pub async fn prompt_view(&self, space: &Space, event_id: Uuid) -> Result<Value, Refused> {
        let Ground { store, mind, .. } = &self.0.ground;
        prompt_view::prompt_view(&**store, &mind.client, space, event_id).await
    }

    /// Stops taking up work, gives running work `grace`, then leaves it for a later start to take
    /// up.
    pub async fn drain(&self, grace: Duration) {
        self.0.lease_loop.drain(grace).await;
        self.0.all.cancel();
        let tasks = &self.0.ground.mind.beside;
        tasks.close();
        // What is left now has been told to stop; a tool that does not listen is not waited for.
        if tokio::time::timeout(LAST_TASKS, tasks.wait())
            .await
            .is_err()
        {
            tracing::warn!("some work did not stop in time and is taken up at the next start");
        }
    }

    /// Tells other servers that all waiting work is theirs. For a server that has drained, and
    /// takes nothing in any more.
    pub async fn hand_over(&self) {
        self.0.lease_loop.leave().await;
    }
}

impl Inner {
    /// Begins the tasks that live as long as the runtime: the server is stopped when one of them ends.
    fn watch_tasks(&self, waits: Waits) {
        let watch = &self.ground.options.supervisor;
        let tasks = &self.ground.mind.beside;
        // The look at those that wait for one another comes to an end; the search does not.
        let scan = self.lease_loop.clone().scan();
        let look = waits.look_at_waits();
        let tidy = self.requests.clone().keep_tidy();
        let search = async move {
            tokio::join!(scan, look, tidy);
        };
        tasks.spawn(watch.watch("the search for threads that wait", search));
        tasks.spawn(watch.watch("the renewal of leases", self.lease_loop.clone().renew()));
        tasks.spawn(watch.watch("the timers", self.timers.clone().run()));
    }
}

impl Wakes for Inner {
    fn wake(&self, key: ThreadKey, place: Option<Place>) {
        self.lease_loop.wake(key, place);
    }

    /// Has a thread looked after that the event wakes, wakes the timers if it sets a time, and
    /// starts the rest of an end. Settles the requests to people that it leaves.
    fn on_stored(&self, space: &Space, event: &Event) {
        let running = &self.ground.running;
        let key = || (space.clone(), event.thread.clone());
        if let Some(status) = event.ended_as().and_then(Status::parse) {
            // The work that runs here; another server follows the threads that it works on.
            running.stop(&key(), Why::Cancel);
            running.show_end(&key(), status);
        } else if event.wakes() || event.part().is_some() || is_due(&event.fact()) {
            self.wake(key(), None);
        } else if sets_a_time(&event.fact()) {
            self.timers.set.notify_one();
        }
        self.settle_requests(space, event);
        self.lease_loop.sees(space, event);
        if let Some((due, _)) = event.rest_of_end() {
            let (ends, (space, thread)) = (self.ends.clone(), key());
            self.ground.mind.beside.spawn(async move {
                if let Err(error) = ends.do_rest_of_end(&space, &thread, due).await {
                    tracing::warn!(%error, %space, %thread, "what follows from the end of a thread could not be done; it is tried again");
                }
            });
        }
    }
}

impl Inner {
    /// Settles the requests to people that an event leaves, beside all work under way.
    fn settle_requests(&self, space: &Space, event: &Event) {
        let Some(left) = left_of_requests(event) else {
            return;
        };
        let requests = self.requests.clone();
        let space = space.clone();
        let thread = event.thread.clone();
        self.ground.mind.beside.spawn(async move {
            let settled = match left {
                Left::Away => requests.answer_away(&space).await,
                Left::Asked => requests.answer_if_away(&space, &thread).await,
                Left::Over => requests.tidy(&space, &thread).await,
                Left::Failed(turn) => match requests.tidy(&space, &thread).await {
                    Ok(()) => requests.give_up(&space, &thread, turn).await,
                    failed => failed,
                },
                Left::Interrupted(turn) => requests.give_up(&space, &thread, turn).await,
                Left::Cancelled => requests.cancelled(&space, &thread).await,
            };
            if let Err(error) = settled {
                tracing::warn!(%error, %space, %thread, "requests to people could not be settled; it is tried again within ten minutes");
            }
        });
    }
}

/// Returns whether a fact says that a thread without a mailbox has work.
fn is_due(fact: &Fact<'_>) -> bool {
    matches!(
        fact,
        Fact::Trials(Trials::Due) | Fact::Summaries(Summaries::Due { .. })
    )
}

/// Returns whether a fact brings a time with it at which something is due.
fn sets_a_time(fact: &Fact<'_>) -> bool {
    let is_set = matches!(
        fact,
        Fact::Set(Set {
            change: Change::Timer(_) | Change::Schedule(_),
            ..
        })
    );
    let waits = matches!(
        fact,
        Fact::ApprovalPending(_) | Fact::ClientCall(_) | Fact::Question(_)
    );
    is_set || waits
}

/// Requests that an event may leave behind, and that no turn comes to.
enum Left {
    /// People are away: open questions.
    Away,
    /// A question that was asked, or a call that was parked, while people went or its thread ended.
    Asked,
    /// Requests of a thread that ended.
    Over,
    /// Granted calls of a turn that failed, and its calls that wait for a client: the client was told
    /// of none.
    Failed(u64),
    /// The calls of a turn that was interrupted that wait for a client.
    Interrupted(u64),
    /// All requests of a thread that was cancelled.
    Cancelled,
}

fn left_of_requests(event: &Event) -> Option<Left> {
    match event.fact() {
        Fact::TurnEnded(ended) => match ended.outcome {
            Some(TurnOutcome::Cancelled) => Some(Left::Cancelled),
            Some(TurnOutcome::Failed) => Some(Left::Failed(ended.turn)),
            Some(TurnOutcome::Interrupted) => Some(Left::Interrupted(ended.turn)),
            _ => None,
        },
        Fact::ApprovalPending(_) | Fact::Question(_) => Some(Left::Asked),
        Fact::Set(Set {
            key,
            change: Change::Setting(setting),
            ..
        }) => (key == Setting::UserAway.as_str() && setting.value == Value::Bool(true))
            .then_some(Left::Away),
        _ => event.ends_thread().then_some(Left::Over),
    }
}
