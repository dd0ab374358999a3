//! SQLite: one file, one process. WAL with `synchronous=FULL`, one connection that writes, a few that read; a lock file
//! keeps other processes out, so leases need no table. Only what differs from Postgres is here.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection};
use uuid::Uuid;

use super::append::{Backend, INDEX_EVENTS, Plan, Position, Writer, json};
use super::feed::Feed;
use super::leases::Leases;
use super::sql::{self, stored};
use super::{Blob, Entry, Error, Fence, Options, Project, Query, SubmoduleRow, ThreadRow};
use crate::event::Event;
use crate::id::{Space, ThreadId};
use crate::time::Timestamp;
use known::Known;
use readers::{Reader, Readers};

mod bulk;
mod known;
mod readers;

pub(super) use bulk::{clear, put, put_blob, put_index, put_rest};

/// How long one connection waits for another one's lock on the file.
const BUSY: Duration = Duration::from_secs(5);
/// How long a reader waits for a connection.
const ACQUIRE: Duration = Duration::from_secs(2);
/// Row ids of event_words are the space's number and the seq: so many bits for the seq.
const SEQ_BITS: u32 = 40;

/// See `sql::store!`.
const MERGES_RUNS: bool = true;
/// See `rebuild!`.
const HEADS: &str = "select s.space, e.seq, e.ts from spaces s join events e on e.space = s.space \
     where e.seq = (select max(seq) from events where space = s.space)";

/// The store in one file.
pub(super) struct Sqlite {
    readers: Readers,
    writer: Writer,
    feed: Arc<Feed>,
    epoch: Uuid,
    project: Project,
    leases: Arc<Leases>,
    options: SqliteConnectOptions,
    broken: Broken,
    known: Known,
    /// Locked as long as this store lives.
    _lock: File,
}

fn migrations() -> Migrator {
    sql::migrations(&[
        ("first light", include_str!("../../migrations/sqlite/0001_first_light.sql")),
        ("search at once", include_str!("../../migrations/sqlite/0002_search_at_once.sql")),
        ("threads are processes", include_str!("../../migrations/sqlite/0003_threads_are_processes.sql")),
        ("fewer pages a commit", include_str!("../../migrations/sqlite/0004_fewer_pages_a_commit.sql")),
    ])
}

/// The options every connection to a file has in common.
fn options(url: &str) -> Result<SqliteConnectOptions, Error> {
    let options = SqliteConnectOptions::from_str(url).map_err(|error| Error::Broken(format!("{url:?}: {error}")))?;
    if url.contains(":memory:") || options.get_filename().as_os_str().is_empty() {
        return Err(Error::Broken(format!("{url:?} names no file; use sqlite://FILE")));
    }
    Ok(options
        .busy_timeout(BUSY)
        .statement_cache_capacity(256)
        // A page is read in one go: its rows do not wait for one another.
        .row_buffer_size(1024)
        .disable_statement_logging())
}

pub(super) fn writing(url: &str) -> Result<SqliteConnectOptions, Error> {
    Ok(options(url)?
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        // The same few pages change again and again: the longer they stay in the journal, the seldomer they are copied.
        .pragma("wal_autocheckpoint", "4000")
        .pragma("journal_size_limit", "67108864")
        .pragma("cache_size", "-16384")
        .pragma("temp_store", "memory"))
}

pub(super) fn reading(url: &str) -> Result<SqliteConnectOptions, Error> {
    Ok(options(url)?.read_only(true).pragma("cache_size", "-4096").pragma("temp_store", "memory"))
}

/// Keeps every other process (and a second store in this one) away from the file.
fn lock(path: &Path) -> Result<File, Error> {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    let name = PathBuf::from(name);
    let unavailable = |why: String| Error::Unavailable(format!("{}: {why}", name.display()));
    let file = File::create(&name).map_err(|error| unavailable(error.to_string()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => {
            Err(unavailable(format!("another thinkd has the database {} open", path.display())))
        }
        Err(TryLockError::Error(error)) => Err(unavailable(format!("cannot be locked: {error}"))),
    }
}

/// The connection that writes, tables up to date, and the lock that keeps others out.
pub(super) async fn open_alone(url: &str) -> Result<(SqliteConnection, File), Error> {
    let options = writing(url)?;
    let path = options.get_filename().to_owned();
    let lock = lock(&path)?;
    let is_new = std::fs::metadata(&path).map_or(true, |file| file.len() == 0);
    let connection = if is_new {
        let mut connection = new_file(&options, &path).await?;
        let journal = sqlx::raw_sql("pragma journal_mode = wal").execute(&mut connection).await;
        journal.map_err(|error| named(&path, sql::error(error)))?;
        // What follows goes to the journal: this much of the file itself has to be there for good.
        let synced = File::open(&path).and_then(|file| file.sync_all());
        synced.map_err(|error| Error::Unavailable(format!("{}: {error}", path.display())))?;
        connection
    } else {
        // Each step is a commit or two; the first one after them has the disk take all of it.
        let making = options.clone().synchronous(SqliteSynchronous::Normal);
        let mut connection = making.connect().await.map_err(|error| named(&path, sql::error(error)))?;
        migrate(&mut connection, &path).await?;
        connection
    };
    Ok((flushing(connection, &path).await?, lock))
}

/// A file with tables. There is nothing in it that could be lost, so its making waits for no disk.
async fn new_file(options: &SqliteConnectOptions, path: &Path) -> Result<SqliteConnection, Error> {
    let making = options.clone().journal_mode(SqliteJournalMode::Delete).synchronous(SqliteSynchronous::Off);
    let mut connection = making.connect().await.map_err(|error| named(path, sql::error(error)))?;
    migrate(&mut connection, path).await?;
    Ok(connection)
}

/// Brings the tables up to date: all steps, or none.
async fn migrate(connection: &mut SqliteConnection, path: &Path) -> Result<(), Error> {
    let failed = |error| named(path, sql::error(error));
    let mut all = connection.begin().await.map_err(failed)?;
    migrations().run(&mut *all).await.map_err(|error| named(path, sql::migration_error(error)))?;
    all.commit().await.map_err(failed)
}

async fn flushing(mut connection: SqliteConnection, path: &Path) -> Result<SqliteConnection, Error> {
    flush_every_commit(&mut connection, true).await.map_err(|error| named(path, error))?;
    Ok(connection)
}

/// Whether a commit returns only when the disk has it.
async fn flush_every_commit(connection: &mut SqliteConnection, every: bool) -> Result<(), Error> {
    // SQLite obeys this one while it reads the text: a prepared statement would do nothing the next time.
    let text = if every { "pragma synchronous = full" } else { "pragma synchronous = normal" };
    sqlx::raw_sql(text).execute(connection).await.map(|_| ()).map_err(sql::error)
}

/// The incarnation that marks a file as a backup: it has events and blobs, but no rows.
const BACKUP: i64 = -1;

/// A new file for a backup.
pub(super) async fn new_backup(file: &Path) -> Result<SqliteConnection, Error> {
    let options = SqliteConnectOptions::new().filename(file).create_if_missing(true).disable_statement_logging();
    let mut connection = flushing(new_file(&options, file).await?, file).await?;
    let marked = sqlx::query("update log set incarnation = $1").bind(BACKUP);
    marked.execute(&mut connection).await.map_err(|error| named(file, sql::error(error)))?;
    Ok(connection)
}

/// A backup, to read.
pub(super) async fn open_backup(file: &Path) -> Result<SqliteConnection, Error> {
    let options = SqliteConnectOptions::new().filename(file).read_only(true).disable_statement_logging();
    let mut connection = options.connect().await.map_err(|error| named(file, sql::error(error)))?;
    let incarnation: Result<i64, _> =
        sqlx::query_scalar("select incarnation from log").fetch_one(&mut connection).await;
    match incarnation {
        Ok(BACKUP) => Ok(connection),
        Ok(_) => Err(Error::Broken(format!("{} is a database, not a backup; back it up first", file.display()))),
        Err(error) => Err(Error::Broken(format!("{} is not a backup of thinkd: {error}", file.display()))),
    }
}

impl Sqlite {
    const SHARED: bool = false;

    pub async fn open(url: &str, settings: &Options, project: Project) -> Result<Self, Error> {
        let options = writing(url)?;
        let (mut connection, lock) = open_alone(url).await?;
        let (epoch, incarnation) = opened(&mut connection).await?;
        let readers = Readers::new(reading(url)?, settings.connections);
        let leases = Arc::new(Leases::new(incarnation << 32));
        let feed = Arc::new(Feed::default());
        let broken = Broken::default();
        let known = Known::default();
        let backend = Log { connection, broken: broken.clone(), leases: leases.clone(), known: known.clone() };
        let writer = Writer::start(backend, feed.clone(), project);
        Ok(Self { readers, writer, feed, epoch, project, leases, options, broken, known, _lock: lock })
    }

    async fn reader(&self) -> Result<Reader<'_>, Error> {
        self.readers.take().await
    }

    async fn take_lease(&self, space: &Space, thread: &ThreadId, ttl: Duration) -> Result<Option<Fence>, Error> {
        Ok(self.leases.take(space, thread, ttl).await)
    }

    async fn renew_leases(&self, fences: &[Fence], ttl: Duration) -> Result<Vec<Fence>, Error> {
        Ok(self.leases.renew(fences, ttl))
    }

    async fn release_lease(&self, fence: &Fence) -> Result<(), Error> {
        self.leases.release(fence);
        Ok(())
    }

    async fn waiting_threads(&self, limit: u32) -> Result<Vec<(Space, ThreadId)>, Error> {
        let text = "select space, thread from threads \
             where woken > handled and status not in ('waiting', 'done', 'failed', 'stopped') limit $1 + 0";
        let rows: Vec<(String, String)> = sqlx::query_as(text)
            .bind(i64::from(limit) + stored(self.leases.len() as u64))
            .fetch_all(&mut *self.reader().await?)
            .await
            .map_err(sql::error)?;
        let mut waiting = Vec::new();
        for (space, thread) in rows {
            let (space, thread) = (sql::space(space)?, sql::thread_id(thread)?);
            if waiting.len() < limit as usize && !self.leases.is_held(&space, &thread) {
                waiting.push((space, thread));
            }
        }
        Ok(waiting)
    }

    /// Row ids grow with seq within a space, so the newest matches come first without sorting.
    async fn text_page(&self, space: &Space, words: &[String], query: &Query) -> Result<Option<Page>, Error> {
        let number: Option<i64> = sqlx::query_scalar("select number from spaces where space = $1")
            .bind(space.as_str())
            .fetch_optional(&mut *self.reader().await?)
            .await
            .map_err(sql::error)?;
        let Some(number) = number else { return Ok(None) };
        let base = number << SEQ_BITS;
        let most = (1 << SEQ_BITS) - 1;
        let (after, before) = sql::range(query);
        let mut page = Page::new(concat!("select ", sql::event_columns!(), " from event_words w cross join events e"));
        page.push(" where w.event_words match ").push_bind(all_of(words));
        page.push(" and w.rowid > ").push_bind(base + after.clamp(0, most));
        page.push(" and w.rowid < ").push_bind(base + before.clamp(0, most));
        page.push(" and e.space = ").push_bind(space.as_str().to_owned());
        page.push(" and e.seq = w.rowid - ").push_bind(base);
        conditions(&mut page, query);
        page.push(" order by w.rowid")
            .push(sql::order(query))
            .push(" limit ")
            .push_bind(i64::from(query.limit.max(1)))
            .push(" + 0");
        Ok(Some(page))
    }

    async fn entries_with(&self, space: &Space, words: &[String]) -> Result<Vec<Entry>, Error> {
        let text = concat!(
            "select ",
            sql::entry_columns!(),
            " from entry_words w cross join entries e where w.entry_words match $1 and e.number = w.rowid and e.space = $2",
            " order by w.rowid desc limit $3"
        );
        let rows: Vec<sql::EntryColumns> = sqlx::query_as(text)
            .bind(all_of(words))
            .bind(space.as_str())
            .bind(super::rank::CANDIDATES)
            .fetch_all(&mut *self.reader().await?)
            .await
            .map_err(sql::error)?;
        rows.into_iter().map(sql::entry).collect()
    }

    /// A connection in a transaction of its own. To change rows, it keeps the writer out, so nothing else should run.
    async fn alone(&self, check: bool) -> Result<SqliteConnection, Error> {
        let mut connection = self.options.connect().await.map_err(sql::error)?;
        let begin = if check { "begin" } else { "begin immediate" };
        sqlx::query(begin).execute(&mut connection).await.map_err(sql::error)?;
        Ok(connection)
    }

    fn sound(&self) -> Result<(), Error> {
        self.broken.check()
    }

    fn known_thread(&self, space: &Space, thread: &ThreadId) -> Option<ThreadRow> {
        self.known.thread(&(space.clone(), thread.clone()))
    }

    fn known_events(&self, space: &Space, query: &Query) -> Option<Vec<Event>> {
        self.known.events(space, query)
    }

    fn known_submodules(&self, space: &Space) -> Result<Vec<SubmoduleRow>, u64> {
        self.known.voices(space)
    }

    fn keep_submodules(&self, space: &Space, changes: u64, rows: &[SubmoduleRow]) {
        self.known.keep_voices(space, changes, rows);
    }

    /// Rows were made anew.
    fn renewed(&self) {
        self.known.forget();
    }

    async fn shut(&self) {
        self.readers.close().await;
    }
}

sql::store!(Sqlite, sqlx::Sqlite);
sql::renew_epoch!(SqliteConnection);
super::rebuild::rebuild!(Sqlite, SqliteConnection);

fn named(path: &Path, error: Error) -> Error {
    match error {
        Error::Unavailable(why) => Error::Unavailable(format!("{}: {why}", path.display())),
        Error::Broken(why) => Error::Broken(format!("{}: {why}", path.display())),
        conflict @ Error::Conflict(_) => conflict,
    }
}

/// Counts this opening.
async fn opened(connection: &mut SqliteConnection) -> Result<(Uuid, i64), Error> {
    let text = "update log set incarnation = incarnation + 1 where incarnation <> $1 returning epoch, incarnation";
    let row = sqlx::query_as(text).bind(BACKUP).fetch_optional(connection).await.map_err(sql::error)?;
    row.ok_or_else(|| Error::Broken("the file is a backup; make a database of it with `thinkd restore`".into()))
}

/// An FTS5 query: all of the words. They have letters, digits and marks only, so quoting them is safe.
fn all_of(words: &[String]) -> String {
    words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(" AND ")
}

fn joined<'a>(words: impl Iterator<Item = &'a String>) -> String {
    words.map(String::as_str).collect::<Vec<_>>().join(" ")
}

/// Set when the disk did not confirm a write: nobody knows what it holds then, and asking again may be answered wrongly.
/// Nothing more is appended until the process starts anew and reads what there is.
#[derive(Clone, Default)]
struct Broken(Arc<OnceLock<String>>);

impl Broken {
    fn check(&self) -> Result<(), Error> {
        match self.0.get() {
            None => Ok(()),
            Some(why) => {
                Err(Error::Broken(format!("the disk did not confirm a write ({why}); check it and start anew")))
            }
        }
    }

    /// SQLITE_IOERR_FSYNC and SQLITE_IOERR_DIR_FSYNC.
    fn note(&self, error: &sqlx::Error) {
        let code = error.as_database_error().and_then(|cause| cause.code());
        if matches!(code.as_deref(), Some("1034" | "1290")) {
            self.set(&error.to_string());
        }
    }

    fn set(&self, why: &str) {
        if self.0.set(why.to_owned()).is_ok() {
            tracing::error!(why, "the disk did not confirm a write; nothing more is appended");
        }
    }
}

/// The connection that writes. Nobody else does, so what it wrote last need not be read again.
struct Log {
    connection: SqliteConnection,
    broken: Broken,
    leases: Arc<Leases>,
    known: Known,
}

impl Log {
    async fn run(&mut self, text: &'static str) -> Result<(), Error> {
        let result = sqlx::query(text).execute(&mut self.connection).await;
        result.map(|_| ()).inspect_err(|error| self.broken.note(error)).map_err(sql::error)
    }

    async fn head(&mut self, space: &Space) -> Result<Option<Position>, Error> {
        if let Some(head) = self.known.head(space) {
            return Ok(Some(head));
        }
        let row: Option<(i64, i64)> =
            sqlx::query_as("select seq, ts from events where space = $1 order by seq desc limit 1")
                .bind(space.as_str())
                .fetch_optional(&mut self.connection)
                .await
                .map_err(sql::error)?;
        Ok(row.map(|(seq, ts)| Position { seq, ts: Timestamp::from_micros(ts) }))
    }
}

impl Backend for Log {
    /// What is read of threads at work is in memory (`known.rs`).
    const INDEX_LAG: usize = 4096;

    async fn begin(&mut self) -> Result<(), Error> {
        // What is read needs no transaction, since nobody else writes; what is written has one (`put_alone`).
        self.broken.check()
    }

    async fn held(&mut self, fences: &[Fence]) -> Result<HashSet<Fence>, Error> {
        Ok(self.leases.begin(fences))
    }

    async fn heads(&mut self, spaces: &BTreeSet<Space>) -> Result<BTreeMap<Space, Position>, Error> {
        let mut heads = BTreeMap::new();
        for space in spaces {
            if let Some(head) = self.head(space).await? {
                heads.insert(space.clone(), head);
            }
        }
        Ok(heads)
    }

    async fn known(&mut self, ids: &[(Space, Uuid)]) -> Result<Vec<(Space, Event)>, Error> {
        let keys: Vec<(&str, String)> =
            ids.iter().map(|(space, id)| (space.as_str(), id.simple().to_string())).collect();
        // `cross join` fixes the order: one look-up a key.
        let text = concat!(
            "select e.space, ",
            sql::event_columns!(),
            " from json_each($1) k cross join events e where e.space = k.value ->> 0 and e.event_id = unhex(k.value ->> 1)"
        );
        let rows: Vec<sql::PlacedColumns> =
            sqlx::query_as(text).bind(json(&keys)?).fetch_all(&mut self.connection).await.map_err(sql::error)?;
        rows.into_iter().map(sql::placed_event).collect()
    }

    async fn threads(&mut self, ids: &[(Space, ThreadId)]) -> Result<Vec<(Space, ThreadRow)>, Error> {
        let (mut threads, mut unknown) = (Vec::new(), Vec::new());
        for key in ids {
            match self.known.thread(key) {
                Some(row) => threads.push((key.0.clone(), row)),
                None => unknown.push(key),
            }
        }
        if unknown.is_empty() {
            return Ok(threads);
        }
        let text = concat!(
            "select t.space, ",
            sql::thread_columns!(),
            " from json_each($1) k cross join threads t where t.space = k.value ->> 0 and t.thread = k.value ->> 1"
        );
        let rows: Vec<sql::PlacedThreadColumns> =
            sqlx::query_as(text).bind(json(&unknown)?).fetch_all(&mut self.connection).await.map_err(sql::error)?;
        for row in rows {
            threads.push(sql::placed_thread(row)?);
        }
        Ok(threads)
    }

    async fn write(&mut self, plan: &Plan) -> Result<(), Error> {
        let mut writes = plan.writes()?;
        // Where its log ends, a space's row does not say: it has to be there, no more.
        writes.heads.retain(|(space, _)| self.known.head(space).is_none());
        bulk::put_alone(&mut self.connection, &writes, &plan.rows, &self.broken).await?;
        self.known.take(plan);
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), Error> {
        Ok(())
    }

    async fn rollback(&mut self) {
        self.known.forget();
        // It fails where no transaction is open (SQLite ends one itself when the disk is full); then nothing is to be undone.
        let _ = self.run("rollback").await;
    }

    fn settled(&mut self, released: &[Fence]) {
        self.leases.settle(released);
    }

    async fn index(&mut self, space: &Space) -> Result<bool, Error> {
        self.broken.check()?;
        // It is made of the log and can be made anew, so its commits wait for no disk; the next append's flush takes them along.
        flush_every_commit(&mut self.connection, false).await?;
        let result = self.index_in_transaction(space).await;
        if result.is_err() {
            self.rollback().await;
        }
        flush_every_commit(&mut self.connection, true)
            .await
            .inspect_err(|error| self.broken.set(&error.to_string()))?;
        result
    }

    async fn behind(&mut self) -> Result<Vec<Space>, Error> {
        let text = "select s.space from spaces s where (select max(seq) from events where space = s.space) \
             > coalesce((select seq from indexed where space = s.space), 0)";
        let spaces: Vec<String> = sqlx::query_scalar(text).fetch_all(&mut self.connection).await.map_err(sql::error)?;
        spaces.into_iter().map(sql::space).collect()
    }

    async fn put_blob(&mut self, space: &Space, sha256: &str, blob: &Blob) -> Result<(), Error> {
        put_blob(&mut self.connection, space, sha256, blob).await
    }

    fn committed(&mut self, _: &Space, _: bool) {
        // Only this process appends: there is nobody else to tell.
    }

    async fn touch(&mut self) -> Result<(), Error> {
        self.broken.check()?;
        // A count that nobody reads while the store is open; the same value again would not be written.
        self.run("update log set incarnation = incarnation + 1").await
    }

    async fn close(self) {
        if let Err(error) = self.connection.close().await {
            tracing::warn!(%error, "the database was not closed in order; nothing is lost");
        }
    }
}

impl Log {
    async fn index_in_transaction(&mut self, space: &Space) -> Result<bool, Error> {
        self.run("begin immediate").await?;
        let more = self.index_some(space).await?;
        self.run("commit").await?;
        Ok(more)
    }

    async fn index_some(&mut self, space: &Space) -> Result<bool, Error> {
        let text = concat!(
            "select ",
            sql::index_columns!(),
            " from events e where e.space = $1 and e.seq > coalesce((select seq from indexed where space = $1), 0)",
            " order by e.seq limit $2 + 0"
        );
        let rows: Vec<sql::IndexColumns> = sqlx::query_as(text)
            .bind(space.as_str())
            .bind(INDEX_EVENTS)
            .fetch_all(&mut self.connection)
            .await
            .map_err(sql::error)?;
        let more = rows.len() as i64 == INDEX_EVENTS;
        let events: Vec<_> = rows.into_iter().map(sql::Indexed::read).collect::<Result<_, _>>()?;
        put_index(&mut self.connection, space, &events).await?;
        Ok(more)
    }
}
