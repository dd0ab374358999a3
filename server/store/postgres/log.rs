//! The connection that writes: what the store's one writer asks of a database, on Postgres.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use sqlx::Connection as _;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use super::watch::Watch;
use super::{ROLLBACK, bulk, columns, connect, micros, put_rest, read_threads, sql};
use crate::event::Event;
use crate::id::{Space, ThreadId};
use crate::store::append::{Asked, Backend, Before, Plan, Position};
use crate::store::known::Known;
use crate::store::{Error, Fence, ThreadRow};
use crate::time::Timestamp;

/// The connection that writes; made when it is needed, and again when it was lost.
pub(super) struct Log {
    pub options: PgConnectOptions,
    pub connection: Option<PgConnection>,
    pub watch: Arc<Watch>,
    pub known: Known,
    /// How often the database had been taken into use, or its rows made anew, when what is known was read.
    pub incarnation: i64,
    /// What the database's clock said (µs since 1970), and when.
    pub clock: Option<(i64, Instant)>,
    /// How long a statement may take.
    pub limit: Duration,
}

pub(super) fn lost() -> Error {
    Error::Unavailable("the connection to Postgres was lost".into())
}

impl Log {
    fn connection(&mut self) -> Result<&mut PgConnection, Error> {
        self.connection.as_mut().ok_or_else(lost)
    }

    async fn connected(&mut self) -> Result<&mut PgConnection, Error> {
        if self.connection.is_none() {
            self.connection = Some(connect(&self.options).await?);
        }
        self.connection()
    }

    async fn run(&mut self, text: &'static str) -> Result<(), Error> {
        sqlx::query(text).execute(self.connection()?).await.map(|_| ()).map_err(sql::error)
    }

    async fn lock_heads(&mut self, spaces: &[&str]) -> Result<BTreeMap<Space, Position>, Error> {
        let text = "select space, head, ts, (select incarnation from log), \
             (extract(epoch from clock_timestamp()) * 1000000)::bigint from spaces where space = any($1) \
             order by space for update";
        let rows: Vec<(String, i64, i64, i64, i64)> =
            sqlx::query_as(text).bind(spaces).fetch_all(self.connection()?).await.map_err(sql::error)?;
        self.clock = rows.first().map(|row| (row.4, Instant::now())).or(self.clock);
        if let Some(incarnation) = rows.first().map(|row| row.3).filter(|now| *now != self.incarnation) {
            // Perhaps the rows were made anew.
            self.known.forget();
            self.incarnation = incarnation;
        }
        let position = |(space, seq, ts, ..): (String, _, _, _, _)| {
            Ok((sql::space(space)?, Position { seq, ts: Timestamp::from_micros(ts) }))
        };
        let heads = rows.into_iter().map(position).collect::<Result<_, Error>>()?;
        self.known.met(&heads);
        Ok(heads)
    }
}

impl Backend for Log {
    async fn begin(&mut self) -> Result<(), Error> {
        let connection = self.connected().await?;
        sqlx::query("begin").execute(connection).await.map(|_| ()).map_err(sql::error)
    }

    async fn held(&mut self, fences: &[Fence]) -> Result<HashSet<Fence>, Error> {
        // `for no key update`: a take-over waits for this commit, or this append sees that it lost. Sorted, against deadlocks.
        let text = "select l.number from unnest($1::text[], $2::text[], $3::bigint[]) f (space, thread, number) \
             cross join lateral (select number from leases where space = f.space and thread = f.thread \
             and number = f.number for no key update) l";
        let (spaces, threads, numbers) = columns(fences);
        let held: Vec<i64> = sqlx::query_scalar(text)
            .bind(spaces)
            .bind(threads)
            .bind(numbers)
            .fetch_all(self.connection()?)
            .await
            .map_err(sql::error)?;
        Ok(fences.iter().filter(|fence| held.contains(&fence.number)).cloned().collect())
    }

    async fn heads(&mut self, spaces: &BTreeSet<Space>) -> Result<BTreeMap<Space, Position>, Error> {
        let names: Vec<&str> = spaces.iter().map(Space::as_str).collect();
        let heads = self.lock_heads(&names).await?;
        if heads.len() == names.len() {
            return Ok(heads);
        }
        let text = "insert into spaces (space, head, ts) select space, 0, 0 from unnest($1::text[]) space \
             order by space on conflict do nothing";
        sqlx::query(text).bind(&names).execute(self.connection()?).await.map_err(sql::error)?;
        self.lock_heads(&names).await
    }

    async fn known(&mut self, ids: &[(Space, Uuid)]) -> Result<Vec<(Space, Event)>, Error> {
        let spaces: Vec<&str> = ids.iter().map(|(space, _)| space.as_str()).collect();
        let numbers: Vec<Uuid> = ids.iter().map(|(_, id)| *id).collect();
        let text = concat!(
            "select e.space, ",
            sql::event_columns!(),
            " from unnest($1::text[], $2::uuid[]) k (space, event_id)",
            " join events e on e.space = k.space and e.event_id = k.event_id"
        );
        let rows: Vec<sql::PlacedColumns> =
            sqlx::query_as(text).bind(spaces).bind(numbers).fetch_all(self.connection()?).await.map_err(sql::error)?;
        rows.into_iter().map(sql::placed_event).collect()
    }

    async fn threads(&mut self, ids: &[(Space, ThreadId)]) -> Result<Vec<(Space, ThreadRow)>, Error> {
        let (mut rows, mut unknown) = (Vec::new(), Vec::new());
        for key in ids {
            match self.known.thread(key) {
                Some(row) => rows.push((key.0.clone(), row)),
                None => unknown.push(key.clone()),
            }
        }
        if !unknown.is_empty() {
            for row in read_threads(self.connection()?, &unknown).await? {
                let (space, row) = sql::placed_thread(row)?;
                self.known.met_thread(&space, &row);
                rows.push((space, row));
            }
        }
        Ok(rows)
    }

    async fn asked(&mut self, asked: &Asked) -> Result<Before, Error> {
        let connection = self.connection()?;
        Ok(sql::read_asked!(connection, asked))
    }

    async fn write(&mut self, plan: &Plan) -> Result<(), Error> {
        let connection = self.connection()?;
        bulk::put_and_release(connection, &plan.writes()?, &plan.released).await?;
        put_rest(connection, &plan.rows).await
    }

    fn known_heads(&self, spaces: &BTreeSet<Space>) -> Option<BTreeMap<Space, Position>> {
        self.connection.as_ref().and_then(|_| self.known.heads(spaces))
    }

    async fn write_if(
        &mut self,
        plan: &Plan,
        heads: &BTreeMap<Space, Position>,
        fences: &[Fence],
    ) -> Result<bool, Error> {
        let Some((clock, at)) = self.clock.filter(|_| !plan.rows.has_single()) else { return Ok(false) };
        let until = clock.saturating_add(micros(at.elapsed() + self.limit));
        let unchanged = bulk::Unchanged { fences, heads, incarnation: self.incarnation, until };
        let written = bulk::put_if(self.connection()?, &plan.writes()?, &plan.released, &unchanged).await?;
        if written {
            self.known.take(plan);
        }
        Ok(written)
    }

    async fn commit(&mut self, plan: &Plan) -> Result<(), Error> {
        self.run("commit").await?;
        self.known.take(plan);
        Ok(())
    }

    async fn undo(&mut self) {
        // A connection that cannot even do that is no use any more; the next transaction gets another one.
        if !matches!(timeout(ROLLBACK, self.run("rollback")).await, Ok(Ok(()))) {
            self.connection = None;
        }
    }

    async fn rollback(&mut self) {
        self.known.forget();
        self.undo().await;
    }

    fn settled(&mut self, _: &[Fence]) {
        // Leases are rows: they went with the transaction.
    }

    fn committed(&mut self, space: &Space) {
        self.watch.announce(space);
    }

    async fn touch(&mut self, bytes: usize) -> Result<(), Error> {
        // As an append does it: where a log ends is locked first.
        let connection = self.connected().await?;
        let text = "select 1 from spaces order by space limit 1 for update";
        sqlx::query(text).execute(&mut *connection).await.map_err(sql::error)?;
        let text = "update log set incarnation = incarnation + 1, probe = $1";
        sqlx::query(text).bind(vec![b'x'; bytes]).execute(connection).await.map_err(sql::error)?;
        self.run("update log set probe = null").await
    }

    async fn close(self) {
        let Some(connection) = self.connection else { return };
        if let Err(error) = connection.close().await {
            tracing::warn!(%error, "the database was not closed in order; nothing is lost");
        }
    }
}
