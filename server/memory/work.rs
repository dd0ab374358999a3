//! Trials as a kind of work: a claim becomes a statement of the world model only if it survives
//! one. The trials of a space are done under one lease, that of a thread of their own, beside all
//! conversations. Their events in the log belong to the thread that claimed. `memory/trying.rs`
//! tries one statement.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Mutex as AsyncMutex;

use super::bench::Bench;
use super::journal::{Journal, TRIES};
use super::merges::contest_by_merges;
use super::retesting::{has_something_to_renew, has_something_to_retest};
use super::telling::{has_something_to_tell, look_for_late};
use super::trials::Trials;
use super::working::try_all;
use thinkd_event::condition::Condition;
use thinkd_event::envelope::Event;
use thinkd_event::statement::{Claim, Status};
use thinkd_log::error::StoreError;
use thinkd_log::thread_row::ThreadRow;
use thinkd_mind::turn_writer::TurnWriter;
use thinkd_runtime::refused::Refused;
use thinkd_runtime::work::{Claim as Leased, Looked, Work, looked};
use thinkd_tasks::share::Place;
use thinkd_tools::word::{Held, held, waiting};
use thinkd_words::id::{self, Space, ThreadId};

#[async_trait]
impl Work for Trials {
    fn owns(&self, thread: &ThreadId) -> bool {
        thread.is_of_trials()
    }

    async fn place(&self, _: &Space, _: &ThreadId) -> Option<Place> {
        None
    }

    /// A trial ends by itself: its models, its instruments and its readings have limits.
    async fn cancel(&self, _: &Space, _: &ThreadRow, _: Option<&str>) -> Result<bool, Refused> {
        Ok(false)
    }

    fn is_whole_thread(&self) -> bool {
        true
    }

    fn sees(&self, space: &Space, event: &Event) {
        look_for_late(&self.ground, space, event);
    }

    /// Tries due statements until none is left, then rests until something is claimed, answered or
    /// due again.
    async fn work(&self, leased: Leased) -> Result<Looked, StoreError> {
        let space = leased.fence.space.clone();
        let bench = Bench {
            trials: self,
            journal: self.journal(&space),
            row: leased.row,
            stop: &leased.stop,
            writer: TurnWriter::new(self.ground.store.clone(), leased.fence, None),
            settling: AsyncMutex::new(()),
            asking: AsyncMutex::new(()),
        };
        let most = bench.journal.memory().calls_per_hour;
        let mut calls = self.kept(&space, |kept| kept.calls.clone());
        calls.count(bench.journal, most).await?;
        self.kept(&space, |kept| kept.calls = calls);
        looked(try_all(&bench).await)
    }
}

impl Trials {
    /// Claims something in a thread. Returns the statement's id and its status after the commit,
    /// before any trial: a person's word about themselves is held.
    pub async fn claim(
        &self,
        space: &Space,
        thread: &ThreadId,
        claim: Claim,
    ) -> Result<(String, Status), Refused> {
        let journal = self.journal(space);
        if claim.source.word
            && let Some(id) = hold(journal, thread, &claim).await?
        {
            return Ok((id, Status::Surviving));
        }
        let limit = journal.memory().waiting;
        let refused = || Refused::TooMany {
            what: "claims of a space that wait for their trial; claim again when some have had theirs",
            limit,
        };
        let id = id::fresh();
        let claimed = waiting(journal.store(), (space, thread), (id, claim), limit);
        let claimed = claimed.await?.ok_or_else(refused)?;
        match journal.append(claimed).await {
            Err(StoreError::Unmet(Condition::FewerWaiting(_))) => Err(refused()),
            appended => Ok(appended.map(|()| (id.to_string(), Status::Proposed))?),
        }
    }

    /// Looks through all spaces once, after a start: work that a stop has cut off is done, and the
    /// trials are woken where there is something. An instrument that was missing then may be there
    /// now.
    pub async fn look_through(self: Arc<Self>) {
        let spaces = match self.ground.store.spaces_with_statements().await {
            Ok(spaces) => spaces,
            Err(error) => {
                tracing::warn!(%error, "the spaces with statements cannot be read: a start looks for their trials again");
                return;
            }
        };
        for space in spaces {
            let journal = self.journal(&space);
            // Neither look waits for the other to be done without an error.
            if let Err(error) = contest_by_merges(journal).await {
                tracing::warn!(%space, %error, "it was not looked what contradicts what by names that are one: a start looks again");
            }
            if let Err(error) = wake_for_trials(journal).await {
                tracing::warn!(%space, %error, "it was not looked what a new instrument could test: a claim, or a start, has it looked for again");
            }
        }
    }
}

/// Wakes the trials of a space if there is something to test again, to tell or to renew.
async fn wake_for_trials(journal: Journal<'_>) -> Result<(), StoreError> {
    let is_due = has_something_to_retest(journal).await?
        || has_something_to_tell(journal).await?
        || has_something_to_renew(journal).await?;
    if is_due {
        journal.wake().await?;
    }
    Ok(())
}

/// Holds a person's word about themselves, and returns its id; none: it is claimed like anything
/// else.
async fn hold(
    journal: Journal<'_>,
    thread: &ThreadId,
    claim: &Claim,
) -> Result<Option<String>, Refused> {
    for _ in 0..TRIES {
        let place = (journal.space, thread);
        let held = held(journal.store(), place, id::fresh(), claim).await?;
        let Some(Held { id, drafts }) = held else {
            return Ok(None);
        };
        if drafts.is_empty() || journal.is_appended(drafts).await? {
            return Ok(Some(id));
        }
    }
    Ok(None)
}
