//! Reports on the stored data, for the operator of the server: changes that cannot be read, the
//! outcome of a rebuild and of a check.

use thinkd_words::id::{Seq, Space, ThreadId};
use thinkd_words::time::{Timestamp, now};

/// A change in the log that this build cannot read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// The space.
    pub space: Space,
    /// The event's thread.
    pub thread: ThreadId,
    /// The event's seq.
    pub seq: Seq,
    /// Its kind: `contact`, `submodule`, …
    pub kind: String,
    /// Its key.
    pub key: String,
}

/// The outcome of a rebuild of the rows from the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuilt {
    /// Events folded.
    pub events: u64,
    /// Rows that differed from the log: table and key, at most 20 named.
    pub differences: Vec<String>,
    /// Rows with a last change that cannot be read: they stay as they are.
    pub unreadable: Vec<Unread>,
}

/// A look through the whole file of the log.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize, utoipa::ToSchema)]
#[schema(as = LookedAt)]
pub struct Checked {
    /// When it began.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// Pages of the file.
    pub pages: u64,
    /// Events read.
    pub events: u64,
    /// The first faults: data that cannot be read, or is not as it was written, with the page where
    /// that is known; empty: all is well.
    pub faults: Vec<String>,
}

impl Checked {
    /// Nothing is damaged, as far as was read.
    pub(super) fn sound(pages: u64, events: u64) -> Self {
        Self {
            at: now(),
            pages,
            events,
            faults: Vec::new(),
        }
    }
}
