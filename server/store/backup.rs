//! Backups: one format for both databases, a SQLite file with the events and blobs of all spaces. A backup is read while a
//! server runs; restoring one makes everything else from the log, in an empty database, under a new epoch.

use std::collections::BTreeMap;
use std::path::Path;

use sqlx::sqlite::SqliteConnection;
use sqlx::{ConnectOptions, Connection};

use super::append::Position;
use super::sql::{self, EventRow, Writes};
use super::{Error, Project, Rebuilt, postgres, sqlite};

/// Copies events and blobs from one open connection to another; how many events.
macro_rules! copy {
    ($from:ident, $source:expr, $to:ident, $target:expr) => {{
        let (source, target) = ($source, $target);
        let (mut events, mut heads) = (0, BTreeMap::new());
        let mut after = (String::new(), 0);
        loop {
            let page = $from::read_events(source, &after).await?;
            let Some((space, event, _)) = page.last() else { break };
            after = (space.to_string(), event.seq);
            let rows = page.iter().map(|(space, event, payload)| EventRow::of(space, event, payload));
            let writes = Writes { events: rows.collect::<Result<_, _>>()?, ..Writes::default() };
            $to::put(target, &writes).await?;
            for (space, event, _) in &page {
                heads.insert(space.clone(), Position { seq: event.seq, ts: event.ts });
            }
            events += page.len() as u64;
        }
        let heads = heads.iter().map(|(space, head)| (space, *head)).collect();
        $to::put(target, &Writes { heads, ..Writes::default() }).await?;
        let mut after = (String::new(), String::new());
        while let Some((space, sha256, blob)) = $from::read_blob(source, &after).await? {
            $to::put_blob(target, &space, &sha256, &blob).await?;
            after = (space.to_string(), sha256);
        }
        Ok::<u64, Error>(events)
    }};
}

fn is_postgres(url: &str) -> bool {
    url.starts_with("postgres:") || url.starts_with("postgresql:")
}

/// Copies the log and the blobs behind a URL into a new file; how many events. A server may go on appending meanwhile.
pub async fn backup(url: &str, file: &Path) -> Result<u64, Error> {
    if file.exists() {
        return Err(Error::Broken(format!("{} exists already; name a new file", file.display())));
    }
    let mut target = sqlite::new_backup(file).await?;
    let result = fill(url, &mut target).await;
    let closed = target.close().await.map_err(sql::error);
    let result = result.and_then(|events| closed.map(|()| events));
    if result.is_err() {
        // Half a backup is none; that it cannot be removed either changes nothing about the error.
        let _ = std::fs::remove_file(file);
    }
    result
}

async fn fill(url: &str, target: &mut SqliteConnection) -> Result<u64, Error> {
    begin_sqlite(target).await?;
    let events = if is_postgres(url) {
        let mut source = postgres::connect(&postgres::options(url)?).await?;
        copy!(postgres, &mut source, sqlite, &mut *target)?
    } else {
        let mut source = sqlite::reading(url)?.connect().await.map_err(sql::error)?;
        copy!(sqlite, &mut source, sqlite, &mut *target)?
    };
    sqlx::query("commit").execute(target).await.map_err(sql::error)?;
    Ok(events)
}

async fn begin_sqlite(connection: &mut SqliteConnection) -> Result<(), Error> {
    sqlx::query("begin immediate").execute(connection).await.map(|_| ()).map_err(sql::error)
}

/// Fills the empty database behind a URL from a backup; what was read. Clients see a new epoch.
pub async fn restore(url: &str, file: &Path, project: Project) -> Result<Rebuilt, Error> {
    let mut source = sqlite::open_backup(file).await?;
    if is_postgres(url) {
        let mut target = postgres::connect(&postgres::options(url)?).await?;
        postgres::migrate(&mut target).await?;
        sqlx::query("begin").execute(&mut target).await.map_err(sql::error)?;
        // Nobody else fills it at the same time.
        sqlx::query("lock table log in exclusive mode").execute(&mut target).await.map_err(sql::error)?;
        postgres::renew_epoch(&mut target).await?;
        copy!(sqlite, &mut source, postgres, &mut target)?;
        let made = postgres::remake(&mut target, project, false).await?;
        sqlx::query("commit").execute(&mut target).await.map_err(sql::error)?;
        return Ok(made);
    }
    let (mut target, _lock) = sqlite::open_alone(url).await?;
    sqlite::renew_epoch(&mut target).await?;
    sqlite::attach_new(&mut target, url).await?;
    begin_sqlite(&mut target).await?;
    copy!(sqlite, &mut source, sqlite, &mut target)?;
    let made = sqlite::remake(&mut target, project, false).await?;
    sqlite::adopt(&mut target).await?;
    sqlx::query("commit").execute(&mut target).await.map_err(sql::error)?;
    target.close().await.map_err(sql::error)?;
    Ok(made)
}
