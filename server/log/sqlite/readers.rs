//! A few connections that read. Not sqlx's pool: that one asks a connection after every use whether
//! it still lives, which for a thread of this process costs as much as a query. A read of a space
//! has a place of that space's; the server's reads of all spaces have connections that no space can
//! take.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sqlx::Connection;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use tokio::sync::{OwnedMutexGuard, Semaphore, SemaphorePermit};
use tokio::time::timeout;

use super::ACQUIRE;
use super::index::connect;
use super::sql::GRACE;
use crate::error::StoreError;
use crate::options::Options;
use thinkd_tasks::share::{Place, Places};
use thinkd_words::id::Space;

/// Connections for reads of all spaces together.
const OWN: usize = 3;
/// So many steps of SQLite's machine are between two looks at the time: some tenths of a millisecond.
const STEPS: i32 = 10_000;

type Shared = Arc<tokio::sync::Mutex<Opened>>;

/// A connection, and the time until which its reads may take.
pub(super) struct Opened {
    connection: SqliteConnection,
    until: Arc<AtomicU64>,
}

/// The connections, opened as they are needed.
pub(super) struct Readers {
    options: SqliteConnectOptions,
    places: Places,
    own: Semaphore,
    limit: Duration,
    opening: Arc<tokio::sync::Mutex<()>>,
    // A plain mutex: held to take or put back one, never across an await.
    idle: Arc<Mutex<Vec<Shared>>>,
}

/// A connection for one query; it goes back when this is dropped, if the query is done. A query
/// that no caller waits for any more is stopped, and the connection with it: the next caller would
/// wait for it.
pub(super) struct Reader<'a> {
    opened: OwnedMutexGuard<Opened>,
    limit: Duration,
    readers: &'a Readers,
    done: bool,
    _place: Option<Place>,
    _own: Option<SemaphorePermit<'a>>,
}

/// Milliseconds since this process asked first.
fn now() -> u64 {
    static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(FIRST.elapsed().as_millis()).unwrap_or(u64::MAX)
}

impl Readers {
    pub fn new(options: SqliteConnectOptions, settings: &Options) -> Self {
        Self {
            options,
            places: Places::new("readers", settings.readers, settings.space_share),
            own: Semaphore::new(OWN),
            limit: settings.read,
            opening: Arc::default(),
            idle: Arc::default(),
        }
    }

    /// Waits for a connection, for a while: to read of a space, or (`None`) of all of them, which takes as long as it takes.
    pub async fn take(&self, space: Option<&Space>) -> Result<Reader<'_>, StoreError> {
        let held = async {
            match space {
                Some(space) => (Some(self.places.take(space).await), None),
                None => (None, self.own.acquire().await.ok()),
            }
        };
        let Ok((place, own)) = timeout(ACQUIRE, held).await else {
            return Err(StoreError::busy());
        };
        if self.own.is_closed() {
            return Err(StoreError::closed());
        }
        let connection = async {
            let idle = self.idle.lock().pop();
            let shared = match idle {
                Some(shared) => shared,
                None => self.another().await?,
            };
            Ok::<_, StoreError>(shared.lock_owned().await)
        };
        let late = |_| {
            StoreError::Unavailable(
                "the database file was not opened in time: its disk may stand still".into(),
            )
        };
        let opened = timeout(ACQUIRE, connection).await.map_err(late)??;
        let most = u64::try_from(self.limit.as_millis()).unwrap_or(u64::MAX);
        let (until, limit) = match space {
            Some(_) => (now().saturating_add(most), self.limit.saturating_add(GRACE)),
            None => (u64::MAX, Duration::MAX),
        };
        opened.until.store(until, Ordering::Relaxed);
        Ok(Reader {
            opened,
            limit,
            readers: self,
            done: false,
            _place: place,
            _own: own,
        })
    }

    /// Opens a new connection; they are opened one after the other, so that a caller that asks for
    /// a moment leaves one behind for the next.
    async fn another(&self) -> Result<Shared, StoreError> {
        loop {
            let opening = self.opening.clone().lock_owned().await;
            let idle = self.idle.lock().pop();
            if let Some(shared) = idle {
                return Ok(shared);
            }
            let options = self.options.clone();
            let idle = self.idle.clone();
            // A task of its own: whoever gives up leaves the connection to the next, and no second one is opened beside it meanwhile.
            let opened = tokio::spawn(async move {
                let _opening = opening;
                let opened = open(&options).await?;
                idle.lock().push(Arc::new(tokio::sync::Mutex::new(opened)));
                Ok::<_, StoreError>(())
            });
            opened.await.map_err(|error| {
                StoreError::Unavailable(format!("a connection was not opened: {error}"))
            })??;
        }
    }

    /// Closes those that are not in use; the others are dropped with the store.
    pub async fn close(&self) {
        self.own.close();
        let idle = std::mem::take(&mut *self.idle.lock());
        for shared in idle.into_iter().filter_map(Arc::into_inner) {
            if let Err(error) = shared.into_inner().connection.close().await {
                tracing::warn!(%error, "a connection that reads was not closed in order");
            }
        }
    }
}

async fn open(options: &SqliteConnectOptions) -> Result<Opened, StoreError> {
    let mut connection = connect(options).await?;
    let until = Arc::new(AtomicU64::new(u64::MAX));
    let limit = until.clone();
    let in_time = move || now() <= limit.load(Ordering::Relaxed);
    connection
        .lock_handle()
        .await?
        .set_progress_handler(STEPS, in_time);
    Ok(Opened { connection, until })
}

impl Reader<'_> {
    pub fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.opened.connection
    }

    /// Waits until a query has taken as long as it may, where the disk stands still and SQLite
    /// cannot see the time.
    pub fn over(&self) -> impl Future<Output = ()> + Send + 'static {
        tokio::time::sleep(self.limit)
    }

    /// The query is over, well or not.
    pub fn done(mut self) {
        self.done = true;
    }

    /// The same: a connection to a file leads nowhere else.
    pub fn spoiled(self) {
        self.done();
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        if self.done {
            self.readers
                .idle
                .lock()
                .push(OwnedMutexGuard::mutex(&self.opened).clone());
        } else {
            self.opened.until.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A caller that asks for a connection that cannot be had is told so, some time after
    /// `ACQUIRE`.
    async fn is_told(readers: &Readers) {
        let taken = timeout(ACQUIRE * 2, readers.take(None)).await;
        let Ok(Err(error)) = taken else {
            panic!("it waits, or has one: {}", taken.is_ok())
        };
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    }

    fn readers() -> Readers {
        let options = SqliteConnectOptions::new().in_memory(true);
        Readers::new(options, &Options::default())
    }

    #[tokio::test]
    async fn who_waits_for_a_connection_that_does_not_open_is_told_so() {
        let readers = readers();
        readers.take(None).await.unwrap().done();
        readers.take(None).await.unwrap().done();
        let kept = readers.idle.lock().pop();
        assert!(
            kept.is_some() && readers.idle.lock().is_empty(),
            "control: the one that is there is used again"
        );
        let opening = readers.opening.lock().await;
        is_told(&readers).await;
        drop(opening);
        readers.take(None).await.unwrap().done();
    }

    #[tokio::test]
    async fn who_waits_for_a_connection_that_is_not_let_go_is_told_so() {
        let readers = readers();
        readers.take(None).await.unwrap().done();
        let shared = readers.idle.lock()[0].clone();
        let held = shared.lock_owned().await;
        is_told(&readers).await;
        drop(held);
        readers.take(None).await.unwrap().done();
    }
}
