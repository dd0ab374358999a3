//! Postgres: many servers, one log. Each has one connection that writes, one for the index, one that listens and pools that
//! read and write blobs; leases are rows. Only what differs from SQLite is here; what passes between servers is in `postgres/watch.rs`.

use std::collections::{BTreeSet, HashMap};
use std::str::FromStr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::migrate::Migrator;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection};
use tokio::task::JoinSet;
use tokio::time::timeout;
use uuid::Uuid;

use super::append::{Position, Writer};
use super::batch::Batch;
use super::catch_up;
use super::feed::Feed;
use super::index::Index;
use super::query::Query;
use super::sql::{self, stored};
use super::store::{Blob, Checked, Error, Fence, Leased, Options, Project, ThreadRow};
use super::table::{Row, Table};
use super::write_cache::WriteCache;
use crate::event::envelope::Event;
use crate::tasks::share::Places;
use crate::words::id::{Seq, Space, ThreadId};
use crate::words::time::Timestamp;

mod blobs;
mod bulk;
mod index;
mod life;
mod log;
mod pool;
mod readers;
mod watch;

use blobs::Blobs;
pub(super) use blobs::read_blob;
pub(super) use bulk::{clear, put, put_index, put_rest};
use index::Tables;
use life::Life;
pub(super) use life::alone;
use log::Log;
use pool::{Pool, Pools};
use readers::Reader;
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
        let pooled = connections.max(super::store::CONNECTIONS_MIN) - DEDICATED;
        let (own, blobs) = ((pooled / 3).clamp(1, 6), (pooled * 2 / 9).clamp(1, 4));
        Self { spaces: pooled - own - blobs, own, blobs }
    }
}

/// See `sql::store!`.
const MERGES_POSTINGS: bool = false;
/// More events than these with a word make it a common one.
const RARE: i64 = 1000;
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
    // A plain mutex: held to stop the tasks, never across an await.
    watch: Mutex<JoinSet<()>>,
}

fn migrations() -> Migrator {
    sql::migrations(|migration| migration.postgres)
}

/// Every statement and every lock has its limit. And every plan is the one that its statement was written for: joins go row by row
/// from the few to their keys, pages are read in the order of an index. What Postgres would plan otherwise depends on statistics,
/// which a log that grows quickly does not have yet; a plan made while it was short stays when it is long.
pub(super) fn options(url: &str) -> Result<PgConnectOptions, Error> {
    let options =
        PgConnectOptions::from_str(url).map_err(|error| Error::Broken(format!("the database URL: {error}")))?;
    let limits = [
        ("statement_timeout", "30s"),
        ("lock_timeout", "10s"),
        ("idle_in_transaction_session_timeout", "60s"),
        ("synchronous_commit", "on"),
        ("enable_seqscan", "off"),
        ("enable_hashjoin", "off"),
        ("enable_mergejoin", "off"),
        ("enable_sort", "off"),
        // Or else Postgres plans nearly every statement anew for the arrays it is given, which takes longer than to carry it out.
        ("plan_cache_mode", "force_generic_plan"),
        // It would begin to compile what these make look dear.
        ("jit", "off"),
        // Whatever the database has as its own: a commit looks at rows again that others have changed meanwhile.
        ("default_transaction_isolation", "read committed"),
    ];
    Ok(options.application_name("thinkd").options(limits).statement_cache_capacity(256).disable_statement_logging())
}

/// Why there is no connection.
pub(super) struct Refused {
    error: Error,
    /// Postgres takes no more of them.
    is_full: bool,
    /// It may come up in a moment.
    is_passing: bool,
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self { error, is_full: false, is_passing: false }
    }
}

pub(super) async fn connect(options: &PgConnectOptions) -> Result<PgConnection, Error> {
    try_connect(options).await.map_err(|refused| refused.error)
}

async fn try_connect(options: &PgConnectOptions) -> Result<PgConnection, Refused> {
    const REACH: &str = "; see that it runs there and can be reached (DATABASE_URL)";
    match timeout(ACQUIRE, options.connect()).await {
        Ok(Ok(connection)) => Ok(connection),
        Ok(Err(error)) => {
            let code = error.as_database_error().and_then(|cause| cause.code());
            let (is_full, is_starting) = (code.as_deref() == Some("53300"), code.as_deref() == Some("57P03"));
            let is_away =
                matches!(&error, sqlx::Error::Io(cause) if cause.kind() == std::io::ErrorKind::ConnectionRefused);
            let advice = match error {
                sqlx::Error::Io(_) => REACH,
                sqlx::Error::Tls(_) => "; see whether it speaks TLS, and what sslmode in DATABASE_URL asks for",
                _ => "",
            };
            let error = placed(options, &sql::error(error), advice);
            Err(Refused { error, is_full, is_passing: is_starting || is_away })
        }
        Err(_) => {
            let late = Error::Unavailable(format!("no answer within {} s", ACQUIRE.as_secs()));
            Err(placed(options, &late, REACH).into())
        }
    }
}

/// The error with what it was asked of: server, database and role. A name that is none is not shown, neither here nor in the words of
/// Postgres: a mistyped address may have the password in it.
fn placed(options: &PgConnectOptions, error: &Error, advice: &str) -> Error {
    let role = options.get_username();
    let database = options.get_database().unwrap_or(role);
    let server = match options.get_socket() {
        Some(socket) => format!("{}, port {}", socket.display(), options.get_port()),
        None => format!("{}:{}", options.get_host(), options.get_port()),
    };
    let is_name = |name: &str| name.chars().all(|c| c.is_alphanumeric() || "_-.".contains(c));
    let hidden: Vec<&str> = [database, role].into_iter().filter(|name| !is_name(name)).collect();
    let hidden = || hidden.iter().copied().chain(server.contains('@').then_some(server.as_str()));
    let placed = |why: &str| {
        let text = format!("Postgres at {server}, database {database}, role {role}: {why}{advice}");
        hidden().fold(text, |text, name| text.replace(name, "(no plain name, so not shown)"))
    };
    match error {
        Error::Unavailable(why) => Error::Unavailable(placed(why)),
        Error::Broken(why) => Error::Broken(placed(why)),
        other => other.clone(),
    }
}

/// Brings the tables up to date. Of several servers that start together, one does; the others wait.
pub(super) async fn migrate(connection: &mut PgConnection) -> Result<(), Error> {
    // Indexes of a long log take their time.
    sqlx::query("set statement_timeout = 0").execute(&mut *connection).await.map_err(sql::error)?;
    sqlx::query("set lock_timeout = 0").execute(&mut *connection).await.map_err(sql::error)?;
    migrations().run(connection).await.map_err(sql::migration_error)
}

/// Takes the database into use; the epoch of its log.
async fn begin(connection: &mut PgConnection, wanted: u32) -> Result<Uuid, Error> {
    life::share(connection).await?;
    count(connection, wanted).await?;
    migrate(connection).await?;
    let text = "update log set incarnation = incarnation + 1 returning epoch";
    let epoch = sqlx::query_scalar(text).fetch_one(&mut *connection).await.map_err(sql::error)?;
    // What the migrations had set: from here on it has the limits that it was opened with.
    sqlx::raw_sql("reset statement_timeout; reset lock_timeout").execute(connection).await.map_err(sql::error)?;
    Ok(epoch)
}

/// Says how many connections are wanted, and how many there can be. Superusers are bound by the server's limit alone.
async fn count(connection: &mut PgConnection, wanted: u32) -> Result<(), Error> {
    let text = "select least(\
         current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint \
         - coalesce(current_setting('reserved_connections', true), '0')::bigint - (select count(datid) from pg_stat_activity), \
         case when r.rolsuper or r.rolconnlimit < 0 then null else r.rolconnlimit \
         - (select count(*) from pg_stat_activity where usesysid = r.oid) end, \
         case when r.rolsuper or d.datconnlimit < 0 then null else d.datconnlimit \
         - (select count(*) from pg_stat_activity where datid = d.oid) end) + 1 \
         from pg_roles r, pg_database d where r.rolname = session_user and d.datname = current_database()";
    let left: Option<i64> = sqlx::query_scalar(text).fetch_optional(connection).await.map_err(sql::error)?.flatten();
    let left = left.unwrap_or(i64::MAX).max(1);
    if left >= i64::from(wanted) {
        tracing::info!(
            "up to {wanted} connections to Postgres are wanted (runtime.connections), and so many can be had"
        );
    } else {
        tracing::warn!(
            "up to {wanted} connections to Postgres are wanted (runtime.connections), and {left} can be had: it goes on with fewer, more \
             slowly, but not with fewer than {}; raise max_connections, or the limit of the role or the database, or set \
             runtime.connections",
            super::store::CONNECTIONS_MIN
        );
    }
    Ok(())
}

impl Postgres {
    const SHARED: bool = true;

    pub async fn open(url: &str, settings: &Options, project: Project) -> Result<Self, Error> {
        let options = options(url)?;
        // Given up here, it is given up there: what was refused as it took too long is not to be stored later.
        let commit = settings.commit * 3 / 4;
        let writing = options.clone().options([("statement_timeout", format!("{}ms", commit.as_millis().max(1)))]);
        // It becomes the one that writes.
        let mut connection = connect(&writing).await?;
        let epoch = begin(&mut connection, settings.connections).await;
        let epoch = epoch.map_err(|error| placed(&options, &error, ""))?;
        let life = Life { epoch, supervisor: settings.supervisor.clone(), pools: Pools::default() };
        let sizes = Sizes::of(settings.connections);
        let places = Places::new("readers", sizes.spaces, settings.space_share);
        // Nothing that must last is written over these connections. Leases are: who appends under one has it flushed before what is
        // appended, and one that a crash of the database forgets makes its holder's appends stale.
        let reading = options.clone().options([
            ("statement_timeout", format!("{}ms", settings.read.as_millis())),
            ("synchronous_commit", "off".to_owned()),
        ]);
        let pool = Pool::new(reading.clone(), &life, sizes.spaces as usize);
        let own = Pool::new(reading, &life, sizes.own as usize);
        let blobs = Blobs::new(&options, &life, sizes.blobs, settings.space_share);
        let limit = settings.read + sql::GRACE;
        let pooled = Pooled { pool: own.clone(), limit };
        let feed = Arc::new(Feed::default());
        let supervisor = &settings.supervisor;
        let (watch, mut tasks) = Watch::start(pooled.clone(), feed.clone(), options.clone(), &life);
        let telling = catch_up::run(pooled, feed.clone());
        tasks.spawn(supervisor.watch("telling followers what they missed", telling));
        let cache = WriteCache::default();
        let backend = Log {
            options: writing,
            life: life.clone(),
            connection: Some(connection),
            watch,
            cache: cache.clone(),
            incarnation: 0,
            clock: None,
            limit: commit,
        };
        let tables = Tables::new(options.clone(), life.clone());
        let index = Index::start(tables, supervisor);
        let writer = Writer::start(backend, feed.clone(), index.clone(), project, settings);
        let (threads, rows, watch) = (Batch::new(), Batch::new(), Mutex::new(tasks));
        // One of each kind, before others take what there is.
        let (first, pools) = ((pool.clone(), own.clone(), blobs.clone()), life.pools.clone());
        watch.lock().unwrap_or_else(PoisonError::into_inner).spawn(async move {
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
            watch,
        })
    }

    /// Waits for a connection, for a while: for a space, which has its share of them, or (`None`) for all of them.
    async fn reader(&self, space: Option<&Space>) -> Result<Reader, Error> {
        let place = match space {
            None => None,
            Some(space) => match timeout(ACQUIRE, self.places.take(space)).await {
                Ok(place) => Some(place),
                Err(_) => return Err(Error::Unavailable("all connections are busy".into())),
            },
        };
        let pool = if place.is_some() { &self.pool } else { &self.own };
        Ok(Reader::new(pool.take().await?, place, self.limit))
    }

    async fn check_all(&self, _: Duration) -> Result<Checked, Error> {
        Ok(Checked { at: crate::words::time::now(), pages: 0, events: 0, faults: Vec::new() })
    }

    async fn own_clock(&self) -> Result<Option<Timestamp>, Error> {
        let text = "select (extract(epoch from clock_timestamp()) * 1000000)::bigint";
        let micros = sql::read!(self, None, sqlx::query_scalar(text), fetch_one)?;
        Ok(Some(Timestamp::from_micros(micros)))
    }

    fn last_checked(&self) -> Option<Checked> {
        None
    }

    async fn keep_blob(&self, space: &Space, sha256: String, blob: Blob) -> Result<(), Error> {
        self.blobs.put(space, &sha256, &blob).await
    }

    async fn kept_blob(&self, space: &Space, sha256: &str) -> Result<Option<Blob>, Error> {
        let query = sqlx::query_as("select mime, bytes from blobs where space = $1 and sha256 = $2")
            .bind(space.as_str())
            .bind(sha256);
        let row: Option<(String, Vec<u8>)> = sql::read!(self, Some(space), query, fetch_optional)?;
        Ok(row.map(|(mime, bytes)| Blob { mime, bytes: bytes.into() }))
    }

    async fn take_lease(&self, space: &Space, thread: &ThreadId, ttl: Duration) -> Result<Option<Leased>, Error> {
        // Drawn, not counted: a number that a crash of the database forgot is not given to somebody else.
        let number = crate::words::id::drawn();
        let query = sqlx::query_scalar("select take_lease($1, $2, $3, $4)::text")
            .bind(space.as_str())
            .bind(thread.as_str())
            .bind(number)
            .bind(micros(ttl));
        let row: Option<String> = sql::read!(self, Some(space), query, fetch_one)?;
        let Some(row) = row else { return Ok(None) };
        let row =
            sql::from_json(Some(row)).and_then(|rows| rows.into_iter().next().map(sql::placed_thread).transpose());
        row.iter().flatten().for_each(|(space, row)| self.cache.met_thread(space, row));
        let fence = Fence { space: space.clone(), thread: thread.clone(), number };
        Ok(Some(Leased { fence, row: row.map(|row| row.map(|(_, row)| row)) }))
    }

    async fn renew_leases(&self, fences: &[Fence], ttl: Duration) -> Result<Vec<Fence>, Error> {
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
            sqlx::query_scalar(text).bind(spaces).bind(threads).bind(numbers).bind(micros(ttl)),
            fetch_all
        )?;
        // Numbers are given out once, so they name their leases.
        Ok(fences.iter().filter(|fence| !kept.contains(&fence.number)).cloned().collect())
    }

    async fn release_lease(&self, fence: &Fence) -> Result<(), Error> {
        // The row stays: another number takes the old one's right away.
        let text = "update leases set number = 0, until = '-infinity' \
             where space = $1 and thread = $2 and number = $3";
        let query = sqlx::query(text).bind(fence.space.as_str()).bind(fence.thread.as_str()).bind(fence.number);
        sql::read!(self, Some(&fence.space), query, execute).map(|_| ())
    }

    async fn waiting_threads(&self, limit: u32) -> Result<Vec<(Space, ThreadId)>, Error> {
        let text = "select t.thread from threads t where t.space = $1 \
             and t.woken > t.handled and t.status not in ('waiting', 'done', 'failed', 'stopped') \
             and not exists (select 1 from leases l where l.space = t.space and l.thread = t.thread \
             and l.until >= clock_timestamp()) limit $2";
        let mut waiting = Vec::new();
        for space in self.spaces_waiting().await? {
            let query = sqlx::query_scalar(text).bind(space.as_str()).bind(i64::from(limit));
            let threads: Vec<String> = sql::read!(self, None, query, fetch_all)?;
            let threads = sql::readable(threads.into_iter().map(sql::thread_id));
            waiting.extend(threads.into_iter().map(|thread| (space.clone(), thread)));
        }
        Ok(waiting)
    }

    /// Rare words are looked up, and what has them is sorted; common ones are met soon by going through the words in order.
    /// Which of the two is seen by looking, not planned.
    async fn text_page(&self, space: &Space, words: &[String], query: &Query) -> Result<Option<Page>, Error> {
        let (after, before) = sql::range(query);
        let rare = self.rare(space, words).await?;
        let order = if rare.is_some() { " order by m.place" } else { " order by m.seq" };
        let direction = if rare.is_some() { "" } else { sql::order(query) };
        let mut page = Page::new(concat!("select ", sql::event_columns!(), " from ("));
        if let Some(mut seqs) = rare {
            seqs.retain(|seq| *seq > after && *seq < before);
            if seqs.is_empty() {
                return Ok(None);
            }
            seqs.sort_unstable();
            if query.order == crate::log::query::Order::Descending {
                seqs.reverse();
            }
            page.push("select seq, place from unnest(")
                .push_bind(seqs)
                .push("::bigint[]) with ordinality w (seq, place)");
        } else {
            page.push("select seq from event_words where space = ").push_bind(space.as_str().to_owned());
            page.push(" and words @@ ").push_bind(all_of(words)).push("::tsquery");
            page.push(" and seq > ").push_bind(after).push(" and seq < ").push_bind(before);
            page.push(" order by seq").push(sql::order(query)).push(" offset 0");
        }
        page.push(") m");
        by_key(&mut page, space);
        page.push(" where true");
        conditions(&mut page, query);
        page.push(order).push(direction).push(" limit ").push_bind(i64::from(query.limit.max(1)));
        Ok(Some(page))
    }

    /// The events with all the words, in any order; `None`: there are many, in this space or others.
    async fn rare(&self, space: &Space, words: &[String]) -> Result<Option<Vec<Seq>>, Error> {
        let text = "select space, seq from event_words where words @@ $1::tsquery limit $2";
        let found: Vec<(String, i64)> =
            sql::search!(self, space, sqlx::query_as(text).bind(all_of(words)).bind(RARE + 1), fetch_all)?;
        let is_rare = found.len() as i64 <= RARE;
        Ok(is_rare.then(|| found.into_iter().filter(|it| it.0 == space.as_str()).map(|it| it.1).collect()))
    }

    /// A connection in a transaction of its own that sees one state. To change rows, it keeps all appends waiting.
    async fn alone(&self, check: bool) -> Result<PgConnection, Error> {
        let mut connection = connect(&self.options).await?;
        let texts = if check {
            ["set statement_timeout = 0", "begin isolation level repeatable read", "select 1"]
        } else {
            // Servers that run see by the incarnation that what they know of the rows may not be so any more.
            [
                "set statement_timeout = 0",
                "begin",
                "lock table spaces in exclusive mode; update log set incarnation = incarnation + 1",
            ]
        };
        for text in texts {
            sqlx::raw_sql(text).execute(&mut connection).await.map_err(sql::error)?;
        }
        Ok(connection)
    }

    /// A Postgres whose disk fails stops itself; but it may have no more connections.
    async fn sound(&self) -> Result<(), Error> {
        tokio::try_join!(self.pool.ready(), self.own.ready(), self.blobs.ready(), self.writer.ready()).map(|_| ())
    }

    async fn known_thread(&self, space: &Space, thread: &ThreadId) -> Result<Option<ThreadRow>, Error> {
        let read = async |keys: Vec<(Space, ThreadId)>| {
            // Of many spaces at once, each by its key: nobody's search stands in the way.
            let mut reader = self.reader(None).await?;
            let rows = read_threads(reader.connection(), &keys).await;
            reader.done();
            let mut found: HashMap<(String, String), Result<ThreadRow, Error>> = HashMap::new();
            for row in rows? {
                let key = (row.space.clone(), row.thread.clone());
                let row = sql::placed_thread(row);
                row.iter().for_each(|(space, row)| self.cache.met_thread(space, row));
                found.insert(key, row.map(|(_, row)| row));
            }
            let key = |(space, thread): &(Space, ThreadId)| (space.to_string(), thread.to_string());
            Ok(keys.iter().map(|it| found.get(&key(it)).cloned().transpose()).collect())
        };
        self.threads.load((space.clone(), thread.clone()), read).await
    }

    /// What this server has written of a thread is all there is as long as the thread ends where it did, and of what lies
    /// before that end it is all there will ever be.
    async fn known_events(&self, space: &Space, query: &Query) -> Result<Option<Vec<Event>>, Error> {
        let (Some(thread), Some((events, head))) = (&query.thread, self.cache.events(space, query)) else {
            return Ok(None);
        };
        if query.before.is_some_and(|before| before <= head + 1) {
            return Ok(Some(events));
        }
        let row = self.known_thread(space, thread).await?;
        Ok(row.filter(|row| row.head == head).map(|_| events))
    }

    async fn known_rows(&self, table: &'static Table, space: &Space) -> Result<Arc<[Row]>, Error> {
        let read = async |keys: Vec<(&'static Table, Space)>| {
            let mut found: HashMap<(&str, String), Vec<Row>> = HashMap::new();
            let tables: BTreeSet<&'static Table> = keys.iter().map(|(table, _)| *table).collect();
            for table in tables {
                let its = keys.iter().filter(|(of, _)| *of == table);
                let spaces: BTreeSet<&str> = its.map(|(_, space)| space.as_str()).collect();
                let (columns, order) = (table.list(""), table.key_list());
                let text = format!("select {columns} from {} where space = any($1) order by {order}", table.name);
                let query = sqlx::query(sqlx::AssertSqlSafe(text)).bind(Vec::from_iter(spaces));
                let rows = sql::read!(self, None, query, fetch_all)?;
                for row in read_rows(&rows, &table.columns().collect::<Vec<_>>())? {
                    found.entry((table.name, row.text("space")?.to_owned())).or_default().push(row);
                }
            }
            let of = |(table, space): &(&'static Table, Space)| found.get(&(table.name, space.to_string())).cloned();
            Ok(keys.iter().map(|key| Ok(of(key).unwrap_or_default().into())).collect())
        };
        self.rows.load((table, space.clone()), read).await
    }

    fn renewed(&self) {
        // The writer sees by the incarnation that they were, whoever did it.
    }

    async fn shut(&self) {
        self.writer.close().await;
        self.index.close().await;
        self.watch.lock().unwrap_or_else(PoisonError::into_inner).abort_all();
        self.blobs.close().await;
        self.own.close().await;
        self.pool.close().await;
    }
}

/// Finds the rows of a space that have words, if a table is searched by words.
fn with_words(table: &Table) -> Option<String> {
    table.words.as_ref()?;
    let (columns, rows) = (table.list("e."), table.name);
    Some(format!("select {columns} from {rows} e where e.words @@ $1::tsquery and e.space = $2 limit $3"))
}

/// The tables that are missing, if any. No lock is waited for.
fn missing() -> String {
    let tables: Vec<&str> = sql::tables().chain(["leases"]).collect();
    let tables = tables.join(", ");
    format!("select string_agg(name, ', ') from unnest('{{{tables}}}'::text[]) name where to_regclass(name) is null")
}

sql::store!(Postgres, sqlx::Postgres);
sql::renew_epoch!(PgConnection);
super::rebuild::rebuild!(Postgres, PgConnection);

fn micros(ttl: Duration) -> i64 {
    i64::try_from(ttl.as_micros()).unwrap_or(i64::MAX)
}

/// Those of the threads that have rows.
async fn read_threads(
    connection: &mut PgConnection,
    ids: &[(Space, ThreadId)],
) -> Result<Vec<sql::ThreadColumns>, Error> {
    let spaces: Vec<&str> = ids.iter().map(|(space, _)| space.as_str()).collect();
    let threads: Vec<&str> = ids.iter().map(|(_, thread)| thread.as_str()).collect();
    let text = concat!(
        "select t.space, ",
        sql::thread_columns!(),
        " from unnest($1::text[], $2::text[]) k (space_key, thread_key)",
        " join threads t on t.space = k.space_key and t.thread = k.thread_key"
    );
    sqlx::query_as(text).bind(spaces).bind(threads).fetch_all(connection).await.map_err(sql::error)
}

/// A tsquery: all of the words. They have letters, digits and marks only, so quoting them is safe.
fn all_of(words: &[String]) -> String {
    words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" & ")
}

/// A tsvector without positions.
pub(super) fn vector(words: &BTreeSet<String>) -> String {
    words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" ")
}

/// The events whose seqs are `m.seq`, in the same order: each found by its key, whatever is known about the table.
fn by_key(page: &mut Page, space: &Space) {
    page.push(" cross join lateral (select * from events where space = ").push_bind(space.as_str().to_owned());
    page.push(" and seq = m.seq offset 0) e");
}

type FenceColumns<'a> = (Vec<&'a str>, Vec<&'a str>, Vec<i64>);

/// Fences as columns, sorted: rows are locked in this order.
fn columns(fences: &[Fence]) -> FenceColumns<'_> {
    let mut fences = Vec::from_iter(fences);
    fences.sort_unstable_by_key(|fence| (&fence.space, &fence.thread));
    let spaces = fences.iter().map(|fence| fence.space.as_str()).collect();
    let threads = fences.iter().map(|fence| fence.thread.as_str()).collect();
    (spaces, threads, fences.iter().map(|fence| fence.number).collect())
}
