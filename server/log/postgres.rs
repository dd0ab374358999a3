//! Postgres: many servers, one log. Each has one connection that writes, one for the index, one
//! that listens and pools that read and write blobs; leases are rows. Only the parts that differ
//! from SQLite are here; messages between servers are in `postgres/watch.rs`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use secrecy::ExposeSecret;
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
use super::fence::Fence;
use super::head::Position;
use super::index::Index;
use super::kernel::{BlobStore, Upkeep};
use super::options::Options;
use super::presence::Here;
use super::query::Query;
use super::sql;
use super::table::{Row, Table};
use super::thread_row::ThreadRow;
use super::unserved::Unserved;
use super::upkeep::{Checked, Rebuilt};
use super::write_cache::WriteCache;
use thinkd_event::envelope::Event;
use thinkd_tasks::share::Places;
use thinkd_words::id::{Space, ThreadId};
use thinkd_words::time::Timestamp;

mod blobs;
mod bulk;
mod connect;
mod connections;
mod index;
mod known;
mod last_known;
mod leases;
mod life;
mod log;
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
pub(super) use connect::{admit, connect_first, migrate, options};
use connect::{connect, placed, pooler_options};
use connections::Pools;
use index::Tables;
use life::{Life, begin};
pub(super) use life::{alone, release};
use log::Log;
use pool::Pool;
use readers::Reader;
use search::all_of;
use watch::{Pooled, Watch};

/// Longest wait for a connection.
const ACQUIRE: Duration = Duration::from_secs(2);
/// Longest time for a broken connection to say so.
const ROLLBACK: Duration = Duration::from_secs(1);
/// One writes, one writes the index, one listens.
const DEDICATED: u32 = 3;

/// The numbers of connections that the pools may have, of so many in all.
struct Sizes {
    /// Connections for reads of spaces.
    spaces: u32,
    /// Connections for the server's reads of all spaces together.
    own: u32,
    /// Blobs that are written.
    blobs: u32,
}

impl Sizes {
    fn of(connections: u32) -> Self {
        let pooled = connections.max(super::options::CONNECTIONS_MIN) - DEDICATED;
        let own = (pooled / 3).clamp(1, 6);
        let blobs = (pooled * 2 / 9).clamp(1, 4);
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
    own: Pooled,
    /// Places of spaces at their pool.
    places: Places,
    blobs: Blobs,
    writer: Writer,
    index: Index,
    feed: Arc<Feed>,
    epoch: Uuid,
    life: Life,
    /// The life of the pools, through a pooler or not.
    led: Life,
    options: PgConnectOptions,
    project: Project,
    cache: WriteCache,
    threads: Batch<(Space, ThreadId), Option<ThreadRow>>,
    rows: Batch<(&'static Table, Space), Arc<[Row]>>,
    /// The messages to other servers, and from them.
    others: Arc<Watch>,
    here: Here,
    // A plain mutex: held to stop the tasks, never across an await.
    watch: Mutex<JoinSet<()>>,
}

/// The setting of the address of Postgres itself, beside a pooler.
const DIRECT: &str = "database_direct (DATABASE_DIRECT_URL)";

impl Postgres {
    const SHARED: bool = true;

    pub async fn open(url: &str, settings: &Options, project: Project) -> Result<Self, StoreError> {
        let direct = settings.direct.as_ref().map(ExposeSecret::expose_secret);
        // Errors of the direct address name its setting.
        let of_direct = |error: StoreError| match direct {
            Some(_) => error.reworded(|why| format!("{DIRECT}: {why}")),
            None => error,
        };
        let options = options(direct.unwrap_or(url)).map_err(of_direct)?;
        // Given up here, it is given up there: what was refused as it took too long is not to be stored later.
        let commit = settings.commit * 3 / 4;
        let writing = options
            .clone()
            .options([("statement_timeout", commit.as_millis().max(1).to_string())]);
        // It becomes the one that writes.
        let mut connection = connect_first(&writing).await.map_err(of_direct)?;
        let wanted = match direct {
            Some(_) => DEDICATED,
            None => settings.connections,
        };
        let epoch = begin(&mut connection, &writing, wanted).await;
        let epoch = epoch.map_err(|error| of_direct(placed(&options, &error, "")))?;
        let life = Life {
            epoch,
            supervisor: settings.supervisor.clone(),
            pools: Pools::default(),
            server: Arc::default(),
            known: Arc::default(),
            has_pooler: false,
        };
        let sizes = Sizes::of(settings.connections);
        let places = Places::new("readers", sizes.spaces, settings.space_share);
        // Nothing that must last is written over these connections. Leases are: who appends under one has it flushed before what is
        // appended, and one that a crash of the database forgets makes its holder's appends stale.
        let (pooled, reading, led) = match direct {
            None => {
                let reading = options.clone().options([
                    ("statement_timeout", settings.read.as_millis().to_string()),
                    ("synchronous_commit", "off".to_owned()),
                ]);
                (options.clone(), reading, life.clone())
            }
            Some(_) => {
                let pooler = pooler_options(url)?;
                let led = life.through_pooler();
                led.is_behind(&pooler, &mut connection).await?;
                (pooler.clone(), pooler, led)
            }
        };
        let pool = Pool::new(reading.clone(), &led, sizes.spaces as usize);
        let own = Pooled {
            pool: Pool::new(reading, &led, sizes.own as usize),
            limit: settings.read + sql::GRACE,
            known: life.known.clone(),
        };
        let blobs = Blobs::new(&pooled, &led, sizes.blobs, settings.space_share);
        let feed = Arc::new(Feed::default());
        let supervisor = &settings.supervisor;
        let (watch, mut tasks) = Watch::start(own.clone(), feed.clone(), options.clone(), &life);
        let telling = catch_up::run(own.clone(), feed.clone());
        tasks.spawn(supervisor.watch("telling followers what they missed", telling));
        let cache = WriteCache::default();
        let others = watch.clone();
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
        let threads = Batch::new();
        let rows = Batch::new();
        let watch = Mutex::new(tasks);
        // One of each kind, before others take what there is.
        let first = (pool.clone(), own.pool.clone(), blobs.pool.clone());
        let pools = life.pools.clone();
        watch.lock().spawn(async move {
            // Whoever needs one asks again, and says why there is none.
            let _ = tokio::join!(first.0.ready(), first.1.ready(), first.2.ready());
            pools.tidy().await;
        });
        Ok(Self {
            pool,
            own,
            places,
            blobs,
            writer,
            index,
            feed,
            epoch,
            life,
            led,
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
        let Some(space) = space else {
            return self.own.reader(None).await;
        };
        let place = timeout(ACQUIRE, self.places.take(space)).await;
        let place = place.map_err(|_| StoreError::busy())?;
        let connection = self.pool.take().await?;
        Ok(Reader::new(connection, Some(place), self.own.limit))
    }

    /// A connection in a transaction of its own that sees one state. To change rows, it keeps all appends waiting.
    async fn alone(&self, check: bool) -> Result<PgConnection, StoreError> {
        let mut connection = connect(&self.options).await?;
        let begin = if check {
            // The first statement decides which state is seen.
            "begin isolation level repeatable read; select 1"
        } else {
            // Servers that run see by the incarnation that what they know of the rows may not be so any more.
            "begin; lock table spaces in exclusive mode; update log set incarnation = incarnation + 1"
        };
        for text in ["set statement_timeout = 0", begin] {
            sqlx::raw_sql(text).execute(&mut connection).await?;
        }
        Ok(connection)
    }

    fn renewed(&self) {
        // The writer sees by the incarnation that they were, whoever did it.
    }
}

#[async_trait]
impl BlobStore for Postgres {
    async fn put_blob(&self, space: &Space, blob: Blob) -> Result<String, StoreError> {
        let sha256 = sql::hashed(&blob.bytes).await?;
        self.blobs.put(space, &sha256, &blob).await?;
        Ok(sha256)
    }

    async fn blob(&self, space: &Space, sha256: &str) -> Result<Option<Blob>, StoreError> {
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
}

#[async_trait]
impl Upkeep for Postgres {
    async fn rebuild(&self, check: bool) -> Result<Rebuilt, StoreError> {
        self.rebuild_rows(check).await
    }

    async fn check(&self, _: Duration) -> Result<Checked, StoreError> {
        Ok(Checked::sound(0, 0))
    }

    fn unserved(&self) -> &Unserved {
        self.index.unserved()
    }

    async fn clock(&self) -> Result<Option<Timestamp>, StoreError> {
        let text = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint";
        let micros = sql::read!(self, None, sqlx::query_scalar(text), fetch_one)?;
        Ok(Some(Timestamp::from_micros(micros)))
    }

    /// A Postgres with a failing disk stops itself; but it may have no more connections.
    async fn ping(&self) -> Result<(), StoreError> {
        tokio::try_join!(
            self.pool.ready(),
            self.own.pool.ready(),
            self.blobs.pool.ready(),
            self.writer.ready()
        )?;
        self.has_tables().await?;
        self.writer.sound().await
    }

    async fn close(&self) {
        self.writer.close().await;
        self.index.close().await;
        self.watch.lock().abort_all();
        self.blobs.pool.close().await;
        self.own.pool.close().await;
        self.pool.close().await;
    }
}

/// Finds the rows of a space that have words, if a table is searched by words.
fn with_words(table: &Table) -> Option<String> {
    table.words.as_ref()?;
    let columns = table.list("e.");
    let rows = table.name;
    Some(format!(
        "select {columns} from {rows} e where e.words @@ $1::tsquery and e.space = $2 limit $3"
    ))
}

/// Returns the SQL that names the missing tables, if any; for that no lock is waited for. The
/// tables that clients read are looked at, too: a table that is locked, or may not be read, fails
/// all of it. At most a row of each is read.
fn missing() -> String {
    let tables = Vec::from_iter(sql::tables().chain(["leases", "servers"])).join(", ");
    let read = ["events", "threads", "blobs"].into_iter();
    let read = read.chain(sql::projected());
    let read = read.map(|table| format!("exists (select 1 from {table})"));
    let read = Vec::from_iter(read).join(" or ");
    format!(
        "select (select string_agg(name, ', ') from unnest('{{{tables}}}'::text[]) name where to_regclass(name) is null), {read}"
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
    sql::quoted(words, "'", " ")
}

/// Selects the events with the seqs `m.seq`, in the same order: each is found by its key, with any
/// statistics of the table.
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
    let numbers = fences.iter().map(|fence| fence.number).collect();
    (spaces, threads, numbers)
}
