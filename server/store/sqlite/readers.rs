//! A few connections that read. Not sqlx's pool: that one asks a connection after every use whether it still lives, which for a
//! thread of this process costs as much as a query.

use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sqlx::Connection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use tokio::sync::{OwnedMutexGuard, Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::ACQUIRE;
use super::index::connect;
use super::{json, sql};
use crate::event::Event;
use crate::id::{Seq, Space};
use crate::store::Error;
use crate::store::catch_up::Source;

type Shared = Arc<tokio::sync::Mutex<SqliteConnection>>;

/// The connections, opened as they are needed.
pub(super) struct Readers {
    options: SqliteConnectOptions,
    places: Semaphore,
    opening: tokio::sync::Mutex<()>,
    // A plain mutex: held to take or put back one, never across an await.
    idle: Mutex<Vec<Shared>>,
}

/// A connection for one query; it goes back when this is dropped. A query that nobody waits for any more ends by itself.
pub(super) struct Reader<'a> {
    connection: OwnedMutexGuard<SqliteConnection>,
    readers: &'a Readers,
    _place: SemaphorePermit<'a>,
}

impl Readers {
    pub fn new(options: SqliteConnectOptions, most: u32) -> Self {
        let places = Semaphore::new(usize::try_from(most.max(1)).unwrap_or(1));
        Self { options, places, opening: tokio::sync::Mutex::default(), idle: Mutex::default() }
    }

    /// Waits for a connection, for a while.
    pub async fn take(&self) -> Result<Reader<'_>, Error> {
        let place = match timeout(ACQUIRE, self.places.acquire()).await {
            Ok(Ok(place)) => place,
            Ok(Err(_)) => return Err(Error::Unavailable("the store is closed".into())),
            Err(_) => return Err(Error::Unavailable("all connections are busy".into())),
        };
        let idle = self.lock().pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.another().await?,
        };
        Ok(Reader { connection: connection.lock_owned().await, readers: self, _place: place })
    }

    /// A new connection; they are opened one after the other, so that who asks for a moment leaves one behind for the next.
    async fn another(&self) -> Result<Shared, Error> {
        let _opening = self.opening.lock().await;
        let idle = self.lock().pop();
        match idle {
            Some(connection) => Ok(connection),
            None => Ok(Arc::new(tokio::sync::Mutex::new(connect(&self.options).await?))),
        }
    }

    /// Closes those that are not in use; the others are dropped with the store.
    pub async fn close(&self) {
        self.places.close();
        let idle = std::mem::take(&mut *self.lock());
        for connection in idle.into_iter().filter_map(Arc::into_inner) {
            if let Err(error) = connection.into_inner().close().await {
                tracing::warn!(%error, "a connection that reads was not closed in order");
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Shared>> {
        // A panic while this short lock was held left nothing half done.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Source for Arc<Readers> {
    async fn heads(&self, spaces: &[Space]) -> Result<Vec<(Space, Seq)>, Error> {
        let names: Vec<&str> = spaces.iter().map(Space::as_str).collect();
        // One look-up a space.
        let text = "select k.value, (select max(seq) from events where space = k.value) from json_each($1) k";
        let heads: Vec<(String, Option<i64>)> =
            sqlx::query_as(text).bind(json(&names)?).fetch_all(&mut *self.take().await?).await.map_err(sql::error)?;
        let heads = heads.into_iter().filter_map(|(space, head)| Some((space, head?)));
        heads.map(|(space, head)| Ok((sql::space(space)?, head))).collect()
    }

    async fn after(&self, space: &Space, seq: Seq) -> Result<Vec<Event>, Error> {
        let rows: Vec<sql::EventColumns> = sqlx::query_as(sql::AFTER)
            .bind(space.as_str())
            .bind(seq)
            .bind(sql::AFTER_PAGE)
            .fetch_all(&mut *self.take().await?)
            .await
            .map_err(sql::error)?;
        rows.into_iter().map(sql::event).collect()
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        self.readers.lock().push(OwnedMutexGuard::mutex(&self.connection).clone());
    }
}

impl Deref for Reader<'_> {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        &self.connection
    }
}

impl DerefMut for Reader<'_> {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        &mut self.connection
    }
}
