//! A journal of a run: what a node gave is kept by its place in the run, and answers in its stead the next time.
//!
//! The journal is a hook; where it keeps its records is a trait, with a store in memory and one in a file here.

use std::collections::HashMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::error::Cause;
use crate::hook::{Call, Hook, Next};
use crate::node::Outcome;
use crate::sync::Mutex;

/// Records every node of a run; what is recorded is not run again.
///
/// A run is found by its id, a node by its [place](Call::place), so a run that was cut off and is started again takes up
/// where it was: recorded nodes answer at once, the rest run. A node that was cut off in the middle runs again. Failures
/// are not recorded.
///
/// Places count calls, so call nodes from one flow of control: branches may run side by side, their *calls* should not
/// race. A node whose value is not data (`Serialize` and `Deserialize`) fails under a journal, unless it is
/// `#[node(transient)]`.
///
/// ```
/// use pipeline::{Context, Journal, MemoryStore, Run, node};
///
/// #[node]
/// async fn roll(sides: u64) -> u64 {
///     std::process::id() as u64 % sides + std::time::UNIX_EPOCH.elapsed().unwrap().subsec_nanos() as u64
/// }
///
/// let store = MemoryStore::default();
/// let play = || Run::new("game-1").hook(Journal::new(store.clone())).scope(async { roll(Context::new(6)).await });
/// let first = pipeline::block_on(play()).unwrap().unwrap();
/// let again = pipeline::block_on(play()).unwrap().unwrap();
/// assert_eq!(first, again);
/// ```
pub struct Journal<S>(S);

/// What a journal keeps of one node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Where in the run: `2.1` is the first call in the body of the run's second.
    pub place: String,
    /// The node's name. Another one at the same place means that the run took another way.
    pub node: String,
    /// What it gave.
    pub value: Json,
}

/// Where records are kept. When [`keep`](Self::keep) returns, the record must survive.
#[async_trait]
pub trait JournalStore: Send + Sync {
    /// The record of this place in this run.
    async fn find(&self, run: &str, place: &str) -> io::Result<Option<Record>>;

    /// Keeps a record.
    async fn keep(&self, run: &str, record: Record) -> io::Result<()>;
}

/// Why a node failed by its journal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// Places are counted within a run.
    #[error("the node was called outside of the run: call it inside of `Run::scope`, that it has a place there")]
    OutsideTheRun,
    /// The type has no form as data.
    #[error("its value cannot be recorded: derive Serialize and Deserialize for it, or say #[node(transient)]")]
    NotData,
    /// The code has changed since, or the way depends on something that is not recorded.
    #[error("the run took another way: at {place} `{recorded}` is recorded, and now it is `{now}`")]
    AnotherWay {
        /// Where.
        place: String,
        /// Which node was there.
        recorded: String,
        /// Which node is there now.
        now: String,
    },
    /// The value does not become data, or the data no value.
    #[error("the record at {place} cannot be written or read: {source}")]
    Data {
        /// Where.
        place: String,
        /// What was wrong with it.
        source: serde_json::Error,
    },
    /// The store itself.
    #[error("the journal's store failed: {0}")]
    Store(#[from] io::Error),
}

impl<S: JournalStore> Journal<S> {
    /// A journal that keeps its records here.
    pub fn new(store: S) -> Self {
        Journal(store)
    }

    async fn answer(&self, call: &Call, place: &str) -> Result<Option<crate::Output>, JournalError> {
        let Some(record) = self.0.find(call.run(), place).await? else { return Ok(None) };
        if record.node != call.node() {
            let now = call.node().to_owned();
            return Err(JournalError::AnotherWay { place: record.place, recorded: record.node, now });
        }
        let output = call.decode(record.value).ok_or(JournalError::NotData)?;
        output.map(Some).map_err(|source| JournalError::Data { place: place.to_owned(), source })
    }

    async fn record(&self, call: &Call, place: &str, output: &crate::Output) -> Result<(), JournalError> {
        let data = call.encode(output).ok_or(JournalError::NotData)?;
        let unfit = |source| JournalError::Data { place: place.to_owned(), source };
        let value = data.map_err(unfit)?;
        // What could not be read again (a NaN, say, is null as JSON) fails now, not when the run is taken up.
        call.decode(value.clone()).ok_or(JournalError::NotData)?.map_err(unfit)?;
        let record = Record { place: place.to_owned(), node: call.node().to_owned(), value };
        Ok(self.0.keep(call.run(), record).await?)
    }
}

#[async_trait]
impl<S: JournalStore> Hook for Journal<S> {
    async fn around(&self, call: &Call, next: Next<'_>) -> Outcome {
        if call.is_transient() {
            return next.run().await;
        }
        let place = call.place().ok_or_else(|| refused(JournalError::OutsideTheRun))?;
        if !call.is_data() {
            return Err(refused(JournalError::NotData));
        }
        if let Some(recorded) = self.answer(call, place).await.map_err(refused)? {
            return Ok(recorded);
        }
        let output = next.run().await?;
        self.record(call, place, &output).await.map_err(refused)?;
        Ok(output)
    }
}

fn refused(error: JournalError) -> Cause {
    Arc::new(error)
}

type Records = HashMap<(String, String), Record>;

/// Records in memory: for tests, and for runs that are tried again within one process. Clones share them.
#[derive(Clone)]
pub struct MemoryStore(Arc<Mutex<Records>>);

impl Default for MemoryStore {
    fn default() -> Self {
        MemoryStore(Arc::new(Mutex::new(Records::new())))
    }
}

#[async_trait]
impl JournalStore for MemoryStore {
    async fn find(&self, run: &str, place: &str) -> io::Result<Option<Record>> {
        Ok(self.0.with(|records| records.get(&(run.to_owned(), place.to_owned())).cloned()))
    }

    async fn keep(&self, run: &str, record: Record) -> io::Result<()> {
        self.0.with(|records| records.insert((run.to_owned(), record.place.clone()), record));
        Ok(())
    }
}

/// Records in a file, one line of JSON each, on disk before the node's value is handed on. Clones share the file.
///
/// What a crash left half-written at the end is cut off when the file is opened. The file is locked: one process has it.
#[derive(Clone)]
pub struct FileStore(Arc<OpenFile>);

/// Two locks: whoever looks something up must not wait for the disk.
struct OpenFile {
    file: Mutex<File>,
    records: Mutex<Records>,
}

#[derive(Serialize, Deserialize)]
struct Line {
    run: String,
    #[serde(flatten)]
    record: Record,
}

impl FileStore {
    /// Opens the file, or makes it.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path.as_ref())?;
        file.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                io::Error::new(io::ErrorKind::ResourceBusy, "another process has this journal open")
            }
            TryLockError::Error(error) => error,
        })?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        let records =
            text[..whole].split_inclusive(|byte| *byte == b'\n').enumerate().map(read).collect::<Result<_, _>>()?;
        file.set_len(whole as u64)?;
        file.seek(SeekFrom::End(0))?;
        Ok(FileStore(Arc::new(OpenFile { file: Mutex::new(file), records: Mutex::new(records) })))
    }
}

fn read((number, line): (usize, &[u8])) -> io::Result<((String, String), Record)> {
    let Line { run, record } = serde_json::from_slice(line).map_err(|error| {
        io::Error::new(io::ErrorKind::InvalidData, format!("line {} of the journal: {error}", number + 1))
    })?;
    Ok(((run, record.place.clone()), record))
}

impl OpenFile {
    fn append(&self, line: Line) -> io::Result<()> {
        let text = serde_json::to_string(&line)? + "\n";
        self.file.with(|file| append(file, text.as_bytes()))?;
        self.records.with(|records| records.insert((line.run, line.record.place.clone()), line.record));
        Ok(())
    }
}

fn append(file: &mut File, text: &[u8]) -> io::Result<()> {
    let end = file.stream_position()?;
    file.write_all(text).and_then(|()| file.sync_data()).or_else(|error| {
        // Half a line must not have the next one behind it.
        file.set_len(end)?;
        file.seek(SeekFrom::Start(end))?;
        Err(error)
    })
}

#[async_trait]
impl JournalStore for FileStore {
    async fn find(&self, run: &str, place: &str) -> io::Result<Option<Record>> {
        Ok(self.0.records.with(|records| records.get(&(run.to_owned(), place.to_owned())).cloned()))
    }

    async fn keep(&self, run: &str, record: Record) -> io::Result<()> {
        let (open, line) = (self.0.clone(), Line { run: run.to_owned(), record });
        // A disk may take its time; the thread must not.
        tokio::task::spawn_blocking(move || open.append(line)).await?
    }
}
