//! What goes into a store and what comes out: appends and what became of them, rows of threads, leases, blobs, errors. What a store can do is in
//! `kernel.rs`; what it promises is shown in `memory.rs`; the two databases stand in `sqlite.rs` and `postgres.rs`. Nothing here knows what an event means: how events change
//! the rows of threads is a function handed in when a store is opened (`Project`), and how they change other rows is in `projections/`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use uuid::Uuid;

use super::change::ThreadChange;
pub use super::kernel::{BlobStore, EventLog, Leasing, ProjectionRows, Store, Threads, Upkeep};
pub use super::projections::entries::Entry;
pub use super::projections::submodules::SubmoduleRow;
use super::thread_state::ThreadState;
use super::{memory, postgres, sqlite};
use crate::event::condition::Condition;
use crate::event::draft::Draft;
use crate::event::envelope::Event;
use crate::event::fact::Fact;
use crate::tasks::share::SPACE_SHARE;
use crate::tasks::supervisor::Supervisor;
use crate::words::id::{Seq, Space, ThreadId};
use crate::words::time::Timestamp;

/// Why a store did not do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// An event with this id is stored already, with other content. The caller can act.
    #[error("event {0} is stored already, with other content")]
    Conflict(Uuid),
    /// What has to be so when an event is stored is not so; nothing was stored. The caller can act.
    #[error("{0}")]
    Unmet(Condition),
    /// The database is away, full or busy; nothing was stored. The caller may try again.
    #[error("the database is unavailable: {0}")]
    Unavailable(String),
    /// A search took longer than it may. The caller can act.
    #[error(
        "this search takes longer than it may (limits.read_ms); ask for less: one thread, a shorter range, rarer words"
    )]
    TooDear,
    /// What is stored cannot be read, or the database refuses what it should take. A person must look.
    #[error("the database failed: {0}")]
    Broken(String),
}

/// A committed event and its JSON, made once and shared by all who show it.
#[derive(Debug)]
pub struct Shown {
    /// The event.
    pub event: Event,
    /// The event as JSON text.
    pub json: Box<str>,
}

/// A stored event as JSON, made for one reader.
#[derive(Debug)]
pub struct Written {
    /// Its place in the log.
    pub seq: Seq,
    /// The event; none: this build cannot read it, since a newer one wrote it or it is damaged.
    pub json: Option<Box<RawValue>>,
}

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
    /// The thread's row, read under the lease: what the holder before has written is in it.
    pub row: Result<Option<ThreadRow>, Error>,
}

/// Events to be appended together, or not at all.
#[derive(Debug, Clone)]
pub struct Append {
    /// The space.
    pub space: Space,
    /// The events, in order; at least one. They may belong to several threads of the space.
    pub drafts: Vec<Draft>,
    /// The lease under which they are appended; `None` for what anybody may append (a client's input, late answers).
    pub fence: Option<Fence>,
    /// Give the lease back in the same commit.
    pub release: bool,
}

impl Append {
    /// An append that needs no lease.
    pub fn free(space: &Space, drafts: Vec<Draft>) -> Self {
        Self { space: space.clone(), drafts, fence: None, release: false }
    }
}

/// What became of one draft.
#[derive(Debug, Clone)]
pub struct Placed {
    /// The stored event.
    pub shown: Arc<Shown>,
    /// Its id was known already, with the same content: `shown` is the first one, nothing was stored.
    pub duplicate: bool,
}

/// What became of an append.
#[derive(Debug, Clone)]
pub enum Appended {
    /// All are in the log, one entry a draft, in order.
    Stored(Vec<Placed>),
    /// The lease is no longer held: nothing was stored.
    Stale,
}

/// A space's log as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The seq of its last event; 0 when there is none.
    pub seq: Seq,
    /// This incarnation of the log; another one after a restore.
    pub epoch: Uuid,
}

/// A blob to be stored, or as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Blob {
    /// The media type.
    pub mime: String,
    /// The bytes.
    pub bytes: bytes::Bytes,
}

/// What a thread is doing, as its row says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Status {
    /// Nothing to do.
    Idle,
    /// A turn runs or is about to.
    Thinking,
    /// Waits for somebody.
    Waiting,
    /// Ended by its own choice.
    Done,
    /// Ended by a failure it cannot get past.
    Failed,
    /// Ended from outside.
    Stopped,
}

impl Status {
    /// The word on the wire and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Thinking => "thinking",
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }

    /// The status of a word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Idle, Self::Thinking, Self::Waiting, Self::Done, Self::Failed, Self::Stopped]
            .into_iter()
            .find(|status| status.as_str() == word)
    }

    /// Whether nothing more can be sent to such a thread.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Stopped)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A thread's row: what the log's events with its id add up to.
#[derive(Debug, Clone, PartialEq)]
pub struct ThreadRow {
    /// Its id.
    pub thread: ThreadId,
    /// What it was created with (title, policy, submodules, …); an empty object when an input created it.
    pub settings: Value,
    /// `Idle`, or how it ended. That it thinks follows from `woken > handled`.
    pub status: Status,
    /// The seq of its last event.
    pub head: Seq,
    /// The seq of the last event that woke it.
    pub woken: Seq,
    /// Everything that woke it up to here has had its turn.
    pub handled: Seq,
    /// The number of its last turn; 0 before the first.
    pub turn: u64,
    /// How many of its events a decision may see (`Show::Visible`).
    pub visible: u64,
    /// How many of its events a submodule may see (`Show::Heard`).
    pub heard: u64,
    /// Messages to itself in a row, since something came from outside.
    pub self_messages: u32,
    /// Model calls made.
    pub model_calls: u64,
    /// Tokens used, in and out, as far as providers said.
    pub tokens: u64,
    /// For whom it waits, its plan, …
    pub standing: ThreadState,
    /// When its first event was stored.
    pub created: Timestamp,
    /// When its last event was stored.
    pub updated: Timestamp,
}

impl ThreadRow {
    /// The number of the turn that runs, or else of the next one.
    pub fn turn_at_hand(&self) -> u64 {
        if self.status == Status::Thinking { self.turn } else { self.turn + 1 }
    }
}

/// A thread that waits for one thread alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wait {
    /// The space.
    pub space: Space,
    /// The one that is waited for.
    pub target: ThreadId,
    /// The one that waits.
    pub thread: ThreadId,
}

/// A change in the log that this build cannot read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// The space.
    pub space: Space,
    /// The event's thread.
    pub thread: ThreadId,
    /// The event's seq.
    pub seq: Seq,
    /// Of what: `contact`, `submodule`, …
    pub kind: String,
    /// Which.
    pub key: String,
}

/// How an event, which says this fact, changes its thread's row: a pure function, handed to a store when it is opened; the same one
/// rebuilds the rows. The row always takes the event's seq and time besides.
pub type Project = fn(&Event, &Fact<'_>) -> ThreadChange;

/// Connections to Postgres that a server has at most, if nothing else is said: more do not make one Postgres faster.
pub const CONNECTIONS: u32 = 21;
/// With fewer it cannot go on: one of each kind.
pub const CONNECTIONS_MIN: u32 = 6;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct Options {
    /// SQLite: most connections that read at a time; there is one more that writes.
    pub readers: u32,
    /// Postgres: most connections at a time, in all.
    pub connections: u32,
    /// How much of them, and of the room for appends, one space may hold.
    pub space_share: f64,
    /// How long one read of a space may take.
    pub read: Duration,
    /// How long a commit may take.
    pub commit: Duration,
    /// Who watches the store's tasks.
    pub supervisor: Supervisor,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            readers: 8,
            connections: CONNECTIONS,
            space_share: SPACE_SHARE,
            read: Duration::from_secs(10),
            commit: Duration::from_secs(30),
            supervisor: Supervisor::default(),
        }
    }
}

/// Opens the store behind a URL, `sqlite://FILE` or `postgres://…`; tables are made or brought up to date first.
/// Fails with [`Error::Unavailable`] or [`Error::Broken`] where it cannot: the sentence says what to do.
pub async fn open(url: &str, options: Options, project: Project) -> Result<Arc<dyn Store>, Error> {
    match url.split_once(':') {
        Some(("sqlite", _)) => Ok(Arc::new(sqlite::Sqlite::open(url, &options, project).await?)),
        Some(("postgres" | "postgresql", _)) => Ok(Arc::new(postgres::Postgres::open(url, &options, project).await?)),
        // Not quoted: who mistyped the scheme wrote a password behind it.
        _ => Err(Error::Broken("this names no database; use sqlite://FILE or postgres://USER@HOST/DATABASE".into())),
    }
}

/// Opens a store in memory, for tests and simulations: what it stores is as long as its disk is. `Error::Unavailable` where another
/// store uses the disk.
pub fn memory(disk: &memory::Disk, options: &Options, project: Project) -> Result<Arc<dyn Store>, Error> {
    memory::open(disk, options, project)
}

/// Whether another process has the database for itself: a server that runs on this SQLite file.
/// Fails where the file cannot be opened.
pub fn is_in_use(url: &str) -> Result<bool, Error> {
    if url.starts_with("sqlite") { sqlite::is_in_use(url) } else { Ok(false) }
}

/// What rebuilding the rows from the log showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rebuilt {
    /// Events folded.
    pub events: u64,
    /// Rows that were not what the log says: table and key, at most 20 named.
    pub differences: Vec<String>,
    /// Rows whose last change cannot be read: they stay as they are.
    pub unreadable: Vec<Unread>,
}

/// What a look at all that is stored showed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// When it began.
    pub at: Timestamp,
    /// Pages of the file, as many as it had then.
    pub pages: u64,
    /// Events read.
    pub events: u64,
    /// What cannot be read, or is not as it was written, with the page where that is known; empty: all is well.
    pub faults: Vec<String>,
}

/// All threads whose ids lie from one to another, both included: bytewise, as they are listed.
pub type Span<'a> = std::ops::RangeInclusive<&'a ThreadId>;
