//! Hints: news that followers are shown and that is never stored.

use std::sync::Arc;

use uuid::Uuid;

use super::work::Work;
use crate::words::id::{Seq, ThreadId};

/// What is worth showing but not storing.
#[derive(Debug, Clone, PartialEq)]
pub enum Hint {
    /// A piece of a reply to come: `at` counts Unicode scalars from its beginning.
    Delta {
        /// The thread that replies.
        thread: ThreadId,
        /// The id the reply's event will have.
        event_id: Uuid,
        /// Where the piece begins.
        at: usize,
        /// The piece.
        text: String,
    },
    /// No more pieces: what became of them (`stored`, `partial`, `discarded`).
    DeltaEnd {
        /// The thread.
        thread: ThreadId,
        /// The reply's id.
        event_id: Uuid,
        /// What became of it.
        outcome: DeltaOutcome,
    },
    /// A thread's status changed.
    Status {
        /// The thread.
        thread: ThreadId,
        /// What it does now.
        status: crate::log::status::Status,
        /// How many inputs wait.
        queued: u32,
    },
    /// A turn or a model call begins or ends.
    Work(Work),
    /// A thread cannot go on now, and will when it can.
    Trouble {
        /// The thread.
        thread: ThreadId,
        /// What is wrong, for people.
        text: String,
    },
}

impl Hint {
    /// An event that this build cannot read.
    pub fn unreadable(thread: ThreadId, seq: Seq) -> Self {
        let text = format!(
            "event {seq} cannot be read by this server, and is left out; a newer one may have written it"
        );
        Self::Trouble { thread, text }
    }

    /// The thread it is about.
    pub fn thread(&self) -> &ThreadId {
        match self {
            Self::Delta { thread, .. }
            | Self::DeltaEnd { thread, .. }
            | Self::Status { thread, .. }
            | Self::Trouble { thread, .. }
            | Self::Work(Work { thread, .. }) => thread,
        }
    }
}

/// What became of streamed pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeltaOutcome {
    /// The whole reply is an event.
    Stored,
    /// What was sent is an event, tagged `partial`.
    Partial,
    /// They never happened: forget them.
    Discarded,
}

/// A hint and the last event that was stored when it was made: it stands behind that one, and before the next.
#[derive(Debug, Clone)]
pub struct Hinted {
    /// The hint.
    pub hint: Arc<Hint>,
    /// The last event before it; 0: nothing is known of any.
    pub after: Seq,
}
