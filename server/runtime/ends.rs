//! The end of a thread from outside, and its consequences: in as many appends as that takes, each
//! of them short, so that others' come in between.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::waits::Waits;
use thinkd_event::condition::Condition;
use thinkd_event::process::Ending;
use thinkd_event::timer::Purpose;
use thinkd_log::appended::{Append, Appended, Placed};
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_log::projections::timers::TimerRow;
use thinkd_log::status::Status;
use thinkd_mind::turn::driver::OnStored;
use thinkd_mind::turn::{Below, ending, rest_of_end};
use thinkd_words::id::{Space, ThreadId};
use thinkd_words::time::{self, Timestamp};

/// Ends threads; cheap to clone.
#[derive(Clone)]
pub struct Ends {
    /// The store of the threads.
    pub store: Arc<dyn Store>,
    /// Is told of every stored event.
    pub on_stored: OnStored,
    /// The waits for a thread that ends.
    pub waits: Waits,
    /// Cancelled: the server goes.
    pub all: CancellationToken,
}

impl Ends {
    /// Ends a thread, and the threads that end with it, as far as that goes at once.
    pub async fn end(
        &self,
        space: &Space,
        thread: &ThreadId,
        reason: &str,
        below: Below,
    ) -> Result<(), StoreError> {
        let end = Ending {
            thread,
            status: Status::Stopped.as_str(),
            reason,
            last: "",
        };
        let left = loop {
            let drafts = ending(&self.store, space, &end, below, time::now()).await?;
            if drafts.is_empty() {
                return Ok(());
            }
            match self.store.append(Append::free(space, drafts)).await {
                Ok(Appended::Stored(placed)) => {
                    break self.tell_of_ends(space, thread, &placed).await?;
                }
                Ok(Appended::Stale) => return Ok(()),
                // It, or one below it, has ended meanwhile: fewer are left with every time.
                Err(StoreError::Unmet(_)) => {}
                Err(error) => return Err(error),
            }
        };
        match left {
            Some(due) => self.do_rest_of_end(space, thread, due).await,
            None => Ok(()),
        }
    }

    /// Does the rest of an end: the server that ended the thread may not have finished it.
    pub async fn end_the_rest(&self, space: &Space, thread: &ThreadId) -> Result<(), StoreError> {
        let timers = self.store.timers(space, thread..=thread).await?;
        match timers.iter().find(|timer| is_rest(timer)) {
            Some(left) => self.do_rest_of_end(space, thread, left.due).await,
            None => Ok(()),
        }
    }

    /// Does the rest of the end of a thread. While threads below it are left that end with it, it
    /// goes on append by append; else it makes one append. The last event that it stores starts the
    /// next part (`tell_of_ends`). `due`: the time of the timer that stands for the rest.
    pub async fn do_rest_of_end(
        &self,
        space: &Space,
        thread: &ThreadId,
        mut due: Timestamp,
    ) -> Result<(), StoreError> {
        // A server that goes leaves it to whoever fires the timer.
        while !self.all.is_cancelled() {
            let timers = self.store.timers(space, thread..=thread).await?;
            let ours = timers
                .iter()
                .find(|timer| is_rest(timer) && timer.due == due);
            // Somebody else does it, or it is done.
            let Some(timer) = ours else { break };
            let drafts = rest_of_end(&self.store, space, timer, time::now()).await?;
            match self.store.append(Append::free(space, drafts)).await {
                Ok(Appended::Stored(placed)) => {
                    match self.tell_of_ends(space, thread, &placed).await? {
                        Some(next) => due = next,
                        None => break,
                    }
                }
                Ok(Appended::Stale) | Err(StoreError::Unmet(Condition::TimerStands { .. })) => {
                    break;
                }
                // One of them has ended meanwhile, or was told.
                Err(StoreError::Unmet(_) | StoreError::Conflict(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sees to the consequences of events that end threads. Returns the time of the timer for the
    /// threads below this one that have not ended; none: there are none.
    async fn tell_of_ends(
        &self,
        space: &Space,
        thread: &ThreadId,
        placed: &[Placed],
    ) -> Result<Option<Timestamp>, StoreError> {
        let mut left = None;
        let mut telling = BTreeSet::new();
        for event in placed.iter().map(|placed| &placed.shown.event) {
            let rest = event.rest_of_end();
            if rest.as_ref().is_some_and(|(_, rest)| rest.tell.is_some()) {
                telling.insert(&event.thread);
            }
            match rest.filter(|(_, rest)| rest.below && event.thread == *thread) {
                Some((due, _)) => left = Some(due),
                None => (self.on_stored)(space, event),
            }
        }
        // Those who wait for one that very many know are told with the others.
        let ended = || {
            let events = placed.iter().map(|placed| &placed.shown.event);
            let ended = events.filter(|event| event.ends_thread());
            let threads = ended.map(|event| &event.thread);
            threads.filter(|thread| !telling.contains(thread))
        };
        if let (Some(first), Some(last)) = (ended().min(), ended().max()) {
            self.waits.break_waits_within(space, first..=last).await?;
        }
        Ok(left)
    }
}

/// True for the timer that stands for the rest of an end.
fn is_rest(timer: &TimerRow) -> bool {
    Purpose::of(&timer.name) == Purpose::Ending
}
