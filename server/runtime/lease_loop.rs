//! The lease loop: one runner a thread, while it has something to do; a lease for every piece of
//! work; work that a crash cut off is taken up. It knows no kind of work (`work.rs`).

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::FutureExt;
use parking_lot::Mutex;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::ground::Ground;
use super::mailbox::PAGE;
use super::remote_cancel::RemoteCancel;
use super::running::ThreadKey;
use super::waits::Waits;
use super::work::{Attempts, Claim, Looked, TRIES, Work};
use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::envelope::Event;
use thinkd_log::appended::Append;
use thinkd_log::error::StoreError;
use thinkd_log::fence::{Fence, Leased};
use thinkd_log::hint::Hint;
use thinkd_log::status::Status;
use thinkd_log::thread_row::ThreadRow;
use thinkd_mind::turn::stop::{Stop, Why};
use thinkd_tasks::share::Place;
use thinkd_tasks::supervisor;
use thinkd_words::failure::{Failure, FailureKind, Who};
use thinkd_words::id::{Space, ThreadId};

mod telling;

/// Rest of a runner when the store failed: at first, and at most.
const PAUSE: Duration = Duration::from_millis(50);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// So long is work not begun again that failed with the store more than once, unless that says that it works: every time, models are
/// asked in vain.
const SELDOM: Duration = Duration::from_secs(5);
/// The same after `TRIES`.
const RARELY: Duration = Duration::from_secs(60);

/// See the module; cheap to clone.
#[derive(Clone)]
pub struct LeaseLoop(Arc<Inner>);

struct Inner {
    ground: Ground,
    /// The waits that a thread's work may put an end to.
    waits: Waits,
    /// Stops work here by events that other servers store.
    remote: RemoteCancel,
    /// Cancelled: all work is left.
    all: CancellationToken,
    /// The kinds of work, asked in this order for the owner of a thread.
    kinds: Vec<Arc<dyn Work>>,
    // A plain mutex: held for look-ups, never across an await.
    leases: Mutex<HashMap<Fence, Arc<Stop>>>,
    draining: AtomicBool,
    /// Other servers are about to be told of threads that this one leaves.
    telling: AtomicBool,
}

/// Remains of failures of the store, to be put right before the thread goes on.
#[derive(Default)]
struct Trouble {
    /// The failure that is not in the log yet.
    unsaid: Option<StoreError>,
    /// A lease that could not be given back.
    held: Option<Fence>,
    /// Number of times that work was begun in vain.
    attempts: Attempts,
    /// Time of the last failure because the database was away.
    since: Option<Instant>,
    /// Work has ended, and the waits that follow from it have not been looked at.
    waits: bool,
}

impl LeaseLoop {
    /// Returns a loop over these kinds of work. Nothing runs yet.
    pub fn new(
        ground: Ground,
        waits: Waits,
        all: CancellationToken,
        kinds: Vec<Arc<dyn Work>>,
    ) -> Self {
        let remote = RemoteCancel {
            store: ground.store.clone(),
            policy: ground.options.turn.policy,
        };
        Self(Arc::new(Inner {
            ground,
            waits,
            remote,
            all,
            kinds,
            leases: Mutex::default(),
            draining: AtomicBool::new(false),
            telling: AtomicBool::new(false),
        }))
    }

    /// Has a thread looked after, at this place if it has one already.
    pub fn wake(&self, key: ThreadKey, place: Option<Place>) {
        let Ground { running, mind, .. } = &self.0.ground;
        if self.is_draining() {
            self.leave_to_others();
        } else if running.enter(&key, place) {
            let looks_after = self.clone().look_after(key.clone());
            mind.beside.spawn(mind.processors.of(&key.0, looks_after));
        }
    }

    /// Tells every kind of work of a stored event.
    pub fn sees(&self, space: &Space, event: &Event) {
        self.0.kinds.iter().for_each(|kind| kind.sees(space, event));
    }

    /// Returns the kind of work that a thread is for.
    pub fn kind_of(&self, thread: &ThreadId) -> Option<&Arc<dyn Work>> {
        self.0.kinds.iter().find(|kind| kind.owns(thread))
    }

    fn is_draining(&self) -> bool {
        self.0.draining.load(Ordering::Acquire)
    }

    /// Takes up no more work, and gives work under way `grace`.
    pub async fn drain(&self, grace: Duration) {
        self.0.draining.store(true, Ordering::Release);
        let begin = Instant::now();
        while self.0.ground.running.len() > 0 && begin.elapsed() < grace {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Does a thread's work until it has nothing to do.
    async fn look_after(self, key: ThreadKey) {
        let Ground { store, running, .. } = &self.0.ground;
        let all = &self.0.all;
        let Some(kind) = self.kind_of(&key.1) else {
            tracing::error!(space = %key.0, thread = %key.1, "no kind of work of this server is the thread's: it is left alone");
            running.leave(&key, true, true);
            return;
        };
        let mut pause = PAUSE;
        let mut woken = true;
        let mut trouble = Trouble::default();
        loop {
            running.looks(&key);
            let looked = match AssertUnwindSafe(self.look(kind.as_ref(), &key, woken, &mut trouble))
                .catch_unwind()
                .await
            {
                Ok(looked) => looked,
                Err(panic) => Err(self.broke_down(&key, &mut trouble, supervisor::words(&*panic))),
            };
            store.unserved().note_thread(&key.0, &key.1, &looked);
            if looked.is_ok() {
                (pause, trouble) = (PAUSE, Trouble::default());
            }
            if let Err(error) = &looked {
                tracing::warn!(space = %key.0, thread = %key.1, %error, "the thread could not be run; it is tried again");
                // What was overtaken is no trouble: it is looked at as it is now.
                let overtaken = matches!(error, StoreError::Unmet(_));
                if !overtaken && trouble.unsaid.replace(error.clone()).is_none() {
                    self.tell_of_trouble(&key);
                }
                tokio::select! {
                    () = all.cancelled() => {}
                    () = tokio::time::sleep(pause) => pause = (pause * 2).min(PAUSE_MAX),
                }
            }
            let stopping = self.is_draining() || all.is_cancelled();
            let idle = matches!(looked, Ok(Looked::Nothing));
            if stopping {
                self.leave_to_others();
            }
            let Some(again) = running.leave(&key, idle, stopping) else {
                return;
            };
            woken = again || matches!(looked, Ok(Looked::Worked(_)));
        }
    }

    /// A defect of ours outside of the work itself: the lease is given back, and the work that met it is not tried again.
    fn broke_down(&self, key: &ThreadKey, trouble: &mut Trouble, why: &str) -> StoreError {
        let mut leases = self.0.leases.lock();
        let is_its = |fence: &&Fence| (&fence.space, &fence.thread) == (&key.0, &key.1);
        trouble.held = leases.keys().find(is_its).cloned();
        if let Some(fence) = &trouble.held {
            leases.remove(fence);
        }
        trouble.attempts.refused = TRIES;
        self.0.ground.running.end(key);
        tracing::error!(space = %key.0, thread = %key.1, why, "a thread met a defect of this server");
        StoreError::Broken(format!("a defect of this server: {why}"))
    }

    /// `woken`: there most likely is something to do, so the lease comes first; otherwise a look at the row does.
    async fn look(
        &self,
        kind: &dyn Work,
        key: &ThreadKey,
        woken: bool,
        trouble: &mut Trouble,
    ) -> Result<Looked, StoreError> {
        let (space, thread) = key;
        let Ground {
            store,
            options,
            running,
            ..
        } = &self.0.ground;
        self.put_right(key, trouble).await?;
        let has_work = |row: ThreadRow| row.has_work();
        if !woken && !store.thread(space, thread).await?.is_some_and(has_work) {
            return Ok(Looked::Nothing);
        }
        let _place = kind.place(space, thread).await;
        // Followed first, then read: what another server stores about the work is in one of the two.
        let follower = store
            .is_shared()
            .then(|| store.feed().follow(space, Some(thread)));
        // None of the two is given up for the other: a lease that is taken is known.
        let (leased, prepared) = tokio::join!(
            store.lease(space, thread, options.lease),
            kind.prepare(space)
        );
        let Some(Leased { fence, row }) = leased? else {
            return Ok(Looked::Nothing);
        };
        // The lease is held until it is given back: whoever looks next would find the thread taken.
        let read = row.and_then(|row| Ok((row.filter(ThreadRow::has_work), prepared?)));
        let (row, prepared) = read.inspect_err(|_| trouble.held = Some(fence.clone()))?;
        let Some(row) = row else {
            store.release(&fence).await?;
            return Ok(Looked::Nothing);
        };
        let postponed = kind
            .postpone(&row, &fence)
            .await
            .inspect_err(|_| trouble.held = Some(fence.clone()))?;
        if let Some(looked) = postponed {
            return Ok(looked);
        }
        let stop = Arc::new(Stop::new(&self.0.all));
        self.0.leases.lock().insert(fence.clone(), stop.clone());
        running.begin(key, &stop);
        let claim = Claim {
            row: row.clone(),
            fence: fence.clone(),
            stop: stop.clone(),
            prepared,
            attempts: trouble.attempts,
        };
        let looked = match follower {
            None => kind.work(claim).await,
            Some(follower) => tokio::select! {
                looked = kind.work(claim) => looked,
                never = self.0.remote.stop(space, &row, follower, &stop) => match never {},
            },
        };
        self.0.leases.lock().remove(&fence);
        running.end(key);
        self.ended(key, fence, looked, trouble).await
    }

    /// Does the follow-up when work has ended, or could not be done.
    async fn ended(
        &self,
        key: &ThreadKey,
        fence: Fence,
        looked: Result<Looked, StoreError>,
        trouble: &mut Trouble,
    ) -> Result<Looked, StoreError> {
        let running = &self.0.ground.running;
        if !matches!(looked, Ok(Looked::Worked(_))) {
            trouble.held = Some(fence);
        }
        if let Err(error) = &looked {
            let attempts = &mut trouble.attempts;
            match error {
                // What the database refuses it will refuse again.
                StoreError::Broken(_) | StoreError::Conflict(_) => {
                    attempts.refused = TRIES.max(attempts.refused + 1);
                }
                // Somebody took an input back that the turn was to be about: the next one is about the rest.
                StoreError::Unmet(Condition::Wait(_)) => {}
                StoreError::Unmet(_) | StoreError::TooDear => attempts.refused += 1,
                StoreError::Unavailable(_) => {
                    attempts.away += 1;
                    trouble.since = Some(Instant::now());
                }
            }
        }
        self.give_back(trouble).await?;
        match looked {
            Ok(Looked::Worked(status)) => {
                trouble.waits = true;
                self.break_waits(key, status == Status::Waiting).await?;
                trouble.waits = false;
                // Read once, for who follows and for whether to look again.
                Ok(if running.show(key, status, 0).await {
                    Looked::Worked(status)
                } else {
                    Looked::Nothing
                })
            }
            Ok(Looked::Nothing) => {
                running.show(key, Status::Idle, 0).await;
                looked
            }
            Err(_) => looked,
        }
    }

    async fn break_waits(
        &self,
        (space, thread): &ThreadKey,
        waits: bool,
    ) -> Result<(), StoreError> {
        if waits {
            self.0.waits.break_wait(space, thread).await?;
        }
        self.0.waits.break_waits_for(space, thread).await
    }

    async fn give_back(&self, trouble: &mut Trouble) -> Result<(), StoreError> {
        if let Some(fence) = &trouble.held {
            self.0.ground.store.release(fence).await?;
            trouble.held = None;
        }
        Ok(())
    }

    /// Writes the failure to the log, before a model is asked again: a store that cannot take this
    /// cannot take a turn.
    async fn put_right(&self, key: &ThreadKey, trouble: &mut Trouble) -> Result<(), StoreError> {
        let store = &self.0.ground.store;
        self.give_back(trouble).await?;
        let rest = match trouble.attempts.away > TRIES {
            true => RARELY,
            false => SELDOM,
        };
        if trouble.attempts.away > 1 && trouble.since.is_some_and(|since| since.elapsed() < rest) {
            // What work leads to may be larger than what is said here: the store is asked for as much as it refused last. Not for
            // ever: one that is slow may take a turn and not this.
            store.ping().await?;
        }
        // After so many the thread cannot even be read, and the log need not be filled with it.
        if trouble.unsaid.is_some() && trouble.attempts.refused.max(trouble.attempts.away) <= TRIES
        {
            let text = "the log could not be read or written while the thread was run; it goes on where it was";
            let failure = Failure::new(FailureKind::Store, text).retryable();
            let failure = Draft::failure(&key.1, None, &Who::Core, &failure);
            store.append(Append::free(&key.0, vec![failure])).await?;
        }
        trouble.unsaid = None;
        if trouble.waits {
            self.break_waits(key, true).await?;
            trouble.waits = false;
        }
        Ok(())
    }

    /// Tells the clients that wait for the thread.
    fn tell_of_trouble(&self, (space, thread): &ThreadKey) {
        let text = "the log cannot be read or written now; what was acknowledged is kept, and the thread goes on when it can";
        let hint = Hint::Trouble {
            thread: thread.clone(),
            text: text.into(),
        };
        self.0.ground.store.feed().hint(space, 0, hint);
    }

    /// Looks for waiting threads without a runner: after a start, when another server goes, and
    /// from time to time, as it may have died.
    pub async fn scan(self) {
        let Ground { store, options, .. } = &self.0.ground;
        let all = &self.0.all;
        loop {
            self.say_present();
            match store.waiting(PAGE).await {
                Ok(waiting) => waiting.into_iter().for_each(|key| self.wake(key, None)),
                Err(error) => tracing::warn!(%error, "could not look for waiting threads"),
            }
            tokio::select! {
                () = all.cancelled() => return,
                () = tokio::time::sleep(options.scan) => {}
                () = store.handed_over() => {}
            }
        }
    }

    /// Prolongs the leases of running work; work that has lost its lease is left.
    pub async fn renew(self) {
        let Ground { store, options, .. } = &self.0.ground;
        let all = &self.0.all;
        loop {
            tokio::select! {
                () = all.cancelled() => return,
                () = tokio::time::sleep(options.lease / 3) => {}
            }
            let held: Vec<Fence> = self.0.leases.lock().keys().cloned().collect();
            if held.is_empty() {
                continue;
            }
            // A connection that is dead without saying so is given up while there is time for another one.
            let renewed = timeout(options.lease / 3, store.renew(&held, options.lease)).await;
            let late = || StoreError::Unavailable("the database does not answer".into());
            match renewed.unwrap_or_else(|_| Err(late())) {
                Ok(lost) => {
                    let leases = self.0.leases.lock();
                    lost.iter()
                        .filter_map(|fence| leases.get(fence))
                        .for_each(|stop| stop.stop(Why::Leave));
                }
                Err(error) => tracing::warn!(%error, "leases could not be renewed"),
            }
        }
    }
}
