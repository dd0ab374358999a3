//! Where a space's log ends.

use uuid::Uuid;

use crate::words::id::Seq;
use crate::words::time::Timestamp;

/// A space's log as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The seq of its last event; 0 when there is none.
    pub seq: Seq,
    /// This incarnation of the log; another one after a restore.
    pub epoch: Uuid,
}

/// Where a space's log ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub seq: Seq,
    pub ts: Timestamp,
}
