//! Backups: one format for both databases, a SQLite file with the events and blobs of all spaces. A backup is read while a
//! server runs; restoring one makes everything else from the log, in an empty database, under a new epoch.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use sqlx::postgres::PgConnection;
use sqlx::sqlite::SqliteConnection;
use sqlx::{ConnectOptions, Connection};

use super::change::Project;
use super::error::StoreError;
use super::head::Position;
use super::not_copied::NotCopied;
use super::rows::Rows;
use super::upkeep::{Rebuilt, Unread};
use super::writes::{EventRow, Writes};
use super::{postgres, seal, sql, sqlite};

/// The advice to name another database.
const NAME_ANOTHER: &str = "name another database with DATABASE_URL or --database";

/// Copies events and blobs from one open connection to another; how many events.
macro_rules! copy {
    ($from:ident, $source:expr, $to:ident, $target:expr) => {{
        let source = $source;
        let target = $target;
        let mut events = 0;
        let mut heads = BTreeMap::new();
        let mut after = (String::new(), 0);
        loop {
            let page = $from::read_events(source, &after).await?;
            let Some((space, event, _)) = page.last() else {
                break;
            };
            after = (space.to_string(), event.seq);
            let rows = page
                .iter()
                .map(|(space, event, payload)| EventRow::of(space, event, payload));
            let writes = Writes {
                events: rows.collect::<Result<_, _>>()?,
                ..Writes::default()
            };
            $to::put(target, &writes).await?;
            for (space, event, _) in &page {
                heads.insert(space.clone(), Position::of(event));
            }
            events += page.len() as u64;
        }
        $to::put(target, &Writes::of(&heads, &Rows::default())).await?;
        let mut after = (String::new(), String::new());
        while let Some((space, sha256, blob)) = $from::read_blob(source, &after).await? {
            $to::put_blob(target, &space, &sha256, &blob).await?;
            after = (space.to_string(), sha256);
        }
        Ok::<u64, StoreError>(events)
    }};
}

fn is_postgres(url: &str) -> bool {
    url.starts_with("postgres:") || url.starts_with("postgresql:")
}

/// The file of a database that is one.
fn file_of(url: &str) -> Result<Option<PathBuf>, StoreError> {
    if is_postgres(url) {
        Ok(None)
    } else {
        Ok(Some(sqlite::reading(url)?.get_filename().to_owned()))
    }
}

fn is_same(one: &Path, other: Option<&Path>) -> bool {
    let place = |path: &Path| path.canonicalize().ok();
    place(one).is_some_and(|found| other.and_then(place) == Some(found))
}

fn in_a_folder(file: &Path) -> Result<(), NotCopied> {
    match file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir())
    {
        Some(folder) => {
            let why = format!(
                "there is no folder {}; make it, or name a file elsewhere",
                folder.display()
            );
            Err(NotCopied::refused(why))
        }
        None => Ok(()),
    }
}

/// Makes the file of a backup, which is a new one, to be read by its owner alone.
fn make(file: &Path, log: Option<&Path>) -> Result<(), NotCopied> {
    let shown = file.display();
    let why = if file.is_dir() {
        format!("{shown} is a folder; name a file in it")
    } else if is_same(file, log) {
        format!("{shown} is the database itself; name a new file")
    } else if file.exists() {
        format!("{shown} exists already; name a new file, or move that one away")
    } else {
        in_a_folder(file)?;
        match OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(file)
        {
            Ok(_) => return Ok(()),
            Err(error) => {
                format!("{shown} cannot be made: {error}; name a file where you may write")
            }
        }
    };
    Err(NotCopied::refused(why))
}

/// Refuses the URL of a SQLite database that is not there.
pub fn is_there(url: &str) -> Result<(), NotCopied> {
    match file_of(url)?.filter(|file| !file.exists()) {
        Some(file) => Err(NotCopied::refused(format!(
            "there is no database {}; {NAME_ANOTHER}",
            file.display()
        ))),
        None => Ok(()),
    }
}

/// Copies the log and the blobs behind a URL into a new file; how many events. A server may go on appending meanwhile.
/// Fails, and leaves no file, where the log cannot be read or the file cannot be written.
pub async fn backup(url: &str, file: &Path) -> Result<u64, NotCopied> {
    is_there(url)?;
    make(file, file_of(url)?.as_deref())?;
    let result = match copied(url, file).await {
        Ok(events) => match seal::seal(file) {
            Ok(()) => Ok(events),
            Err(error) => Err(NotCopied::refused(format!(
                "{} cannot be written: {error}",
                file.display()
            ))),
        },
        error => error,
    };
    if result.is_err() {
        // Half a backup is none; that it cannot be removed either changes nothing about the error.
        let _ = std::fs::remove_file(file);
    }
    result
}

async fn copied(url: &str, file: &Path) -> Result<u64, NotCopied> {
    let mut target = sqlite::new_backup(file, seal::SEALED).await?;
    let result = fill(url, &mut target).await;
    let closed = target.close().await;
    let events = result?;
    closed.map_err(sql::error)?;
    Ok(events)
}

async fn fill(url: &str, target: &mut SqliteConnection) -> Result<u64, StoreError> {
    begin_sqlite(target).await?;
    let events = if is_postgres(url) {
        let mut source = postgres::connect_first(&postgres::options(url)?).await?;
        postgres::admit(&mut source).await?;
        copy!(postgres, &mut source, sqlite, &mut *target)?
    } else {
        let mut source = sqlite::reading(url)?.connect().await?;
        sqlite::admit(&mut source).await?;
        copy!(sqlite, &mut source, sqlite, &mut *target)?
    };
    sqlx::query("commit").execute(target).await?;
    Ok(events)
}

async fn begin_sqlite(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    sqlx::query("begin immediate").execute(connection).await?;
    Ok(())
}

/// Checks, as far as the two paths tell, that a backup can be read into a database. Nothing is
/// changed yet: opened as a database a backup is none any more.
fn check(file: &Path, log: Option<&Path>) -> Result<(), NotCopied> {
    let shown = file.display();
    let why = if file.is_dir() {
        format!("{shown} is a folder; name the file that `thinkd backup` made")
    } else if !file.exists() {
        format!("there is no file {shown}; name the one that `thinkd backup` made")
    } else if is_same(file, log) {
        format!(
            "{shown} is the database itself; a backup is restored into an empty one: {NAME_ANOTHER}"
        )
    } else {
        log.map_or(Ok(()), in_a_folder)?;
        match File::open(file) {
            Ok(_) => return Ok(()),
            Err(error) => format!("{shown} cannot be read: {error}"),
        }
    };
    Err(NotCopied::refused(why))
}

/// The outcome of a restore.
#[derive(Debug)]
pub struct Restored {
    /// Events read.
    pub events: u64,
    /// Rows with a last change that cannot be read.
    pub unreadable: Vec<Unread>,
    /// True if the backup had a checksum, which was compared.
    pub checked: bool,
}

/// Fills the empty database behind a URL from a backup; returns the outcome. Clients see a new
/// epoch. Fails where the backup is not whole, or the database is not empty or in use.
pub async fn restore(url: &str, file: &Path, project: Project) -> Result<Restored, NotCopied> {
    check(file, file_of(url)?.as_deref())?;
    // First of all: of a backup that is damaged nothing is restored.
    let checked = seal::check(file)?;
    let made = fill_from(url, file, project).await?;
    Ok(Restored {
        events: made.events,
        unreadable: made.unreadable,
        checked,
    })
}

async fn fill_postgres(
    source: &mut SqliteConnection,
    target: &mut PgConnection,
    project: Project,
) -> Result<Rebuilt, NotCopied> {
    // Nobody else fills it, or serves from it, at the same time.
    postgres::alone(target).await?;
    postgres::migrate(target).await?;
    sqlx::query("begin").execute(&mut *target).await?;
    postgres::renew_epoch(target).await?;
    copy!(sqlite, &mut *source, postgres, &mut *target)?;
    let made = postgres::remake(target, project, false).await?;
    sqlx::query("commit").execute(&mut *target).await?;
    Ok(made)
}

async fn fill_from(url: &str, file: &Path, project: Project) -> Result<Rebuilt, NotCopied> {
    let mut source = sqlite::open_backup(file).await?;
    if is_postgres(url) {
        let mut target = postgres::connect_first(&postgres::options(url)?).await?;
        let made = fill_postgres(&mut source, &mut target, project).await;
        // Whoever serves may come from here on: also where nothing was restored. Where the lock cannot be given up, it ends with the connection.
        let released = postgres::release(&mut target).await;
        let closed = target.close().await.map_err(sql::error);
        return made.and_then(|made| Ok(released.and(closed).map(|()| made)?));
    }
    let (mut target, _lock) = sqlite::open_alone(url).await?;
    sqlite::renew_epoch(&mut target).await?;
    sqlite::attach_new(&mut target, url).await?;
    begin_sqlite(&mut target).await?;
    copy!(sqlite, &mut source, sqlite, &mut target)?;
    let made = sqlite::remake(&mut target, project, false).await?;
    sqlite::adopt(&mut target).await?;
    sqlx::query("commit").execute(&mut target).await?;
    target.close().await?;
    Ok(made)
}
