//! SQLite: one file, one process. WAL with `synchronous=FULL`, one connection that writes, a few
//! that read; a lock file keeps other processes out, so leases need no table. The index has a file
//! of its own. Only the parts that differ from Postgres are here.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use parking_lot::Mutex;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Connection};
use tokio::task::JoinSet;
use uuid::Uuid;

use super::append::Writer;
use super::blob::Blob;
use super::catch_up;
use super::change::Project;
use super::error::StoreError;
use super::feed::Feed;
use super::fence::{Fence, Leased};
use super::head::Position;
use super::index::Index;
use super::kernel::{BlobStore, ProjectionRows as _, Upkeep};
use super::leases::Leases;
use super::options::Options;
use super::presence::Here;
use super::query::Query;
use super::select::Select;
use super::shown::json;
use super::sql::{self, stored};
use super::table::{Row, Table};
use super::thread_row::ThreadRow;
use super::unserved::Unserved;
use super::upkeep::{Checked, Rebuilt};
use super::write_cache::WriteCache;
use index::IndexFile;
use log::{Broken, Log};
use readers::{Reader, Readers};
use thinkd_event::envelope::Event;
use thinkd_words::id::{Space, ThreadId};
use untold::Untold;
use uploads::Uploads;

mod bulk;
mod check;
mod file;
mod index;
mod log;
mod readers;
mod untold;
mod uploads;
mod vectors;

pub(super) use bulk::{clear, put, put_index, put_rest};
pub(super) use file::{admit, is_in_use, new_backup, open_alone, open_backup, reading, writing};
pub(super) use index::{adopt, attach_new};
pub(super) use uploads::read_blob;

/// Longest wait of a reader for a connection.
const ACQUIRE: Duration = Duration::from_secs(2);
/// Row ids of event_words are the space's number and the seq: so many bits for the seq.
const SEQ_BITS: u32 = 40;

/// See `sql::store!`.
const MERGES_POSTINGS: bool = true;
/// See `rebuild!`.
const HEADS: &str = "select s.space, e.seq, e.ts from spaces s join events e on e.space = s.space \
     where e.seq = (select max(seq) from events where space = s.space)";

/// The store in one file.
pub(super) struct Sqlite {
    readers: Arc<Readers>,
    writer: Writer,
    index: Index,
    feed: Arc<Feed>,
    epoch: Uuid,
    project: Project,
    leases: Arc<Leases>,
    here: Here,
    options: SqliteConnectOptions,
    broken: Broken,
    cache: WriteCache,
    uploads: Uploads,
    vectors: vectors::Writing,
    // A plain mutex: held to stop the task, never across an await.
    tasks: Mutex<JoinSet<()>>,
    /// The outcome of the last look at the whole file. A plain mutex, never held across an await.
    checked: Mutex<Option<Checked>>,
    /// Locked as long as this store lives.
    _lock: file::Lock,
}

impl Sqlite {
    const SHARED: bool = false;

    pub async fn open(url: &str, settings: &Options, project: Project) -> Result<Self, StoreError> {
        let options = writing(url)?;
        let path = options.get_filename();
        let lock = file::lock(path)?;
        let broken = Broken::default();
        let opening = async {
            let (mut connection, begun) =
                tokio::try_join!(file::open(&options), index::begin(path))?;
            let opened = file::opened(&mut connection).await?;
            reword(&mut connection).await?;
            check::end_of_log(&mut connection).await?;
            uploads::clear(&mut connection).await?;
            Ok::<_, StoreError>((connection, begun, opened))
        };
        let (mut connection, begun, (epoch, incarnation)) = match opening.await {
            Ok(opened) => opened,
            Err(error) => return Err(check::located(&reading(url)?, error).await),
        };
        let (index, renewed) =
            IndexFile::open(begun, path, broken.clone(), &mut connection).await?;
        let epoch = renewed.unwrap_or(epoch);
        let names = file::Names::of(path)?;
        let readers = Arc::new(Readers::new(reading(url)?, settings));
        let leases = Arc::new(Leases::new(incarnation << 32));
        let feed = Arc::new(Feed::default());
        let cache = WriteCache::default();
        let index = Index::start(index, &settings.supervisor);
        let uploads = Uploads::default();
        let backend = Log {
            connection,
            broken: broken.clone(),
            names,
            leases: leases.clone(),
            cache: cache.clone(),
            uploads: uploads.clone(),
            writing: Vec::new(),
            beside: 0,
        };
        let writer = Writer::start(backend, feed.clone(), index.clone(), project, settings);
        let mut tasks = JoinSet::new();
        let untold = Untold {
            readers: readers.clone(),
            cache: cache.clone(),
        };
        let telling = catch_up::run(untold, feed.clone());
        let supervisor = &settings.supervisor;
        tasks.spawn(supervisor.watch("telling followers what they missed", telling));
        let tasks = Mutex::new(tasks);
        Ok(Self {
            readers,
            writer,
            index,
            feed,
            epoch,
            project,
            leases,
            here: Here::new(),
            options,
            broken,
            cache,
            uploads,
            vectors: vectors::Writing::default(),
            tasks,
            checked: Mutex::default(),
            _lock: lock,
        })
    }

    async fn reader(&self, space: Option<&Space>) -> Result<Reader<'_>, StoreError> {
        self.readers.take(space).await
    }

    async fn waiting_threads(&self, limit: u32) -> Result<Vec<(Space, ThreadId)>, StoreError> {
        let text = "select thread from threads where space = $1 \
             and woken > handled and status not in ('waiting', 'done', 'failed', 'stopped') limit $2 + 0";
        let mut waiting = Vec::new();
        let spaces = format!("with recursive {}", sql::SPACES_WAITING);
        let query = sqlx::query_scalar(sqlx::AssertSqlSafe(spaces));
        let spaces: Vec<String> = sql::read!(self, None, query, fetch_all)?;
        for space in sql::readable(spaces.into_iter().map(sql::space)) {
            // The leases are known here: of those that are held, the threads are left out.
            let most = i64::from(limit) + stored(self.leases.len() as u64);
            let query = sqlx::query_scalar(text).bind(space.as_str()).bind(most);
            let threads: Vec<String> = sql::read!(self, None, query, fetch_all)?;
            let threads = sql::readable(threads.into_iter().map(sql::thread_id));
            let free = threads
                .into_iter()
                .filter(|thread| !self.leases.is_held(&space, thread));
            let free = free.take(limit as usize);
            waiting.extend(free.map(|thread| (space.clone(), thread)));
        }
        Ok(waiting)
    }

    /// Row ids grow with seq within a space, so the newest matches come first without sorting.
    async fn text_page(
        &self,
        space: &Space,
        words: &[String],
        query: &Query,
    ) -> Result<Option<Page>, StoreError> {
        let number = sqlx::query_scalar("select number from spaces where space = $1");
        let number = number.bind(space.as_str());
        let number: Option<i64> = sql::read!(self, Some(space), number, fetch_optional)?;
        let Some(number) = number else {
            return Ok(None);
        };
        let base = number << SEQ_BITS;
        let most = (1 << SEQ_BITS) - 1;
        let (after, before) = sql::range(query);
        let mut page = Page::new(concat!(
            "select ",
            sql::event_columns!(),
            " from event_words w cross join events e"
        ));
        page.push(" where w.event_words match ")
            .push_bind(all_of(words));
        page.push(" and w.rowid > ")
            .push_bind(base + after.clamp(0, most));
        page.push(" and w.rowid < ")
            .push_bind(base + before.clamp(0, most));
        page.push(" and e.space = ")
            .push_bind(space.as_str().to_owned());
        page.push(" and e.seq = w.rowid - ").push_bind(base);
        conditions(&mut page, query);
        page.push(" order by w.rowid")
            .push(sql::order(query))
            .push(" limit ")
            .push_bind(i64::from(query.limit.max(1)))
            .push(" + 0");
        Ok(Some(page))
    }

    /// Returns a connection in a transaction of its own. To change rows, it keeps other writers
    /// out, so nothing else should run.
    async fn alone(&self, check: bool) -> Result<SqliteConnection, StoreError> {
        let mut connection = self.options.connect().await?;
        index::attach(&mut connection, self.options.get_filename()).await?;
        let begin = if check { "begin" } else { "begin immediate" };
        sqlx::query(begin).execute(&mut connection).await?;
        Ok(connection)
    }

    async fn known_thread(
        &self,
        space: &Space,
        thread: &ThreadId,
    ) -> Result<Option<ThreadRow>, StoreError> {
        if let Some(row) = self.cache.thread(&(space.clone(), thread.clone())) {
            return Ok(Some(row));
        }
        let text = sql::select_threads!("where space = $1 and thread = $2");
        let query = sqlx::query_as(text)
            .bind(space.as_str())
            .bind(thread.as_str());
        let row: Option<sql::ThreadColumns> = sql::read!(self, Some(space), query, fetch_optional)?;
        row.map(sql::thread).transpose()
    }

    async fn known_events(
        &self,
        space: &Space,
        query: &Query,
    ) -> Result<Option<Vec<Event>>, StoreError> {
        Ok(self.cache.events(space, query).map(|(events, _)| events))
    }

    async fn known_rows(
        &self,
        table: &'static Table,
        space: &Space,
    ) -> Result<Arc<[Row]>, StoreError> {
        let changes = match self.cache.rows(table, space) {
            Ok(known) => return Ok(known),
            Err(changes) => changes,
        };
        let rows: Arc<[Row]> = self.select(Select::all(table, space)).await?.into();
        self.cache.keep_rows(table, space, changes, &rows);
        Ok(rows)
    }

    /// Rows were made anew.
    fn renewed(&self) {
        self.cache.forget();
    }
}

super::leases::leasing!(Sqlite);

#[async_trait]
impl BlobStore for Sqlite {
    async fn put_blob(&self, space: &Space, blob: Blob) -> Result<String, StoreError> {
        let sha256 = sql::hashed(&blob.bytes).await?;
        let answered = self.uploads.put(space, sha256.clone(), blob);
        self.writer.nudge()?;
        answered.await.map_err(|_| StoreError::closed())??;
        Ok(sha256)
    }

    async fn blob(&self, space: &Space, sha256: &str) -> Result<Option<Blob>, StoreError> {
        let mut reader = self.reader(Some(space)).await?;
        let blob = uploads::read(reader.connection(), space, sha256).await;
        reader.done();
        blob
    }
}

#[async_trait]
impl Upkeep for Sqlite {
    async fn rebuild(&self, check: bool) -> Result<Rebuilt, StoreError> {
        self.rebuild_rows(check).await
    }

    async fn check(&self, pause: Duration) -> Result<Checked, StoreError> {
        self.check_all(pause).await
    }

    fn checked(&self) -> Option<Checked> {
        self.checked.lock().clone()
    }

    fn unserved(&self) -> &Unserved {
        self.index.unserved()
    }

    async fn ping(&self) -> Result<(), StoreError> {
        self.broken.check()?;
        self.has_tables().await?;
        self.writer.sound().await
    }

    async fn close(&self) {
        // Whoever may write is last: SQLite then leaves all of the log in the one file.
        self.tasks.lock().abort_all();
        self.readers.close().await;
        self.vectors.close().await;
        self.index.close().await;
        self.writer.close().await;
    }
}

/// Selects the events with the seqs `m.seq`, in the same order.
fn by_key(page: &mut Page, space: &Space) {
    page.push(" cross join events e on e.space = ")
        .push_bind(space.as_str().to_owned())
        .push(" and e.seq = m.seq");
}

/// Finds the rows of a space that have words, newest first, if a table is searched by words.
fn with_words(table: &Table) -> Option<String> {
    let words = table.words.as_ref()?.table;
    let columns = table.list("e.");
    let rows = table.name;
    Some(format!(
        "select {columns} from {words} w cross join {rows} e where w.{words} match $1 and e.number = w.rowid and e.space = $2 \
         order by w.rowid desc limit $3"
    ))
}

/// Nothing, or an error that names the first table that is missing.
fn missing() -> String {
    let looks: Vec<String> = sql::tables()
        .map(|table| format!("exists (select 1 from {table})"))
        .collect();
    format!("select cast(nullif({}, 1) as text)", looks.join(" or "))
}

sql::store!(Sqlite, sqlx::Sqlite);
sql::renew_epoch!(SqliteConnection);
// The index of events has a file of its own, with the same version.
sql::reword!(SqliteConnection, "select 1", "select 1");
super::rebuild::rebuild!(Sqlite, SqliteConnection);

/// An FTS5 query: all of the words. They have letters, digits and marks only, so quoting them is safe.
fn all_of(words: &[String]) -> String {
    sql::quoted(words, "\"", " AND ")
}

fn joined(words: &BTreeSet<String>) -> String {
    Vec::from_iter(words.iter().map(String::as_str)).join(" ")
}
