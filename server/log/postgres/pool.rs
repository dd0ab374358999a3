//! A pool that works with as many connections as Postgres gives. Not sqlx's: whoever asks that one for a connection which Postgres
//! refuses waits for just that one, while others come back, and fails in the end. Here a refusal makes the pool smaller, and who
//! asked queues for those that there are; from time to time one more is tried. A pool keeps one place whatever happens, and what
//! cannot do without a connection has others give theirs up.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use sqlx::Connection as _;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use super::life::Life;
use super::{ACQUIRE, Refused};
use crate::log::store::Error;

/// Between two tries of who has to wait for Postgres itself.
const REST: Duration = Duration::from_millis(50);
/// How long after a refusal one more connection is tried.
const AGAIN: Duration = Duration::from_secs(2);
/// A connection that nobody needed for so long is closed: another server may need it.
const IDLE: Duration = Duration::from_secs(10);
/// So is one that is this old: Postgres keeps memory for each.
const OLD: Duration = Duration::from_secs(1800);

/// Connections of one kind; cheap to clone.
#[derive(Clone)]
pub(super) struct Pool(Arc<Inner>);

struct Inner {
    options: PgConnectOptions,
    life: Life,
    most: usize,
    /// One for each connection that may be in use.
    places: Arc<Semaphore>,
    /// Held while one is opened: who comes meanwhile may find one that came back, so that a moment leaves few behind.
    opening: tokio::sync::Mutex<()>,
    // A plain mutex: held to take or put back one, never across an await.
    state: Mutex<State>,
}

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
    pool: Pool,
}

impl Pool {
    /// A pool of at most so many; none is open yet.
    pub fn new(options: PgConnectOptions, life: &Life, most: usize) -> Self {
        let most = most.max(1);
        let state = State { idle: Vec::new(), open: 0, places: most, owed: 0, refused: None };
        let places = Arc::new(Semaphore::new(most));
        let inner = Inner {
            options,
            life: life.clone(),
            most,
            places,
            opening: tokio::sync::Mutex::default(),
            state: Mutex::new(state),
        };
        let pool = Self(Arc::new(inner));
        life.pools.add(&pool);
        pool
    }

    /// Waits for a connection, for a while.
    pub async fn take(&self) -> Result<Taken, Error> {
        self.take_within(ACQUIRE).await
    }

    async fn take_within(&self, limit: Duration) -> Result<Taken, Error> {
        let mut why = None;
        match timeout(limit, self.next(&mut why)).await {
            Ok(taken) => taken,
            Err(_) => Err(why.unwrap_or_else(|| self.busy())),
        }
    }

    /// Whether there is a connection, or can be one: why not is known sooner than whoever asks for one gives up.
    pub async fn ready(&self) -> Result<(), Error> {
        let is_busy = {
            let state = self.state();
            state.open > 0 && state.idle.is_empty()
        };
        if is_busy { Ok(()) } else { self.take_within(ACQUIRE / 2).await.map(drop) }
    }

    /// Closes those that are not in use; the others are closed when they come back.
    pub async fn close(&self) {
        self.0.places.close();
        let idle = std::mem::take(&mut self.state().idle);
        for kept in idle {
            // Nothing is under way on it: how it ends changes nothing.
            let _ = timeout(ACQUIRE, kept.connection.close()).await;
        }
    }

    fn busy(&self) -> Error {
        let (places, most) = (self.state().places, self.0.most);
        Error::Unavailable(match places < most {
            true => format!("all connections are busy; Postgres gave {places} of {most} (runtime.connections)"),
            false => "all connections are busy".to_owned(),
        })
    }

    async fn next(&self, why: &mut Option<Error>) -> Result<Taken, Error> {
        loop {
            self.grow();
            let place = self.0.places.clone().acquire_owned().await;
            let place = place.map_err(|_| Error::Unavailable("the store is closed".into()))?;
            if let Some(kept) = self.idle().await {
                return Ok(Taken { kept: Some(kept), place: Some(place), pool: self.clone() });
            }
            let Inner { life, options, opening, .. } = &*self.0;
            let opening = opening.lock().await;
            if let Some(kept) = self.idle().await {
                return Ok(Taken { kept: Some(kept), place: Some(place), pool: self.clone() });
            }
            match life.try_connect(options).await {
                Ok(connection) => {
                    self.state().open += 1;
                    let now = Instant::now();
                    let kept = Some(Kept { connection, born: now, used: now });
                    return Ok(Taken { kept, place: Some(place), pool: self.clone() });
                }
                Err(Refused { error, is_full: true, .. }) => {
                    *why = Some(error);
                    drop(opening);
                    // Without one of its own the pool cannot queue for any.
                    if self.shrink(place) {
                        *why = None;
                    } else {
                        life.pools.make_room();
                        sleep(REST).await;
                    }
                }
                // It comes up.
                Err(Refused { error, is_passing: true, .. }) => {
                    *why = Some(error);
                    drop((place, opening));
                    sleep(REST).await;
                }
                Err(Refused { error, .. }) => return Err(error),
            }
        }
    }

    /// One that is open, not in use, and alive.
    async fn idle(&self) -> Option<Kept> {
        loop {
            let mut kept = Leaving { kept: Some(self.state().idle.pop()?), pool: self };
            if let Some(Kept { connection, .. }) = &mut kept.kept
                && connection.ping().await.is_ok()
            {
                return kept.kept.take();
            }
        }
    }

    /// One place less, unless it is the last one.
    fn shrink(&self, place: OwnedSemaphorePermit) -> bool {
        let mut state = self.state();
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
        if self.0.places.available_permits() > 0 {
            return;
        }
        let mut state = self.state();
        if state.places < self.0.most && state.refused.is_none_or(|at| at.elapsed() > AGAIN) {
            state.refused = Some(Instant::now());
            state.places += 1;
            self.0.places.add_permits(1);
        }
    }

    /// Gives a connection up, now or as soon as one is not in use. False: it has one at most.
    fn give_up(&self) -> bool {
        let mut state = self.state();
        if state.open < 2 || state.places < 2 {
            return false;
        }
        state.refused = Some(Instant::now());
        if state.owed == 0 {
            if state.idle.is_empty() || self.0.places.forget_permits(1) == 0 {
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

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while this short lock was held left nothing half done.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A connection that is taken out: counted as closed if it does not come to use.
struct Leaving<'a> {
    kept: Option<Kept>,
    pool: &'a Pool,
}

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if self.kept.is_some() {
            self.pool.state().open -= 1;
        }
    }
}

impl Taken {
    pub fn connection(&mut self) -> &mut PgConnection {
        &mut self.kept.as_mut().expect("it is taken out when this is dropped, not before").connection
    }

    /// It is of no use any more: closed at once.
    pub fn discard(mut self) {
        self.kept = None;
        self.pool.state().open -= 1;
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        let Some(mut kept) = self.kept.take() else { return };
        let mut state = self.pool.state();
        if state.owed > 0 {
            state.owed -= 1;
            state.places -= 1;
            state.open -= 1;
            self.place.take().into_iter().for_each(OwnedSemaphorePermit::forget);
        } else if self.pool.0.places.is_closed() || kept.born.elapsed() > OLD {
            state.open -= 1;
        } else {
            kept.used = Instant::now();
            state.idle.push(kept);
        }
    }
}

/// All pools of a server; cheap to clone.
#[derive(Clone, Default)]
pub(super) struct Pools(Arc<Mutex<Vec<Weak<Inner>>>>);

impl Pools {
    fn add(&self, pool: &Pool) {
        self.lock().push(Arc::downgrade(&pool.0));
    }

    /// From time to time closes what nobody needed for a while, for other servers may; each pool keeps one.
    pub async fn tidy(&self) {
        loop {
            sleep(IDLE / 2).await;
            for pool in self.all() {
                let mut state = pool.state();
                let stale = state.idle.iter().take_while(|kept| kept.used.elapsed() > IDLE).count();
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
        pools.sort_by_key(|pool| std::cmp::Reverse(pool.state().open));
        pools.iter().any(Pool::give_up)
    }

    fn all(&self) -> Vec<Pool> {
        self.lock().iter().filter_map(Weak::upgrade).map(Pool).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Weak<Inner>>> {
        // A panic while this short lock was held left nothing half done.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
