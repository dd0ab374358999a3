//! The index of the log: full text, and terms (`terms.rs`). It trails the log, made by a task of
//! its own over a connection of its own, so that no append waits for it. The task works when many
//! events are not in it, when the log has been quiet for a moment, or when a caller waits. The work
//! of a database on it is `Indexing`.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, TryStreamExt};
use parking_lot::Mutex;
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio::time::timeout;

use super::error::StoreError;
use super::indexed::{Gap, IndexColumns, Indexed};
use super::unserved::{Unserved, Work};
use thinkd_tasks::supervisor::Supervisor;
use thinkd_words::id::{Seq, Space};

mod state;

pub(super) use state::Added;
use state::{State, Waiter};

/// Events added in one transaction, at most: one page of the index has many of their terms.
const EVENTS: i64 = 2048;
/// Payload bytes of one transaction, unless one event alone has more.
const BYTES: usize = 8 << 20;
/// Events that were added to the index and could not be read as a whole.
const UNREADABLE: &str = "thinkd_index_unreadable_events_total";
/// Quiet time of the log after which the task goes on with the index.
const QUIET: Duration = Duration::from_millis(30);

/// The work of a database on its index.
pub(super) trait Indexing: Send + 'static {
    /// When so many events are not in the index, it is gone on with at once.
    const SOON: i64;
    /// When so many of a space are not, its appends wait for it: a reader of a scope goes through
    /// them one by one.
    const MOST: i64;

    /// Spaces that have events which are not in the index.
    fn behind(&mut self) -> impl Future<Output = Result<Vec<(Space, Gap)>, StoreError>> + Send;
    /// Adds the next events of these spaces in one transaction, as many as it takes: how far those came that had their turn, in
    /// order.
    fn add(
        &mut self,
        spaces: &[Space],
    ) -> impl Future<Output = Result<Vec<Added>, StoreError>> + Send;
    fn close(self) -> impl Future<Output = ()> + Send;
}

/// The room that a transaction has left.
pub(super) struct Left {
    /// Events.
    pub events: i64,
    bytes: usize,
}

impl Left {
    pub fn new() -> Self {
        Self {
            events: EVENTS,
            bytes: BYTES,
        }
    }

    pub fn is_nothing(&self) -> bool {
        self.events == 0 || self.bytes == 0
    }
}

/// Events that are to be added, as they are read, and whether there may be more.
pub(super) async fn read_batch(
    mut rows: impl Stream<Item = Result<IndexColumns, StoreError>> + Unpin,
    left: &mut Left,
) -> Result<(Vec<Indexed>, bool), StoreError> {
    let mut events = Vec::new();
    while left.bytes > 0 {
        let Some(row) = rows.try_next().await? else {
            break;
        };
        left.bytes = left.bytes.saturating_sub(row.6.len());
        left.events -= 1;
        let (event, read) = Indexed::read(row);
        if let Err(error) = read {
            // One event is not to stop its space: `rebuild` adds what is missing, by a server that can read it.
            metrics::counter!(UNREADABLE).increment(1);
            tracing::warn!(%error, seq = event.seq, "an event is in the index only as far as it can be read; run thinkd rebuild with the newest version");
        }
        events.push(event);
    }
    Ok((events, left.is_nothing()))
}

/// A handle on the index: for the writer, which tells it of new events, and for callers that wait
/// for it.
#[derive(Clone)]
pub(super) struct Index {
    shared: Arc<Shared>,
    /// Wakes the task; gone with it.
    work: mpsc::Sender<()>,
    soon: i64,
    most: i64,
}

/// The state that the task shares with the callers.
#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Told after every transaction.
    progress: Notify,
    unserved: Unserved,
}

impl Index {
    /// Starts the task over a database.
    pub fn start<B: Indexing>(backend: B, supervisor: &Supervisor) -> Self {
        let (work, wakes) = mpsc::channel(1);
        let shared = Arc::<Shared>::default();
        let task = Task {
            backend,
            shared: shared.clone(),
            wakes,
            asked: false,
            more: false,
            last: None,
        };
        tokio::spawn(supervisor.watch("the index", task.run()));
        Self {
            shared,
            work,
            soon: B::SOON,
            most: B::MOST,
        }
    }

    /// Spaces that cannot be served as they should be: kept here, for every store has one of these.
    pub fn unserved(&self) -> &Unserved {
        &self.shared.unserved
    }

    /// This server appended these to the log of a space: the first and the last.
    pub fn grew(&self, space: &Space, first: Seq, last: Seq) {
        let mut state = self.shared.state.lock();
        let slept = state.behind.is_empty();
        let before = state.without;
        let gap = Gap {
            indexed: first - 1,
            head: last,
        };
        state.know(space, gap, false);
        state.grown += 1;
        if slept || (before < self.soon && state.without >= self.soon) {
            self.wake();
        }
    }

    /// Returns true if a space may grow: not too many of its events are missing, or no more are
    /// added.
    pub fn has_room(&self, space: &Space) -> bool {
        let state = self.shared.state.lock();
        let behind = state.behind.get(space);
        state.closed || behind.is_none_or(|behind| behind.has_room(self.most))
    }

    /// Returns true if at most so many events of a space are missing, as far as this server knows.
    pub fn lacks_at_most(&self, space: &Space, events: i64) -> bool {
        let state = self.shared.state.lock();
        let behind = state.behind.get(space);
        behind.is_none_or(|behind| behind.missing() <= events)
    }

    /// The next transaction's end, or that of the index.
    pub fn progress(&self) -> Notified<'_> {
        self.shared.progress.notified()
    }

    /// Returns when the index has all events of a space that are stored now: its gap says how many.
    pub async fn reach(&self, space: &Space, gap: Gap) -> Result<(), StoreError> {
        let (answer, answered) = oneshot::channel();
        {
            let mut state = self.shared.state.lock();
            if state.closed {
                return Err(StoreError::closed());
            }
            state.know(space, gap, true);
            let waiter = Waiter {
                reached: gap.head,
                promised: false,
                answer,
            };
            state.wait(space, waiter);
        }
        self.wake();
        answered.await.map_err(|_| StoreError::closed())?
    }

    /// Returns when the connection is closed. Events that are not in the index then are added after
    /// the next start.
    pub async fn close(&self) {
        self.shared.state.lock().closed = true;
        self.shared.progress.notify_waiters();
        self.wake();
        self.work.closed().await;
    }

    fn wake(&self) {
        // A full channel wakes it, too; a closed one has nobody to wake.
        let _ = self.work.try_send(());
    }
}

struct Task<B> {
    backend: B,
    shared: Arc<Shared>,
    wakes: mpsc::Receiver<()>,
    /// True if the last transaction was for waiting callers.
    asked: bool,
    /// The last transaction left some.
    more: bool,
    /// The last space that had its turn without being waited for.
    last: Option<Space>,
}

impl<B: Indexing> Task<B> {
    async fn run(mut self) {
        match self.backend.behind().await {
            Ok(spaces) => {
                let mut state = self.shared.state.lock();
                spaces
                    .iter()
                    .for_each(|(space, gap)| state.know(space, *gap, true));
            }
            Err(error) => {
                tracing::warn!(%error, "the index cannot be looked at; it goes on with the next event")
            }
        }
        while let Some(spaces) = self.next().await {
            self.add(&spaces).await;
        }
        self.backend.close().await;
        let mut state = self.shared.state.lock();
        state.closed = true;
        self.shared.progress.notify_waiters();
        for waiter in state.all_waiting() {
            // Whoever waited may be gone.
            let _ = waiter.answer.send(Err(StoreError::closed()));
        }
    }

    /// Returns the spaces to go on with, when it is time. `None`: the store is closed or dropped.
    async fn next(&mut self) -> Option<Vec<Space>> {
        loop {
            let (behind, grown) = {
                let mut state = self.shared.state.lock();
                if state.closed {
                    return None;
                }
                let is_time = state.without >= B::SOON;
                // Those who wait go first, but not every time: else a crowd of them would keep the others' appends waiting.
                self.asked = !(state.round.is_empty() || self.asked && is_time);
                if self.asked {
                    let spaces = state.batch(state.round.iter());
                    state.begin(&spaces);
                    return Some(spaces);
                }
                let behind = state.batch(state.in_turn(self.last.as_ref()));
                if !behind.is_empty() && (self.more || is_time) {
                    state.begin(&behind);
                    return Some(behind);
                }
                (behind, state.grown)
            };
            if behind.is_empty() {
                self.wakes.recv().await?;
                continue;
            }
            match timeout(QUIET, self.wakes.recv()).await {
                Ok(woken) => woken?,
                Err(_) if self.shared.state.lock().grown == grown => {
                    self.shared.state.lock().begin(&behind);
                    return Some(behind);
                }
                Err(_) => {}
            }
        }
    }

    async fn add(&mut self, spaces: &[Space]) {
        match self.backend.add(spaces).await {
            // Because of one of them, perhaps: the others are not to suffer for it.
            Err(StoreError::Broken(_)) if spaces.len() > 1 => {
                for space in spaces {
                    let single = std::slice::from_ref(space);
                    let added = self.backend.add(single).await;
                    self.added(single, added);
                }
            }
            added => self.added(spaces, added),
        }
    }

    fn added(&mut self, spaces: &[Space], result: Result<Vec<Added>, StoreError>) {
        let mut state = self.shared.state.lock();
        if !self.asked {
            let turns = result.as_ref().map_or(spaces.len(), Vec::len);
            self.last = spaces[..turns].last().cloned().or(self.last.take());
        }
        match result {
            Ok(added) => {
                self.more = added.len() < spaces.len() || added.iter().any(|added| added.more);
                for (space, added) in spaces.iter().zip(added) {
                    self.shared.unserved.note(space, Work::Index, &Ok(()));
                    state.added(space, added);
                    for waiter in state.served(space, added) {
                        // Whoever waited may be gone.
                        let _ = waiter.answer.send(Ok(()));
                    }
                }
            }
            Err(error) => {
                self.more = false;
                for space in spaces {
                    self.shared
                        .unserved
                        .note(space, Work::Index, &Err::<(), _>(error.clone()));
                    if state.failed(space) {
                        let space = space.as_str();
                        tracing::warn!(%error, space, "the index stays behind until the next event");
                    }
                    for waiter in state.answered(space) {
                        let _ = waiter.answer.send(Err(error.clone()));
                    }
                }
            }
        }
        drop(state);
        self.shared.progress.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Instant;

    use super::*;

    type Asked = Arc<Mutex<Vec<Vec<String>>>>;
    type Own = Arc<Mutex<Option<Index>>>;

    /// A database that tells of the spaces it was asked to add, and takes so many events at a time.
    struct Fake {
        index: Own,
        asked: Asked,
    }

    fn space(name: &str) -> Space {
        Space::parse(name).unwrap()
    }

    impl Indexing for Fake {
        const SOON: i64 = 512;
        const MOST: i64 = 2048;

        async fn behind(&mut self) -> Result<Vec<(Space, Gap)>, StoreError> {
            Ok(Vec::new())
        }

        async fn add(&mut self, spaces: &[Space]) -> Result<Vec<Added>, StoreError> {
            let names = || spaces.iter().map(Space::to_string);
            self.asked.lock().unwrap().push(names().collect());
            tokio::time::sleep(Duration::from_millis(1)).await;
            if names().any(|name| name == "bad") {
                return Err(StoreError::Broken("refused".into()));
            }
            let index = self.index.lock().unwrap().clone();
            if let (Some(index), true) = (index, names().any(|name| name == "a")) {
                // Somebody waits for it at every time.
                tokio::spawn(async move {
                    index
                        .reach(
                            &space("a"),
                            Gap {
                                indexed: 0,
                                head: 1,
                            },
                        )
                        .await
                });
                tokio::task::yield_now().await;
            }
            Ok(spaces
                .iter()
                .map(|_| Added {
                    reached: 1,
                    more: false,
                })
                .collect())
        }

        async fn close(self) {}
    }

    fn start() -> (Index, Asked, Own) {
        let asked = Asked::default();
        let own = Own::default();
        let fake = Fake {
            index: own.clone(),
            asked: asked.clone(),
        };
        (Index::start(fake, &Supervisor::default()), asked, own)
    }

    const ONE: Gap = Gap {
        indexed: 0,
        head: 1,
    };

    #[tokio::test]
    async fn who_waits_is_served_although_somebody_waits_for_a_space_before_it_at_every_time() {
        let (index, asked, own) = start();
        *own.lock().unwrap() = Some(index.clone());
        index.reach(&space("a"), ONE).await.unwrap();
        let before = asked.lock().unwrap().len();
        let served = timeout(Duration::from_secs(5), index.reach(&space("z"), ONE)).await;
        served.expect("z has its turn").unwrap();
        assert!(
            asked.lock().unwrap().len() - before <= 3,
            "{:?}",
            asked.lock().unwrap()
        );
        // And what nobody waits for is not kept from it either, when there is much of it.
        index.grew(&space("m"), 1, 600);
        let begun = Instant::now();
        while !asked
            .lock()
            .unwrap()
            .iter()
            .flatten()
            .any(|name| name == "m")
        {
            assert!(begun.elapsed() < Duration::from_secs(5), "m has no turn");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        own.lock().unwrap().take();
        index.close().await;
    }

    #[tokio::test]
    async fn many_small_spaces_share_a_transaction_and_one_that_fails_harms_none() {
        let (index, asked, _) = start();
        let all = (0..100)
            .map(|number| format!("s{number}"))
            .chain(["bad".to_owned()]);
        let all: Vec<Space> = all.map(|name| space(&name)).collect();
        let waiting = all.iter().map(|space| index.reach(space, ONE));
        let answers = futures_util::future::join_all(waiting).await;
        assert_eq!(answers.iter().filter(|answer| answer.is_err()).count(), 1);
        // The first of them began alone; where one failed with others, each of those came alone.
        let together =
            |asked: &[Vec<String>]| asked.iter().filter(|spaces| spaces.len() > 1).count();
        assert!(
            (2..=3).contains(&together(&asked.lock().unwrap())),
            "{:?}",
            asked.lock().unwrap()
        );
        asked.lock().unwrap().clear();
        let again =
            futures_util::future::join_all(all.iter().map(|space| index.reach(space, ONE))).await;
        assert_eq!(again.iter().filter(|answer| answer.is_err()).count(), 1);
        assert!(
            asked.lock().unwrap().len() <= 5,
            "what failed before is tried alone: {:?}",
            asked.lock().unwrap()
        );
        index.close().await;
    }
}
