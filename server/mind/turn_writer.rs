//! The turn writer appends the events of one turn under the lease of the turn, and adds
//! `turn started` to its first append. Their content is decided elsewhere.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::Mutex;

use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_log::appended::{Append, Appended};
use thinkd_log::error::StoreError;
use thinkd_log::fence::Fence;
use thinkd_log::kernel::Store;
use thinkd_log::shown::Shown;
use thinkd_words::id::Seq;

/// Why nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum Lost {
    /// Another server has the thread now: stop, say nothing.
    #[error("another server has taken over the thread")]
    Stale,
    /// An input was taken back before the turn about it was in the log: nothing of the turn is, and
    /// the next one is about the rest.
    #[error("an input was taken back before its turn began")]
    Withdrawn,
    /// The store failed: the turn is taken up again later.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Appends for one turn.
pub struct TurnWriter {
    store: Arc<dyn Store>,
    fence: Fence,
    // Held across the first append only, so that nothing of the turn can come before its beginning; kept until that is stored.
    opening: Mutex<Option<Draft>>,
    closed: AtomicBool,
    /// The event to which the turn goes back.
    root: Option<Seq>,
    /// The event from outside behind that, of a mission that a turn began.
    cause: Option<Seq>,
}

impl TurnWriter {
    /// A writer under this lease. `opening` is the turn's beginning, unless it is in the log already.
    pub fn new(store: Arc<dyn Store>, fence: Fence, opening: Option<Draft>) -> Self {
        Self {
            store,
            fence,
            opening: Mutex::new(opening),
            closed: AtomicBool::new(false),
            root: None,
            cause: None,
        }
    }

    /// Returns the same, for a turn that goes back to this event: its drafts say so.
    #[must_use]
    pub fn rooted(self, root: Option<Seq>) -> Self {
        Self { root, ..self }
    }

    /// The same, for a mission that goes back to this event beside its own beginning.
    #[must_use]
    pub fn caused(self, cause: Option<Seq>) -> Self {
        Self { cause, ..self }
    }

    /// Returns whether the turn's beginning is in the log.
    pub async fn has_begun(&self) -> bool {
        self.opening.lock().await.is_none()
    }

    /// Appends under the lease. Returns everything stored, the turn's beginning included.
    pub async fn write(&self, drafts: Vec<Draft>) -> Result<Vec<Arc<Shown>>, Lost> {
        self.append(drafts, Some(self.fence.clone()), false).await
    }

    /// Appends and gives the lease back.
    pub async fn close(&self, drafts: Vec<Draft>) -> Result<Vec<Arc<Shown>>, Lost> {
        self.closed.store(true, Ordering::Release);
        self.append(drafts, Some(self.fence.clone()), true).await
    }

    /// Appends drafts that may also come when the turn is over (late answers, follow-ups): then
    /// without the lease.
    pub async fn write_beside(&self, drafts: Vec<Draft>) -> Result<Vec<Arc<Shown>>, Lost> {
        let fence = (!self.closed.load(Ordering::Acquire)).then(|| self.fence.clone());
        self.append(drafts, fence, false).await
    }

    async fn append(
        &self,
        mut drafts: Vec<Draft>,
        fence: Option<Fence>,
        release: bool,
    ) -> Result<Vec<Arc<Shown>>, Lost> {
        let opening = self.opening.lock().await;
        let begins = fence.is_some() && opening.is_some();
        if begins {
            drafts.splice(0..0, opening.clone());
        }
        let begun = begins.then_some(opening);
        if drafts.is_empty() {
            return Ok(Vec::new());
        }
        let rooted = |draft: Draft| draft.rooted(self.root).caused(self.cause);
        let append = Append {
            space: self.fence.space.clone(),
            drafts: drafts.into_iter().map(rooted).collect(),
            fence,
            release,
        };
        match self.store.append(append).await {
            Ok(Appended::Stored(placed)) => {
                begun.into_iter().for_each(|mut opening| *opening = None);
                Ok(placed.into_iter().map(|p| p.shown).collect())
            }
            Ok(Appended::Stale) => Err(Lost::Stale),
            Err(StoreError::Unmet(Condition::Wait(_))) => Err(Lost::Withdrawn),
            Err(error) => Err(Lost::Store(error)),
        }
    }
}
