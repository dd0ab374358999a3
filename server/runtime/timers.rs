//! Timers and schedules: one task for all of them. It sleeps until the first one is due, and looks
//! now and then, for another server may have set one. A due one becomes an event, if it still
//! stands: of several servers one stores it. Spaces are fired beside one another: one that fails,
//! or has very many, keeps no other's timer late.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::ahead;
use super::append::append_told;
use super::firing::Firing;
use super::requests::client::ended_by_time;
use thinkd_event::draft::Draft;
use thinkd_event::fact::set::Change;
use thinkd_event::request::{Parked, Settled};
use thinkd_event::rest::Rest;
use thinkd_event::timer::Purpose;
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_log::projections::timers::TimerRow;
use thinkd_log::unserved::Work;
use thinkd_mind::turn::driver::OnStored;
use thinkd_mind::turn::taken;
use thinkd_words::id::{Space, ThreadId};
use thinkd_words::time::{self, SKEW, Timestamp};

/// Most timers that become events in one append, and most schedules that are fired at once.
const AT_ONCE: u32 = 256;
/// Rest when the log cannot be read or written.
const REST: Duration = Duration::from_secs(1);

/// Fires timers; cheap to clone.
#[derive(Clone)]
pub struct Timers {
    /// The store of the timers.
    pub store: Arc<dyn Store>,
    /// Fires schedules.
    pub firing: Firing,
    /// Is told of every stored event.
    pub on_stored: OnStored,
    /// A timer or a schedule was set.
    pub set: Arc<Notify>,
    /// Longest sleep: another server may set one.
    pub scan: Duration,
    /// Cancelled: the server goes.
    pub all: CancellationToken,
}

/// The clock, as it was when this was seen.
struct Clock {
    said: Timestamp,
    seen: Instant,
}

impl Clock {
    fn at(said: Timestamp) -> Self {
        let seen = Instant::now();
        Self { said, seen }
    }

    /// Returns whether it was not set back since.
    fn goes_on(&self, now: Timestamp) -> bool {
        let passed = i64::try_from(self.seen.elapsed().as_micros()).unwrap_or(i64::MAX);
        now.after(SKEW) >= self.said.after(passed)
    }
}

impl Timers {
    /// Fires due timers and schedules, until the server goes.
    pub async fn run(self) {
        // Of each space, what fires its timers, one append after the other. Tasks of their own: a future that is not polled while this one
        // looks for more may have been handed the lock that the look waits for.
        // Whether there was something due when a space was still being fired.
        let mut firing = JoinSet::new();
        let mut busy = HashMap::new();
        // The clock when what a wrong one had set was righted last.
        let mut clock = None;
        loop {
            let now = time::now();
            if !clock
                .as_ref()
                .is_some_and(|clock: &Clock| clock.goes_on(now))
            {
                let righted = ahead::right(&*self.store, now).await;
                if let Err(error) = &righted {
                    tracing::warn!(%error, "what a clock that was ahead had set could not be righted; it is tried again");
                }
                clock = righted.is_ok().then(|| Clock::at(now));
            } else {
                clock = Some(Clock::at(now));
            }
            let rest = match self.spaces_due(now).await {
                Ok(spaces) => {
                    for space in spaces {
                        match busy.get_mut(&space) {
                            Some(again) => *again = true,
                            None => {
                                busy.insert(space.clone(), false);
                                firing.spawn(self.clone().fire_in(space));
                            }
                        }
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
                        let again = busy.remove(&space).unwrap_or_default();
                        self.store.unserved().note(&space, Work::Timers, &fired);
                        match fired {
                            // A schedule that fired is due again, at a time that the last look did not see.
                            Ok(any) if any || again => break,
                            Ok(_) => {}
                            Err(error) => {
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
    }

    /// Returns the time until there is something new to do.
    async fn rest(&self, now: Timestamp) -> Result<Duration, StoreError> {
        let timer = self.store.next_due(now).await?;
        let schedule = self.store.next_schedule_due(now).await?;
        let next = timer.into_iter().chain(schedule).min();
        // By the clock of now: looking took its time.
        let left = next.map(|due| due.micros().saturating_sub(time::now().micros()).max(0));
        let longest = self.scan;
        Ok(left.map_or(longest, |micros| {
            longest.min(Duration::from_micros(micros.unsigned_abs()))
        }))
    }

    /// Returns the spaces in which something is due.
    async fn spaces_due(&self, now: Timestamp) -> Result<BTreeSet<Space>, StoreError> {
        let mut spaces = self.store.spaces_due(now).await?;
        spaces.extend(self.store.spaces_with_schedules_due(now).await?);
        Ok(spaces.into_iter().collect())
    }

    /// Fires all that is due in a space; whether there was anything.
    async fn fire_in(self, space: Space) -> (Space, Result<bool, StoreError>) {
        let mut any = false;
        loop {
            match self.fire_some(&space).await {
                Ok(true) => any = true,
                Ok(false) => return (space, Ok(any)),
                Err(error) => return (space, Err(error)),
            }
        }
    }

    /// Fires the timers and schedules that are due now, or some of them where they are very many.
    /// Returns false if there were none.
    async fn fire_some(&self, space: &Space) -> Result<bool, StoreError> {
        let now = time::now();
        let timers = self.store.due(space, now, AT_ONCE).await?;
        let schedules = self.store.schedules_due(space, now, AT_ONCE).await?;
        let fired = match timers.is_empty() {
            true => Ok(()),
            false => self.fire(space, &timers).await,
        };
        // What keeps the one from being fired does not keep the other.
        self.firing.fire(space, &schedules).await?;
        match fired {
            // One of them is over: another server fired it, or its thread took it back. It is not among the next.
            Ok(()) | Err(StoreError::Unmet(_)) => Ok(!timers.is_empty() || !schedules.is_empty()),
            Err(error) => Err(error),
        }
    }

    async fn fire(&self, space: &Space, timers: &[TimerRow]) -> Result<(), StoreError> {
        let now = time::now();
        let (of_clients, timers) = of_clients(timers);
        let mut ended = Vec::new();
        for ((thread, turn), name) in of_clients {
            let drafts = ended_by_time(&*self.store, space, thread, turn).await?;
            match drafts.is_empty() {
                // It would be due for ever.
                true => ended.push(Draft::set(thread, name, Change::Timer(None))),
                false => ended.extend(drafts),
            }
        }
        let draft = |timer: &&TimerRow| -> Vec<Draft> {
            let overrules = match Purpose::of(&timer.name) {
                Purpose::Request(_) => {
                    return match Parked::of_note(&timer.note) {
                        Some(parked) => parked.settled(&timer.thread, Settled::Expired),
                        // A newer server set it; it would be due for ever.
                        None => vec![Draft::set(&timer.thread, &timer.name, Change::Timer(None))],
                    };
                }
                Purpose::Ending => {
                    // Whoever saw to this is no more: what is stored makes it ours (`told`).
                    let rest = Rest::of(&timer.note);
                    let draft = Draft::rest_of_end(&timer.thread, Some((taken(now), &rest)));
                    return vec![draft.only_if(timer.stands()).rooted(timer.root)];
                }
                // Whoever the thread waits for, it is to hear that this is over.
                Purpose::Wait | Purpose::Gathering(_) => true,
                Purpose::Own(_) => false,
            };
            let draft = Draft::timer(&timer.thread, &timer.name, &timer.note, timer.due);
            // What it leads to draws on the root of whoever set it.
            let draft = match timer.root {
                Some(root) => draft.with("root", root),
                None => draft,
            };
            match overrules {
                true => vec![draft.overruling()],
                false => vec![draft],
            }
        };
        let drafts = timers.iter().flat_map(draft).chain(ended).collect();
        append_told(&*self.store, &self.on_stored, space, drafts)
            .await
            .map(drop)
    }
}

/// The calls of a turn that wait for a client, and the name of the timer of one of them.
type OfClients<'a> = BTreeMap<(&'a ThreadId, u64), &'a str>;

/// Returns the turns with overdue calls of clients, and the timers of all else.
fn of_clients(timers: &[TimerRow]) -> (OfClients<'_>, Vec<&TimerRow>) {
    let mut calls = OfClients::new();
    let mut others = Vec::new();
    for timer in timers {
        let parked = match Purpose::of(&timer.name) {
            Purpose::Request(_) => Parked::of_note(&timer.note),
            _ => None,
        };
        match parked.filter(|parked| parked.client.is_some()) {
            Some(parked) => drop(calls.insert((&timer.thread, parked.turn), &timer.name)),
            None => others.push(timer),
        }
    }
    (calls, others)
}
