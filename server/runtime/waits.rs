//! Waits of a thread for one other thread: whether an event ends the wait, and whether the wait can end at all (the other may have ended,
//! be stuck, or wait in a circle).

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt, stream};
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;

use super::append::append_told;
use super::mailbox::PAGE;
use thinkd_event::draft::Draft;
use thinkd_event::process::{Ending, ErrorCode};
use thinkd_log::error::StoreError;
use thinkd_log::kernel::Store;
use thinkd_log::thread_row::{Span, Wait};
use thinkd_mind::turn::driver::OnStored;
use thinkd_mind::turn::out_of_reach;
use thinkd_words::id::{Space, ThreadId};

/// Rest when the log cannot be read or written.
const REST: Duration = Duration::from_secs(1);
/// So many spaces are looked at beside one another after a start, each for so long at a time.
const SPACES: usize = 16;
const LOOK: Duration = Duration::from_secs(5);
/// So far is a chain of threads that wait for one another followed.
const CHAIN_MAX: usize = 64;

/// Looks whether waits are of any use.
#[derive(Clone)]
pub struct Waits {
    /// The store of the threads and their waits.
    pub store: Arc<dyn Store>,
    /// Is told of stored events, to wake a thread.
    pub on_stored: OnStored,
    /// Cancelled: the server goes.
    pub all: CancellationToken,
}

impl Waits {
    /// Looks at every wait for one thread once, after a start: a crash may have come between
    /// writing it down and looking. Space by space, some beside one another and each for a while:
    /// one where that takes long, or does not work, keeps no other waiting.
    pub async fn look_at_waits(self) {
        let mut waits = loop {
            match self.all_waits().await {
                Ok(waits) => break waits,
                Err(error) => {
                    tracing::warn!(%error, "threads that wait for one another could not be looked for; it is tried again");
                    if self.rests().await.is_break() {
                        return;
                    }
                }
            }
        };
        while !waits.is_empty() {
            let spaces: Vec<Vec<Wait>> = waits
                .chunk_by(|a, b| a.space == b.space)
                .map(<[Wait]>::to_vec)
                .collect();
            let looks = stream::iter(spaces).map(|waits| self.look_at_some(waits));
            #[expect(
                clippy::disallowed_methods,
                reason = "they are looked at again in whatever order they were left"
            )]
            let left = looks.buffer_unordered(SPACES).concat().await;
            waits = left;
            if !waits.is_empty() && self.rests().await.is_break() {
                return;
            }
        }
    }

    /// Rests for a while, unless the server goes.
    async fn rests(&self) -> ControlFlow<()> {
        tokio::select! {
            () = self.all.cancelled() => ControlFlow::Break(()),
            () = tokio::time::sleep(REST) => ControlFlow::Continue(()),
        }
    }

    async fn all_waits(&self) -> Result<Vec<Wait>, StoreError> {
        let mut all = Vec::new();
        loop {
            let page = self.store.waits(all.last(), PAGE).await?;
            if page.is_empty() {
                return Ok(all);
            }
            all.extend(page);
        }
    }

    /// Looks at waits of a space, for a while. Those that are left, and those that could not be looked at.
    async fn look_at_some(&self, waits: Vec<Wait>) -> Vec<Wait> {
        let until = Instant::now() + LOOK;
        let mut left = Vec::new();
        for wait in waits {
            if self.all.is_cancelled() || Instant::now() >= until {
                left.push(wait);
                continue;
            }
            let looked = timeout_at(until, self.look_at_wait(&wait)).await;
            let error = match looked {
                Ok(Ok(())) => continue,
                Ok(Err(error)) => error.to_string(),
                Err(_) => "it takes too long".to_owned(),
            };
            let Wait { space, thread, .. } = &wait;
            tracing::warn!(error, %space, %thread, "a wait could not be looked at; it is tried again after the others");
            left.push(wait);
        }
        left
    }

    async fn look_at_wait(
        &self,
        Wait {
            space,
            target,
            thread,
        }: &Wait,
    ) -> Result<(), StoreError> {
        self.break_wait(space, thread).await?;
        let row = self.store.thread(space, thread).await?;
        if let Some(row) = row.filter(|row| row.awaits() == Some(target))
            && row.parent().as_ref() != Some(target)
            && !self
                .store
                .contacts(space, thread)
                .await?
                .iter()
                .any(|contact| contact.target == *target)
        {
            let whom = row
                .state
                .waiting
                .and_then(|waiting| waiting.name)
                .unwrap_or_else(|| target.to_string());
            self.tell(space, out_of_reach(thread, None, &whom)).await?;
        }
        Ok(())
    }

    /// Wakes, after a thread's turn or its end, those that began to wait for it while that was
    /// stored, and were not told.
    pub async fn break_waits_for(
        &self,
        space: &Space,
        thread: &ThreadId,
    ) -> Result<(), StoreError> {
        let row = self.store.thread_lately(space, thread).await?;
        if row.is_some_and(|row| row.status.is_final() || row.stuck().or(row.failed()).is_some()) {
            self.break_waits_within(space, thread..=thread).await?;
        }
        Ok(())
    }

    /// Does the same for threads that ended at once, and for all threads between them.
    pub async fn break_waits_within(
        &self,
        space: &Space,
        threads: Span<'_>,
    ) -> Result<(), StoreError> {
        for (_, waiting) in self.store.awaiting(space, threads, u32::MAX).await? {
            self.break_wait(space, &waiting).await?;
        }
        Ok(())
    }

    /// Wakes a thread if nothing would ever end its wait: the one it waits for has ended already,
    /// or cannot go on, or waits … for itself.
    pub async fn break_wait(&self, space: &Space, thread: &ThreadId) -> Result<(), StoreError> {
        let Some(first) = self.waits_for(space, thread).await? else {
            return Ok(());
        };
        let awaited = self.store.thread(space, &first).await?;
        let draft = match &awaited {
            // It became a contact with the same step, too late to be told of the end.
            Some(row) if row.status.is_final() => {
                let reason = row.state.reason.as_deref().unwrap_or_default();
                let word = Draft::ended(
                    thread,
                    &Ending {
                        thread: &first,
                        status: row.status.as_str(),
                        reason,
                        last: "",
                    },
                );
                match self.tell(space, word.clone().once(&first)).await {
                    // It was told, and began to wait all the same: nothing else would wake it.
                    Ok(false) | Err(StoreError::Conflict(_))
                        if self.waits_for(space, thread).await?.as_ref() == Some(&first) =>
                    {
                        word
                    }
                    Ok(_) | Err(StoreError::Conflict(_)) => return Ok(()),
                    Err(error) => return Err(error),
                }
            }
            Some(row) if row.stuck().or(row.failed()).is_some() => Draft::stuck(
                thread,
                &first,
                row.stuck().or(row.failed()).unwrap_or_default(),
            )
            .overruling(),
            _ => match self.circle(space, thread, &first).await? {
                Some(circle) => wait_cycle(thread, &first, &circle),
                None => return Ok(()),
            },
        };
        self.tell(space, draft).await?;
        Ok(())
    }

    /// Appends a draft. Returns whether it is news.
    async fn tell(&self, space: &Space, draft: Draft) -> Result<bool, StoreError> {
        let placed = append_told(&*self.store, &self.on_stored, space, vec![draft]).await?;
        Ok(placed.iter().any(|placed| !placed.duplicate))
    }

    /// Returns the threads that wait for one another, if that leads from `first` back to `thread`:
    /// none of them would ever go on.
    async fn circle(
        &self,
        space: &Space,
        thread: &ThreadId,
        first: &ThreadId,
    ) -> Result<Option<Vec<ThreadId>>, StoreError> {
        let (mut at, mut circle): (ThreadId, Vec<ThreadId>) = (first.clone(), vec![thread.clone()]);
        while at != *thread {
            if circle.contains(&at) || circle.len() > CHAIN_MAX {
                return Ok(None);
            }
            let Some(next) = self.waits_for(space, &at).await? else {
                return Ok(None);
            };
            circle.push(std::mem::replace(&mut at, next));
        }
        Ok(Some(circle))
    }

    async fn waits_for(
        &self,
        space: &Space,
        thread: &ThreadId,
    ) -> Result<Option<ThreadId>, StoreError> {
        let row = self.store.thread(space, thread).await?;
        Ok(row.and_then(|row| row.awaits().cloned()))
    }
}

/// Returns the error that wakes a thread in a circle of waits, and that lets it decide.
fn wait_cycle(thread: &ThreadId, first: &ThreadId, circle: &[ThreadId]) -> Draft {
    let names: Vec<&str> = circle
        .iter()
        .chain([thread])
        .map(ThreadId::as_str)
        .collect();
    let text = format!(
        "threads wait for one another in a circle: {}; wait for somebody else, or write first",
        names.join(" for ")
    );
    Draft::thread_error(thread, None, first.as_str(), ErrorCode::WaitCycle, &text).overruling()
}
