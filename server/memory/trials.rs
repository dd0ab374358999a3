//! The trials of a server: their ground, and the memory of each space beside its log.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use super::allowance::Calls;
use super::journal::Journal;
use thinkd_event::statement::Instrument;
use thinkd_runtime::ground::Ground;
use thinkd_tools::knowledge::Search;
use thinkd_words::id::{Seq, Space};
use thinkd_words::time::Timestamp;

/// Calls are remembered of so many spaces at most; those of others are read again.
const SPACES_MAX: usize = 1024;

/// The trials of this server.
pub struct Trials {
    pub(super) ground: Ground,
    /// The knowledge base, where it is an address.
    pub(super) search: Option<Search>,
    // A plain mutex: held for a look, never across an await.
    kept: Mutex<HashMap<Space, Kept>>,
}

/// Memory of a space beside its log.
#[derive(Default)]
pub(super) struct Kept {
    /// The calls to models of the last hour.
    pub calls: Calls,
    /// The instruments with which it was looked through for statements that they can test, and up
    /// to where; none: to its end.
    pub looked: (BTreeSet<Instrument>, Option<Seq>),
    /// The next look for statements to test again is not before this time.
    pub not_before: Option<Timestamp>,
    /// When the trials want to be woken for that; none: there is nothing.
    pub next_retest: Option<Timestamp>,
}

impl Trials {
    /// Returns the trials of a server on this ground.
    pub fn new(ground: &Ground) -> Self {
        let memory = &ground.options.memory;
        let search = memory.knowledge.url.as_ref();
        Self {
            ground: ground.clone(),
            search: search.map(|_| Search::new(&memory.knowledge)),
            kept: Mutex::default(),
        }
    }

    /// Returns the log of a space, on which trials are done and operators act.
    pub fn journal<'a>(&'a self, space: &'a Space) -> Journal<'a> {
        let ground = &self.ground;
        Journal { ground, space }
    }

    /// Reads or changes the memory of a space.
    pub(super) fn kept<T>(&self, space: &Space, of: impl FnOnce(&mut Kept) -> T) -> T {
        let mut all = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = all.len() % SPACES_MAX == SPACES_MAX - 1;
        if is_full && !all.contains_key(space) {
            all.values_mut()
                .for_each(|kept| kept.calls = Calls::default());
        }
        of(all.entry(space.clone()).or_default())
    }
}
