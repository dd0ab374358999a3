//! The index on Postgres: tables of the same database, a connection of their own.

use std::collections::HashMap;
use std::time::Duration;

use sqlx::Connection;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};

use super::life::Life;
use super::log::{lost, unless_former};
use super::{ROLLBACK, add_to_index};
use crate::error::{StoreError, within};
use crate::index::{Added, Indexing, Left};
use crate::indexed::{Gap, gaps};
use thinkd_words::id::Space;

/// The limit of a transaction. Appends may wait for the index: it does not wait for a database
/// that is not there any more.
const LIMIT: Duration = Duration::from_secs(30);
/// A transaction that fails sooner met a connection that had ended: it is tried again on a new one.
const AT_ONCE: Duration = Duration::from_secs(1);

/// The connection that writes the index; made when it is needed, and again when something failed.
pub(super) struct Tables {
    options: PgConnectOptions,
    life: Life,
    connection: Option<PgConnection>,
    renewals: watch::Receiver<()>,
}

impl Tables {
    pub fn new(options: PgConnectOptions, life: Life) -> Self {
        let renewals = life.pools.renewals();
        Self {
            options,
            life,
            renewals,
            connection: None,
        }
    }

    async fn connected(&mut self) -> Result<&mut PgConnection, StoreError> {
        if self.renewals.has_changed().unwrap_or(false) {
            self.renewals.mark_unchanged();
            self.connection = None;
        }
        if self.connection.is_none() {
            self.connection = Some(self.life.connect(&self.options).await?);
            self.renewals.mark_unchanged();
        }
        self.connection.as_mut().ok_or_else(lost)
    }

    fn later_renewals(&self) -> watch::Receiver<()> {
        let mut renewals = self.renewals.clone();
        renewals.mark_unchanged();
        renewals
    }

    async fn spaces(&mut self) -> Result<Vec<(Space, Gap)>, StoreError> {
        let text = "select s.space, coalesce(i.seq, 0), s.head from spaces s left join indexed i on i.space = s.space \
             where s.head > coalesce(i.seq, 0)";
        let rows: Vec<(String, i64, i64)> = sqlx::query_as(text)
            .fetch_all(self.connected().await?)
            .await?;
        Ok(gaps(rows))
    }

    async fn add_once(&mut self, spaces: &[Space]) -> Result<Vec<Added>, StoreError> {
        let renewals = self.later_renewals();
        let result = within(LIMIT, unless_former(renewals, self.transaction(spaces))).await;
        result.inspect_err(|_| self.connection = None)
    }

    async fn transaction(&mut self, spaces: &[Space]) -> Result<Vec<Added>, StoreError> {
        let names: Vec<&str> = spaces.iter().map(Space::as_str).collect();
        let mut transaction = self.connected().await?.begin().await?;
        let connection = &mut *transaction;
        // The rows are the locks: of several servers one indexes a space at a time. All take them in the same order.
        let text = "insert into indexed (space, seq) select space, 0 from unnest($1::text[]) space order by space \
             on conflict do nothing";
        sqlx::query(text)
            .bind(&names)
            .execute(&mut *connection)
            .await?;
        let text = "select space, seq from indexed where space = any($1) order by space for update";
        let done: Vec<(String, i64)> = sqlx::query_as(text)
            .bind(&names)
            .fetch_all(&mut *connection)
            .await?;
        let done: HashMap<String, i64> = done.into_iter().collect();
        let mut left = Left::new();
        let mut added = Vec::new();
        for space in spaces {
            if left.is_nothing() {
                break;
            }
            let done = done.get(space.as_str()).copied().unwrap_or_default();
            added.push(add_to_index(connection, space, done, &mut left).await?);
        }
        transaction.commit().await?;
        Ok(added)
    }
}

impl Indexing for Tables {
    // Every page is read from the database, with the end of the log that is not in the index.
    const SOON: i64 = 512;
    const MOST: i64 = 2048;

    async fn behind(&mut self) -> Result<Vec<(Space, Gap)>, StoreError> {
        let renewals = self.later_renewals();
        let result = within(LIMIT, unless_former(renewals, self.spaces())).await;
        result.inspect_err(|_| self.connection = None)
    }

    async fn add(&mut self, spaces: &[Space]) -> Result<Vec<Added>, StoreError> {
        let begin = Instant::now();
        let was_open = self.connection.is_some();
        match self.add_once(spaces).await {
            // Postgres may have been away meanwhile: a reader that waits for the index is not told of it.
            Err(StoreError::Unavailable(_)) if was_open && begin.elapsed() < AT_ONCE => {
                self.add_once(spaces).await
            }
            result => result,
        }
    }

    async fn close(self) {
        let Some(connection) = self.connection else {
            return;
        };
        // Every commit is one already: how the connection ends changes nothing.
        let _ = timeout(ROLLBACK, connection.close()).await;
    }
}
