//! What servers on one database tell each other: "space X moved". Said after the commit, outside of it and in one breath for
//! many; heard or not, a slow poll finds everything. What others committed is read from the log and told to the feed.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgListener, PgPool, PgPoolOptions};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::sql;
use crate::id::{Seq, Space};
use crate::store::Error;
use crate::store::append::shown;
use crate::store::feed::Feed;

/// Postgres' channel.
const CHANNEL: &str = "thinkd";
/// How long announcements gather.
const GATHER: Duration = Duration::from_millis(10);
/// How often the log is looked at although nobody said anything.
const POLL: Duration = Duration::from_millis(1500);
/// How long the listener rests after a failure.
const REST: Duration = Duration::from_secs(1);
/// Postgres refuses payloads of 8,000 bytes.
const PAYLOAD_MAX: usize = 7900;
/// Events read at a time.
const PAGE: i64 = 256;

/// A way to say that a space moved.
pub(super) struct Watch {
    /// Ours among what is said: it is no news.
    id: String,
    // A plain mutex: held for one insertion or swap, never across an await.
    moved: Mutex<BTreeSet<Space>>,
    announced: Notify,
    looked: Notify,
}

impl Watch {
    /// Starts to announce, to listen and to look.
    pub fn start(pool: PgPool, feed: Arc<Feed>, options: PgConnectOptions) -> (Arc<Self>, JoinSet<()>) {
        let id = crate::id::fresh().simple().to_string();
        let watch = Arc::new(Self { id, moved: Mutex::default(), announced: Notify::new(), looked: Notify::new() });
        let mut tasks = JoinSet::new();
        tasks.spawn(announce(watch.clone(), pool.clone()));
        tasks.spawn(listen(watch.clone(), options));
        tasks.spawn(look(watch.clone(), pool, feed));
        (watch, tasks)
    }

    /// Tells the other servers, soon.
    pub fn announce(&self, space: &Space) {
        let mut moved = self.moved();
        if !moved.contains(space) {
            moved.insert(space.clone());
        }
        drop(moved);
        self.announced.notify_one();
    }

    /// Has the followed spaces looked at now.
    pub fn look(&self) {
        self.looked.notify_one();
    }

    fn moved(&self) -> MutexGuard<'_, BTreeSet<Space>> {
        // A panic while this short lock was held left nothing half done.
        self.moved.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn announce(watch: Arc<Watch>, pool: PgPool) {
    loop {
        watch.announced.notified().await;
        sleep(GATHER).await;
        let moved = std::mem::take(&mut *watch.moved());
        let mut spaces = Vec::from_iter(moved.iter().map(Space::as_str)).join(",");
        if spaces.len() > PAYLOAD_MAX {
            spaces = "*".into();
        }
        let payload = format!("{} {spaces}", watch.id);
        let notify = sqlx::query("select pg_notify($1, $2)").bind(CHANNEL).bind(payload).execute(&pool).await;
        if let Err(error) = notify {
            tracing::warn!(%error, "other servers are not told of commits; they will find them by looking");
        }
    }
}

async fn listen(watch: Arc<Watch>, options: PgConnectOptions) {
    loop {
        if let Err(error) = hear(&watch, &options).await {
            tracing::warn!(%error, "not listening to other servers; their commits are found by looking");
        }
        sleep(REST).await;
    }
}

async fn hear(watch: &Watch, options: &PgConnectOptions) -> Result<(), sqlx::Error> {
    // A connection of its own, so that the pool is for reading.
    let pool =
        PgPoolOptions::new().max_connections(1).max_lifetime(None).idle_timeout(None).connect_with(options.clone());
    let mut listener = PgListener::connect_with(&pool.await?).await?;
    listener.listen(CHANNEL).await?;
    loop {
        // After a lost connection anything may have been missed, so that is a reason to look, too.
        let said = listener.try_recv().await?;
        if !said.is_some_and(|said| said.payload().starts_with(&watch.id)) {
            watch.look();
        }
    }
}

async fn look(watch: Arc<Watch>, pool: PgPool, feed: Arc<Feed>) {
    loop {
        // Told or not: after a while it looks.
        let _ = timeout(POLL, watch.looked.notified()).await;
        if let Err(error) = catch_up(&pool, &feed).await {
            tracing::warn!(%error, "what other servers committed cannot be read; trying again");
            sleep(REST).await;
        }
    }
}

async fn catch_up(pool: &PgPool, feed: &Feed) -> Result<(), Error> {
    let followed = feed.followed();
    if followed.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = followed.iter().map(Space::as_str).collect();
    let heads: Vec<(String, i64)> = sqlx::query_as("select space, head from spaces where space = any($1)")
        .bind(names)
        .fetch_all(pool)
        .await
        .map_err(sql::error)?;
    for (space, head) in heads {
        catch_up_one(pool, feed, &sql::space(space)?, head).await?;
    }
    Ok(())
}

async fn catch_up_one(pool: &PgPool, feed: &Feed, space: &Space, head: Seq) -> Result<(), Error> {
    // Where nothing was told yet, the last event is enough: it tells followers that they are behind.
    let mut told = feed.told(space).unwrap_or(head - 1);
    while told < head {
        let text = concat!(
            "select ",
            sql::event_columns!(),
            " from events e where space = $1 and seq > $2 order by seq limit $3"
        );
        let rows: Vec<sql::EventColumns> = sqlx::query_as(text)
            .bind(space.as_str())
            .bind(told)
            .bind(PAGE)
            .fetch_all(pool)
            .await
            .map_err(sql::error)?;
        let Some((last, ..)) = rows.last() else { return Ok(()) };
        told = *last;
        let events = rows.into_iter().map(|row| sql::event(row).and_then(shown)).collect::<Result<Vec<_>, _>>()?;
        if !feed.committed(space, &events) {
            // The tail was begun anew meanwhile; the next look starts from there.
            return Ok(());
        }
    }
    Ok(())
}
