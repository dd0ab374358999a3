//! One log from a server's start to its end. Every connection of a server holds a lock that servers share, and finds the epoch that
//! the server began with, and the last event that it knows; restoring holds the lock alone. So nothing is restored under a server
//! that runs, and none goes on with another log than it began with: where it meets one, it ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use sqlx::postgres::{PgConnectOptions, PgConnection, PgPoolOptions};
use tokio::time::sleep;
use uuid::Uuid;

use super::ACQUIRE;
use super::connect::{Refused, connect, migrate, placed, try_connect};
use super::connections::Pools;
use super::last_known::LastKnown;
use super::session::{keeps_statements, settle};
use crate::error::StoreError;
use crate::not_copied::NotCopied;
use thinkd_tasks::supervisor::Supervisor;

/// The lock's key: "thinkd". Locks belong to their database; one is held until its connection ends.
const KEY: i64 = 0x7468_696e_6b64;

/// Time in which Postgres takes note of a server that has ended.
const LEAVING: Duration = Duration::from_secs(3);

/// Between two tries.
const REST: Duration = Duration::from_millis(20);

/// The state that every connection of a server is compared with; cheap to clone.
#[derive(Clone)]
pub(super) struct Life {
    pub epoch: Uuid,
    pub supervisor: Supervisor,
    pub pools: Pools,
    /// When the Postgres started that the last connection leads to, in µs since 1970; 0: none was
    /// made yet.
    pub server: Arc<AtomicI64>,
    pub known: Arc<LastKnown>,
    /// Its connections go through a pooler: they take no lock, which would stay with the pooler.
    pub has_pooler: bool,
}

impl Life {
    /// The same for connections through a pooler, which follows a failover in its own time.
    pub fn through_pooler(&self) -> Self {
        Self {
            server: Arc::default(),
            has_pooler: true,
            ..self.clone()
        }
    }

    /// Makes sure that a pooler leads to the database of a direct connection: to the same one of the
    /// same Postgres, since a copy has the same epoch.
    pub async fn is_behind(
        &self,
        options: &PgConnectOptions,
        direct: &mut PgConnection,
    ) -> Result<(), StoreError> {
        let mut one = connect(options).await?;
        let mut other = connect(options).await?;
        let result = async {
            keeps_statements(&mut one, &mut other).await?;
            match database(&mut one).await? == database(direct).await? {
                true => Ok(()),
                false => Err(StoreError::Broken(
                    "database and database_direct lead to different databases, or to different \
                     servers of Postgres; after a failover a pooler may lag"
                        .into(),
                )),
            }
        };
        result.await.map_err(|error| placed(options, &error, ""))
    }

    /// A new connection of the server.
    pub async fn try_connect(&self, options: &PgConnectOptions) -> Result<PgConnection, Refused> {
        let mut connection = try_connect(options).await?;
        self.join(&mut connection).await?;
        Ok(connection)
    }

    /// One that the server cannot do without: where there are too many, pools give some up.
    pub async fn connect(&self, options: &PgConnectOptions) -> Result<PgConnection, StoreError> {
        let begun = Instant::now();
        loop {
            match self.try_connect(options).await {
                Ok(connection) => return Ok(connection),
                Err(refused)
                    if refused.is_full && begun.elapsed() < ACQUIRE && self.pools.make_room() =>
                {
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
            Box::pin(async move {
                life.join(connection)
                    .await
                    .map_err(|error| sqlx::Error::Configuration(error.into()))
            })
        })
    }

    async fn join(&self, connection: &mut PgConnection) -> Result<(), StoreError> {
        if !self.has_pooler {
            share(connection).await?;
        }
        self.goes_on(connection).await
    }

    /// Makes sure that a connection leads to the log that the server began with, and to all of it that
    /// the server knows; where it does not for long, the server ends.
    pub async fn goes_on(&self, connection: &mut PgConnection) -> Result<(), StoreError> {
        // A statement of its own: it sees what was committed before the lock was had.
        let text = "select epoch, (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint from log";
        let (epoch, started): (Uuid, i64) =
            sqlx::query_as(text).fetch_one(&mut *connection).await?;
        if self.has_pooler {
            // It follows a failover in its own time: it is waited for, and ends nothing.
            let other = "the pooler leads to another log than the one this server began with";
            let lacks = match epoch == self.epoch {
                true => self.known.lacks(connection).await?,
                false => Some(other.to_owned()),
            };
            if let Some(lacks) = lacks {
                return Err(StoreError::Unavailable(lacks));
            }
            self.leads_to(started);
            return Ok(());
        }
        if epoch != self.epoch {
            return Err(self.ends(
                "the database holds another log than the one this server began with: it was made anew, or restored, meanwhile",
            ));
        }
        if let Some(lacks) = self.known.is_in(connection, epoch).await? {
            tracing::error!("{lacks}");
            return Err(self.ends(&lacks));
        }
        self.leads_to(started);
        Ok(())
    }

    fn ends(&self, why: &str) -> StoreError {
        let why = format!("{why}; start the server again");
        self.supervisor.end(why.clone());
        StoreError::Unavailable(why)
    }

    /// Takes note of the Postgres that a new connection leads to. After a failover the former one may
    /// live on and answer: nothing is asked of it any more.
    fn leads_to(&self, started: i64) {
        let former = self.server.swap(started, Ordering::Relaxed);
        if former != 0 && former != started {
            tracing::info!(
                "connections lead to another Postgres, or it was started again; the former ones are closed"
            );
            self.pools.renew();
        }
    }
}

/// A database that answers: its number, and the start of its Postgres in µs since 1970.
async fn database(connection: &mut PgConnection) -> Result<(i64, i64), StoreError> {
    let text = "select oid::bigint, (extract(epoch from pg_postmaster_start_time()) * 1000000)::bigint \
         from pg_database where datname = current_database()";
    Ok(sqlx::query_as(text).fetch_one(connection).await?)
}

async fn lock(connection: &mut PgConnection, text: &'static str) -> Result<bool, StoreError> {
    let query = sqlx::query_scalar(text).bind(KEY);
    Ok(query.fetch_one(connection).await?)
}

/// A server uses the database as long as this connection lives.
pub(super) async fn share(connection: &mut PgConnection) -> Result<(), StoreError> {
    match lock(connection, "select pg_try_advisory_lock_shared($1)").await? {
        true => Ok(()),
        false => Err(StoreError::Unavailable(
            "a backup is being restored into this database; try again when that is done".into(),
        )),
    }
}

/// No server uses the database as long as this connection lives. Postgres takes note of the end of a server a moment
/// later: the last one has some seconds to leave.
pub(crate) async fn alone(connection: &mut PgConnection) -> Result<(), NotCopied> {
    let until = Instant::now() + LEAVING;
    while !lock(connection, "select pg_try_advisory_lock($1)").await? {
        if Instant::now() > until {
            return Err(NotCopied::refused(
                "a server runs on this database, and would go on with what it knows of the log before; stop all its servers, restore, \
             and start them again (who they are: select pid, client_addr from pg_stat_activity where application_name = 'thinkd')",
            ));
        }
        sleep(REST).await;
    }
    Ok(())
}

/// Others may use the database from now on. Said rather than left to the end of the connection, of which Postgres takes note a moment later.
pub(crate) async fn release(connection: &mut PgConnection) -> Result<(), StoreError> {
    let text = "rollback; select pg_advisory_unlock_all()";
    sqlx::raw_sql(text).execute(connection).await?;
    Ok(())
}

/// Takes the database into use; the epoch of its log.
pub async fn begin(
    connection: &mut PgConnection,
    options: &PgConnectOptions,
    wanted: u32,
) -> Result<Uuid, StoreError> {
    holds_all_characters(connection).await?;
    share(connection).await?;
    count(connection, wanted).await?;
    migrate(connection).await?;
    super::reword(connection).await?;
    let text = "update log set incarnation = incarnation + 1 returning epoch";
    let epoch = sqlx::query_scalar(text).fetch_one(&mut *connection).await?;
    right_clock(connection).await?;
    // What the migrations had set: from here on it has the limits that it was opened with.
    sqlx::raw_sql("reset statement_timeout; reset lock_timeout")
        .execute(&mut *connection)
        .await?;
    settle(connection, options).await?;
    Ok(epoch)
}

/// Ends leases that were taken while the database's clock was ahead, and forgets servers of that
/// time. A lease that has a holder all the same is lost by its number, as any other that is taken
/// over.
async fn right_clock(connection: &mut PgConnection) -> Result<(), StoreError> {
    let text = "update leases set until = clock_timestamp() \
         where until > clock_timestamp() + interval '10 minutes' and until < 'infinity'";
    let ended = sqlx::query(text).execute(&mut *connection).await?;
    let ended = ended.rows_affected();
    if ended > 0 {
        tracing::warn!("{ended} leases were taken while the database's clock was ahead: they end");
    }
    // Servers that are no more: those that live say again that they are there.
    sqlx::query("delete from servers where seen > clock_timestamp() + interval '10 minutes'")
        .execute(connection)
        .await?;
    Ok(())
}

/// Refuses a database that cannot hold every character: a message in one that it lacks would be
/// refused for good.
async fn holds_all_characters(connection: &mut PgConnection) -> Result<(), StoreError> {
    let text = "select pg_encoding_to_char(encoding)::text from pg_database where datname = current_database()";
    let encoding: String = sqlx::query_scalar(text).fetch_one(connection).await?;
    if encoding == "UTF8" {
        return Ok(());
    }
    Err(StoreError::Broken(format!(
        "the database has the encoding {encoding}, which lacks most characters; make another one: \
         create database NAME encoding 'UTF8' template template0"
    )))
}

/// Says how many connections are wanted, and how many there can be. Superusers are bound by the server's limit alone.
async fn count(connection: &mut PgConnection, wanted: u32) -> Result<(), StoreError> {
    let text = "select least(\
         current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint \
         - coalesce(current_setting('reserved_connections', true), '0')::bigint - (select count(datid) from pg_stat_activity), \
         case when r.rolsuper or r.rolconnlimit < 0 then null else r.rolconnlimit \
         - (select count(*) from pg_stat_activity where usesysid = r.oid) end, \
         case when r.rolsuper or d.datconnlimit < 0 then null else d.datconnlimit \
         - (select count(*) from pg_stat_activity where datid = d.oid) end) + 1 \
         from pg_roles r, pg_database d where r.rolname = session_user and d.datname = current_database()";
    let left: Option<Option<i64>> = sqlx::query_scalar(text).fetch_optional(connection).await?;
    let left = left.flatten().unwrap_or(i64::MAX).max(1);
    if left >= i64::from(wanted) {
        tracing::info!(
            "up to {wanted} connections to Postgres are wanted (runtime.connections), and so many can be had"
        );
    } else {
        tracing::warn!(
            "up to {wanted} connections to Postgres are wanted (runtime.connections), and {left} can be had: it goes on with fewer, more \
             slowly, but not with fewer than {}; raise max_connections, or the limit of the role or the database, or set \
             runtime.connections",
            crate::options::CONNECTIONS_MIN
        );
    }
    Ok(())
}
