//! A stop cancels a running turn, once, for a reason.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio_util::sync::CancellationToken;

use thinkd_event::envelope::TurnOutcome;

/// Why a turn is stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// A caller asked for it.
    Cancel,
    /// The same, together with the threads above it.
    CancelWithAbove,
    /// Newer input replaces it.
    Interrupt,
    /// The server goes, or has lost the thread's lease: the turn is left for the server that takes
    /// it up.
    Leave,
}

impl Why {
    /// The end of a turn that is stopped for this; none: it does not end.
    pub const fn outcome(self) -> Option<TurnOutcome> {
        match self {
            Self::Cancel | Self::CancelWithAbove => Some(TurnOutcome::Cancelled),
            Self::Interrupt => Some(TurnOutcome::Interrupted),
            Self::Leave => None,
        }
    }
}

/// Stops a turn, once, for a reason.
#[derive(Debug)]
pub struct Stop {
    token: CancellationToken,
    why: OnceLock<Why>,
    over: AtomicBool,
}

impl Stop {
    /// A stop below `all`: when that is cancelled, the turn is left.
    pub fn new(all: &CancellationToken) -> Self {
        Self {
            token: all.child_token(),
            why: OnceLock::new(),
            over: AtomicBool::new(false),
        }
    }

    /// Stops the turn. The first reason counts. A turn that is over cannot be stopped, nor the work
    /// that goes on beside it. Its lease is given back with its end, and must not be taken for
    /// lost.
    pub fn stop(&self, why: Why) {
        if self.over.load(Ordering::Acquire) {
            return;
        }
        // A second reason changes nothing.
        let _ = self.why.set(why);
        self.token.cancel();
    }

    /// The turn is over: nothing stops it any more.
    pub fn end(&self) {
        self.over.store(true, Ordering::Release);
    }

    /// Waits until it is stopped.
    pub async fn stopped(&self) -> Why {
        self.token.cancelled().await;
        self.why().unwrap_or(Why::Leave)
    }

    /// Cancelled when it is stopped.
    pub fn token(&self) -> &CancellationToken {
        &self.token
    }

    /// Why it was stopped, if it was.
    pub fn why(&self) -> Option<Why> {
        self.token
            .is_cancelled()
            .then(|| self.why.get().copied().unwrap_or(Why::Leave))
    }
}
