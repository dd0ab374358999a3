//! Timers: one task for all of them. It sleeps until the first one is due, and looks now and then, for another server may have
//! set one. A timer that is due becomes an event, if it still stands: of several servers one stores it. Spaces are fired beside one
//! another: what one of them cannot do, or has very much of, keeps no other's timer late.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::process::{GATHER, WAIT};
use crate::event::rest::{ENDING, Rest};
use crate::log::projections::timers::TimerRow;
use crate::log::store::{self, Append, Appended, Store};
use crate::log::unserved::Work;
use crate::mind::turn::driver::OnStored;
use crate::mind::turn::taken;
use crate::words::id::Space;
use crate::words::time::{self, Timestamp};

/// Most timers that become events in one append.
const AT_ONCE: u32 = 256;
/// How long to rest when the log cannot be read or written.
const REST: Duration = Duration::from_secs(1);

/// Fires timers; cheap to clone.
#[derive(Clone)]
pub struct Timers {
    /// Where they are.
    pub store: Arc<dyn Store>,
    /// Is told of what is stored.
    pub on_stored: OnStored,
    /// A timer was set.
    pub set: Arc<Notify>,
    /// How long to sleep at most: another server may set one.
    pub scan: Duration,
    /// Cancelled: the server goes.
    pub all: CancellationToken,
}

impl Timers {
    /// Fires what is due, until the server goes.
    pub async fn run(self) {
        // Of each space, what fires its timers, one append after the other. Tasks of their own: a future that is not polled while this one
        // looks for more may have been handed the lock that the look waits for.
        let (mut firing, mut busy) = (JoinSet::new(), HashSet::new());
        loop {
            let now = time::now();
            let rest = match self.store.spaces_due(now).await {
                Ok(spaces) => {
                    for space in spaces.into_iter().filter(|space| !busy.contains(space)).collect::<Vec<_>>() {
                        busy.insert(space.clone());
                        firing.spawn(self.clone().fire_in(space, now));
                    }
                    self.rest(now).await
                }
                Err(error) => Err(error),
            };
            let rest = rest.unwrap_or_else(|error| {
                tracing::warn!(%error, "timers that are due could not be looked for; they are tried again");
                REST
            });
            let rest = tokio::time::sleep(rest);
            tokio::pin!(rest);
            loop {
                tokio::select! {
                    () = self.all.cancelled() => return,
                    () = self.set.notified() => break,
                    () = &mut rest => break,
                    Some(fired) = firing.join_next() => {
                        // A panic is this task's own: whoever watches it is to know.
                        let (space, fired) = fired.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()));
                        busy.remove(&space);
                        self.store.unserved().note(&space, Work::Timers, &fired);
                        if let Err(error) = fired {
                            tracing::warn!(%error, %space, "timers that are due could not be fired; they are tried again");
                            let soon = tokio::time::Instant::now() + REST;
                            let until = rest.deadline().min(soon);
                            rest.as_mut().reset(until);
                        }
                    }
                }
            }
        }
    }

    /// How long there is nothing new to do.
    async fn rest(&self, now: Timestamp) -> Result<Duration, store::Error> {
        let next = self.store.next_due(now).await?;
        // By the clock of now: looking took its time.
        let left = next.map(|due| due.micros().saturating_sub(time::now().micros()).max(0));
        let longest = self.scan;
        Ok(left.map_or(longest, |micros| longest.min(Duration::from_micros(micros.unsigned_abs()))))
    }

    /// Fires all that is due in a space.
    async fn fire_in(self, space: Space, now: Timestamp) -> (Space, Result<(), store::Error>) {
        loop {
            let due = match self.store.due(&space, now, AT_ONCE).await {
                Ok(due) if due.is_empty() => return (space, Ok(())),
                Ok(due) => due,
                Err(error) => return (space, Err(error)),
            };
            match self.fire(&space, &due).await {
                // One of them is over: another server fired it, or its thread took it back. It is not among the next.
                Ok(()) | Err(store::Error::Unmet(_)) => {}
                Err(error) => return (space, Err(error)),
            }
        }
    }

    async fn fire(&self, space: &Space, timers: &[TimerRow]) -> Result<(), store::Error> {
        let now = time::now();
        let draft = |timer: &TimerRow| {
            if timer.name == ENDING {
                // Whoever saw to this is no more: what is stored makes it ours (`told`).
                let stands = Condition::TimerStands { name: timer.name.clone(), due: timer.due };
                let rest = Rest::of(&timer.note);
                let draft = Draft::rest_of_end(&timer.thread, Some((taken(now), &rest)));
                return draft.only_if(stands).rooted(timer.root);
            }
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
        if let Appended::Stored(placed) = self.store.append(append).await? {
            placed.iter().for_each(|placed| (self.on_stored)(space, &placed.shown.event));
        }
        Ok(())
    }
}
