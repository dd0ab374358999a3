//! Blobs: written over connections of their own, beside the appends.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use tokio::time::timeout;

use super::life::Life;
use super::pool::Pool;
use super::{put_blob, sql};
use crate::blob::Blob;
use crate::error::StoreError;
use thinkd_tasks::share::Places;
use thinkd_words::id::Space;

/// Longest time of one blob: longer than the database gives its statement.
const LIMIT: Duration = Duration::from_secs(35);

/// The pool that writes blobs; cheap to clone.
#[derive(Clone)]
pub(super) struct Blobs {
    pub pool: Pool,
    places: Places,
}

impl Blobs {
    /// At most so many connections.
    pub fn new(options: &PgConnectOptions, life: &Life, connections: u32, share: f64) -> Self {
        let pool = Pool::new(options.clone(), life, connections as usize);
        Self {
            pool,
            places: Places::new("blobs", connections, share),
        }
    }

    /// Stores a blob. Waits for its space's turn as long as that takes.
    pub async fn put(&self, space: &Space, sha256: &str, blob: &Blob) -> Result<(), StoreError> {
        let _place = self.places.take(space).await;
        match self.try_put(space, sha256, blob).await {
            // Perhaps only the connection was lost, perhaps after the commit: what is there is found, as an append is.
            Err(StoreError::Unavailable(reason)) => {
                tracing::warn!(reason, "a blob could not be written; once more");
                self.try_put(space, sha256, blob).await
            }
            other => other,
        }
    }

    async fn try_put(&self, space: &Space, sha256: &str, blob: &Blob) -> Result<(), StoreError> {
        let mut connection = self.pool.take().await?;
        let putting = put_blob(connection.connection(), space, sha256, blob);
        match timeout(LIMIT, putting).await {
            Ok(put) => {
                if matches!(put, Err(StoreError::Unavailable(_))) {
                    connection.discard();
                }
                put
            }
            Err(_) => {
                // The pool would wait for it, too.
                connection.discard();
                Err(StoreError::no_answer())
            }
        }
    }
}

type Row = (String, String, String, Vec<u8>);

/// The next blob of all spaces after a key.
pub(crate) async fn read_blob(
    connection: &mut PgConnection,
    after: &(String, String),
) -> Result<Option<(Space, String, Blob)>, StoreError> {
    let text = "select space, sha256, mime, bytes from blobs where (space, sha256) > ($1, $2) \
         order by space, sha256 limit 1";
    let query = sqlx::query_as(text).bind(&after.0).bind(&after.1);
    let row: Option<Row> = query.fetch_optional(connection).await?;
    let Some((space, sha256, mime, bytes)) = row else {
        return Ok(None);
    };
    let bytes = bytes.into();
    Ok(Some((sql::space(space)?, sha256, Blob { mime, bytes })))
}
