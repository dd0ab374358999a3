//! A journal's records in a file: appended, forgotten by a line that says so, and compacted once most of it is dead.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use super::{JournalStore, Records, found, put};
use crate::record::Record;
use crate::sync::Mutex;

/// Records in a file, one line of JSON each, on disk before the node's value is handed on. Clones
/// share the file.
///
/// A crash may leave a half-written line at the end, which is cut off when the file is opened.
/// Forgotten records leave the file when half of it is of no use any more. One process has the
/// journal: it holds the lock of a file beside it, `….lock`. Open it once and clone it: a write of
/// a run that was dropped goes on to its end, and has the file open until then.
#[derive(Clone)]
pub struct FileStore(Arc<OpenFile>);

/// Two locks: a look-up must not wait for the disk. The file's is taken first.
struct OpenFile {
    path: PathBuf,
    file: Mutex<Log>,
    records: Mutex<Records>,
    /// Held as long as the store is open.
    _lock: File,
}

struct Log {
    file: File,
    lines: usize,
}

#[derive(Serialize, Deserialize)]
struct Line<R> {
    run: String,
    #[serde(flatten)]
    record: R,
}

/// The line that says that all lines of this run before it are dead.
#[derive(Serialize, Deserialize)]
struct Forgotten {
    forgotten: String,
}

impl FileStore {
    /// Opens the file, or makes it.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let path = std::path::absolute(path)?;
        let lock = locked(&path)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        let whole = text
            .iter()
            .rposition(|byte| *byte == b'\n')
            .map_or(0, |end| end + 1);
        let mut records = Records::new();
        let mut lines = 0;
        for line in text[..whole].split_inclusive(|byte| *byte == b'\n') {
            lines += 1;
            read(line, &mut records).map_err(|error| {
                io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!("line {lines} of the journal: {error}"),
                )
            })?;
        }
        file.set_len(whole as u64)?;
        file.seek(SeekFrom::End(0))?;
        flush_folder(&path)?;
        let file = Mutex::new(Log { file, lines });
        let open = OpenFile {
            path,
            file,
            records: Mutex::new(records),
            _lock: lock,
        };
        open.compact_if_due()?;
        Ok(FileStore(Arc::new(open)))
    }
}

fn locked(path: &Path) -> io::Result<File> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".lock");
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(beside)?;
    lock.try_lock().map_err(|error| match error {
        TryLockError::WouldBlock => {
            io::Error::new(io::ErrorKind::ResourceBusy, "this journal is open already")
        }
        TryLockError::Error(error) => error,
    })?;
    Ok(lock)
}

fn read(line: &[u8], records: &mut Records) -> serde_json::Result<()> {
    if line.starts_with(br#"{"forgotten":"#) {
        let Forgotten { forgotten } = serde_json::from_slice(line)?;
        records.remove(&forgotten);
    } else {
        let Line::<Record> { run, record } = serde_json::from_slice(line)?;
        put(records, run, record);
    }
    Ok(())
}

/// A file that was made or renamed is there after a crash only if its folder was flushed, too.
fn flush_folder(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()), // elsewhere a folder is not opened as a file
    }
}

impl OpenFile {
    fn keep(&self, run: String, record: Record) -> io::Result<()> {
        let text = line(&run, &record)?;
        self.file.with(|log| {
            log.append(text.as_bytes())?;
            self.records.with(|records| put(records, run, record));
            Ok(())
        })
    }

    fn forget(&self, run: &str) -> io::Result<()> {
        let text = serde_json::to_string(&Forgotten {
            forgotten: run.to_owned(),
        })? + "\n";
        self.file.with(|log| {
            if self.records.with(|records| records.contains_key(run)) {
                log.append(text.as_bytes())?;
                self.records.with(|records| records.remove(run));
            }
            Ok::<_, io::Error>(())
        })?;
        self.compact_if_due()
    }

    /// Writes the file anew when most of its lines are dead: often enough to be small, seldom enough to cost little.
    fn compact_if_due(&self) -> io::Result<()> {
        self.file.with(|log| {
            let live = |records: &mut Records| records.values().map(HashMap::len).sum::<usize>();
            let live = self.records.with(live);
            if log.lines - live <= live {
                return Ok(());
            }
            let mut beside = self.path.as_os_str().to_owned();
            beside.push(".new");
            let mut file = File::create(&beside)?;
            file.write_all(self.records.with(|records| text(records))?.as_bytes())?;
            file.sync_all()?;
            fs::rename(&beside, &self.path)?;
            *log = Log { file, lines: live };
            flush_folder(&self.path)
        })
    }
}

fn line(run: &str, record: &Record) -> serde_json::Result<String> {
    let run = run.to_owned();
    Ok(serde_json::to_string(&Line { run, record })? + "\n")
}

fn text(records: &Records) -> serde_json::Result<String> {
    let of_run = |(run, records): (&String, &HashMap<String, Record>)| {
        records
            .values()
            .map(|record| line(run, record))
            .collect::<Result<String, _>>()
    };
    records.iter().map(of_run).collect()
}

impl Log {
    fn append(&mut self, text: &[u8]) -> io::Result<()> {
        let end = self.file.stream_position()?;
        self.file
            .write_all(text)
            .and_then(|()| self.file.sync_data())
            .or_else(|error| {
                // Half a line must not have the next one behind it.
                self.file.set_len(end)?;
                self.file.seek(SeekFrom::Start(end))?;
                Err(error)
            })?;
        self.lines += 1;
        Ok(())
    }
}

#[async_trait]
impl JournalStore for FileStore {
    async fn find(&self, run: &str, place: &str) -> io::Result<Option<Record>> {
        Ok(self.0.records.with(|records| found(records, run, place)))
    }

    async fn keep(&self, run: &str, record: Record) -> io::Result<()> {
        let open = self.0.clone();
        let run = run.to_owned();
        // A disk may take its time; the thread must not.
        tokio::task::spawn_blocking(move || open.keep(run, record)).await?
    }

    async fn forget(&self, run: &str) -> io::Result<()> {
        let open = self.0.clone();
        let run = run.to_owned();
        tokio::task::spawn_blocking(move || open.forget(&run)).await?
    }
}
