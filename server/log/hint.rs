//! Hints: news that followers are shown and that is never stored.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::work::Work;
use thinkd_words::id::{Seq, ThreadId};

/// News for followers, never stored.
#[derive(Debug, Clone, PartialEq)]
pub enum Hint {
    /// A piece of a reply to come.
    Delta(Delta),
    /// The end of the pieces, and their outcome.
    DeltaEnd(DeltaEnd),
    /// A thread's status changed.
    Status {
        /// The thread.
        thread: ThreadId,
        /// Its status now.
        status: crate::status::Status,
        /// The number of inputs that wait.
        queued: u32,
    },
    /// A turn or a model call begins or ends.
    Work(Work),
    /// A thread cannot go on now, and will when it can.
    Trouble {
        /// The thread.
        thread: ThreadId,
        /// The error, in words for people.
        text: String,
    },
}

/// A piece of a reply to come, after the events that were stored before it was made. A connection
/// is sent each reply from its beginning (`at` 0), also one that subscribes in its middle, as long
/// as this server streams it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Delta {
    /// The thread that replies.
    #[schema(value_type = String, example = "main")]
    pub thread: ThreadId,
    /// The id the reply's event will have.
    pub event_id: Uuid,
    /// The place where the piece begins, in Unicode scalars.
    pub at: usize,
    /// The piece.
    pub text: String,
}

/// No more pieces.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeltaEnd {
    /// The thread.
    #[schema(value_type = String, example = "main")]
    pub thread: ThreadId,
    /// The reply's id.
    pub event_id: Uuid,
    /// The fate of the pieces.
    pub outcome: DeltaOutcome,
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
            Self::Delta(Delta { thread, .. })
            | Self::DeltaEnd(DeltaEnd { thread, .. })
            | Self::Status { thread, .. }
            | Self::Trouble { thread, .. }
            | Self::Work(Work { thread, .. }) => thread,
        }
    }
}

/// The fate of a reply's pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = DeltaFate)]
pub enum DeltaOutcome {
    /// The whole reply is an event.
    Stored,
    /// The pieces that were sent are an event, tagged `partial`.
    Partial,
    /// The pieces count no more: a client removes them.
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
