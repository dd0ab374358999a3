//! The file: its options, its lock, its tables, and the makings of a backup of it. Nothing here
//! reads or writes events.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection};
use uuid::Uuid;

use super::sql;
use crate::error::StoreError;
use crate::not_copied::NotCopied;
use crate::seal;
use thinkd_words::secret::shown_url;

/// The tables of a new file, as this migration left them: later ones run on it.
const TABLES: (&str, i64) = (include_str!("log.sql"), 11);

/// Longest wait of one connection for another one's lock on the file.
const BUSY: Duration = Duration::from_secs(5);

fn migrations() -> Migrator {
    sql::migrations(|migration| migration.sqlite)
}

/// The options every connection to a file has in common.
fn options(url: &str) -> Result<SqliteConnectOptions, StoreError> {
    let shown = shown_url(url);
    let options = SqliteConnectOptions::from_str(url)
        .map_err(|error| StoreError::Broken(format!("{shown}: {error}")))?;
    if url.contains(":memory:") || options.get_filename().as_os_str().is_empty() {
        return Err(StoreError::Broken(format!(
            "{shown} names no file; use sqlite://FILE"
        )));
    }
    Ok(options
        .busy_timeout(BUSY)
        .statement_cache_capacity(256)
        // A page is read in one go: its rows do not wait for one another.
        .row_buffer_size(1024)
        .disable_statement_logging())
}

pub(crate) fn writing(url: &str) -> Result<SqliteConnectOptions, StoreError> {
    let options = options(url)?
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    Ok(large_journal(options))
}

/// The options for a large journal. The same few pages change again and again: the longer they stay
/// in it, the seldomer they are copied.
pub(super) fn large_journal(options: SqliteConnectOptions) -> SqliteConnectOptions {
    options
        .pragma("wal_autocheckpoint", "4000")
        .pragma("journal_size_limit", "67108864")
        .pragma("cache_size", "-16384")
        .pragma("temp_store", "memory")
}

pub(crate) fn reading(url: &str) -> Result<SqliteConnectOptions, StoreError> {
    Ok(options(url)?
        .read_only(true)
        .pragma("cache_size", "-4096")
        .pragma("temp_store", "memory"))
}

/// Opens a file that its owner alone can read, made if there is none; the files that SQLite puts
/// beside it can be read by the same. One that is there stays as open as it was made.
pub(super) fn private(path: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
}

/// Keeps every other process (and a second store in this one) away: from the file under any name
/// (`file`), and from the name with any file (`name`). SQLite has files beside it that are found by
/// name.
pub(crate) struct Lock {
    name: File,
    file: File,
}

impl Drop for Lock {
    /// Unlocks rather than leaves it to the close: a process that is being started has both files open, too, until it runs its program.
    fn drop(&mut self) {
        for file in [&self.file, &self.name] {
            if let Err(error) = file.unlock() {
                tracing::warn!(%error, "the lock of a database was not given up; it ends with this process");
            }
        }
    }
}

/// Takes the lock; makes the file, empty, if there is none.
pub(super) fn lock(path: &Path) -> Result<Lock, StoreError> {
    if seal::is_sealed(path) {
        return Err(named(path, StoreError::Broken(IS_BACKUP.into())));
    }
    let taken = || {
        unavailable(
            path,
            "another thinkd has this database open: stop that one, or give this one another database (--database)"
                .into(),
        )
    };
    try_lock(path)?.ok_or_else(taken)
}

/// The files of a database, to be found where they were opened. SQLite goes on writing to one that
/// was removed, moved or replaced, and its writes are not found again.
pub(super) struct Names([(PathBuf, Option<(u64, u64)>); 2]);

impl Names {
    /// The file and its journal, which is there as long as it is open.
    pub fn of(path: &Path) -> Result<Self, StoreError> {
        // Relative names are those of where the process is now.
        let path = path
            .canonicalize()
            .map_err(|error| unavailable(path, error.to_string()))?;
        let mut journal = path.clone().into_os_string();
        journal.push("-wal");
        Ok(Self(
            [path, journal.into()].map(|path| (path.clone(), identity(&path))),
        ))
    }

    /// The reason, where one of them is another one.
    pub fn check(&self) -> Result<(), String> {
        let mut all = self.0.iter();
        let other = all.find(|(path, opened)| identity(path) != *opened);
        other.map_or(Ok(()), |(path, _)| {
            Err(format!(
                "{} was removed, moved or replaced while it is in use; stop the server in order (SIGTERM, not SIGKILL): it then writes all \
                 it has acknowledged into the database that it opened",
                path.display()
            ))
        })
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let file = std::fs::metadata(path).ok();
    file.map(|file| (file.dev(), file.ino()))
}

/// Returns true if the file of a URL is locked. One that is not there is not locked.
pub(crate) fn is_in_use(url: &str) -> Result<bool, StoreError> {
    let options = options(url)?;
    let path = options.get_filename();
    Ok(path.exists() && try_lock(path)?.is_none())
}

pub(super) fn unavailable(path: &Path, why: String) -> StoreError {
    StoreError::Unavailable(format!("{}: {why}", path.display()))
}

/// Returns the lock, unless it is taken.
fn try_lock(path: &Path) -> Result<Option<Lock>, StoreError> {
    let unavailable = |why: String| unavailable(path, why);
    // Not truncated, not written: to make it is to have it locked before SQLite opens it.
    let file = private(path);
    let file = file.map_err(|error| unavailable(error.to_string()))?;
    let name = path.canonicalize();
    let name = name.map_err(|error| unavailable(error.to_string()))?;
    let mut name = name.into_os_string();
    name.push(".lock");
    let name = private(&PathBuf::from(name)).map_err(|error| unavailable(error.to_string()))?;
    let locked = name.try_lock().and_then(|()| file.try_lock());
    let Err(error) = locked else {
        return Ok(Some(Lock { name, file }));
    };
    // To close a file gives up what this process has locked in it: for a store that has it open, too.
    std::mem::forget(file);
    // As when a lock is dropped.
    _ = name.unlock();
    match error {
        TryLockError::WouldBlock => Ok(None),
        TryLockError::Error(error) => Err(unavailable(format!("cannot be locked: {error}"))),
    }
}

/// The connection that writes, tables up to date, and the lock that keeps others out.
pub(crate) async fn open_alone(url: &str) -> Result<(SqliteConnection, Lock), StoreError> {
    let options = writing(url)?;
    let lock = lock(options.get_filename())?;
    Ok((open(&options).await?, lock))
}

/// Returns true if there is nothing in a file, or no file.
pub(super) fn is_new(path: &Path) -> bool {
    std::fs::metadata(path).map_or(true, |file| file.len() == 0)
}

/// Opens the connection that writes, tables up to date, for the holder of the lock.
pub(super) async fn open(options: &SqliteConnectOptions) -> Result<SqliteConnection, StoreError> {
    let path = options.get_filename();
    let opened = if is_new(path) {
        new_log(options).await
    } else {
        old_log(options).await
    };
    opened.map_err(|error| named(path, error))
}

async fn new_log(options: &SqliteConnectOptions) -> Result<SqliteConnection, StoreError> {
    let mut connection = new_file(options).await?;
    // A change of the file itself: the disk takes all of it.
    let wal = sqlx::raw_sql("pragma journal_mode = wal");
    wal.execute(&mut connection).await?;
    Ok(connection)
}

/// A file that was there, its tables up to date: all steps, or none.
async fn old_log(options: &SqliteConnectOptions) -> Result<SqliteConnection, StoreError> {
    // Each step is a commit or two; the first one after them has the disk take all of it.
    let making = options.clone().synchronous(SqliteSynchronous::Normal);
    let mut connection = making.connect().await?;
    let mut all = connection.begin().await?;
    admit(&mut all).await?;
    migrations().run(&mut *all).await?;
    all.commit().await?;
    flush_every_commit(&mut connection).await?;
    Ok(connection)
}

/// A file with tables, that flushes from now on. There was nothing in it that could be lost, so its making waited for no disk.
async fn new_file(options: &SqliteConnectOptions) -> Result<SqliteConnection, StoreError> {
    let making = options
        .clone()
        .journal_mode(SqliteJournalMode::Delete)
        .synchronous(SqliteSynchronous::Off);
    private(options.get_filename()).map_err(sqlx::Error::from)?;
    let mut connection = making.connect().await?;
    let mut all = connection.begin().await?;
    let (tables, last) = TABLES;
    sqlx::raw_sql(tables).execute(&mut *all).await?;
    let migrations = migrations();
    migrations.skip(&mut *all, Some(last)).await?;
    all.commit().await?;
    if migrations.iter().any(|it| it.version > last) {
        migrations.run(&mut connection).await?;
    }
    flush_every_commit(&mut connection).await?;
    Ok(connection)
}

/// Refuses a file that this program cannot run on.
pub(crate) async fn admit(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let text = "select count(*) > 0 from sqlite_master where name = '_sqlx_migrations'";
    let is_there: bool = sqlx::query_scalar(text).fetch_one(&mut *connection).await?;
    if !is_there {
        return Ok(());
    }
    let made: Vec<(i64, String)> = sqlx::query_as(sql::MADE).fetch_all(connection).await?;
    sql::admit(&migrations(), &made)
}

/// From here on a commit returns when the disk has it.
async fn flush_every_commit(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    let full = sqlx::raw_sql("pragma synchronous = full");
    full.execute(connection).await.map(drop)
}

/// The incarnation that marks a file as a backup: it has events and blobs, but no rows.
const BACKUP: i64 = -1;
const IS_BACKUP: &str = "the file is a backup; make a database of it with `thinkd restore`";

fn backup(file: &Path) -> SqliteConnectOptions {
    let options = SqliteConnectOptions::new().filename(file);
    options.disable_statement_logging()
}

/// Returns a new file for a backup, with this version in its head.
pub(crate) async fn new_backup(file: &Path, version: u32) -> Result<SqliteConnection, StoreError> {
    let options = backup(file).create_if_missing(true);
    let made = async {
        let mut connection = new_file(&options).await?;
        let marked = sqlx::query("update log set incarnation = $1").bind(BACKUP);
        marked.execute(&mut connection).await?;
        let version = sqlx::AssertSqlSafe(format!("pragma user_version = {version}"));
        sqlx::raw_sql(version).execute(&mut connection).await?;
        Ok(connection)
    };
    made.await.map_err(|error: StoreError| named(file, error))
}

/// A backup, to read.
pub(crate) async fn open_backup(file: &Path) -> Result<SqliteConnection, NotCopied> {
    let opened = backup(file).read_only(true).connect().await;
    let mut connection = opened.map_err(|error| named(file, error))?;
    let incarnation = sqlx::query_scalar("select incarnation from log");
    match incarnation.fetch_one(&mut connection).await {
        Ok(BACKUP) => {
            let admitted = admit(&mut connection).await;
            admitted.map_err(|error| named(file, error))?;
            Ok(connection)
        }
        Ok(_) => Err(NotCopied::refused(format!(
            "{} is a database, not a backup; `thinkd backup` makes one of it",
            file.display()
        ))),
        // No database (26), or one without the table of a log (1).
        Err(sqlx::Error::Database(error))
            if matches!(error.code().as_deref(), Some("26" | "1")) =>
        {
            Err(NotCopied::refused(format!(
                "{} is not a backup of thinkd; `thinkd backup FILE` makes one",
                file.display()
            )))
        }
        Err(error) => Err(named(file, error).into()),
    }
}

pub(super) fn named(path: &Path, error: impl Into<StoreError>) -> StoreError {
    let named = |why: &str| format!("{}: {why}", path.display());
    error.into().reworded(named)
}

/// Counts this opening.
pub(super) async fn opened(connection: &mut SqliteConnection) -> Result<(Uuid, i64), StoreError> {
    let text = "update log set incarnation = incarnation + 1 where incarnation <> $1 returning epoch, incarnation";
    let row = sqlx::query_as(text)
        .bind(BACKUP)
        .fetch_optional(connection)
        .await?;
    row.ok_or_else(|| StoreError::Broken(IS_BACKUP.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_given_up_although_a_process_that_is_being_started_has_its_files_open() {
        let path = std::env::temp_dir().join(format!("thinkd-lock-{}.db", std::process::id()));
        let held = lock(&path).unwrap();
        // What a fork does: one open file, two descriptors.
        let inherited = [&held.file, &held.name].map(|file| file.try_clone().unwrap());
        assert!(try_lock(&path).unwrap().is_none(), "control: it is locked");
        drop(held);
        assert!(try_lock(&path).unwrap().is_some());
        drop(inherited);
        for name in [path.clone(), path.with_extension("db.lock")] {
            std::fs::remove_file(name).unwrap();
        }
    }
}
