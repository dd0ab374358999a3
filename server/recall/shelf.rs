//! The views of all spaces that somebody recalls in, within one limit of memory: the one that was used longest ago goes first, and a space in which
//! nobody recalls takes nothing.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use super::view::View;
use crate::words::id::Space;

/// A view that nobody used for so long goes at the next recall in any space.
const IDLE: Duration = Duration::from_secs(600);

/// The view of a space, and who brings it up to date.
pub struct Slot {
    /// What is held.
    pub view: RwLock<View>,
    /// Held by whoever brings it up to date.
    pub turn: tokio::sync::Mutex<()>,
    /// Held by whoever fills in vectors.
    pub filler: Arc<tokio::sync::Mutex<()>>,
    /// Told whenever some vectors came, or none will for a while.
    pub filled: Notify,
    empty: fn() -> View,
    bytes: AtomicUsize,
    /// When it was seen that it is too large by itself.
    refused: Mutex<Option<Instant>>,
}

/// See the module.
pub struct Shelf {
    most: usize,
    empty: fn() -> View,
    slots: Mutex<HashMap<Space, (Arc<Slot>, Instant)>>,
}

impl Shelf {
    /// A shelf for so many bytes, and what a view on it begins as.
    pub fn new(most: usize, empty: fn() -> View) -> Self {
        Self { most, empty, slots: Mutex::default() }
    }

    /// How many bytes there may be.
    pub fn most(&self) -> usize {
        self.most
    }

    /// The view of a space, which may be empty still.
    pub fn of(&self, space: &Space) -> Arc<Slot> {
        let now = Instant::now();
        let mut slots = self.lock();
        slots.retain(|_, (_, used)| now.duration_since(*used) < IDLE);
        let (slot, used) = slots.entry(space.clone()).or_insert_with(|| (Arc::new(Slot::new(self.empty)), now));
        *used = now;
        slot.clone()
    }

    /// A view has this size now: others make room, those that were used longest ago first. False: it is too large by itself, and empty again.
    pub fn holds(&self, space: &Space, slot: &Slot, bytes: usize) -> bool {
        slot.bytes.store(bytes, Ordering::Relaxed);
        let mut slots = self.lock();
        let all = |slots: &HashMap<Space, (Arc<Slot>, Instant)>| -> usize {
            slots.values().map(|(slot, _)| slot.bytes.load(Ordering::Relaxed)).sum()
        };
        while all(&slots) > self.most {
            let others = slots.iter().filter(|(other, _)| *other != space);
            let Some(oldest) = others.min_by_key(|(_, (_, used))| *used).map(|(other, _)| other.clone()) else {
                break;
            };
            slots.remove(&oldest);
        }
        #[expect(clippy::cast_precision_loss, reason = "a metric")]
        metrics::gauge!("thinkd_recall_bytes").set(all(&slots) as f64);
        if bytes > self.most {
            slot.refuse();
        }
        bytes <= self.most
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Space, (Arc<Slot>, Instant)>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn new(empty: fn() -> View) -> Self {
        Self {
            view: RwLock::new(empty()),
            turn: tokio::sync::Mutex::default(),
            filler: Arc::default(),
            filled: Notify::new(),
            empty,
            bytes: AtomicUsize::new(0),
            refused: Mutex::default(),
        }
    }

    /// Whether it was too large a while ago: it is not loaded again at every question.
    pub fn is_refused(&self) -> bool {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.is_some_and(|at| at.elapsed() < IDLE)
    }

    fn refuse(&self) {
        *self.refused.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        self.bytes.store(0, Ordering::Relaxed);
        self.write(|view| *view = (self.empty)());
    }

    /// Reads the view.
    pub fn read<T>(&self, read: impl FnOnce(&View) -> T) -> T {
        read(&self.view.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Changes the view.
    pub fn write<T>(&self, write: impl FnOnce(&mut View) -> T) -> T {
        write(&mut self.view.write().unwrap_or_else(PoisonError::into_inner))
    }
}
