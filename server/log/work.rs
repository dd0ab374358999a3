//! What followers are told of who is at work. It is a hint (`feed.rs`): never stored.

use thinkd_words::id::ThreadId;
use thinkd_words::time::Timestamp;

/// Who is at work: a turn, or a model call in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    /// The thread.
    pub thread: ThreadId,
    /// The number of the turn.
    pub turn: u64,
    /// Of a model call: who asks, why, and which of its kind in the turn, from 0. None: it is the turn itself.
    pub call: Option<(String, String, u64)>,
    /// Milliseconds: how long a turn waits for its voices, or a call for its answer.
    pub limit_ms: Option<u64>,
    /// It ends with this; it begins otherwise.
    pub ended: bool,
    /// When.
    pub at: Timestamp,
}
