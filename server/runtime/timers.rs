//! Timers: one task for all of them. It sleeps until the first one is due, and looks now and then, for another server may have
//! set one. A timer that is due becomes an event, whose id is made from the timer: of several servers one stores it.

use std::collections::BTreeMap;
use std::time::Duration;

use super::Runtime;
use crate::event::{Draft, WAIT};
use crate::id::Space;
use crate::store::{self, Append, Appended, TimerRow};
use crate::time::{self, Timestamp};

/// Most timers that become events in one append.
const AT_ONCE: u32 = 256;
/// How long to rest when the log cannot be read or written.
const REST: Duration = Duration::from_secs(1);

impl Runtime {
    /// Fires what is due, until the server goes.
    pub(super) async fn fire_timers(self) {
        loop {
            let rest = match self.fire_due().await {
                Ok(rest) => rest,
                Err(error) => {
                    tracing::warn!(%error, "timers that are due could not be fired; they are tried again");
                    REST
                }
            };
            tokio::select! {
                () = self.0.all.cancelled() => return,
                () = self.0.timer_set.notified() => {}
                () = tokio::time::sleep(rest) => {}
            }
        }
    }

    /// How long there is nothing to do then.
    async fn fire_due(&self) -> Result<Duration, store::Error> {
        loop {
            let now = time::now();
            let due = self.0.store.due(now, AT_ONCE).await?;
            if due.is_empty() {
                let next = self.0.store.due(Timestamp::from_micros(i64::MAX), 1).await?;
                let left = next.first().map(|timer| timer.due.micros().saturating_sub(now.micros()).max(0));
                let left = left.map_or(self.0.options.scan, |micros| Duration::from_micros(micros.unsigned_abs()));
                return Ok(left.min(self.0.options.scan));
            }
            let mut spaces: BTreeMap<Space, Vec<TimerRow>> = BTreeMap::new();
            for timer in due {
                spaces.entry(timer.space.clone()).or_default().push(timer);
            }
            for (space, timers) in spaces {
                self.fire(&space, &timers).await?;
            }
        }
    }

    async fn fire(&self, space: &Space, timers: &[TimerRow]) -> Result<(), store::Error> {
        let draft = |timer: &TimerRow| {
            let draft = Draft::timer(&timer.thread, &timer.name, &timer.note, timer.due);
            if timer.name == WAIT { draft.overruling() } else { draft }
        };
        let append = Append::free(space, timers.iter().map(draft).collect());
        if let Appended::Stored(placed) = self.0.store.append(append).await? {
            placed.iter().for_each(|placed| self.told(space, &placed.shown.event));
        }
        Ok(())
    }
}
