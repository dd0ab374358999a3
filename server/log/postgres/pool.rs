//! A pool that works with as many connections as Postgres gives. Not sqlx's: whoever asks that one for a connection which Postgres
//! refuses waits for just that one, while others come back, and fails in the end. Here a refusal makes the pool smaller, and who
//! asked queues for those that there are; from time to time one more is tried. A pool keeps one place whatever happens, and what
//! cannot do without a connection has others give theirs up.

use std::sync::Arc;
use std::time::Duration;

use sqlx::Connection as _;
use sqlx::postgres::PgConnectOptions;
use tokio::time::{sleep, timeout};

use super::ACQUIRE;
use super::connect::Refused;
use super::connections::{Connections, Taken};
use super::life::Life;
use crate::log::error::StoreError;

/// Between two tries of who has to wait for Postgres itself.
const REST: Duration = Duration::from_millis(50);

/// Connections of one kind; cheap to clone.
#[derive(Clone)]
pub(super) struct Pool(Arc<Inner>);

struct Inner {
    options: PgConnectOptions,
    life: Life,
    connections: Arc<Connections>,
    /// Held while one is opened: who comes meanwhile may find one that came back, so that a moment leaves few behind.
    opening: tokio::sync::Mutex<()>,
}

impl Pool {
    /// A pool of at most so many; none is open yet.
    pub fn new(options: PgConnectOptions, life: &Life, most: usize) -> Self {
        let connections = Arc::new(Connections::new(most.max(1)));
        life.pools.add(&connections);
        let opening = tokio::sync::Mutex::default();
        Self(Arc::new(Inner { options, life: life.clone(), connections, opening }))
    }

    /// Waits for a connection, for a while.
    pub async fn take(&self) -> Result<Taken, StoreError> {
        self.take_within(ACQUIRE).await
    }

    async fn take_within(&self, limit: Duration) -> Result<Taken, StoreError> {
        let mut why = None;
        match timeout(limit, self.next(&mut why)).await {
            Ok(taken) => taken,
            Err(_) => Err(why.unwrap_or_else(|| self.busy())),
        }
    }

    /// Whether there is a connection, or can be one: why not is known sooner than whoever asks for one gives up.
    pub async fn ready(&self) -> Result<(), StoreError> {
        if self.0.connections.is_busy() { Ok(()) } else { self.take_within(ACQUIRE / 2).await.map(drop) }
    }

    /// Closes those that are not in use; the others are closed when they come back.
    pub async fn close(&self) {
        for connection in self.0.connections.end() {
            // Nothing is under way on it: how it ends changes nothing.
            let _ = timeout(ACQUIRE, connection.close()).await;
        }
    }

    fn busy(&self) -> StoreError {
        let (places, most) = self.0.connections.sizes();
        StoreError::Unavailable(match places < most {
            true => format!("all connections are busy; Postgres gave {places} of {most} (runtime.connections)"),
            false => "all connections are busy".to_owned(),
        })
    }

    async fn next(&self, why: &mut Option<StoreError>) -> Result<Taken, StoreError> {
        loop {
            let Inner { options, life, connections, opening } = &*self.0;
            let place = connections.place().await.map_err(|_| StoreError::Unavailable("the store is closed".into()))?;
            let place = match connections.idle(place).await {
                Ok(taken) => return Ok(taken),
                Err(place) => place,
            };
            let opening = opening.lock().await;
            let place = match connections.idle(place).await {
                Ok(taken) => return Ok(taken),
                Err(place) => place,
            };
            match life.try_connect(options).await {
                Ok(connection) => return Ok(connections.opened(connection, place)),
                Err(Refused { error, is_full: true, .. }) => {
                    *why = Some(error);
                    drop(opening);
                    // Without one of its own the pool cannot queue for any.
                    if connections.shrink(place) {
                        *why = None;
                    } else {
                        life.pools.make_room();
                        sleep(REST).await;
                    }
                }
                // It comes up.
                Err(Refused { error, is_passing: true, .. }) => {
                    *why = Some(error);
                    drop((place, opening));
                    sleep(REST).await;
                }
                Err(Refused { error, .. }) => return Err(error),
            }
        }
    }
}
