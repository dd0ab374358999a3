//! The asker of a mission: the models it asks, how long it waits for them, and what it may still
//! use up.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio_util::sync::CancellationToken;

use crate::thread::quota::Purse;
use crate::words::failure::Failure;

/// Fewest bytes for the values of a prompt, however small the window.
pub(super) const ROOM_LEAST: usize = 1 << 10;

/// See the module.
pub(super) struct Asker {
    pub purse: Purse,
    pub stop: CancellationToken,
    /// Most bytes of a prompt: fewer since a model refused one for its length.
    pub window: AtomicUsize,
    /// Why nothing is begun any more: a budget that is used up, or no model to ask.
    pub spent: OnceLock<Failure>,
}

impl Asker {
    /// Returns how many bytes the values of a prompt may have that has so many others.
    pub fn room(&self, others: usize) -> usize {
        let window = self.window.load(Ordering::Relaxed);
        window.saturating_sub(others).max(ROOM_LEAST)
    }

    /// From now on the values of a prompt take at most half of what those of a refused one took,
    /// beside as many others.
    pub fn halve(&self, others: usize, values: usize) {
        let window = others + values / 2;
        self.window.fetch_min(window, Ordering::Relaxed);
    }

    /// Returns how many model calls are left.
    pub fn calls_left(&self) -> u64 {
        self.purse.calls_left().unwrap_or(u64::MAX >> 12)
    }

    /// Returns whether nothing is begun any more.
    pub fn is_spent(&self) -> bool {
        self.spent.get().is_some()
    }
}
