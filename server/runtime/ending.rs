//! The end of a thread from outside, and of those below one that ended: in as many appends as that takes, each of them short, so that
//! others' come in between.

use super::batch::PAGE;
use super::handle::{Refused, Runtime};
use crate::event::condition::Condition;
use crate::event::process::{ENDING, Ending};
use crate::log::store;
use crate::log::store::{Append, Appended, Placed, Status, ThreadRow};
use crate::mind::turn::{Below, PARENT_ENDED, ending, ending_below};
use crate::words::id::{Space, ThreadId};
use crate::words::time;
use crate::words::time::Timestamp;

impl Runtime {
    /// Ends a thread (status `stopped`): its turn is cancelled, it takes no more messages. With `subtree` all threads below it end,
    /// too; without, they get the nearest living thread above as their parent.
    pub async fn end(&self, space: &Space, thread: &ThreadId, subtree: bool) -> Result<ThreadRow, Refused> {
        let row = self.known_thread(space, thread).await?;
        if thread.is_main() && !row.status.is_final() {
            return Err(Refused::Unprocessable(format!(
                "the thread {thread} does not end: who names no thread speaks to it. POST /threads/{thread}/cancel stops the turn that \
                 runs; to begin anew, speak in a thread of another id"
            )));
        }
        if row.status.is_final() {
            self.end_the_rest(space, thread).await?;
            return Err(Refused::Ended(thread.clone()));
        }
        if thread.is_of_runs() {
            self.cancel_run(space, thread, None).await?;
            return self.known_thread(space, thread).await;
        }
        let below = if subtree { Below::End } else { Below::Stay };
        self.end_one(space, thread, "ended from outside", below).await?;
        if subtree {
            // What a turn below made meanwhile ends with it.
            for row in self.0.store.below(space, thread, PAGE).await? {
                self.end_one(space, &row.thread, PARENT_ENDED, below).await?;
            }
        }
        self.known_thread(space, thread).await
    }

    async fn end_one(&self, space: &Space, thread: &ThreadId, reason: &str, below: Below) -> Result<(), store::Error> {
        let end = Ending { thread, status: Status::Stopped.as_str(), reason, last: "" };
        let left = loop {
            let drafts = ending(&self.0.store, space, &end, below, time::now()).await?;
            if drafts.is_empty() {
                return Ok(());
            }
            match self.0.store.append(Append::free(space, drafts)).await {
                Ok(Appended::Stored(placed)) => break self.tell_of_ends(space, thread, &placed).await?,
                Ok(Appended::Stale) => return Ok(()),
                // It, or one below it, has ended meanwhile: fewer are left with every time.
                Err(store::Error::Unmet(_)) => {}
                Err(error) => return Err(error),
            }
        };
        match left {
            Some(due) => self.end_below(space, thread, due).await,
            None => Ok(()),
        }
    }

    /// Whoever ended a thread may not have come to all that is below it.
    async fn end_the_rest(&self, space: &Space, thread: &ThreadId) -> Result<(), store::Error> {
        let timers = self.0.store.timers(space, thread..=thread).await?;
        match timers.iter().find(|timer| timer.name == ENDING) {
            Some(left) => self.end_below(space, thread, left.due).await,
            None => Ok(()),
        }
    }

    /// Ends what lives below a thread that has ended, until nothing does. `due`: as the timer says that stands for it.
    pub(super) async fn end_below(
        &self,
        space: &Space,
        thread: &ThreadId,
        mut due: Timestamp,
    ) -> Result<(), store::Error> {
        // A server that goes leaves it to whoever fires the timer.
        while !self.0.all.is_cancelled() {
            let drafts = ending_below(&self.0.store, space, thread, due, time::now()).await?;
            match self.0.store.append(Append::free(space, drafts)).await {
                Ok(Appended::Stored(placed)) => match self.tell_of_ends(space, thread, &placed).await? {
                    Some(next) => due = next,
                    None => break,
                },
                // Somebody else does it, or it is done.
                Ok(Appended::Stale) | Err(store::Error::Unmet(Condition::TimerStands { .. })) => break,
                // One of them has ended meanwhile.
                Err(store::Error::Unmet(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Sees to what follows from events that end threads. Returns what the timer says that stands for those which have not.
    async fn tell_of_ends(
        &self,
        space: &Space,
        thread: &ThreadId,
        placed: &[Placed],
    ) -> Result<Option<Timestamp>, store::Error> {
        let mut left = None;
        for event in placed.iter().map(|placed| &placed.shown.event) {
            match event.ends_below().filter(|_| event.thread == *thread) {
                Some(due) => left = Some(due),
                None => self.told(space, event),
            }
        }
        let ended = || placed.iter().map(|placed| &placed.shown.event).filter(|event| event.ends_thread());
        if let (Some(first), Some(last)) = (ended().map(|it| &it.thread).min(), ended().map(|it| &it.thread).max()) {
            self.break_waits_within(space, first..=last).await?;
        }
        Ok(left)
    }
}
