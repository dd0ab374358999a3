//! Opens a store: in memory, in a SQLite file or on Postgres. The methods of a store are in
//! `kernel.rs`; its promises are shown in `memory.rs`. Events change the rows of threads by a
//! function that is handed in here (`Project`): the server's is `ThreadRow::apply`.

use std::sync::Arc;

use super::change::Project;
use super::error::StoreError;
use super::kernel::Store;
use super::options::Options;
use super::{postgres, sqlite};

pub use super::memory::open as memory;

/// Opens the store behind a URL, `sqlite://FILE` or `postgres://…`; tables are made or brought up
/// to date first. Fails with [`StoreError::Unavailable`] or [`StoreError::Broken`] where it cannot:
/// the sentence has the remedy.
pub async fn open(
    url: &str,
    options: Options,
    project: Project,
) -> Result<Arc<dyn Store>, StoreError> {
    match url.split_once(':') {
        Some(("sqlite", _)) => Ok(Arc::new(
            sqlite::Sqlite::open(url, &options, project).await?,
        )),
        Some(("postgres" | "postgresql", _)) => Ok(Arc::new(
            postgres::Postgres::open(url, &options, project).await?,
        )),
        // Not quoted: who mistyped the scheme wrote a password behind it.
        _ => Err(StoreError::Broken(
            "this names no database; use sqlite://FILE or postgres://USER@HOST/DATABASE".into(),
        )),
    }
}

/// Returns true if another process has the database for itself: a server that runs on this SQLite
/// file. Fails where the file cannot be opened.
pub fn is_in_use(url: &str) -> Result<bool, StoreError> {
    if url.starts_with("sqlite") {
        sqlite::is_in_use(url)
    } else {
        Ok(false)
    }
}
