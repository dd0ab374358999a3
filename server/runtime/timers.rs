//! Timers: one task for all of them. It sleeps until the first one is due, and looks now and then, for another server may have
//! set one. A timer that is due becomes an event, if it still stands: of several servers one stores it. Space by space: what one of
//! them cannot do is tried again, and the others go on.

use std::time::Duration;

use super::Runtime;
use crate::event::{Draft, GATHER, WAIT};
use crate::id::Space;
use crate::store::{self, Append, Appended, TimerRow, Work};
use crate::time::{self, Timestamp};

/// Most timers that become events in one append.
const AT_ONCE: u32 = 256;
/// How long to rest when the log cannot be read or written.
const REST: Duration = Duration::from_secs(1);

impl Runtime {
    /// Fires what is due, until the server goes.
    pub(super) async fn fire_timers(self) {
        loop {
            let rest = self.fire_due().await.unwrap_or_else(|error| {
                tracing::warn!(%error, "timers that are due could not be looked for; they are tried again");
                REST
            });
            tokio::select! {
                () = self.0.all.cancelled() => return,
                () = self.0.timer_set.notified() => {}
                () = tokio::time::sleep(rest) => {}
            }
        }
    }

    /// How long there is nothing to do then.
    async fn fire_due(&self) -> Result<Duration, store::Error> {
        let now = time::now();
        let mut rest = self.0.options.scan;
        for space in self.0.store.spaces_due(now).await? {
            let fired = self.fire_in(&space, now).await;
            self.0.store.unserved().note(&space, Work::Timers, &fired);
            if let Err(error) = fired {
                tracing::warn!(%error, %space, "timers that are due could not be fired; they are tried again");
                rest = rest.min(REST);
            }
        }
        let next = self.0.store.next_due(now).await?;
        // By the clock of now: firing took its time.
        let left = next.map(|due| due.micros().saturating_sub(time::now().micros()).max(0));
        Ok(left.map_or(rest, |micros| rest.min(Duration::from_micros(micros.unsigned_abs()))))
    }

    async fn fire_in(&self, space: &Space, now: Timestamp) -> Result<(), store::Error> {
        while !self.0.all.is_cancelled() {
            let due = self.0.store.due(space, now, AT_ONCE).await?;
            if due.is_empty() {
                break;
            }
            match self.fire(space, &due).await {
                // One of them is over: another server fired it, or its thread took it back. It is not among the next.
                Ok(()) | Err(store::Error::Unmet(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn fire(&self, space: &Space, timers: &[TimerRow]) -> Result<(), store::Error> {
        let draft = |timer: &TimerRow| {
            let draft = Draft::timer(&timer.thread, &timer.name, &timer.note, timer.due);
            // What it leads to draws on the root of whoever set it.
            let draft = match timer.root {
                Some(root) => draft.with("root", root),
                None => draft,
            };
            // Whoever the thread waits for, it is to hear that this is over.
            if timer.name == WAIT || timer.name.starts_with(GATHER) { draft.overruling() } else { draft }
        };
        let append = Append::free(space, timers.iter().map(draft).collect());
        if let Appended::Stored(placed) = self.0.store.append(append).await? {
            placed.iter().for_each(|placed| self.told(space, &placed.shown.event));
        }
        Ok(())
    }
}
