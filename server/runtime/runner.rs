//! Runs threads: one runner a thread, while it has something to do; a lease for every turn; what a crash cut off is taken up.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::time::{Instant, timeout};

use super::batch::{PAGE, is_unused, opening, root};
use super::handle::{Active, Runtime, lock};
use super::settling::Settled;
use crate::event::draft::Draft;
use crate::event::envelope::{Event, TurnOutcome};
use crate::event::fact::Fact;
use crate::event::turn::Ended;
use crate::log::feed::Hint;
use crate::log::store::{self, Append, Fence, Leased, Status, SubmoduleRow, ThreadRow};
use crate::mind::call::Place;
use crate::mind::scribe::{Lost, Scribe};
use crate::mind::turn::Turn;
use crate::mind::turn::driver::Driver;
use crate::mind::turn::stop::{Stop, Why};
use crate::tasks::supervisor;
use crate::thread::settings::Settings;
use crate::words::failure::{Failure, FailureKind, Who};
use crate::words::id::{Name, Seq, Space, ThreadId};

/// So long is a turn not begun again that failed with the store more than once, unless that says that it works.
const SELDOM: Duration = Duration::from_secs(5);
/// The same after `TRIES`.
const RARELY: Duration = Duration::from_secs(60);

/// What looking after a thread came to.
pub(super) enum Looked {
    /// A turn was run, after which the thread is this: look again.
    Worked(Status),
    /// Nothing to do, or somebody else does it.
    Nothing,
}

/// What failures of the store left behind, to be put right before the thread goes on.
#[derive(Default)]
struct Trouble {
    /// What is not in the log yet.
    unsaid: Option<store::Error>,
    /// A lease that could not be given back.
    held: Option<Fence>,
    /// How often a turn was begun in vain for what it does itself.
    tries: u32,
    /// How often one was because the database was away, full or busy: that says nothing about the turn.
    away: u32,
    /// When that was so last.
    since: Option<Instant>,
    /// A turn has ended, and nobody has looked whether waits that follow from it are of any use.
    waits: bool,
}

/// So often is a turn begun whose events the store does not take: every time, models are asked again.
pub(super) const TRIES: u32 = 5;

/// What a turn that ended like this comes to. One that was left is as if its lease were lost.
pub(super) fn looked(ended: Result<Status, Lost>) -> Result<Looked, store::Error> {
    match ended {
        Ok(status) => Ok(Looked::Worked(status)),
        Err(Lost::Stale) => Ok(Looked::Nothing),
        Err(Lost::Store(error)) => Err(error),
    }
}

/// Whether something waits that the thread can be woken for.
pub(super) fn has_work(row: &ThreadRow) -> bool {
    row.woken > row.handled && row.status != Status::Waiting && !row.status.is_final()
}

impl Runtime {
    /// Sees to it that somebody looks after a thread.
    pub(super) fn wake(&self, space: Space, thread: ThreadId) {
        self.wake_with((space, thread), Active::default());
    }

    /// The same, with what there is for it.
    pub(super) fn wake_with(&self, key: (Space, ThreadId), new: Active) {
        if self.0.draining.load(Ordering::Acquire) {
            return;
        }
        let mut active = lock(&self.0.active);
        if let Some(active) = active.get_mut(&key) {
            active.again = true;
            return;
        }
        active.insert(key.clone(), new);
        drop(active);
        let processors = &self.0.mind.processors;
        self.0.tasks.spawn(processors.of(&key.0.clone(), self.clone().look_after(key)));
    }

    /// Runs a thread's turns until it has nothing to do.
    async fn look_after(self, key: (Space, ThreadId)) {
        const PAUSE: Duration = Duration::from_millis(50);
        let (mut pause, mut woken, mut trouble) = (PAUSE, true, Trouble::default());
        loop {
            if let Some(active) = lock(&self.0.active).get_mut(&key) {
                active.again = false;
            }
            let looked = match AssertUnwindSafe(self.look(&key, woken, &mut trouble)).catch_unwind().await {
                Ok(looked) => looked,
                Err(panic) => Err(self.broke_down(&key, &mut trouble, supervisor::words(&*panic))),
            };
            self.0.store.unserved().note_thread(&key.0, &key.1, &looked);
            if looked.is_ok() {
                (pause, trouble) = (PAUSE, Trouble::default());
            }
            if let Err(error) = &looked {
                tracing::warn!(space = %key.0, thread = %key.1, %error, "the thread could not be run; it is tried again");
                // What was overtaken is no trouble: it is looked at as it is now.
                let overtaken = matches!(error, store::Error::Unmet(_));
                if !overtaken && trouble.unsaid.replace(error.clone()).is_none() {
                    self.tell_of_trouble(&key);
                }
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
            woken = again || matches!(looked, Ok(Looked::Worked(_)));
        }
    }

    /// A defect of ours outside of the turn itself: the lease is given back, and the turn that met it is not tried again.
    fn broke_down(&self, key: &(Space, ThreadId), trouble: &mut Trouble, why: &str) -> store::Error {
        let mut leases = lock(&self.0.leases);
        trouble.held = leases.keys().find(|fence| (&fence.space, &fence.thread) == (&key.0, &key.1)).cloned();
        trouble.held.iter().for_each(|fence| drop(leases.remove(fence)));
        trouble.tries = TRIES;
        if let Some(active) = lock(&self.0.active).get_mut(key) {
            active.stop = None;
        }
        tracing::error!(space = %key.0, thread = %key.1, why, "a thread met a defect of this server");
        store::Error::Broken(format!("a defect of this server: {why}"))
    }

    /// `woken`: there most likely is something to do, so the lease comes first; otherwise a look at the row does.
    async fn look(&self, key: &(Space, ThreadId), woken: bool, trouble: &mut Trouble) -> Result<Looked, store::Error> {
        let (space, thread) = key;
        let store = &self.0.store;
        self.put_right(key, trouble).await?;
        if !woken && self.waiting_row(space, thread).await?.is_none() {
            return Ok(Looked::Nothing);
        }
        // Runs of pipelines have places of their own.
        let _place = match thread.is_of_runs() {
            true => None,
            false => Some(self.0.schedule.place(space, thread).await),
        };
        // Followed first, then read: what another server stores about the turn is in one of the two.
        let told = store.is_shared().then(|| store.feed().follow(space, Some(thread)));
        // Both at once: a trip each, where the database is elsewhere. None is given up for the other: a lease that is taken is known.
        let (leased, voices) = tokio::join!(store.lease(space, thread, self.0.options.lease), store.submodules(space));
        let Some(Leased { fence, row }) = leased? else { return Ok(Looked::Nothing) };
        // Read under the lease: now only input can change the row. The lease is held until it is given back: whoever looks next would
        // find the thread taken.
        let read = row.and_then(|row| Ok((row.filter(has_work), voices?)));
        let (row, voices) = read.inspect_err(|_| trouble.held = Some(fence.clone()))?;
        let Some(row) = row else {
            store.release(&fence).await?;
            return Ok(Looked::Nothing);
        };
        if !self.is_awaited(space, &row).await.inspect_err(|_| trouble.held = Some(fence.clone()))? {
            return self.wait_on(space, &row, fence).await;
        }
        let stop = Arc::new(Stop::new(&self.0.all));
        lock(&self.0.leases).insert(fence.clone(), stop.clone());
        if let Some(active) = lock(&self.0.active).get_mut(key) {
            active.begin(&stop);
            self.hint_status(space, thread, Status::Thinking, 0);
        }
        let turn = self.take_turn(&row, voices, fence.clone(), stop.clone(), trouble);
        let looked = match told {
            None => turn.await,
            Some(told) => tokio::select! {
                looked = turn => looked,
                never = self.heed(space, &row, told, &stop) => match never {},
            },
        };
        lock(&self.0.leases).remove(&fence);
        if let Some(active) = lock(&self.0.active).get_mut(key) {
            (active.stop, active.taken) = (None, 0);
        }
        match &looked {
            Ok(Looked::Worked(_)) => {}
            Ok(Looked::Nothing) => trouble.held = Some(fence),
            Err(error) => {
                trouble.held = Some(fence);
                match error {
                    // What the database refuses it will refuse again.
                    store::Error::Broken(_) | store::Error::Conflict(_) => trouble.tries = TRIES.max(trouble.tries + 1),
                    store::Error::Unmet(_) | store::Error::TooDear => trouble.tries += 1,
                    store::Error::Unavailable(_) => {
                        trouble.away += 1;
                        trouble.since = Some(Instant::now());
                    }
                }
            }
        }
        self.give_back(trouble).await?;
        match looked {
            Ok(Looked::Worked(status)) => {
                trouble.waits = true;
                if status == Status::Waiting {
                    self.break_wait(space, thread).await?;
                }
                self.break_waits_for(space, thread).await?;
                trouble.waits = false;
                // Read once, for who follows and for whether to look again.
                Ok(if self.show(key, status, 0).await { Looked::Worked(status) } else { Looked::Nothing })
            }
            Ok(Looked::Nothing) => {
                self.show(key, Status::Idle, 0).await;
                looked
            }
            Err(_) => looked,
        }
    }

    async fn give_back(&self, trouble: &mut Trouble) -> Result<(), store::Error> {
        if let Some(fence) = &trouble.held {
            self.0.store.release(fence).await?;
            trouble.held = None;
        }
        Ok(())
    }

    /// Says in the log what went wrong, before a model is asked again: a store that cannot take this cannot take a turn.
    async fn put_right(&self, (space, thread): &(Space, ThreadId), trouble: &mut Trouble) -> Result<(), store::Error> {
        self.give_back(trouble).await?;
        let rest = if trouble.away > TRIES { RARELY } else { SELDOM };
        if trouble.away > 1 && trouble.since.is_some_and(|since| since.elapsed() < rest) {
            // What a turn leads to may be larger than what is said here: the store is asked for as much as it refused last. Not for
            // ever: one that is slow may take a turn and not this.
            self.0.store.ping().await?;
        }
        // After so many the thread cannot even be read, and the log need not be filled with it.
        if trouble.unsaid.is_some() && trouble.tries.max(trouble.away) <= TRIES {
            let text = "the log could not be read or written while the thread was run; it goes on where it was";
            let failure = Failure::new(FailureKind::Store, text).retryable();
            let failure = Draft::failure(thread, None, &Who::Core, &failure);
            self.0.store.append(Append::free(space, vec![failure])).await?;
        }
        trouble.unsaid = None;
        if trouble.waits {
            self.break_wait(space, thread).await?;
            self.break_waits_for(space, thread).await?;
            trouble.waits = false;
        }
        Ok(())
    }

    /// Tells those who wait for the thread.
    fn tell_of_trouble(&self, (space, thread): &(Space, ThreadId)) {
        let text =
            "the log cannot be read or written now; what was acknowledged is kept, and the thread goes on when it can";
        self.0.store.feed().hint(space, 0, Hint::Trouble { thread: thread.clone(), text: text.into() });
    }

    /// The thread's row, if it has something to do.
    async fn waiting_row(&self, space: &Space, thread: &ThreadId) -> Result<Option<ThreadRow>, store::Error> {
        let row = self.0.store.thread(space, thread).await?;
        Ok(row.filter(has_work))
    }

    async fn take_turn(
        &self,
        row: &ThreadRow,
        mut voices: Vec<SubmoduleRow>,
        fence: Fence,
        stop: Arc<Stop>,
        &Trouble { tries, away, .. }: &Trouble,
    ) -> Result<Looked, store::Error> {
        let (space, thread) = (fence.space.clone(), row.thread.clone());
        let settings = Settings::of(&row.settings);
        if settings.pipeline.is_some() {
            return self.take_run(row, fence, stop, tries).await;
        }
        voices.retain(|voice| settings.hears(&voice.name));
        let mut settled = Settled { news: true, ..Settled::default() };
        let (options, budget) = (&self.0.options.turn, &self.0.options.budget);
        let (mut turn, opening, batch, purse) = match self.open_turn(&fence.space, row, &settings).await? {
            Some(turn) => (turn, None, Vec::new(), self.0.quotas.open(&space, &thread, row.standing.root, false)),
            None => {
                let number = row.turn + 1;
                let batch = self.batch(&fence.space, row, number).await?;
                let names: Vec<Name> = voices.iter().map(|voice| voice.name.clone()).collect();
                let seqs: Vec<Seq> = batch.events.iter().map(|event| event.seq).collect();
                let opening = opening(row, &settings, number, &seqs, &names);
                settled = self.settle(&fence.space, row, number, &batch).await?;
                // What is slept through has its turn later, and what it may cost is whole until then.
                let root = if settled.news { root(row, &batch.events) } else { row.standing.root };
                let is_new = tries.max(away) == 0 && is_unused(row, root, &seqs);
                let purse = self.0.quotas.open(&space, &thread, root, is_new);
                let mut turn = Turn::new(number, seqs, names, options, budget).of(&settings);
                batch.cancel.iter().for_each(|event| turn.apply(event));
                (turn, Some(opening), batch.events, purse)
            }
        };
        let place = Place { space, thread, turn: turn.number(), purse };
        let key = (place.space.clone(), place.thread.clone());
        lock(&self.0.active).get_mut(&key).into_iter().for_each(|active| active.taken = turn.upto());
        let begins = opening.is_some();
        let scribe = Arc::new(Scribe::new(self.0.store.clone(), fence, opening).rooted(place.purse.root()));
        if !settled.news {
            // What the thread does not wait for waits on.
            let upto = if batch.iter().any(Event::wakes) { row.handled } else { turn.upto() };
            return self.slept_through(&scribe, row, &place, upto, settled.drafts).await;
        }
        if begins && self.talks_to_itself(row, &batch) {
            return self.silence(&scribe, &place, turn.upto()).await;
        }
        if begins {
            place.purse.read().await?;
            if let Some(spent) = place.purse.spent() {
                // What came back and whose time was up is settled nonetheless: nothing would come to tell of it again.
                return looked(self.fall_silent(&scribe, &place, turn.upto(), &spent, settled.drafts).await);
            }
        }
        let upto = turn.upto();
        if tries >= TRIES {
            return self.give_up(&scribe, &place, upto).await;
        }
        if begins && row.standing.archived {
            settled.drafts.extend(Draft::resumed(&place.thread, row.parent().as_ref()));
        }
        if !settled.drafts.is_empty() {
            // Before a model is asked: it is to be told.
            match scribe.write(settled.drafts).await {
                Ok(stored) => stored.iter().for_each(|shown| {
                    turn.apply(&shown.event);
                    place.purse.stored(&shown.event, &place.thread);
                    self.told(&place.space, &shown.event);
                }),
                Err(lost) => return looked(Err(lost)),
            }
        }
        let driver = Driver {
            mind: self.0.mind.clone(),
            scribe: scribe.clone(),
            place: place.clone(),
            turn,
            voices,
            settings,
            parent: row.parent(),
            stop,
            status: Status::Idle,
        };
        let ended = match tokio::spawn(self.0.mind.processors.of(&place.space, driver.run())).await {
            Ok(ended) => ended,
            Err(broke) => self.broke(&scribe, &place, upto, &broke.to_string()).await,
        };
        looked(ended.and_then(|ended| ended.ok_or(Lost::Stale)))
    }

    /// A turn in which there was nothing to think about: a step has ended, and the next has begun.
    async fn slept_through(
        &self,
        scribe: &Scribe,
        row: &ThreadRow,
        place: &Place,
        upto: Seq,
        mut drafts: Vec<Draft>,
    ) -> Result<Looked, store::Error> {
        let (outcome, wait) = (Some(TurnOutcome::Done), row.standing.waiting.clone());
        let ended = Ended { turn: place.turn, outcome, handled: Some(upto), wait, seen: Some(row.head) };
        let ended = Fact::TurnEnded(ended).encode(&place.thread);
        let status = if row.standing.waiting.is_some() { Status::Waiting } else { Status::Idle };
        // The turn's beginning ended the limit of the wait that goes on.
        let waiting = row.standing.waiting.as_ref();
        drafts.extend(waiting.and_then(|waiting| Draft::wait_limit(&row.thread, waiting)));
        drafts.push(ended);
        let stored = scribe.close(drafts).await;
        if let Ok(stored) = &stored {
            stored.iter().for_each(|shown| self.told(&place.space, &shown.event));
        }
        looked(stored.map(|_| status))
    }

    /// Looks for threads that wait and nobody runs: after a start, and when another server has died.
    pub(super) async fn scan(self) {
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
    pub(super) async fn renew(self) {
        loop {
            tokio::select! {
                () = self.0.all.cancelled() => return,
                () = tokio::time::sleep(self.0.options.lease / 3) => {}
            }
            let held: Vec<Fence> = lock(&self.0.leases).keys().cloned().collect();
            if held.is_empty() {
                continue;
            }
            // A connection that is dead without saying so is given up while there is time for another one.
            let renewed = timeout(self.0.options.lease / 3, self.0.store.renew(&held, self.0.options.lease)).await;
            let late = || store::Error::Unavailable("the database does not answer".into());
            match renewed.unwrap_or_else(|_| Err(late())) {
                Ok(lost) => {
                    let leases = lock(&self.0.leases);
                    lost.iter().filter_map(|fence| leases.get(fence)).for_each(|stop| stop.stop(Why::Leave));
                }
                Err(error) => tracing::warn!(%error, "leases could not be renewed"),
            }
        }
    }
}
