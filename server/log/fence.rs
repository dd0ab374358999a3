//! The right to append to a thread, which a lease gives. Leases within one process are in `leases.rs`; those of Postgres are rows.

use super::error::StoreError;
use super::thread_row::ThreadRow;
use thinkd_words::id::{Space, ThreadId};

/// The right to append to a thread: given by a lease, checked inside every append.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fence {
    /// The space of the thread.
    pub space: Space,
    /// The thread.
    pub thread: ThreadId,
    /// Another one with every lease; an append with any but the last is dropped.
    pub number: i64,
}

/// A lease that was taken.
#[derive(Debug)]
pub struct Leased {
    /// The right it gives.
    pub fence: Fence,
    /// The thread's row, read under the lease: it has all that the holder before has written.
    pub row: Result<Option<ThreadRow>, StoreError>,
}
