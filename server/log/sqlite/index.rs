//! The index on SQLite: a file of its own beside the log's, so that it is written while the disk takes an append. It is made of
//! the log: where it is missing, belongs to another log or cannot be read, it is made anew.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection as _};
use uuid::Uuid;

use super::file::{self, named};
use super::log::Broken;
use super::{add_to_index, writing};
use crate::error::StoreError;
use crate::index::{Added, Indexing, Left};
use crate::indexed::{Gap, gaps};
use crate::words;
use thinkd_words::id::Space;

/// The version of the tables, and of the values written into them: another one is raised with
/// either.
const VERSION: i64 = words::VERSION;
const TABLES: &str = include_str!("index.sql");

/// The connection that writes the index.
pub(super) struct IndexFile {
    connection: SqliteConnection,
    broken: Broken,
}

/// Returns the place of the index of a log's file.
fn beside(log: &Path) -> PathBuf {
    let mut name = log.as_os_str().to_owned();
    name.push(".index");
    name.into()
}

/// A connection that reads a log and its index. The index is its main file: a query takes its state of that one first, so that
/// all that is in it is in the log.
pub(super) async fn connect(
    reading: &SqliteConnectOptions,
) -> Result<SqliteConnection, StoreError> {
    let log = reading.get_filename();
    let file = beside(log);
    let reading = reading.clone().filename(&file);
    let connected = reading.connect().await;
    let mut connection = connected.map_err(|error| named(&file, error))?;
    attach_as(&mut connection, log, "source").await?;
    Ok(connection)
}

/// Lets a connection that has a log's file open see its index.
pub(super) async fn attach(
    connection: &mut SqliteConnection,
    log: &Path,
) -> Result<(), StoreError> {
    attach_as(connection, &beside(log), "found").await
}

async fn attach_as(
    connection: &mut SqliteConnection,
    file: &Path,
    name: &'static str,
) -> Result<(), StoreError> {
    let Some(path) = file.to_str() else {
        return Err(StoreError::Broken(format!(
            "{}: the path of a database has to be UTF-8",
            file.display()
        )));
    };
    let text = format!("attach database $1 as {name}");
    let attached = sqlx::query(AssertSqlSafe(text))
        .persistent(false)
        .bind(path)
        .execute(connection)
        .await;
    attached.map(|_| ()).map_err(|error| named(file, error))
}

/// Makes a new, empty index of no log yet (`adopt`); a former one is removed.
async fn make(log: &Path) -> Result<SqliteConnection, StoreError> {
    let path = beside(log);
    for ending in ["", "-wal", "-shm"] {
        let mut name = OsString::from(&path);
        name.push(ending);
        match std::fs::remove_file(&name) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(file::unavailable(&path, error.to_string()));
            }
            _ => {}
        }
    }
    let made = new_tables(&path).await;
    made.map_err(|error| named(&path, error))
}

async fn new_tables(path: &Path) -> Result<SqliteConnection, sqlx::Error> {
    file::private(path)?;
    // The disk takes it once, as a whole: until it has been adopted nobody reads it.
    let making = options(path)
        .journal_mode(SqliteJournalMode::Memory)
        .synchronous(SqliteSynchronous::Off);
    let mut connection = making.connect().await?;
    let mut all = connection.begin().await?;
    sqlx::raw_sql(TABLES).execute(&mut *all).await?;
    all.commit().await?;
    let wal = sqlx::raw_sql("pragma journal_mode = wal");
    wal.execute(&mut connection).await?;
    std::fs::File::open(path)?.sync_all()?;
    let normal = sqlx::raw_sql("pragma synchronous = normal");
    normal.execute(&mut connection).await?;
    Ok(connection)
}

/// Lets a connection that has an empty log's file open see a new, empty index.
pub(crate) async fn attach_new(
    connection: &mut SqliteConnection,
    url: &str,
) -> Result<(), StoreError> {
    let options = writing(url)?;
    let log = options.get_filename();
    make(log).await?.close().await?;
    attach(connection, log).await
}

/// Says that an index, of which the connection sees the log, too, is made of that log.
pub(crate) async fn adopt(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let text = "insert into made_of (version, epoch) select $1, epoch from log";
    sqlx::query(text).bind(VERSION).execute(connection).await?;
    Ok(())
}

fn options(file: &Path) -> SqliteConnectOptions {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        // What a power cut takes is made of the log again; SQLite keeps the rest whole.
        .synchronous(SqliteSynchronous::Normal)
        .statement_cache_capacity(64)
        // Rows are large, and read one by one.
        .row_buffer_size(64)
        .disable_statement_logging();
    file::large_journal(options)
}

/// An index that is being opened: the steps that can be done before its log is open.
pub(super) enum Begun {
    /// Made for a new log.
    Made(SqliteConnection),
    /// There before; whether it fits is to be seen.
    Found(SqliteConnection),
    /// To be made.
    Missing,
}

/// Begins to open the index of a log while that is opened, or made.
pub(super) async fn begin(log: &Path) -> Result<Begun, StoreError> {
    if file::is_new(log) {
        return make(log).await.map(Begun::Made);
    }
    let file = beside(log);
    if !file.exists() {
        return Ok(Begun::Missing);
    }
    match options(&file).connect().await {
        Ok(connection) => Ok(Begun::Found(connection)),
        Err(error) => {
            tracing::warn!(%error, file = %file.display(), "the index is made anew: it cannot be read");
            Ok(Begun::Missing)
        }
    }
}

impl IndexFile {
    /// Returns the index of a log that is open now, as it is or new. Returns the log's new epoch,
    /// too, if it has lost events that this index has found in it. A client that has seen those
    /// must not take other events under the same seqs for later ones.
    pub async fn open(
        begun: Begun,
        log: &Path,
        broken: Broken,
        writing: &mut SqliteConnection,
    ) -> Result<(Self, Option<Uuid>), StoreError> {
        let mut epoch = None;
        let mut connection = match begun {
            Begun::Made(connection) => connection,
            Begun::Missing => make(log).await?,
            Begun::Found(mut connection) => {
                let fit = fit(&mut connection, log).await;
                if matches!(fit, Ok(Fit::Whole)) {
                    return Ok((Self { connection, broken }, None));
                }
                let why = match &fit {
                    Ok(_) => "it is not of this log, or not finished".to_owned(),
                    Err(error) => error.to_string(),
                };
                tracing::warn!(why, file = %beside(log).display(), "the index is made anew");
                if matches!(fit, Ok(Fit::Ahead)) {
                    let new = thinkd_words::id::fresh();
                    let renewed = sqlx::query("update log set epoch = $1")
                        .bind(new)
                        .execute(writing)
                        .await;
                    renewed?;
                    epoch = Some(new);
                    tracing::error!(
                        file = %log.display(),
                        "the log has lost events that its index has found in it, or an older copy was put in its place; it has a new \
                         epoch, so that clients read it from its beginning"
                    );
                }
                // Before another file gets its name: whoever closes last removes the journal of that name.
                connection.close().await?;
                make(log).await?
            }
        };
        attach_as(&mut connection, log, "source").await?;
        adopt(&mut connection).await?;
        Ok((Self { connection, broken }, epoch))
    }

    /// Adds as many events as there is room for, in one transaction. Not one of sqlx's: these count
    /// their depth, and lose count where SQLite ends a transaction itself, as it does on a full
    /// disk.
    async fn transaction(&mut self, spaces: &[Space]) -> Result<Vec<Added>, StoreError> {
        if self.run("begin").await.is_err() {
            // One is open still, for its rollback failed, too.
            self.run("rollback").await?;
            self.run("begin").await?;
        }
        let added = self.add_all(spaces).await;
        if added.is_err() {
            // It fails where SQLite has ended the transaction: then nothing is left to undo.
            let _ = self.run("rollback").await;
        }
        added
    }

    async fn add_all(&mut self, spaces: &[Space]) -> Result<Vec<Added>, StoreError> {
        let mut left = Left::new();
        let mut added = Vec::new();
        for space in spaces {
            if left.is_nothing() {
                break;
            }
            added.push(add(&mut self.connection, space, &mut left).await?);
        }
        let committed = self.run("commit").await;
        committed.inspect_err(|error| self.broken.note(error))?;
        Ok(added)
    }

    async fn run(&mut self, text: &'static str) -> Result<(), sqlx::Error> {
        let run = sqlx::raw_sql(text).execute(&mut self.connection);
        run.await.map(drop)
    }
}

/// Adds the next events of a space, as many as there is room for.
async fn add(
    connection: &mut SqliteConnection,
    space: &Space,
    left: &mut Left,
) -> Result<Added, StoreError> {
    // Written first: the index is locked then, for this connection alone, and the log never is.
    let text = "insert into indexed (space, seq) values ($1, 0) on conflict (space) do update set seq = indexed.seq \
         returning seq";
    let done: i64 = sqlx::query_scalar(text)
        .bind(space.as_str())
        .fetch_one(&mut *connection)
        .await?;
    add_to_index(connection, space, done, left).await
}

/// The fit of an index to a log.
enum Fit {
    /// The index is of this log as it went.
    Whole,
    /// The index is of this log, and has found events that are not in it any more.
    Ahead,
    /// The index is of another log, or of none.
    Not,
}

/// Returns the fit of an index to its log. An older copy may have been put in the log's place, or
/// one that went another way. Ids of events are clients', which may send the same to both; that
/// both stored one at the same microsecond they cannot bring about.
async fn fit(connection: &mut SqliteConnection, log: &Path) -> Result<Fit, StoreError> {
    attach_as(connection, log, "source").await?;
    let text = "select exists (select 1 from made_of m join log l on l.epoch = m.epoch where m.version = $1), \
         exists (select 1 from indexed i where i.seq > 0 and not exists (select 1 from events e \
         where e.space = i.space and e.seq = i.seq and e.event_id = i.event_id and e.ts = i.ts))";
    let (is_of, is_ahead): (bool, bool) = sqlx::query_as(text)
        .bind(VERSION)
        .fetch_one(connection)
        .await?;
    Ok(match (is_of, is_ahead) {
        (true, false) => Fit::Whole,
        (true, true) => Fit::Ahead,
        (false, _) => Fit::Not,
    })
}

impl Indexing for IndexFile {
    // What is read of threads at work is in memory (`write_cache.rs`).
    const SOON: i64 = 1024;
    const MOST: i64 = 4096;

    async fn behind(&mut self) -> Result<Vec<(Space, Gap)>, StoreError> {
        let text = "select space, done, head from (select s.space, \
             coalesce((select seq from indexed where space = s.space), 0) as done, \
             (select max(seq) from events where space = s.space) as head from spaces s) g where head > done";
        let rows: Vec<(String, i64, i64)> =
            sqlx::query_as(text).fetch_all(&mut self.connection).await?;
        Ok(gaps(rows))
    }

    async fn add(&mut self, spaces: &[Space]) -> Result<Vec<Added>, StoreError> {
        self.broken.check()?;
        self.transaction(spaces).await
    }

    async fn close(self) {
        if let Err(error) = self.connection.close().await {
            tracing::warn!(%error, "the index was not closed in order; nothing is lost");
        }
    }
}
