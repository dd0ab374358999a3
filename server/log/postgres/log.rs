//! The connection that writes: the backend of the store's one writer, on Postgres.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use sqlx::Connection as _;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use super::known::{keys, read_threads};
use super::life::Life;
use super::parts::Part;
use super::watch::Watch;
use super::{ROLLBACK, bulk, columns, micros, read_asked, sql};
use crate::append::{Asked, Backend, Before, Found, Plan, Wanted};
use crate::error::StoreError;
use crate::fence::Fence;
use crate::head::Position;
use crate::thread_row::ThreadRow;
use crate::write_cache::WriteCache;
use thinkd_words::id::Space;

/// The connection that writes; made when it is needed, and again when it was lost.
pub(super) struct Log {
    pub options: PgConnectOptions,
    pub life: Life,
    pub connection: Option<PgConnection>,
    pub watch: Arc<Watch>,
    pub cache: WriteCache,
    /// The number of times the database had been taken into use, or its rows made anew, when the
    /// known state was read.
    pub incarnation: i64,
    /// The time of the database's clock (µs since 1970), and the instant of its reading.
    pub clock: Option<(i64, Instant)>,
    /// Longest time of a statement.
    pub limit: Duration,
    /// Changes where connections lead to another server.
    pub renewals: watch::Receiver<()>,
}

pub(super) fn lost() -> StoreError {
    StoreError::Unavailable("the connection to Postgres was lost".into())
}

/// Returns the outcome of a write, unless connections lead to another server meanwhile: the former
/// one may be silent, and no outcome of its counts any more.
pub(super) async fn unless_former<T>(
    mut renewals: watch::Receiver<()>,
    writing: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    tokio::select! {
        biased;
        written = writing => written,
        Ok(()) = renewals.changed() => Err(lost()),
    }
}

impl Log {
    fn connection(&mut self) -> Result<&mut PgConnection, StoreError> {
        self.connection.as_mut().ok_or_else(lost)
    }

    /// Closes a connection to a server that is the former one.
    fn leave_former(&mut self) {
        if self.renewals.has_changed().unwrap_or(false) {
            self.renewals.mark_unchanged();
            self.connection = None;
            self.cache.forget();
        }
    }

    fn stored(&mut self, plan: &Plan) {
        self.cache.take(plan);
        if let Some((space, event)) = plan.last() {
            self.life.known.met(space, event);
        }
    }

    async fn connected(&mut self) -> Result<&mut PgConnection, StoreError> {
        self.leave_former();
        if self.connection.is_none() {
            self.connection = Some(self.life.connect(&self.options).await?);
            // Perhaps it is the first that leads to another server: it leads to no former one.
            self.renewals.mark_unchanged();
        }
        self.connection()
    }

    async fn run(&mut self, text: &'static str) -> Result<(), StoreError> {
        sqlx::query(text).execute(self.connection()?).await?;
        Ok(())
    }

    /// Locks the rows that an append needs, and reads them, in one trip.
    async fn lock(&mut self, wanted: &Wanted) -> Result<Locked, StoreError> {
        let text = "select held, logs::text, incarnation, clock, events::text, changed::text \
             from lock_logs($1, $2, $3, $4, $5, $6, $7, $8, $9)";
        let known = wanted.threads.iter().map(|key| self.cache.thread(key));
        let known: Vec<Option<ThreadRow>> = known.collect();
        let heads = known.iter();
        let heads = heads.map(|row| row.as_ref().map_or(0, |row| row.head));
        let (spaces, threads, numbers) = columns(&wanted.fences);
        let ids = wanted.ids.iter().map(|(space, id)| (space.as_str(), *id));
        let (of_ids, ids): (Vec<&str>, Vec<Uuid>) = ids.unzip();
        let (of_threads, named) = keys(&wanted.threads);
        let heads: Vec<i64> = heads.collect();
        let renewals = self.renewals.clone();
        let locking = sqlx::query_as(text)
            .bind(spaces)
            .bind(threads)
            .bind(numbers)
            .bind(wanted.spaces.iter().map(Space::as_str).collect::<Vec<_>>())
            .bind(of_ids)
            .bind(ids)
            .bind(of_threads)
            .bind(named)
            .bind(heads)
            .fetch_one(self.connection()?);
        let locked: LockedColumns = unless_former(renewals, async { Ok(locking.await?) }).await?;
        let (held, logs, incarnation, clock, events, changed) = locked;
        self.clock = Some((clock, Instant::now()));
        Ok(Locked {
            held: held.unwrap_or_default(),
            logs: sql::from_json(logs)?,
            incarnation,
            events: sql::from_json(events)?,
            known,
            changed: sql::from_json(changed)?,
        })
    }

    /// Returns the locked state, and the state known from before that still holds.
    fn found(&self, wanted: &Wanted, locked: Locked) -> Result<Found, StoreError> {
        let is_held = |fence: &&Fence| locked.held.contains(&fence.number);
        let position = |(space, seq, ts): (String, i64, i64)| {
            Ok((sql::space(space)?, Position::stored((seq, ts))))
        };
        let heads = locked.logs.into_iter().map(position);
        let heads = heads.collect::<Result<_, StoreError>>()?;
        self.cache.met(&heads);
        let mut threads = BTreeMap::new();
        for row in locked.changed {
            let (key, row) = sql::placed_thread(row)?;
            self.cache.met_thread(&key, &row);
            threads.insert(key, row);
        }
        for (key, row) in wanted.threads.iter().zip(locked.known) {
            if let Some(row) = row {
                threads.entry(key.clone()).or_insert(row);
            }
        }
        let events = locked.events.into_iter().map(sql::placed_event);
        Ok(Found {
            held: wanted.fences.iter().filter(is_held).cloned().collect(),
            heads,
            events: events.collect::<Result<_, _>>()?,
            threads,
        })
    }
}

/// The columns that `lock_logs` returns.
type LockedColumns = (
    Option<Vec<i64>>,
    Option<String>,
    i64,
    i64,
    Option<String>,
    Option<String>,
);

/// The same, read.
struct Locked {
    /// The numbers of the leases that hold.
    held: Vec<i64>,
    /// The spaces that have a row, and where their logs end.
    logs: Vec<(String, i64, i64)>,
    incarnation: i64,
    events: Vec<sql::PlacedColumns>,
    /// The rows of the threads as they were known when the locks were asked for.
    known: Vec<Option<ThreadRow>>,
    /// The threads of which something else, or nothing, was known.
    changed: Vec<sql::ThreadColumns>,
}

impl Backend for Log {
    async fn begin(&mut self, spaces: &BTreeSet<Space>) -> Result<(), StoreError> {
        let connection = self.connected().await?;
        sqlx::query("begin").execute(&mut *connection).await?;
        let text = "select 1 from spaces where space = any($1) order by space for update";
        let names: Vec<&str> = spaces.iter().map(Space::as_str).collect();
        sqlx::query(text).bind(names).execute(connection).await?;
        Ok(())
    }

    async fn read(&mut self, wanted: &Wanted) -> Result<Found, StoreError> {
        let mut locked = self.lock(wanted).await?;
        let is_anew = locked.incarnation != self.incarnation;
        let is_new = locked.logs.len() < wanted.spaces.len();
        if is_anew {
            // Perhaps the rows were made anew.
            self.cache.forget();
            self.incarnation = locked.incarnation;
        }
        if is_new {
            let text = "insert into spaces (space, head, ts) select space, 0, 0 from unnest($1::text[]) space \
                 order by space on conflict do nothing";
            let names: Vec<&str> = wanted.spaces.iter().map(Space::as_str).collect();
            sqlx::query(text)
                .bind(names)
                .execute(self.connection()?)
                .await?;
        }
        if is_anew || is_new {
            locked = self.lock(wanted).await?;
        }
        self.found(wanted, locked)
    }

    async fn known(&mut self, wanted: &Wanted) -> Result<Option<Found>, StoreError> {
        self.leave_former();
        let connection = self.connection.as_ref();
        let heads = connection.and_then(|_| self.cache.heads(&wanted.spaces));
        let Some(heads) = heads else { return Ok(None) };
        let mut threads = BTreeMap::new();
        let mut unknown = Vec::new();
        for key in &wanted.threads {
            match self.cache.current(key) {
                Some(row) => drop(threads.insert(key.clone(), row)),
                None => unknown.push(key.clone()),
            }
        }
        if !unknown.is_empty() {
            for row in read_threads(self.connection()?, &unknown).await? {
                let (key, row) = sql::placed_thread(row)?;
                self.cache.met_thread(&key, &row);
                threads.insert(key, row);
            }
        }
        Ok(Some(Found {
            held: wanted.fences.iter().cloned().collect(),
            heads,
            events: Vec::new(),
            threads,
        }))
    }

    async fn asked(&mut self, asked: &Asked) -> Result<Before, StoreError> {
        read_asked(self.connection()?, asked).await
    }

    async fn write(&mut self, plan: &Plan) -> Result<(), StoreError> {
        let connection = self.connection()?;
        let writes = plan.writes()?;
        let parts = Part::of(&plan.rows.single);
        bulk::put_all(connection, &writes, &plan.released, &parts).await?;
        let renewals = self.renewals.clone();
        unless_former(renewals, self.run("commit")).await?;
        self.stored(plan);
        Ok(())
    }

    async fn write_if(
        &mut self,
        plan: &Plan,
        heads: &BTreeMap<Space, Position>,
        fences: &[Fence],
    ) -> Result<bool, StoreError> {
        let Some((clock, at)) = self.clock else {
            return Ok(false);
        };
        let until = clock.saturating_add(micros(at.elapsed() + self.limit));
        let unchanged = bulk::Unchanged {
            fences,
            heads,
            incarnation: self.incarnation,
            until,
        };
        let writes = plan.writes()?;
        let parts = Part::of(&plan.rows.single);
        let renewals = self.renewals.clone();
        let writing = bulk::put_if(
            self.connection()?,
            &writes,
            &plan.released,
            &parts,
            &unchanged,
        );
        let written = unless_former(renewals, writing).await?;
        if written {
            self.stored(plan);
        }
        Ok(written)
    }

    async fn undo(&mut self) {
        // A connection that cannot even do that is no use any more; the next transaction gets another one.
        if !matches!(timeout(ROLLBACK, self.run("rollback")).await, Ok(Ok(()))) {
            self.connection = None;
        }
    }

    async fn rollback(&mut self, why: &StoreError) {
        self.cache.forget();
        match why {
            // A server that answers may be none that can be written to, as the former primary.
            StoreError::Unavailable(_) => self.connection = None,
            _ => self.undo().await,
        }
    }

    fn committed(&mut self, space: &Space) {
        self.watch.announce(space);
    }

    async fn ready(&mut self) -> Result<(), StoreError> {
        if let Some(connection) = &mut self.connection
            && !matches!(timeout(ROLLBACK, connection.ping()).await, Ok(Ok(())))
        {
            self.connection = None;
        }
        self.connected().await.map(|_| ())
    }

    async fn touch(&mut self, bytes: usize) -> Result<(), StoreError> {
        // As an append does it: where a log ends is locked first.
        let connection = self.connected().await?;
        let text = "select 1 from spaces order by space limit 1 for update";
        sqlx::query(text).execute(&mut *connection).await?;
        let text = "update log set incarnation = incarnation + 1, probe = $1";
        sqlx::query(text)
            .bind(vec![b'x'; bytes])
            .execute(connection)
            .await?;
        self.run("update log set probe = null").await
    }

    async fn close(self) {
        let Some(connection) = self.connection else {
            return;
        };
        // A server that is silent says no goodbye.
        match timeout(ROLLBACK, connection.close()).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                tracing::warn!(%error, "the database was not closed in order; nothing is lost");
            }
            Err(_) => tracing::warn!(
                "the database does not answer the end of the connection; nothing is lost"
            ),
        }
    }
}
