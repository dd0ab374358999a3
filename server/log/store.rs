//! Opens a store: in memory, in a SQLite file or on Postgres. What a store can do is in `kernel.rs`; what it promises is shown in
//! `memory.rs`. How events change the rows of threads is a function handed in here (`Project`): nothing in `log/` knows what they mean.

use std::sync::Arc;

use super::change::Project;
use super::error::StoreError;
use super::kernel::Store;
use super::options::Options;
use super::{postgres, sqlite};

pub use super::memory::open as memory;

/// Opens the store behind a URL, `sqlite://FILE` or `postgres://…`; tables are made or brought up to date first.
/// Fails with [`StoreError::Unavailable`] or [`StoreError::Broken`] where it cannot: the sentence says what to do.
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

/// Whether another process has the database for itself: a server that runs on this SQLite file.
/// Fails where the file cannot be opened.
pub fn is_in_use(url: &str) -> Result<bool, StoreError> {
    if url.starts_with("sqlite") {
        sqlite::is_in_use(url)
    } else {
        Ok(false)
    }
}
