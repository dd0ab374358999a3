//! A kind of work: the purpose for which a thread's lease is taken. `session/kinds.rs` lists the
//! kinds; the lease loop knows none of them.

use std::sync::Arc;

use async_trait::async_trait;

use super::refused::Refused;
use thinkd_event::condition::Condition;
use thinkd_event::envelope::Event;
use thinkd_log::error::StoreError;
use thinkd_log::fence::Fence;
use thinkd_log::projections::submodules::SubmoduleRow;
use thinkd_log::status::Status;
use thinkd_log::thread_row::ThreadRow;
use thinkd_mind::turn::stop::Stop;
use thinkd_mind::turn_writer::Lost;
use thinkd_tasks::share::Place;
use thinkd_words::id::{Space, ThreadId};

/// Most beginnings of work with events that the store does not take: every time, models are asked
/// again.
pub(super) const TRIES: u32 = 5;

/// A kind of work on threads.
#[async_trait]
pub trait Work: Send + Sync + 'static {
    /// Returns whether a thread's work is of this kind. The id alone says it, for it is asked
    /// before anything is read.
    fn owns(&self, thread: &ThreadId) -> bool;

    /// Waits for a place to work at, before the lease is taken: a thread that waits for one holds
    /// no lease.
    async fn place(&self, space: &Space, thread: &ThreadId) -> Option<Place>;

    /// Reads the things that the work needs besides the thread's row, while the lease is being
    /// taken: a trip each, where the database is elsewhere.
    async fn prepare(&self, _space: &Space) -> Result<Prepared, StoreError> {
        Ok(Prepared::default())
    }

    /// Returns `Some` if the thread is better left alone as it is now: the lease was given back,
    /// and the thread came to this.
    async fn postpone(
        &self,
        _row: &ThreadRow,
        _fence: &Fence,
    ) -> Result<Option<Looked>, StoreError> {
        Ok(None)
    }

    /// Cancels the work on a thread that is under way, or is about to be; where another server may do it, that one is told through
    /// the log. False: there is none.
    async fn cancel(
        &self,
        space: &Space,
        row: &ThreadRow,
        user: Option<&str>,
    ) -> Result<bool, Refused>;

    /// Cancels the same together with the threads above it, which it does not wake then.
    async fn cancel_with_above(&self, space: &Space, row: &ThreadRow) -> Result<bool, Refused> {
        self.cancel(space, row, None).await
    }

    /// Returns whether a thread is nothing but its work: then to end it is to cancel that.
    fn is_whole_thread(&self) -> bool {
        false
    }

    /// Is told of every event that this server stored and that may lead to more: in the order of
    /// its appends, while they wait, so it only looks. Events that are missed after a crash must be
    /// found otherwise.
    fn sees(&self, _space: &Space, _event: &Event) {}

    /// Works on a thread, to the end of its turn or until stopped.
    async fn work(&self, claim: Claim) -> Result<Looked, StoreError>;
}

/// Data read while a lease is being taken.
#[derive(Debug, Default)]
pub struct Prepared {
    /// The space's submodules.
    pub submodules: Vec<SubmoduleRow>,
}

/// A thread with a held lease.
pub struct Claim {
    /// The thread as it is under the lease: only input can change it now.
    pub row: ThreadRow,
    /// The lease.
    pub fence: Fence,
    /// Stops the work.
    pub stop: Arc<Stop>,
    /// The data that was read meanwhile.
    pub prepared: Prepared,
    /// Number of times that the same work was begun in vain.
    pub attempts: Attempts,
}

/// Numbers of times that work was begun in vain.
#[derive(Debug, Clone, Copy, Default)]
pub struct Attempts {
    /// The times that failed by the work itself.
    pub refused: u32,
    /// The times that failed because the database was away, full or busy: that says nothing about
    /// the work.
    pub away: u32,
}

impl Attempts {
    /// Returns whether another try makes no sense.
    pub fn are_used_up(self) -> bool {
        self.refused >= TRIES
    }

    /// Returns whether the work is begun for the first time.
    pub fn are_none(self) -> bool {
        self.refused.max(self.away) == 0
    }
}

/// The result of looking after a thread.
pub enum Looked {
    /// Work was done, after which the thread is this: look again.
    Worked(Status),
    /// Nothing to do, or another server does it.
    Nothing,
}

/// Returns the result of work that ended like this. Work that was left counts as work that lost its
/// lease.
pub fn looked(ended: Result<Status, Lost>) -> Result<Looked, StoreError> {
    match ended {
        Ok(status) => Ok(Looked::Worked(status)),
        Err(Lost::Stale) => Ok(Looked::Nothing),
        Err(Lost::Withdrawn) => Err(StoreError::Unmet(Condition::Wait(Vec::new()))),
        Err(Lost::Store(error)) => Err(error),
    }
}
