//! The index of the log: full text, and marks (`marks.rs`). It trails the log, made by a task of its own over a connection of its
//! own, so that no append waits for it: when many events are not in it, when the log has been quiet for a moment, or when
//! somebody waits for it. What a database has to do for that is `Indexing`.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::future::Future;
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::{Stream, TryStreamExt};
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::timeout;

use super::sql::{self, IndexColumns, Indexed};
use super::{Error, Unserved, Work};
use crate::id::Space;
use crate::supervisor::Supervisor;

/// Events added in one transaction, at most: one page of the index has many of their marks.
pub(super) const EVENTS: i64 = 2048;
/// Payload bytes of one transaction, unless one event alone has more.
const BYTES: usize = 8 << 20;
/// How long the log is quiet before the index is gone on with.
const QUIET: Duration = Duration::from_millis(30);

/// What a database does for its index.
pub(super) trait Indexing: Send + 'static {
    /// When so many events are not in the index, it is gone on with at once.
    const SOON: usize;
    /// When so many of a space are not, its appends wait for it: who reads a scope goes through them one by one.
    const MOST: usize;

    /// Spaces that have events which are not in the index.
    fn behind(&mut self) -> impl Future<Output = Result<Vec<Space>, Error>> + Send;
    /// Adds the next events of a space, in a transaction.
    fn add(&mut self, space: &Space) -> impl Future<Output = Result<Added, Error>> + Send;
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// What one transaction added.
pub(super) struct Added {
    pub events: usize,
    /// There may be more.
    pub more: bool,
}

/// Events that are to be added, as they are read, and whether there may be more.
pub(super) async fn some(
    mut rows: impl Stream<Item = Result<IndexColumns, sqlx::Error>> + Unpin,
) -> Result<(Vec<Indexed>, bool), Error> {
    let (mut events, mut bytes) = (Vec::new(), 0);
    while bytes < BYTES {
        let Some(row) = rows.try_next().await.map_err(sql::error)? else { break };
        bytes += row.6.len();
        events.push(Indexed::read(row)?);
    }
    let more = bytes >= BYTES || events.len() as i64 == EVENTS;
    Ok((events, more))
}

/// A way to the index: for the writer, who says what there is to add, and for those who wait for it.
#[derive(Clone)]
pub(super) struct Index {
    state: Arc<Mutex<State>>,
    /// Wakes the task; gone with it.
    work: mpsc::Sender<()>,
    /// Told after every transaction.
    progress: Arc<Notify>,
    unserved: Arc<Unserved>,
    soon: usize,
    most: usize,
}

type Answer = oneshot::Sender<Result<(), Error>>;

#[derive(Default)]
struct State {
    behind: BTreeSet<Space>,
    waiting: BTreeMap<Space, Vec<Answer>>,
    /// Events that this server appended and that are not in the index.
    without: usize,
    /// The same by space.
    of: HashMap<Space, usize>,
    /// How often the log grew.
    grown: u64,
    /// The last transaction failed: nobody is kept waiting for the next one.
    failing: bool,
    closed: bool,
}

fn gone() -> Error {
    Error::Unavailable("the store is closed".into())
}

impl Index {
    /// Starts the task over a database.
    pub fn start<B: Indexing>(backend: B, supervisor: &Supervisor) -> Self {
        let (work, wakes) = mpsc::channel(1);
        let index = Self {
            state: Arc::default(),
            work,
            progress: Arc::default(),
            unserved: Arc::default(),
            soon: B::SOON,
            most: B::MOST,
        };
        let (state, progress, unserved) = (index.state.clone(), index.progress.clone(), index.unserved.clone());
        let task =
            Task { backend, state, wakes, progress, unserved, promised: BTreeMap::new(), more: false, last: None };
        tokio::spawn(supervisor.watch("the index", task.run()));
        index
    }

    /// Spaces that cannot be served as they should be: kept here, for every store has one of these.
    pub fn unserved(&self) -> &Unserved {
        &self.unserved
    }

    /// The log of a space grew by so many events.
    pub fn grew(&self, space: &Space, events: usize) {
        let mut state = lock(&self.state);
        let slept = state.behind.is_empty();
        if !state.behind.contains(space) {
            state.behind.insert(space.clone());
        }
        let before = state.without;
        state.without += events;
        match state.of.get_mut(space) {
            Some(without) => *without += events,
            None => drop(state.of.insert(space.clone(), events)),
        }
        state.grown += 1;
        if slept || (before < self.soon && state.without >= self.soon) {
            self.wake();
        }
    }

    /// Whether a space may grow: not too many of its events are without, or nobody adds them.
    pub fn has_room(&self, space: &Space) -> bool {
        let state = lock(&self.state);
        state.failing || state.closed || state.of.get(space).is_none_or(|without| *without <= self.most)
    }

    /// The next transaction's end, or that of the index.
    pub fn progress(&self) -> Notified<'_> {
        self.progress.notified()
    }

    /// Returns when the index has all events of a space that are stored now.
    pub async fn reach(&self, space: &Space) -> Result<(), Error> {
        let (answer, answered) = oneshot::channel();
        {
            let mut state = lock(&self.state);
            if state.closed {
                return Err(gone());
            }
            state.waiting.entry(space.clone()).or_default().push(answer);
        }
        self.wake();
        answered.await.map_err(|_| gone())?
    }

    /// Returns when the connection is closed. What is not in the index then is added after the next start.
    pub async fn close(&self) {
        lock(&self.state).closed = true;
        self.progress.notify_waiters();
        self.wake();
        self.work.closed().await;
    }

    fn wake(&self) {
        // A full channel wakes it, too; a closed one has nobody to wake.
        let _ = self.work.try_send(());
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    // Held for a moment, never across an await; a panic meanwhile left nothing half done.
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Task<B> {
    backend: B,
    state: Arc<Mutex<State>>,
    wakes: mpsc::Receiver<()>,
    progress: Arc<Notify>,
    unserved: Arc<Unserved>,
    /// Who asked before the last transaction on a space began, and waits until there is no more.
    promised: BTreeMap<Space, Vec<Answer>>,
    /// The last transaction left some.
    more: bool,
    /// The space it was on.
    last: Option<Space>,
}

impl<B: Indexing> Task<B> {
    async fn run(mut self) {
        match self.backend.behind().await {
            Ok(spaces) => lock(&self.state).behind.extend(spaces),
            Err(error) => {
                tracing::warn!(%error, "the index cannot be looked at; it goes on with the next event")
            }
        }
        while let Some(space) = self.next().await {
            self.add(space).await;
        }
        self.backend.close().await;
        let mut state = lock(&self.state);
        state.closed = true;
        self.progress.notify_waiters();
        for answer in std::mem::take(&mut state.waiting).into_values().chain(self.promised.into_values()).flatten() {
            // Whoever waited may be gone.
            let _ = answer.send(Err(gone()));
        }
    }

    /// The space to go on with, when it is time. None: the store is closed, or nobody has it any more.
    async fn next(&mut self) -> Option<Space> {
        loop {
            let (behind, grown) = {
                let state = lock(&self.state);
                if state.closed {
                    return None;
                }
                if let Some(space) = state.waiting.keys().next().or(self.promised.keys().next()) {
                    return Some(space.clone());
                }
                // In turn: a busy space does not keep the others waiting.
                let after = self.last.as_ref().map_or(Bound::Unbounded, Bound::Excluded);
                let next = state.behind.range((after, Bound::Unbounded)).next();
                let behind = next.or(state.behind.first()).cloned();
                if behind.is_some() && !state.failing && (self.more || state.without >= B::SOON) {
                    return behind;
                }
                (behind, state.grown)
            };
            let Some(space) = behind else {
                self.wakes.recv().await?;
                continue;
            };
            match timeout(QUIET, self.wakes.recv()).await {
                Ok(woken) => woken?,
                Err(_) if lock(&self.state).grown == grown => return Some(space),
                Err(_) => {}
            }
        }
    }

    async fn add(&mut self, space: Space) {
        {
            // Before the transaction: it has what came until now.
            let mut state = lock(&self.state);
            state.behind.remove(&space);
            let waiting = state.waiting.remove(&space).unwrap_or_default();
            self.promised.entry(space.clone()).or_default().extend(waiting);
        }
        let result = self.backend.add(&space).await;
        self.unserved.note(&space, Work::Index, &result);
        self.last = Some(space.clone());
        self.more = matches!(result, Ok(Added { more: true, .. }));
        let mut state = lock(&self.state);
        match &result {
            Ok(Added { events, more }) => {
                state.failing = false;
                state.without = state.without.saturating_sub(*events);
                if let Some(without) = state.of.get_mut(&space) {
                    *without = without.saturating_sub(*events);
                }
                if !more && !state.behind.contains(&space) {
                    state.of.remove(&space);
                }
                if *more {
                    state.behind.insert(space.clone());
                } else if state.behind.is_empty() {
                    // Other servers may have added some of them.
                    state.without = 0;
                }
            }
            Err(error) => {
                if !state.failing {
                    tracing::warn!(%error, space = space.as_str(), "the index stays behind until the next event");
                }
                state.failing = true;
            }
        }
        drop(state);
        self.progress.notify_waiters();
        if !self.more {
            for answer in self.promised.remove(&space).into_iter().flatten() {
                // Whoever waited may be gone.
                let _ = answer.send(result.as_ref().map(|_| ()).map_err(Error::clone));
            }
        }
    }
}
