//! A kind of work: what a thread's lease is taken for. Which kinds there are is in `kinds.rs`; the lease loop knows none of them.

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

/// So often is work begun whose events the store does not take: every time, models are asked again.
pub(super) const TRIES: u32 = 5;

/// A kind of work on threads.
#[async_trait]
pub trait Work: Send + Sync + 'static {
    /// Whether a thread's work is of this kind. The id alone says it, for it is asked before anything is read.
    fn owns(&self, thread: &ThreadId) -> bool;

    /// Waits for a place to work at, before the lease is taken: whoever waits for one holds no lease.
    async fn place(&self, space: &Space, thread: &ThreadId) -> Option<Place>;

    /// Reads what the work needs besides the thread's row, while the lease is being taken: a trip each, where the database is
    /// elsewhere.
    async fn prepare(&self, _space: &Space) -> Result<Prepared, StoreError> {
        Ok(Prepared::default())
    }

    /// Whether the thread is better left alone as it is now. `Some`: the lease was given back, and the thread came to this.
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

    /// Whether a thread is nothing but its work: then to end it is to cancel that.
    fn is_whole_thread(&self) -> bool {
        false
    }

    /// Is told of every event that this server stored and that may lead to more: in the order of its appends, while they wait, so it only
    /// looks. What is missed after a crash must be found otherwise.
    fn sees(&self, _space: &Space, _event: &Event) {}

    /// Works on a thread, to the end of its turn or until stopped.
    async fn work(&self, claim: Claim) -> Result<Looked, StoreError>;
}

/// What is read while a lease is being taken.
#[derive(Debug, Default)]
pub struct Prepared {
    /// The space's submodules.
    pub submodules: Vec<SubmoduleRow>,
}

/// A thread whose lease is held.
pub struct Claim {
    /// The thread as it is under the lease: only input can change it now.
    pub row: ThreadRow,
    /// The lease.
    pub fence: Fence,
    /// Stops the work.
    pub stop: Arc<Stop>,
    /// What was read meanwhile.
    pub prepared: Prepared,
    /// How often the same work was begun in vain.
    pub attempts: Attempts,
}

/// How often work was begun in vain.
#[derive(Debug, Clone, Copy, Default)]
pub struct Attempts {
    /// For what it does itself.
    pub refused: u32,
    /// Because the database was away, full or busy: that says nothing about the work.
    pub away: u32,
}

impl Attempts {
    /// Whether there is no sense in another one.
    pub fn are_used_up(self) -> bool {
        self.refused >= TRIES
    }

    /// Whether the work is begun for the first time.
    pub fn are_none(self) -> bool {
        self.refused.max(self.away) == 0
    }
}

/// What looking after a thread came to.
pub enum Looked {
    /// Work was done, after which the thread is this: look again.
    Worked(Status),
    /// Nothing to do, or somebody else does it.
    Nothing,
}

/// What work that ended like this comes to. What was left is as if its lease were lost.
pub(super) fn looked(ended: Result<Status, Lost>) -> Result<Looked, StoreError> {
    match ended {
        Ok(status) => Ok(Looked::Worked(status)),
        Err(Lost::Stale) => Ok(Looked::Nothing),
        Err(Lost::Withdrawn) => Err(StoreError::Unmet(Condition::Wait(Vec::new()))),
        Err(Lost::Store(error)) => Err(error),
    }
}
