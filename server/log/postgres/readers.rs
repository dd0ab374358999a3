//! Connections of the pool, each for one query of a space, with that space's place.

use std::time::Duration;

use sqlx::{Connection as _, PgConnection};
use tokio::runtime::Handle;
use tokio::time::{sleep, timeout};

use super::connections::Taken;
use thinkd_tasks::share::Place;

/// A connection for one query; it goes back when this is dropped. Where no caller waits for the
/// query any more, its space keeps the place until it is over: Postgres goes on with it. A
/// connection that does not say so in time is closed.
pub(super) struct Reader {
    connection: Option<Taken>,
    place: Option<Place>,
    limit: Duration,
    done: bool,
}

impl Reader {
    pub fn new(connection: Taken, place: Option<Place>, limit: Duration) -> Self {
        Self {
            connection: Some(connection),
            place,
            limit,
            done: false,
        }
    }

    /// Waits until a query has taken as long as it may, or its connection leads to a former server,
    /// which may be silent.
    pub fn over(&self) -> impl Future<Output = ()> + Send + 'static {
        // Watched first, so that no renewal is missed.
        let renewals = self.connection.as_ref().map(Taken::renewals);
        let is_former = self.connection.as_ref().is_some_and(Taken::is_former);
        let limit = self.limit;
        async move {
            if is_former {
                return;
            }
            let renewed = async {
                match renewals {
                    Some(mut renewals) => renewals.changed().await.is_ok(),
                    None => false,
                }
            };
            tokio::select! {
                () = sleep(limit) => {}
                true = renewed => {}
            }
        }
    }

    pub fn connection(&mut self) -> &mut PgConnection {
        let taken = self.connection.as_mut();
        let taken = taken.expect("it is taken out when this is dropped, not before");
        taken.connection()
    }

    /// The query is over, well or not.
    pub fn done(mut self) {
        self.done = true;
    }

    /// The query is over, and the connection of no use any more.
    pub fn spoiled(mut self) {
        self.done = true;
        if let Some(connection) = self.connection.take() {
            connection.discard();
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        let (Some(mut connection), false) = (self.connection.take(), self.done) else {
            return;
        };
        if connection.is_former() {
            return connection.discard();
        }
        let place = self.place.take();
        let limit = self.limit;
        // Without a runtime the process ends, and the connection with it.
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move {
                // Answered, well or not, when the query is over.
                let answered = timeout(limit, connection.connection().ping()).await;
                if answered.is_err() {
                    // The pool would wait for it, too.
                    connection.discard();
                }
                drop(place);
            });
        }
    }
}
