//! Drafts that are appended to the log together, and their outcome. The writer is in `append.rs`.

use std::sync::Arc;

use super::fence::Fence;
use super::shown::Shown;
use thinkd_event::draft::Draft;
use thinkd_words::id::Space;

/// Events to be appended together, or not at all.
#[derive(Debug, Clone)]
pub struct Append {
    /// The space.
    pub space: Space,
    /// The events, in order; at least one. They may belong to several threads of the space.
    pub drafts: Vec<Draft>,
    /// The lease under which they are appended; `None` for drafts that need none (a client's input,
    /// late answers).
    pub fence: Option<Fence>,
    /// Give the lease back in the same commit.
    pub release: bool,
}

impl Append {
    /// An append that needs no lease.
    pub fn free(space: &Space, drafts: Vec<Draft>) -> Self {
        Self {
            space: space.clone(),
            drafts,
            fence: None,
            release: false,
        }
    }
}

/// The outcome of one draft.
#[derive(Debug, Clone)]
pub struct Placed {
    /// The stored event.
    pub shown: Arc<Shown>,
    /// Its id was known already, with the same content: `shown` is the first one, nothing was stored.
    pub duplicate: bool,
}

/// The outcome of an append.
#[derive(Debug, Clone)]
pub enum Appended {
    /// All are in the log, one entry a draft, in order.
    Stored(Vec<Placed>),
    /// The lease is no longer held: nothing was stored.
    Stale,
}
