//! The index on Postgres: tables of the same database, a connection of their own.

use std::future::Future;
use std::time::Duration;

use sqlx::Connection;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use tokio::time::timeout;

use super::log::lost;
use super::{ROLLBACK, bulk, connect, sql};
use crate::id::Space;
use crate::store::Error;
use crate::store::index::{Added, EVENTS, Indexing, some};

/// How long a transaction may take.
const LIMIT: Duration = Duration::from_secs(30);

/// The connection that writes the index; made when it is needed, and again when something failed.
pub(super) struct Tables {
    pub options: PgConnectOptions,
    pub connection: Option<PgConnection>,
}

impl Tables {
    async fn connected(&mut self) -> Result<&mut PgConnection, Error> {
        if self.connection.is_none() {
            self.connection = Some(connect(&self.options).await?);
        }
        self.connection.as_mut().ok_or_else(lost)
    }

    async fn spaces(&mut self) -> Result<Vec<Space>, Error> {
        let text = "select s.space from spaces s left join indexed i on i.space = s.space \
             where s.head > coalesce(i.seq, 0)";
        let spaces: Vec<String> =
            sqlx::query_scalar(text).fetch_all(self.connected().await?).await.map_err(sql::error)?;
        spaces.into_iter().map(sql::space).collect()
    }

    async fn transaction(&mut self, space: &Space) -> Result<Added, Error> {
        let mut transaction = self.connected().await?.begin().await.map_err(sql::error)?;
        let connection = &mut *transaction;
        // The row is the lock: of several servers one indexes a space at a time.
        sqlx::query("insert into indexed (space, seq) values ($1, 0) on conflict do nothing")
            .bind(space.as_str())
            .execute(&mut *connection)
            .await
            .map_err(sql::error)?;
        let done: i64 = sqlx::query_scalar("select seq from indexed where space = $1 for update")
            .bind(space.as_str())
            .fetch_one(&mut *connection)
            .await
            .map_err(sql::error)?;
        let text = concat!(
            "select ",
            sql::index_columns!(),
            " from events e where e.space = $1 and e.seq > $2 order by e.seq limit $3"
        );
        let rows = sqlx::query_as(text).bind(space.as_str()).bind(done).bind(EVENTS).fetch(&mut *connection);
        let (events, more) = some(rows).await?;
        bulk::put_index(connection, space, &events).await?;
        transaction.commit().await.map_err(sql::error)?;
        Ok(Added { events: events.len(), more })
    }
}

impl Indexing for Tables {
    // Every page is read from the database, with the end of the log that is not in the index.
    const SOON: usize = 512;
    const MOST: usize = 2048;

    async fn behind(&mut self) -> Result<Vec<Space>, Error> {
        within(self.spaces()).await
    }

    async fn add(&mut self, space: &Space) -> Result<Added, Error> {
        let result = within(self.transaction(space)).await;
        if result.is_err() {
            self.connection = None;
        }
        result
    }

    async fn close(self) {
        let Some(connection) = self.connection else { return };
        // Every commit is one already: how the connection ends changes nothing.
        let _ = timeout(ROLLBACK, connection.close()).await;
    }
}

/// Appends may wait for the index: it does not wait for a database that is not there any more.
async fn within<T>(asked: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    match timeout(LIMIT, asked).await {
        Ok(answer) => answer,
        Err(_) => Err(Error::Unavailable("the database does not answer".into())),
    }
}
