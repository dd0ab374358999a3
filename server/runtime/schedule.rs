//! Which turn runs next when there are more than may run at a time. Those who come first go first; among threads of different
//! depth it is configured who goes before whom. A turn that waits for its place is a thread's, and a thread waits once: so one
//! with much to do does not keep others from having their turn.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use crate::id::ThreadId;

/// Who goes before whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Threads before their subthreads.
    #[default]
    BreadthFirst,
    /// Subthreads before the threads above them.
    DepthFirst,
}

/// Places for turns; cheap to clone.
#[derive(Clone)]
pub(super) struct Schedule(Arc<Inner>);

struct Inner {
    order: Order,
    // A plain mutex: held for look-ups, never across an await.
    state: Mutex<State>,
}

struct State {
    free: u32,
    tickets: u64,
    queue: BTreeMap<(i64, u64), oneshot::Sender<Place>>,
}

/// The right to run a turn; given back when dropped.
pub(super) struct Place(Option<Arc<Inner>>);

impl Schedule {
    pub fn new(workers: u32, order: Order) -> Self {
        let state = State { free: workers.max(1), tickets: 0, queue: BTreeMap::new() };
        Self(Arc::new(Inner { order, state: Mutex::new(state) }))
    }

    /// Waits for a place for a turn of this thread.
    pub async fn place(&self, thread: &ThreadId) -> Place {
        let place = {
            let mut state = self.0.lock();
            if state.free > 0 {
                state.free -= 1;
                return Place(Some(self.0.clone()));
            }
            let depth = i64::try_from(thread.as_str().split('.').count()).unwrap_or(i64::MAX);
            let rank = if self.0.order == Order::BreadthFirst { depth } else { -depth };
            state.tickets += 1;
            let (sender, place) = oneshot::channel();
            let ticket = state.tickets;
            state.queue.insert((rank, ticket), sender);
            place
        };
        // The sender is dropped only with its place in it, which then goes to the next one.
        place.await.unwrap_or(Place(None))
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(inner) = self.0.take() else { return };
        loop {
            let next = {
                let mut state = inner.lock();
                match state.queue.pop_first() {
                    Some((_, sender)) => sender,
                    None => {
                        state.free += 1;
                        return;
                    }
                }
            };
            match next.send(Self(Some(inner.clone()))) {
                Ok(()) => return,
                // Whoever waited has gone: the place is for the next one.
                Err(mut place) => drop(place.0.take()),
            }
        }
    }
}
