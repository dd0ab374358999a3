//! Hints of work under way: a turn or a model call begins, and ends with any outcome. Nothing is
//! stored, and nothing is decided by them.

use std::sync::Arc;

use super::TurnPlace;
use thinkd_log::hint::Hint;
use thinkd_log::kernel::Store;
use thinkd_log::work::Work;
use thinkd_words::id::Space;
use thinkd_words::time;

/// Work that is under way; it ends when this is dropped.
pub struct Working {
    store: Arc<dyn Store>,
    space: Space,
    work: Work,
}

impl Working {
    /// A turn begins, or a model call in it: its asker, its purpose, and its number among those of
    /// its kind, from 0. `limit_ms`: the milliseconds that it waits.
    pub fn begin(
        store: &Arc<dyn Store>,
        place: &TurnPlace,
        call: Option<(String, String, u64)>,
        limit_ms: Option<u64>,
    ) -> Self {
        let work = Work {
            thread: place.thread.clone(),
            turn: place.turn,
            call,
            limit_ms,
            ended: false,
            at: time::now(),
        };
        let working = Self {
            store: store.clone(),
            space: place.space.clone(),
            work,
        };
        working.tell();
        working
    }

    fn tell(&self) {
        self.store
            .feed()
            .hint(&self.space, 0, Hint::Work(self.work.clone()));
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.work.ended = true;
        self.work.at = time::now();
        self.tell();
    }
}
