//! A cache of the entries that models were shown last, by thread. An event never changes, so the
//! next view of the same thread reads only newer events. The cache has one limit in bytes for all
//! threads; entries that it lacks are read from the log.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use thinkd_log::query::Show;
use thinkd_thread::history::Entry;
use thinkd_words::id::{Seq, Space, ThreadId};

/// Most bytes kept in all.
const BYTES_MAX: usize = 16 << 20;

/// The bytes of an entry besides itself: two counts and a pointer.
const SHARED: usize = 3 * size_of::<usize>();

/// About the bytes of a view besides itself and its entries: the names of its key, and room in the
/// map.
const NAMES: usize = 200;

/// A reader's view of a thread, written by the clock of a change.
pub(super) type Key = (Space, ThreadId, Show, Seq);

/// Views by thread, the latest of each.
#[derive(Default)]
pub(super) struct Recent(
    // Held while pointers are copied, never across an await.
    Mutex<Views>,
);

#[derive(Default)]
struct Views {
    by_key: HashMap<Key, View>,
    bytes: usize,
    uses: u64,
}

struct View {
    up_to: Seq,
    entries: Vec<Arc<Entry>>,
    bytes: usize,
    used: u64,
}

impl Recent {
    /// The entries of the last view that does not reach beyond `up_to`, and how far it reaches.
    pub fn before(&self, key: &Key, up_to: Seq) -> Option<(Seq, Vec<Arc<Entry>>)> {
        let mut views = self.0.lock();
        views.uses += 1;
        let used = views.uses;
        let known = views.by_key.get_mut(key);
        let view = known.filter(|view| view.up_to <= up_to)?;
        view.used = used;
        Some((view.up_to, view.entries.clone()))
    }

    /// Keeps a view, unless a later one is there.
    pub fn keep(&self, key: Key, up_to: Seq, entries: Vec<Arc<Entry>>) {
        let mut views = self.0.lock();
        let known = views.by_key.get(&key);
        if known.is_some_and(|view| view.up_to > up_to) {
            return;
        }
        let of_entries = entries.iter().map(|entry| entry.bytes() + SHARED);
        let bytes = of_entries.sum::<usize>() + size_of::<(Key, View)>() + NAMES;
        views.uses += 1;
        let view = View {
            up_to,
            entries,
            bytes,
            used: views.uses,
        };
        views.bytes += bytes;
        if let Some(replaced) = views.by_key.insert(key, view) {
            views.bytes -= replaced.bytes;
        }
        if views.bytes > BYTES_MAX {
            views.forget_half();
        }
    }
}

impl Views {
    /// Forgets the half that was not used for longest: seldom, and so at little cost each time.
    fn forget_half(&mut self) {
        let mut used: Vec<u64> = self.by_key.values().map(|view| view.used).collect();
        let half = used.len() / 2;
        let (_, middle, _) = used.select_nth_unstable(half);
        let middle = *middle;
        self.by_key.retain(|_, view| view.used > middle);
        self.bytes = self.by_key.values().map(|view| view.bytes).sum();
    }
}
