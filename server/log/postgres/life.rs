//! One log from a server's start to its end. Every connection of a server holds a lock that servers share, and finds the epoch that
//! the server began with; restoring holds the lock alone. So nothing is restored under a server that runs, and none goes on with
//! another log than it began with: where it meets one, it ends.

use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};
use tokio::time::sleep;
use uuid::Uuid;

use super::pool::Pools;
use super::{ACQUIRE, Refused, sql, try_connect};
use crate::log::backup::NotCopied;
use crate::log::store::Error;
use crate::tasks::supervisor::Supervisor;

/// The lock's key: "thinkd". Locks belong to their database; one is held until its connection ends.
const KEY: i64 = 0x7468_696e_6b64;

/// Between two tries.
const REST: Duration = Duration::from_millis(20);

/// What every connection of a server is compared with; cheap to clone.
#[derive(Clone)]
pub(super) struct Life {
    pub epoch: Uuid,
    pub supervisor: Supervisor,
    pub pools: Pools,
}

impl Life {
    /// A new connection of the server.
    pub async fn try_connect(&self, options: &PgConnectOptions) -> Result<PgConnection, Refused> {
        let mut connection = try_connect(options).await?;
        self.join(&mut connection).await?;
        Ok(connection)
    }

    /// One that the server cannot do without: where there are too many, pools give some up.
    pub async fn connect(&self, options: &PgConnectOptions) -> Result<PgConnection, Error> {
        let begun = Instant::now();
        loop {
            match self.try_connect(options).await {
                Ok(connection) => return Ok(connection),
                Err(refused) if refused.is_full && begun.elapsed() < ACQUIRE && self.pools.make_room() => {
                    sleep(REST).await
                }
                Err(refused) => return Err(refused.error),
            }
        }
    }

    /// The same for the connection that listens, which sqlx makes.
    pub fn guard(&self, pool: PgPoolOptions) -> PgPoolOptions {
        let life = self.clone();
        pool.after_connect(move |connection, _| {
            let life = life.clone();
            Box::pin(
                async move { life.join(connection).await.map_err(|error| sqlx::Error::Configuration(error.into())) },
            )
        })
    }

    async fn join(&self, connection: &mut PgConnection) -> Result<(), Error> {
        share(connection).await?;
        // A statement of its own: it sees what was committed before the lock was had.
        let epoch: Uuid =
            sqlx::query_scalar("select epoch from log").fetch_one(connection).await.map_err(sql::error)?;
        if epoch == self.epoch {
            return Ok(());
        }
        let why = "the database holds another log than the one this server began with: it was made anew, or restored, meanwhile; \
                   start the server again";
        self.supervisor.end(why.to_owned());
        Err(Error::Unavailable(why.to_owned()))
    }
}

async fn lock(connection: &mut PgConnection, text: &'static str) -> Result<bool, Error> {
    sqlx::query_scalar(text).bind(KEY).fetch_one(connection).await.map_err(sql::error)
}

/// A server uses the database as long as this connection lives.
pub(super) async fn share(connection: &mut PgConnection) -> Result<(), Error> {
    match lock(connection, "select pg_try_advisory_lock_shared($1)").await? {
        true => Ok(()),
        false => {
            Err(Error::Unavailable("a backup is being restored into this database; try again when that is done".into()))
        }
    }
}

/// No server uses the database as long as this connection lives.
pub(in crate::log) async fn alone(connection: &mut PgConnection) -> Result<(), NotCopied> {
    match lock(connection, "select pg_try_advisory_lock($1)").await? {
        true => Ok(()),
        false => Err(NotCopied::refused(
            "a server runs on this database, and would go on with what it knows of the log before; stop all its servers, restore, \
             and start them again (who they are: select pid, client_addr from pg_stat_activity where application_name = 'thinkd')",
        )),
    }
}
