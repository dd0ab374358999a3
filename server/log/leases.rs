//! Leases of a store that one process has for itself: in memory, so that taking one costs no commit. Their numbers begin
//! above all that an earlier process gave out.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use super::fence::Fence;
use thinkd_words::id::{Space, ThreadId};

type Key = (Space, ThreadId);

/// The leases on threads: each is its holder's right to append.
pub(super) struct Leases {
    // A plain mutex: held for a few map look-ups, never across an await.
    state: Mutex<State>,
    settled: Notify,
}

#[derive(Default)]
struct State {
    last: i64,
    held: HashMap<Key, (i64, Instant)>,
    /// Threads that a transaction appends to under a lease: no other holder gets one before its
    /// end.
    appending: HashSet<Key>,
}

fn key(fence: &Fence) -> Key {
    (fence.space.clone(), fence.thread.clone())
}

impl State {
    fn has(&self, fence: &Fence) -> bool {
        let held = self.held.get(&key(fence));
        held.is_some_and(|(number, _)| *number == fence.number)
    }

    fn is_held(&self, key: &Key) -> bool {
        let held = self.held.get(key);
        held.is_some_and(|(_, until)| *until > Instant::now())
    }
}

impl Leases {
    /// No leases yet; numbers begin after `last`.
    pub fn new(last: i64) -> Self {
        let state = State {
            last,
            ..State::default()
        };
        Self {
            state: Mutex::new(state),
            settled: Notify::new(),
        }
    }

    /// Takes the lease, unless another holder has it. Waits for a commit under an older one.
    pub async fn take(&self, space: &Space, thread: &ThreadId, ttl: Duration) -> Option<Fence> {
        let key = (space.clone(), thread.clone());
        loop {
            let settled = self.settled.notified();
            tokio::pin!(settled);
            // Enlisted before the look, so that no end of a commit is missed.
            settled.as_mut().enable();
            if let Some(outcome) = self.try_take(&key, ttl) {
                return outcome;
            }
            settled.await;
        }
    }

    fn try_take(&self, key: &Key, ttl: Duration) -> Option<Option<Fence>> {
        let mut state = self.state.lock();
        if state.is_held(key) {
            return Some(None);
        }
        if state.appending.contains(key) {
            return None;
        }
        state.last += 1;
        let number = state.last;
        let until = Instant::now() + ttl;
        state.held.insert(key.clone(), (number, until));
        Some(Some(Fence {
            space: key.0.clone(),
            thread: key.1.clone(),
            number,
        }))
    }

    /// Prolongs leases; returns the lost ones.
    pub fn renew(&self, fences: &[Fence], ttl: Duration) -> Vec<Fence> {
        let mut state = self.state.lock();
        let (kept, lost): (Vec<&Fence>, Vec<&Fence>) =
            fences.iter().partition(|fence| state.has(fence));
        for fence in kept {
            let until = Instant::now() + ttl;
            state.held.insert(key(fence), (fence.number, until));
        }
        lost.into_iter().cloned().collect()
    }

    /// Gives a lease back.
    pub fn release(&self, fence: &Fence) {
        let mut state = self.state.lock();
        if state.has(fence) {
            state.held.remove(&key(fence));
        }
    }

    /// Returns the leases that hold; they stay until `settle`.
    pub fn begin(&self, fences: &[Fence]) -> HashSet<Fence> {
        let mut state = self.state.lock();
        let held = fences.iter().filter(|fence| state.has(fence));
        let held: HashSet<Fence> = held.cloned().collect();
        state.appending.extend(held.iter().map(key));
        held
    }

    /// The transaction is over.
    pub fn settle(&self, released: &[Fence]) {
        for fence in released {
            self.release(fence);
        }
        let mut state = self.state.lock();
        if !state.appending.is_empty() {
            state.appending.clear();
            self.settled.notify_waiters();
        }
    }

    /// Returns true if the thread's lease is held now.
    pub fn is_held(&self, space: &Space, thread: &ThreadId) -> bool {
        let key = (space.clone(), thread.clone());
        self.state.lock().is_held(&key)
    }

    /// Returns the number of leases that were taken and not given back.
    pub fn len(&self) -> usize {
        self.state.lock().held.len()
    }
}

/// Stamps `Leasing` for a store that has its log for itself: with its `leases`, and with `here`.
macro_rules! leasing {
    ($Store:ident) => {
        #[async_trait::async_trait]
        impl crate::kernel::Leasing for $Store {
            async fn lease(
                &self,
                space: &Space,
                thread: &ThreadId,
                ttl: std::time::Duration,
            ) -> Result<Option<Leased>, StoreError> {
                let Some(fence) = self.leases.take(space, thread, ttl).await else {
                    return Ok(None);
                };
                let row = crate::kernel::Threads::thread(self, space, thread).await;
                Ok(Some(Leased { fence, row }))
            }

            async fn renew(
                &self,
                fences: &[Fence],
                ttl: std::time::Duration,
            ) -> Result<Vec<Fence>, StoreError> {
                Ok(self.leases.renew(fences, ttl))
            }

            async fn release(&self, fence: &Fence) -> Result<(), StoreError> {
                self.leases.release(fence);
                Ok(())
            }

            fn say(&self, presence: crate::presence::Presence) {
                self.here.say(presence);
            }

            async fn servers(&self) -> Result<Vec<crate::presence::Server>, StoreError> {
                Ok(vec![self.here.server()])
            }
        }
    };
}
pub(super) use leasing;
