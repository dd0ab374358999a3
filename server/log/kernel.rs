//! The traits of a store, one for each need. `Store` is all of them: the one object that is passed
//! around; a caller that needs less takes the trait that says so. Every method that waits fails
//! with `StoreError::Unavailable` where the database is away, busy or closed. It fails with
//! `StoreError::Broken` where a stored value cannot be read; other errors are named where they can
//! come.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use super::appended::{Append, Appended};
use super::blob::Blob;
use super::change::Spent;
use super::error::StoreError;
use super::feed::Feed;
use super::fence::{Fence, Leased};
use super::head::Head;
use super::presence::{Presence, Server};
use super::query::Query;
use super::select::Select;
use super::shown::Written;
use super::table::{Row, Table};
use super::thread_row::{Span, ThreadRow, Wait};
use super::thread_state::Position;
use super::unserved::Unserved;
use super::upkeep::{Checked, Rebuilt};
use super::vectors::{Hash, Maker, Stored, VectorChange};
use thinkd_event::envelope::Event;
use thinkd_words::id::{Seq, Space, ThreadId};
use thinkd_words::time::Timestamp;

/// The log and the rows derived from it.
///
/// Every method fails with [`StoreError::Unavailable`] while the database is away, full or busy,
/// and with [`StoreError::Broken`] where a person must look. A method that can fail otherwise says
/// so. Times to live are durations; timestamps are microseconds; `limit` counts items.
pub trait Store:
    EventLog + Threads + ProjectionRows + Leasing + BlobStore + VectorStore + Upkeep
{
}

impl<S: EventLog + Threads + ProjectionRows + Leasing + BlobStore + VectorStore + Upkeep> Store
    for S
{
}

/// The log of each space: appended to, read, followed. Errors: see [`Store`].
#[async_trait]
pub trait EventLog: Send + Sync + 'static {
    /// Returns true if other servers may append to the same logs.
    fn is_shared(&self) -> bool {
        false
    }

    /// Returns the feed, which tells of commits.
    fn feed(&self) -> &Arc<Feed>;

    /// Appends, durably, all or nothing. Returns after the commit; dropping the future does not undo it. `StoreError::Conflict` and
    /// `StoreError::Unmet`: nothing was stored, and the caller can act.
    async fn append(&self, append: Append) -> Result<Appended, StoreError>;

    /// The log's head and epoch. A space unknown so far has an empty log.
    async fn head(&self, space: &Space) -> Result<Head, StoreError>;

    /// A page of the log. `StoreError::TooDear` where the search takes longer than it may.
    async fn events(&self, space: &Space, query: &Query) -> Result<Vec<Event>, StoreError>;

    /// Returns the same page for a caller that only passes it on: nothing is read that need not be.
    async fn written(&self, space: &Space, query: &Query) -> Result<Vec<Written>, StoreError>;

    /// Returns the numbers of events that a query asks for, without regard to `limit` and `show`.
    /// For queries without tags and text.
    async fn count(&self, space: &Space, query: &Query) -> Result<Position, StoreError>;

    /// Returns true if a space's log has an event with this tag (in lower case). Where the index is
    /// behind, the log itself is read: this does not wait for it.
    async fn ever(&self, space: &Space, tag: &str) -> Result<bool, StoreError>;

    /// One event.
    async fn event(&self, space: &Space, event_id: Uuid) -> Result<Option<Event>, StoreError>;
}

/// The rows of threads, and the sums of usage. Errors: see [`Store`].
#[async_trait]
pub trait Threads: Send + Sync + 'static {
    /// One thread.
    async fn thread(
        &self,
        space: &Space,
        thread: &ThreadId,
    ) -> Result<Option<ThreadRow>, StoreError>;

    /// Returns one thread as it was when this server last wrote to it, or read it: no trip, for the
    /// runner of its turn. Later appends of others may be missing, as if they had come a moment
    /// later.
    async fn thread_lately(
        &self,
        space: &Space,
        thread: &ThreadId,
    ) -> Result<Option<ThreadRow>, StoreError> {
        self.thread(space, thread).await
    }

    /// Threads by id, those after `after`, at most `limit`.
    async fn threads(
        &self,
        space: &Space,
        after: Option<&ThreadId>,
        limit: u32,
    ) -> Result<Vec<ThreadRow>, StoreError>;

    /// Threads below a thread that have not ended, by id, those after `after`, at most `limit`.
    async fn descendants(
        &self,
        space: &Space,
        thread: &ThreadId,
        after: Option<&ThreadId>,
        limit: u32,
    ) -> Result<Vec<ThreadRow>, StoreError>;

    /// Returns the usage of all that goes back to an event (its root), or (`None`) of all of a
    /// space, as far as it is in the log.
    async fn spent(&self, space: &Space, root: Option<Seq>) -> Result<Spent, StoreError>;

    /// Returns the number of threads of a space that have not ended.
    async fn living(&self, space: &Space) -> Result<u64, StoreError>;

    /// Returns the number of events after `after` in a thread's mailbox (wake it, `seq` above
    /// `handled`), counted up to `limit`.
    async fn queued(
        &self,
        space: &Space,
        thread: &ThreadId,
        after: Seq,
        limit: u32,
    ) -> Result<u32, StoreError>;

    /// Threads of all spaces with something in their mailbox that no living server has a lease on: some of every space that has
    /// any, at most `limit` of one.
    async fn waiting(&self, limit: u32) -> Result<Vec<(Space, ThreadId)>, StoreError>;

    /// Returns the threads that wait for one of these alone, each behind that one, by id; at most
    /// `limit`.
    async fn awaiting(
        &self,
        space: &Space,
        of: Span<'_>,
        limit: u32,
    ) -> Result<Vec<(ThreadId, ThreadId)>, StoreError>;

    /// All threads of all spaces that wait for one thread alone, a page at a time: those after `after`, at most `limit`.
    async fn waits(&self, after: Option<&Wait>, limit: u32) -> Result<Vec<Wait>, StoreError>;
}

/// The rows of projections. Their meaning, and the questions to them, are in `projections/`.
/// Errors: see [`Store`].
#[async_trait]
pub trait ProjectionRows: Send + Sync + 'static {
    /// The rows that a question asks for, in its order.
    async fn select(&self, select: Select) -> Result<Vec<Row>, StoreError>;

    /// Returns all rows that a table has of a space, by key. For questions of every turn: the rows
    /// come from a cache (SQLite), or are read together with those that others ask for at the same
    /// time (Postgres).
    async fn all_rows(
        &self,
        table: &'static Table,
        space: &Space,
    ) -> Result<Arc<[Row]>, StoreError>;

    /// At most `limit` rows of a space that have all these words (`Table::words`; as `words::asked` makes them); which of more is not said.
    /// `StoreError::TooDear` where it takes longer than it may.
    async fn rows_with(
        &self,
        table: &'static Table,
        space: &Space,
        words: &[String],
        limit: u32,
    ) -> Result<Vec<Row>, StoreError>;
}

/// Leases: the right to append to a thread. Errors: see [`Store`].
#[async_trait]
pub trait Leasing: Send + Sync + 'static {
    /// Takes the lease on a thread for `ttl`, and reads the thread under it; `None` when another
    /// holder has it. A lease ends with its time: a later append under it is refused only when
    /// another holder has taken it.
    async fn lease(
        &self,
        space: &Space,
        thread: &ThreadId,
        ttl: Duration,
    ) -> Result<Option<Leased>, StoreError>;

    /// Prolongs leases; returns those that are lost.
    async fn renew(&self, fences: &[Fence], ttl: Duration) -> Result<Vec<Fence>, StoreError>;

    /// Gives a lease back (without an append).
    async fn release(&self, fence: &Fence) -> Result<(), StoreError>;

    /// Tells the other servers to look for threads without a runner, because this one leaves some.
    async fn hand_over(&self) -> Result<(), StoreError> {
        Ok(())
    }

    /// Waits until another server may have left threads; for ever where there is no other. For one task.
    async fn handed_over(&self) {
        std::future::pending().await
    }

    /// Sets the presence of this server; others are told of it when this one next looks for threads
    /// that wait, or leaves them.
    fn say(&self, presence: Presence);

    /// The servers on this log by when they started, this one last.
    async fn servers(&self) -> Result<Vec<Server>, StoreError>;
}

/// Media, by the hash of their bytes. Errors: see [`Store`].
#[async_trait]
pub trait BlobStore: Send + Sync + 'static {
    /// Stores a blob by the SHA-256 of its bytes, which it returns as 64 hex digits. The same bytes again change nothing.
    async fn put_blob(&self, space: &Space, blob: Blob) -> Result<String, StoreError>;

    /// A blob by its hash.
    async fn blob(&self, space: &Space, sha256: &str) -> Result<Option<Blob>, StoreError>;
}

/// Vectors of texts, for all spaces together. They are not flushed: after a crash the last ones may be missing. Errors: see [`Store`].
#[async_trait]
pub trait VectorStore: Send + Sync + 'static {
    /// Returns the stored vectors of these hashes, at most [`PAGE`](super::vectors::PAGE), in any
    /// order.
    async fn vectors(&self, of: &Maker, hashes: &[Hash]) -> Result<Stored, StoreError>;

    /// The number of dimensions that stored vectors of the same model have, where it is another than this one.
    async fn other_dimensions(&self, of: &Maker) -> Result<Option<u32>, StoreError>;

    /// Stores vectors, or lets them go.
    async fn change_vectors(&self, change: VectorChange) -> Result<(), StoreError>;
}

/// The upkeep of a store, for the operator of the server. Errors: see [`Store`].
#[async_trait]
pub trait Upkeep: Send + Sync + 'static {
    /// Makes all derived rows anew from the log and says where they differed; with `check` nothing is changed.
    async fn rebuild(&self, check: bool) -> Result<Rebuilt, StoreError>;

    /// Reads all that is stored, in small steps with a pause after each, and returns the damage. On
    /// Postgres nothing is read: it looks after its pages itself (`data_checksums`).
    async fn check(&self, pause: Duration) -> Result<Checked, StoreError>;

    /// Returns the outcome of the last such look; none before the first has ended.
    fn checked(&self) -> Option<Checked> {
        None
    }

    /// Spaces that cannot be served as they should be.
    fn unserved(&self) -> &Unserved;

    /// Returns the time at the database; none where that is this machine.
    async fn clock(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(None)
    }

    /// Checks that the database answers, and takes writes.
    async fn ping(&self) -> Result<(), StoreError>;

    /// Finishes the work under way and lets the database go.
    async fn close(&self);
}
