//! A pool that works with as many connections as Postgres gives. Not sqlx's: there a caller for
//! whom Postgres refuses a connection waits for just that one, while others come back, and fails in
//! the end. Here a refusal makes the pool smaller, and the caller queues for those that there are;
//! from time to time one more is tried. A pool keeps one place in any case; a caller that cannot do
//! without a connection has other pools give theirs up.

use std::sync::Arc;
use std::time::Duration;

use sqlx::Connection as _;
use sqlx::postgres::PgConnectOptions;
use tokio::time::{sleep, timeout};

use super::ACQUIRE;
use super::connect::Refused;
use super::connections::{Connections, Taken};
use super::life::Life;
use crate::error::StoreError;

/// Pause between two tries of a caller that has to wait for Postgres itself.
const REST: Duration = Duration::from_millis(50);

/// Connections of one kind; cheap to clone.
#[derive(Clone)]
pub(super) struct Pool(Arc<Inner>);

struct Inner {
    options: PgConnectOptions,
    life: Life,
    connections: Arc<Connections>,
    /// Held while one is opened, so that a moment leaves few behind.
    opening: Arc<tokio::sync::Mutex<()>>,
}

impl Pool {
    /// A pool of at most so many; none is open yet.
    pub fn new(options: PgConnectOptions, life: &Life, most: usize) -> Self {
        let connections = Arc::new(Connections::new(most.max(1)));
        life.pools.add(&connections);
        Self(Arc::new(Inner {
            options,
            life: life.clone(),
            connections,
            opening: Arc::default(),
        }))
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

    /// Checks that there is a connection, or can be one. The reason of a failure is known sooner
    /// than a caller that asks for one gives up.
    pub async fn ready(&self) -> Result<(), StoreError> {
        if self.0.connections.is_busy() {
            Ok(())
        } else {
            self.take_within(ACQUIRE / 2).await.map(drop)
        }
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
            true => format!(
                "all connections are busy; Postgres gave {places} of {most} (runtime.connections)"
            ),
            false => "all connections are busy".to_owned(),
        })
    }

    async fn next(&self, why: &mut Option<StoreError>) -> Result<Taken, StoreError> {
        loop {
            let Inner {
                life, connections, ..
            } = &*self.0;
            let place = connections.place().await;
            let mut place = place.map_err(|_| StoreError::closed())?;
            let refused = loop {
                // Enlisted before the look, so that none is missed.
                let came_back = connections.came_back.notified();
                tokio::pin!(came_back);
                came_back.as_mut().enable();
                place = match connections.idle(place).await {
                    Ok(taken) => return Ok(taken),
                    Err(place) => place,
                };
                tokio::select! {
                    () = came_back => {}
                    opened = self.open_one() => if let Err(refused) = opened {
                        break refused;
                    }
                }
            };
            match refused {
                Refused {
                    error,
                    is_full: true,
                    ..
                } => {
                    *why = Some(error);
                    // Without one of its own the pool cannot queue for any.
                    if connections.shrink(place) {
                        *why = None;
                    } else {
                        life.pools.make_room();
                        sleep(REST).await;
                    }
                }
                // It comes up.
                Refused {
                    error,
                    is_passing: true,
                    ..
                } => {
                    *why = Some(error);
                    drop(place);
                    sleep(REST).await;
                }
                Refused { error, .. } => return Err(error),
            }
        }
    }

    /// Opens one more, unless one comes back before its turn; a waiting caller takes it, as those
    /// that come back. It is opened to the end, also where no caller waits for it any more. Given
    /// up, it would be opened again by the next caller, which may not have the time either.
    async fn open_one(&self) -> Result<(), Refused> {
        let opening = self.0.opening.clone().lock_owned().await;
        if self.0.connections.has_idle() {
            return Ok(());
        }
        let inner = self.0.clone();
        let opened = tokio::spawn(async move {
            let connection = inner.life.try_connect(&inner.options).await?;
            inner.connections.add(connection);
            drop(opening);
            Ok(())
        });
        opened.await.unwrap_or(Ok(()))
    }
}
