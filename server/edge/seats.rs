//! How many sockets there are: in all, and of each key. A seat is given back when it is dropped.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The seats of a server.
pub struct Seats {
    per_key: usize,
    all: usize,
    // A plain mutex: held to count, never across an await.
    taken: Mutex<Taken>,
}

#[derive(Default)]
struct Taken {
    all: usize,
    of_key: HashMap<u32, usize>,
}

impl Seats {
    /// So many of a key, so many in all.
    pub fn new(per_key: usize, all: usize) -> Arc<Self> {
        Arc::new(Self { per_key, all, taken: Mutex::default() })
    }

    fn taken(&self) -> MutexGuard<'_, Taken> {
        // Counting cannot be left half done.
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A seat, if one is free.
    pub fn take(self: &Arc<Self>) -> Option<Seat> {
        let mut taken = self.taken();
        if taken.all >= self.all {
            return None;
        }
        taken.all += 1;
        metrics::gauge!("thinkd_sockets").set(taken.all as f64);
        Some(Seat { seats: self.clone(), key: None })
    }
}

/// One seat.
pub struct Seat {
    seats: Arc<Seats>,
    key: Option<u32>,
}

impl Seat {
    /// Counts the seat for a key. False: the key has no more.
    pub fn assign(&mut self, key: u32) -> bool {
        let mut taken = self.seats.taken();
        let count = taken.of_key.entry(key).or_default();
        let free = *count < self.seats.per_key;
        if free {
            *count += 1;
            self.key = Some(key);
        }
        free
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.seats.taken();
        taken.all -= 1;
        metrics::gauge!("thinkd_sockets").set(taken.all as f64);
        if let Some(count) = self.key.and_then(|key| taken.of_key.get_mut(&key)) {
            *count -= 1;
        }
    }
}
