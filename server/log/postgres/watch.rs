//! Messages of servers on one database to each other: "space X moved", "I leave threads to you".
//! The first is said after the commit, outside of it and in one breath for many. Heard or not, a
//! slow poll (`log/catch_up.rs`) finds everything, and tells it to the feed.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use sqlx::postgres::{PgConnectOptions, PgListener, PgNotification, PgPoolOptions};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::last_known::LastKnown;
use super::life::Life;
use super::pool::Pool;
use super::readers::Reader;
use super::sql;
use crate::catch_up::{Next, Source};
use crate::error::StoreError;
use crate::feed::Feed;
use thinkd_event::envelope::Event;
use thinkd_words::id::{Seq, Space, ThreadId};

/// Postgres' channels: for spaces that moved, and for threads that are left.
const MOVED: &str = "thinkd";
const LEFT: &str = "thinkd_left";
/// Time for which announcements gather.
const GATHER: Duration = Duration::from_millis(10);
/// Pause of the listener after a failure.
const REST: Duration = Duration::from_secs(1);
/// Postgres refuses payloads of 8,000 bytes.
const PAYLOAD_MAX: usize = 7900;

/// A way to say that a space moved.
pub(super) struct Watch {
    /// The id of this server in announcements: its own are no news.
    id: String,
    // A plain mutex: held for one insertion or swap, never across an await.
    moved: Mutex<BTreeSet<Space>>,
    announced: Notify,
    /// Another server may have left threads.
    left: Notify,
    feed: Arc<Feed>,
}

impl Watch {
    /// Starts to announce and to listen.
    pub fn start(
        pooled: Pooled,
        feed: Arc<Feed>,
        options: PgConnectOptions,
        life: &Life,
    ) -> (Arc<Self>, JoinSet<()>) {
        let id = thinkd_words::id::fresh().simple().to_string();
        let watch = Arc::new(Self {
            id,
            moved: Mutex::default(),
            announced: Notify::new(),
            left: Notify::new(),
            feed,
        });
        let mut tasks = JoinSet::new();
        let supervisor = &life.supervisor;
        let announcing = announce(watch.clone(), pooled);
        tasks.spawn(supervisor.watch("telling other servers of commits", announcing));
        let listening = listen(watch.clone(), options, life.clone());
        tasks.spawn(supervisor.watch("listening to other servers", listening));
        (watch, tasks)
    }

    /// Tells the other servers, soon.
    pub fn announce(&self, space: &Space) {
        let mut moved = self.moved.lock();
        if !moved.contains(space) {
            moved.insert(space.clone());
        }
        drop(moved);
        self.announced.notify_one();
    }

    /// Tells the other servers that this one leaves threads.
    pub async fn hand_over(&self, pooled: &Pooled) -> Result<(), StoreError> {
        notify(pooled, LEFT, &self.id).await
    }

    /// Waits until another server may have left threads. For one task.
    pub async fn handed_over(&self) {
        self.left.notified().await;
    }
}

async fn announce(watch: Arc<Watch>, pooled: Pooled) {
    loop {
        watch.announced.notified().await;
        sleep(GATHER).await;
        let moved = std::mem::take(&mut *watch.moved.lock());
        let mut spaces = Vec::from_iter(moved.iter().map(Space::as_str)).join(",");
        if spaces.len() > PAYLOAD_MAX {
            spaces = "*".into();
        }
        let payload = format!("{} {spaces}", watch.id);
        if let Err(error) = notify(&pooled, MOVED, &payload).await {
            tracing::warn!(%error, "other servers are not told of commits; they will find them by looking");
        }
    }
}

async fn notify(pooled: &Pooled, channel: &str, payload: &str) -> Result<(), StoreError> {
    let query = sqlx::query("select pg_notify($1, $2)");
    let query = query.bind(channel).bind(payload);
    sql::read!(pooled, None, query, execute).map(|_| ())
}

async fn listen(watch: Arc<Watch>, options: PgConnectOptions, life: Life) {
    loop {
        if let Err(error) = hear(&watch, &options, &life).await {
            let error = sql::words(&error);
            tracing::warn!(
                error,
                "not listening to other servers; their commits are found by looking"
            );
        }
        sleep(REST).await;
    }
}

async fn hear(watch: &Watch, options: &PgConnectOptions, life: &Life) -> Result<(), sqlx::Error> {
    let mut renewals = life.pools.renewals();
    // A connection of its own, so that the pool is for reading.
    let pool = PgPoolOptions::new()
        .max_connections(1)
        .max_lifetime(None)
        .idle_timeout(None);
    let pool = life.guard(pool).connect_with(options.clone());
    let mut listener = PgListener::connect_with(&pool.await?).await?;
    listener.listen_all([MOVED, LEFT]).await?;
    loop {
        // After a lost connection anything may have been missed, so that is a reason to look, too.
        let said = tokio::select! {
            said = listener.try_recv() => said?,
            // Of the server that it leads to nobody hears any more.
            _ = renewals.changed() => {
                watch.feed.doubt();
                return Ok(());
            }
        };
        let is_ours = |said: &PgNotification| said.payload().starts_with(&watch.id);
        if said.as_ref().is_some_and(is_ours) {
            continue;
        }
        let channel = said.as_ref().map(PgNotification::channel);
        if channel != Some(MOVED) {
            watch.left.notify_one();
        }
        if channel != Some(LEFT) {
            watch.feed.doubt();
        }
    }
}

/// The log, as the pool reads it.
#[derive(Clone)]
pub(super) struct Pooled {
    pub pool: Pool,
    /// Longest time of a read.
    pub limit: Duration,
    /// The last event that was read, or stored.
    pub known: Arc<LastKnown>,
}

impl Pooled {
    pub async fn reader(&self, _: Option<&Space>) -> Result<Reader, StoreError> {
        Ok(Reader::new(self.pool.take().await?, None, self.limit))
    }

    /// Takes note of an event that was read.
    fn met(&self, space: &Space, event: &Event) {
        self.known.met(space, event);
    }

    /// All of a log may be told of.
    fn end(&self, _: &Space) -> Seq {
        Seq::MAX
    }
}

impl Source for Pooled {
    async fn heads(&self, spaces: &[Space]) -> Result<Vec<(Space, Seq)>, StoreError> {
        let names: Vec<&str> = spaces.iter().map(Space::as_str).collect();
        let text = "select space, head from spaces where space = any($1)";
        let heads: Vec<(String, i64)> =
            sql::read!(self, None, sqlx::query_as(text).bind(names), fetch_all)?;
        let heads = heads.into_iter();
        heads
            .map(|(name, head)| Ok((sql::space(name)?, head)))
            .collect()
    }

    sql::next_events!();
}
