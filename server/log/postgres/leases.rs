//! Leases are rows: a lease is taken, renewed and given back here, and threads that wait for one
//! are found.

use std::time::Duration;

use async_trait::async_trait;

use super::{Postgres, columns, micros, sql};
use crate::error::StoreError;
use crate::fence::{Fence, Leased};
use crate::kernel::Leasing;
use crate::presence::{Presence, Server};
use thinkd_words::id::{Space, ThreadId};

#[async_trait]
impl Leasing for Postgres {
    async fn lease(
        &self,
        space: &Space,
        thread: &ThreadId,
        ttl: Duration,
    ) -> Result<Option<Leased>, StoreError> {
        // Drawn, not counted: a number that a crash of the database forgot is not given to somebody else.
        let number = thinkd_words::id::drawn();
        let query = sqlx::query_scalar("select take_lease($1, $2, $3, $4)::text")
            .bind(space.as_str())
            .bind(thread.as_str())
            .bind(number)
            .bind(micros(ttl));
        let row: Option<String> = sql::read!(self, Some(space), query, fetch_one)?;
        let Some(row) = row else { return Ok(None) };
        let row = sql::from_json(Some(row))
            .and_then(|rows| rows.into_iter().next().map(sql::placed_thread).transpose());
        row.iter()
            .flatten()
            .for_each(|(key, row)| self.cache.met_thread(key, row));
        let fence = Fence {
            space: space.clone(),
            thread: thread.clone(),
            number,
        };
        Ok(Some(Leased {
            fence,
            row: row.map(|row| row.map(|(_, row)| row)),
        }))
    }

    async fn renew(&self, fences: &[Fence], ttl: Duration) -> Result<Vec<Fence>, StoreError> {
        // Locked in the same order as by appends.
        let text = "with held as (select l.space, l.thread from unnest($1::text[], $2::text[], $3::bigint[]) \
             f (space, thread, number) cross join lateral (select * from leases where space = f.space \
             and thread = f.thread and number = f.number for no key update) l) \
             update leases l set until = clock_timestamp() + $4 * interval '1 microsecond' from held \
             where l.space = held.space and l.thread = held.thread returning l.number";
        let (spaces, threads, numbers) = columns(fences);
        let query = sqlx::query_scalar(text)
            .bind(spaces)
            .bind(threads)
            .bind(numbers)
            .bind(micros(ttl));
        let kept: Vec<i64> = sql::read!(self, None, query, fetch_all)?;
        // Numbers are given out once, so they name their leases.
        let is_lost = |fence: &&Fence| !kept.contains(&fence.number);
        Ok(fences.iter().filter(is_lost).cloned().collect())
    }

    async fn release(&self, fence: &Fence) -> Result<(), StoreError> {
        // The row stays: another number takes the old one's right away.
        let text = "update leases set number = 0, until = '-infinity' \
             where space = $1 and thread = $2 and number = $3";
        let query = sqlx::query(text)
            .bind(fence.space.as_str())
            .bind(fence.thread.as_str())
            .bind(fence.number);
        sql::read!(self, Some(&fence.space), query, execute).map(|_| ())
    }

    async fn hand_over(&self) -> Result<(), StoreError> {
        self.leave().await?;
        self.others.hand_over(&self.own).await
    }

    async fn handed_over(&self) {
        self.others.handed_over().await;
    }

    fn say(&self, presence: Presence) {
        self.here.say(presence);
    }

    async fn servers(&self) -> Result<Vec<Server>, StoreError> {
        self.known_servers().await
    }
}

impl Postgres {
    pub(super) async fn waiting_threads(
        &self,
        limit: u32,
    ) -> Result<Vec<(Space, ThreadId)>, StoreError> {
        let text = "select t.thread from threads t where t.space = $1 \
             and t.woken > t.handled and t.status not in ('waiting', 'done', 'failed', 'stopped') \
             and not exists (select 1 from leases l where l.space = t.space and l.thread = t.thread \
             and l.until >= clock_timestamp()) limit $2";
        self.look().await?;
        let mut waiting = Vec::new();
        for space in self.spaces_waiting_here().await? {
            let query = sqlx::query_scalar(text)
                .bind(space.as_str())
                .bind(i64::from(limit));
            let threads: Vec<String> = sql::read!(self, None, query, fetch_all)?;
            let threads = sql::readable(threads.into_iter().map(sql::thread_id));
            waiting.extend(threads.into_iter().map(|thread| (space.clone(), thread)));
        }
        Ok(waiting)
    }

    /// Makes sure, from time to time, that the log is still the one of before: another one may be put
    /// in its place while connections stay open.
    async fn look(&self) -> Result<(), StoreError> {
        if !self.life.known.is_due() {
            return Ok(());
        }
        let mut reader = self.reader(None).await?;
        let over = reader.over();
        let goes_on = tokio::select! {
            goes_on = self.led.goes_on(reader.connection()) => goes_on,
            () = over => Err(StoreError::no_answer()),
        };
        match goes_on {
            Ok(()) => {
                self.life.known.looked();
                reader.done();
            }
            Err(_) => reader.spoiled(),
        }
        goes_on
    }
}
