//! The news for followers of a turn or a model call at work. It is a hint (`feed.rs`): never
//! stored.

use thinkd_words::id::ThreadId;
use thinkd_words::time::Timestamp;

/// A turn at work, or a model call in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// The thread.
    pub thread: ThreadId,
    /// The number of the turn.
    pub turn: u64,
    /// Of a model call: its caller, its reason, and its place among its kind in the turn, from 0.
    /// None: it is the turn itself.
    pub call: Option<(String, String, u64)>,
    /// Milliseconds: how long a turn waits for its voices, or a call for its answer.
    pub limit_ms: Option<u64>,
    /// True if the work ends with this; it begins otherwise.
    pub ended: bool,
    /// When.
    pub at: Timestamp,
}
