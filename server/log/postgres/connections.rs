//! The connections of pools: those that are open, and the number there may be. A pool that has
//! several gives one up where another needs it, and from time to time those that were not needed.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sqlx::Connection as _;
use sqlx::postgres::PgConnection;
use tokio::sync::{AcquireError, Notify, OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::sleep;

/// Pause after a refusal until one more connection is tried.
const AGAIN: Duration = Duration::from_secs(2);
/// A connection that was not needed for so long is closed: another server may need it.
const IDLE: Duration = Duration::from_secs(10);
/// So is one that is this old: Postgres keeps memory for each.
const OLD: Duration = Duration::from_secs(1800);

/// The connections of one pool.
pub(super) struct Connections {
    /// So many may be open when Postgres refuses none.
    most: usize,
    /// One for each connection that may be in use.
    places: Arc<Semaphore>,
    /// One came back and is not in use.
    pub came_back: Notify,
    /// Changes with each `renew`.
    renewals: watch::Sender<()>,
    // A plain mutex: held to take or put back one, never across an await.
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The one used last is last.
    idle: Vec<Kept>,
    /// Open now, in use or not.
    open: usize,
    /// As many may be open.
    places: usize,
    /// So many are given up as soon as they are not in use.
    owed: usize,
    /// When Postgres refused one, or one more was tried.
    refused: Option<Instant>,
    /// Connections that were born before are closed as soon as they are not in use.
    renewed: Option<Instant>,
}

struct Kept {
    connection: PgConnection,
    born: Instant,
    used: Instant,
}

/// A connection in use; it goes back when this is dropped.
pub(super) struct Taken {
    kept: Option<Kept>,
    place: Option<OwnedSemaphorePermit>,
    pool: Arc<Connections>,
}

impl Connections {
    /// None is open yet, and at most so many will be.
    pub fn new(most: usize) -> Self {
        let state = State {
            places: most,
            ..State::default()
        };
        Self {
            most,
            places: Arc::new(Semaphore::new(most)),
            came_back: Notify::new(),
            renewals: watch::Sender::default(),
            state: Mutex::new(state),
        }
    }

    /// Waits for a place. Fails when they are closed.
    pub async fn place(&self) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.grow();
        self.places.clone().acquire_owned().await
    }

    /// One that is open, not in use, and alive, for this place; else the place is given back.
    pub async fn idle(
        self: &Arc<Self>,
        place: OwnedSemaphorePermit,
    ) -> Result<Taken, OwnedSemaphorePermit> {
        match self.alive().await {
            Some(kept) => Ok(Taken {
                kept: Some(kept),
                place: Some(place),
                pool: self.clone(),
            }),
            None => Err(place),
        }
    }

    /// Returns true if one is open and not in use.
    pub fn has_idle(&self) -> bool {
        !self.state.lock().idle.is_empty()
    }

    /// Adds a new one, for a waiting caller. It is closed where there is no place for it any more.
    pub fn add(&self, connection: PgConnection) {
        let mut state = self.state.lock();
        if state.open < state.places && !self.places.is_closed() {
            let now = Instant::now();
            state.open += 1;
            state.idle.push(Kept {
                connection,
                born: now,
                used: now,
            });
            self.came_back.notify_one();
        }
    }

    /// Returns true if there are some, and all are in use.
    pub fn is_busy(&self) -> bool {
        let state = self.state.lock();
        state.open > 0 && state.idle.is_empty()
    }

    /// Returns the number that may be open now, and the number when Postgres refuses none.
    pub fn sizes(&self) -> (usize, usize) {
        (self.state.lock().places, self.most)
    }

    /// Returns the connections that are not in use, to be closed; the others are closed when they
    /// come back.
    pub fn end(&self) -> Vec<PgConnection> {
        self.places.close();
        let idle = std::mem::take(&mut self.state.lock().idle);
        idle.into_iter().map(|kept| kept.connection).collect()
    }

    /// One that is open, not in use, and alive.
    async fn alive(&self) -> Option<Kept> {
        loop {
            let mut kept = Leaving {
                kept: Some(self.state.lock().idle.pop()?),
                pool: self,
            };
            if let Some(Kept { connection, .. }) = &mut kept.kept
                && connection.ping().await.is_ok()
            {
                return kept.kept.take();
            }
        }
    }

    /// One place less, unless it is the last one.
    pub fn shrink(&self, place: OwnedSemaphorePermit) -> bool {
        let mut state = self.state.lock();
        state.refused = Some(Instant::now());
        if state.places <= 1 {
            return false;
        }
        state.places -= 1;
        place.forget();
        true
    }

    /// One place more, where all are taken and Postgres has not refused one for a while.
    fn grow(&self) {
        if self.places.available_permits() > 0 {
            return;
        }
        let mut state = self.state.lock();
        if state.places < self.most && state.refused.is_none_or(|at| at.elapsed() > AGAIN) {
            state.refused = Some(Instant::now());
            state.places += 1;
            self.places.add_permits(1);
        }
    }

    /// Gives a connection up, now or as soon as one is not in use. False: it has one at most.
    fn give_up(&self) -> bool {
        let mut state = self.state.lock();
        if state.open < 2 || state.places < 2 {
            return false;
        }
        state.refused = Some(Instant::now());
        if state.owed == 0 {
            if state.idle.is_empty() || self.places.forget_permits(1) == 0 {
                state.owed = 1;
            } else {
                // Dropped, it is closed; the one that was not used for longest.
                state.idle.remove(0);
                state.open -= 1;
                state.places -= 1;
            }
        }
        true
    }

    /// Closes all that there are, those in use when they come back.
    fn renew(&self) {
        let mut state = self.state.lock();
        state.renewed = Some(Instant::now());
        state.open -= state.idle.len();
        // Dropped, they are closed.
        state.idle.clear();
        drop(state);
        self.renewals.send_replace(());
    }
}

/// A connection that is taken out: counted as closed if it does not come to use.
struct Leaving<'a> {
    kept: Option<Kept>,
    pool: &'a Connections,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if self.kept.is_some() {
            self.pool.state.lock().open -= 1;
        }
    }
}

impl Taken {
    pub fn connection(&mut self) -> &mut PgConnection {
        let kept = self.kept.as_mut();
        let kept = kept.expect("it is taken out when this is dropped, not before");
        &mut kept.connection
    }

    /// Changes where it leads to a former server.
    pub fn renewals(&self) -> watch::Receiver<()> {
        self.pool.renewals.subscribe()
    }

    /// Returns whether it leads to a former server.
    pub fn is_former(&self) -> bool {
        let renewed = self.pool.state.lock().renewed;
        let kept = self.kept.as_ref().zip(renewed);
        kept.is_some_and(|(kept, renewed)| kept.born <= renewed)
    }

    /// Closes the connection at once: it is of no use any more.
    pub fn discard(mut self) {
        self.kept = None;
        self.pool.state.lock().open -= 1;
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let Some(mut kept) = self.kept.take() else {
            return;
        };
        let mut state = self.pool.state.lock();
        if state.owed > 0 {
            state.owed -= 1;
            state.places -= 1;
            state.open -= 1;
            let place = self.place.take();
            place.into_iter().for_each(OwnedSemaphorePermit::forget);
        } else if self.pool.places.is_closed()
            || kept.born.elapsed() > OLD
            || state.renewed.is_some_and(|at| kept.born <= at)
        {
            state.open -= 1;
        } else {
            kept.used = Instant::now();
            state.idle.push(kept);
            self.pool.came_back.notify_one();
        }
    }
}

/// All pools of a server; cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Pools {
    all: Arc<Mutex<Vec<Weak<Connections>>>>,
    renewed: watch::Sender<()>,
}

impl Pools {
    /// One more pool, with these.
    pub fn add(&self, connections: &Arc<Connections>) {
        self.all.lock().push(Arc::downgrade(connections));
    }

    /// Closes, from time to time, connections that were not needed for a while, for other servers
    /// may need them; each pool keeps one.
    pub async fn tidy(&self) {
        loop {
            sleep(IDLE / 2).await;
            for pool in self.all() {
                let mut state = pool.state.lock();
                let is_stale = |kept: &&Kept| kept.used.elapsed() > IDLE;
                let stale = state.idle.iter().take_while(is_stale).count();
                let stale = stale.min(state.open.saturating_sub(1));
                // Dropped, they are closed.
                state.idle.drain(..stale);
                state.open -= stale;
            }
        }
    }

    /// Has a pool that has several connections give one up. False: none has.
    pub fn make_room(&self) -> bool {
        let mut pools = self.all();
        pools.sort_by_key(|pool| std::cmp::Reverse(pool.state.lock().open));
        pools.iter().any(|pool| pool.give_up())
    }

    /// Closes every connection, those in use when they come back.
    pub fn renew(&self) {
        self.all().iter().for_each(|pool| pool.renew());
        self.renewed.send_replace(());
    }

    /// Returns a channel that changes with each `renew`: a holder of a connection beside the pools
    /// closes it then.
    pub fn renewals(&self) -> watch::Receiver<()> {
        self.renewed.subscribe()
    }

    fn all(&self) -> Vec<Arc<Connections>> {
        self.all.lock().iter().filter_map(Weak::upgrade).collect()
    }
}
