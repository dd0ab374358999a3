//! Postgres: many servers, one log. Each has one connection that writes, one for the index, one that listens and pools that
//! read and write blobs; leases are rows. Only what differs from SQLite is here; what passes between servers is in `postgres/watch.rs`.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::Connection;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use tokio::task::JoinSet;
use tokio::time::timeout;
use uuid::Uuid;

use super::append::Writer;
use super::batch::Batch;
use super::blob::Blob;
use super::catch_up;
use super::change::Project;
use super::error::StoreError;
use super::feed::Feed;
use super::fence::{Fence, Leased};
use super::head::Position;
use super::index::Index;
use super::options::Options;
use super::presence::Here;
use super::query::Query;
use super::sql::{self, stored};
use super::table::{Row, Table};
use super::thread_row::ThreadRow;
use super::upkeep::Checked;
use super::write_cache::WriteCache;
use crate::event::envelope::Event;
use crate::tasks::share::Places;
use crate::words::id::{Space, ThreadId};
use crate::words::time::Timestamp;

mod blobs;
mod bulk;
mod connect;
mod connections;
mod index;
mod known;
mod life;
mod log;
mod nearest;
mod parts;
mod pool;
mod readers;
mod search;
mod servers;
mod session;
mod vectors;
mod watch;

use blobs::Blobs;
pub(super) use blobs::read_blob;
pub(super) use bulk::{clear, put, put_index, put_rest};
use connect::placed;
pub(super) use connect::{connect, migrate, options};
use connections::Pools;
use index::Tables;
use known::read_threads;
use life::{Life, begin};
pub(super) use life::{alone, release};
use log::Log;
use pool::Pool;
use readers::Reader;
use search::all_of;
use watch::{Pooled, Watch};

/// How long anybody waits for a connection.
const ACQUIRE: Duration = Duration::from_secs(2);
/// How long a broken connection may take to say so.
const ROLLBACK: Duration = Duration::from_secs(1);
/// One writes, one writes the index, one listens.
const DEDICATED: u32 = 3;

/// How many connections each pool may have, of so many in all.
struct Sizes {
    /// What is read for spaces.
    spaces: u32,
    /// What the server reads of all spaces together.
    own: u32,
    /// Blobs that are written.
    blobs: u32,
}

impl Sizes {
    fn of(connections: u32) -> Self {
        let pooled = connections.max(super::options::CONNECTIONS_MIN) - DEDICATED;
        let (own, blobs) = ((pooled / 3).clamp(1, 6), (pooled * 2 / 9).clamp(1, 4));
        Self {
            spaces: pooled - own - blobs,
            own,
            blobs,
        }
    }
}

/// See `sql::store!`.
const MERGES_POSTINGS: bool = false;
/// See `rebuild!`.
const HEADS: &str = "select space, head, ts from spaces";

/// The store on a Postgres server.
pub(super) struct Postgres {
    /// For spaces.
    pool: Pool,
    /// For all of them together.
    own: Pool,
    /// Places of spaces at their pool.
    places: Places,
    /// How long what is read may take.
    limit: Duration,
    blobs: Blobs,
    writer: Writer,
    index: Index,
    feed: Arc<Feed>,
    epoch: Uuid,
    options: PgConnectOptions,
    project: Project,
    cache: WriteCache,
    threads: Batch<(Space, ThreadId), Option<ThreadRow>>,
    rows: Batch<(&'static Table, Space), Arc<[Row]>>,
    /// What is said to other servers, and heard from them.
    others: Arc<Watch>,
    here: Here,
    // A plain mutex: held to stop the tasks, never across an await.
    watch: Mutex<JoinSet<()>>,
}

impl Postgres {
    const SHARED: bool = true;

    pub async fn open(url: &str, settings: &Options, project: Project) -> Result<Self, StoreError> {
        let options = options(url)?;
        // Given up here, it is given up there: what was refused as it took too long is not to be stored later.
        let commit = settings.commit * 3 / 4;
        let writing = options
            .clone()
            .options([("statement_timeout", commit.as_millis().max(1).to_string())]);
        // It becomes the one that writes.
        let mut connection = connect(&writing).await?;
        let epoch = begin(&mut connection, &writing, settings.connections).await;
        let epoch = epoch.map_err(|error| placed(&options, &error, ""))?;
        let life = Life {
            epoch,
            supervisor: settings.supervisor.clone(),
            pools: Pools::default(),
            server: Arc::default(),
        };
        let sizes = Sizes::of(settings.connections);
        let places = Places::new("readers", sizes.spaces, settings.space_share);
        // Nothing that must last is written over these connections. Leases are: who appends under one has it flushed before what is
        // appended, and one that a crash of the database forgets makes its holder's appends stale.
        let reading = options.clone().options([
            ("statement_timeout", settings.read.as_millis().to_string()),
            ("synchronous_commit", "off".to_owned()),
        ]);
        let reading = reading.options(nearest::SETTINGS);
        let pool = Pool::new(reading.clone(), &life, sizes.spaces as usize);
        let own = Pool::new(reading, &life, sizes.own as usize);
        let blobs = Blobs::new(&options, &life, sizes.blobs, settings.space_share);
        let limit = settings.read + sql::GRACE;
        let pooled = Pooled {
            pool: own.clone(),
            limit,
        };
        let feed = Arc::new(Feed::default());
        let supervisor = &settings.supervisor;
        let (watch, mut tasks) = Watch::start(pooled.clone(), feed.clone(), options.clone(), &life);
        let telling = catch_up::run(pooled, feed.clone());
        tasks.spawn(supervisor.watch("telling followers what they missed", telling));
        let (cache, others) = (WriteCache::default(), watch.clone());
        let backend = Log {
            options: writing,
            life: life.clone(),
            connection: Some(connection),
            watch,
            cache: cache.clone(),
            incarnation: 0,
            clock: None,
            limit: commit,
            renewals: life.pools.renewals(),
        };
        let tables = Tables::new(options.clone(), life.clone());
        let index = Index::start(tables, supervisor);
        let writer = Writer::start(backend, feed.clone(), index.clone(), project, settings);
        let (threads, rows, watch) = (Batch::new(), Batch::new(), Mutex::new(tasks));
        // One of each kind, before others take what there is.
        let (first, pools) = (
            (pool.clone(), own.clone(), blobs.clone()),
            life.pools.clone(),
        );
        watch
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .spawn(async move {
                // Whoever needs one asks again, and says why there is none.
                let _ = tokio::join!(first.0.ready(), first.1.ready(), first.2.ready());
                pools.tidy().await;
            });
        Ok(Self {
            pool,
            own,
            places,
            limit,
            blobs,
            writer,
            index,
            feed,
            epoch,
            options,
            project,
            cache,
            threads,
            rows,
            others,
            here: Here::new(),
            watch,
        })
    }

    /// Waits for a connection, for a while: for a space, which has its share of them, or (`None`) for all of them.
    async fn reader(&self, space: Option<&Space>) -> Result<Reader, StoreError> {
        let place = match space {
            None => None,
            Some(space) => match timeout(ACQUIRE, self.places.take(space)).await {
                Ok(place) => Some(place),
                Err(_) => return Err(StoreError::Unavailable("all connections are busy".into())),
            },
        };
        let pool = if place.is_some() {
            &self.pool
        } else {
            &self.own
        };
        Ok(Reader::new(pool.take().await?, place, self.limit))
    }

    async fn check_all(&self, _: Duration) -> Result<Checked, StoreError> {
        Ok(Checked {
            at: crate::words::time::now(),
            pages: 0,
            events: 0,
            faults: Vec::new(),
        })
    }

    async fn own_clock(&self) -> Result<Option<Timestamp>, StoreError> {
        let text = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint";
        let micros = sql::read!(self, None, sqlx::query_scalar(text), fetch_one)?;
        Ok(Some(Timestamp::from_micros(micros)))
    }

    fn last_checked(&self) -> Option<Checked> {
        None
    }

    async fn keep_blob(&self, space: &Space, sha256: String, blob: Blob) -> Result<(), StoreError> {
        self.blobs.put(space, &sha256, &blob).await
    }

    async fn kept_blob(&self, space: &Space, sha256: &str) -> Result<Option<Blob>, StoreError> {
        let query =
            sqlx::query_as("select mime, bytes from blobs where space = $1 and sha256 = $2")
                .bind(space.as_str())
                .bind(sha256);
        let row: Option<(String, Vec<u8>)> = sql::read!(self, Some(space), query, fetch_optional)?;
        Ok(row.map(|(mime, bytes)| Blob {
            mime,
            bytes: bytes.into(),
        }))
    }

    async fn take_lease(
        &self,
        space: &Space,
        thread: &ThreadId,
        ttl: Duration,
    ) -> Result<Option<Leased>, StoreError> {
        // Drawn, not counted: a number that a crash of the database forgot is not given to somebody else.
        let number = crate::words::id::drawn();
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
            .for_each(|(space, row)| self.cache.met_thread(space, row));
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

    async fn renew_leases(
        &self,
        fences: &[Fence],
        ttl: Duration,
    ) -> Result<Vec<Fence>, StoreError> {
        // Locked in the same order as by appends.
        let text = "with held as (select l.space, l.thread from unnest($1::text[], $2::text[], $3::bigint[]) \
             f (space, thread, number) cross join lateral (select * from leases where space = f.space \
             and thread = f.thread and number = f.number for no key update) l) \
             update leases l set until = clock_timestamp() + $4 * interval '1 microsecond' from held \
             where l.space = held.space and l.thread = held.thread returning l.number";
        let (spaces, threads, numbers) = columns(fences);
        let kept: Vec<i64> = sql::read!(
            self,
            None,
            sqlx::query_scalar(text)
                .bind(spaces)
                .bind(threads)
                .bind(numbers)
                .bind(micros(ttl)),
            fetch_all
        )?;
        // Numbers are given out once, so they name their leases.
        Ok(fences
            .iter()
            .filter(|fence| !kept.contains(&fence.number))
            .cloned()
            .collect())
    }

    async fn release_lease(&self, fence: &Fence) -> Result<(), StoreError> {
        // The row stays: another number takes the old one's right away.
        let text = "update leases set number = 0, until = '-infinity' \
             where space = $1 and thread = $2 and number = $3";
        let query = sqlx::query(text)
            .bind(fence.space.as_str())
            .bind(fence.thread.as_str())
            .bind(fence.number);
        sql::read!(self, Some(&fence.space), query, execute).map(|_| ())
    }

    async fn tell_others(&self) -> Result<(), StoreError> {
        self.leave().await?;
        self.others
            .hand_over(&Pooled {
                pool: self.own.clone(),
                limit: self.limit,
            })
            .await
    }

    async fn told_by_others(&self) {
        self.others.handed_over().await;
    }

    async fn waiting_threads(&self, limit: u32) -> Result<Vec<(Space, ThreadId)>, StoreError> {
        let text = "select t.thread from threads t where t.space = $1 \
             and t.woken > t.handled and t.status not in ('waiting', 'done', 'failed', 'stopped') \
             and not exists (select 1 from leases l where l.space = t.space and l.thread = t.thread \
             and l.until >= clock_timestamp()) limit $2";
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

    /// A connection in a transaction of its own that sees one state. To change rows, it keeps all appends waiting.
    async fn alone(&self, check: bool) -> Result<PgConnection, StoreError> {
        let mut connection = connect(&self.options).await?;
        let texts = if check {
            [
                "set statement_timeout = 0",
                "begin isolation level repeatable read",
                "select 1",
            ]
        } else {
            // Servers that run see by the incarnation that what they know of the rows may not be so any more.
            [
                "set statement_timeout = 0",
                "begin",
                "lock table spaces in exclusive mode; update log set incarnation = incarnation + 1",
            ]
        };
        for text in texts {
            sqlx::raw_sql(text)
                .execute(&mut connection)
                .await
                .map_err(sql::error)?;
        }
        Ok(connection)
    }

    /// A Postgres whose disk fails stops itself; but it may have no more connections.
    async fn sound(&self) -> Result<(), StoreError> {
        tokio::try_join!(
            self.pool.ready(),
            self.own.ready(),
            self.blobs.ready(),
            self.writer.ready()
        )
        .map(|_| ())
    }

    fn renewed(&self) {
        // The writer sees by the incarnation that they were, whoever did it.
    }

    async fn shut(&self) {
        self.writer.close().await;
        self.index.close().await;
        self.watch
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .abort_all();
        self.blobs.close().await;
        self.own.close().await;
        self.pool.close().await;
    }
}

/// Finds the rows of a space that have words, if a table is searched by words.
fn with_words(table: &Table) -> Option<String> {
    table.words.as_ref()?;
    let (columns, rows) = (table.list("e."), table.name);
    Some(format!(
        "select {columns} from {rows} e where e.words @@ $1::tsquery and e.space = $2 limit $3"
    ))
}

/// The tables that are missing, if any. No lock is waited for.
fn missing() -> String {
    let tables: Vec<&str> = sql::tables().chain(["leases", "servers"]).collect();
    let tables = tables.join(", ");
    format!(
        "select string_agg(name, ', ') from unnest('{{{tables}}}'::text[]) name where to_regclass(name) is null"
    )
}

sql::store!(Postgres, sqlx::Postgres);
sql::renew_epoch!(PgConnection);
// In the order in which appends, and then the index, take them.
sql::reword!(
    PgConnection,
    "lock table spaces in exclusive mode; lock table indexed in exclusive mode",
    "truncate event_words, marks; update indexed set seq = 0"
);
super::rebuild::rebuild!(Postgres, PgConnection);

fn micros(ttl: Duration) -> i64 {
    i64::try_from(ttl.as_micros()).unwrap_or(i64::MAX)
}

/// A tsvector without positions.
pub(super) fn vector(words: &BTreeSet<String>) -> String {
    words
        .iter()
        .map(|word| format!("'{word}'"))
        .collect::<Vec<_>>()
        .join(" ")
}

/// The events whose seqs are `m.seq`, in the same order: each found by its key, whatever is known about the table.
fn by_key(page: &mut Page, space: &Space) {
    page.push(" cross join lateral (select * from events where space = ")
        .push_bind(space.as_str().to_owned());
    page.push(" and seq = m.seq offset 0) e");
}

type FenceColumns<'a> = (Vec<&'a str>, Vec<&'a str>, Vec<i64>);

/// Fences as columns, sorted: rows are locked in this order.
fn columns(fences: &[Fence]) -> FenceColumns<'_> {
    let mut fences = Vec::from_iter(fences);
    fences.sort_unstable_by_key(|fence| (&fence.space, &fence.thread));
    let spaces = fences.iter().map(|fence| fence.space.as_str()).collect();
    let threads = fences.iter().map(|fence| fence.thread.as_str()).collect();
    (
        spaces,
        threads,
        fences.iter().map(|fence| fence.number).collect(),
    )
}
