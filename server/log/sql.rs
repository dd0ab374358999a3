//! The SQL that is the same for both databases, stamped over their typed pools by `store!`, and the
//! meaning of rows. The parts that differ (append, search, leases, connections) are all that
//! `sqlite.rs` and `postgres.rs` contain.

use sqlx::SqlSafeStr;
use sqlx::error::BoxDynError;
use sqlx::migrate::{MigrateError, Migration, MigrationType, Migrator};

use super::error::StoreError;
use super::query::Query;
use super::vectors::Hash;
use super::{migrations, projections, table};
use thinkd_words::id::Seq;
use thinkd_words::text::sha256;

/// Longest wait of a query for the index to reach the log's end.
pub(super) const INDEX_WAIT: std::time::Duration = std::time::Duration::from_secs(10);

pub(super) use super::columns::*;
pub(super) use super::writes::Writes;
pub(super) use advice::{missing, words};
pub(super) use epoch::renew_epoch;
pub(super) use pages::pages;
pub(super) use reword::reword;
pub(super) use rows::rows;
pub(super) use stamp::store;
pub(super) use values::add_cell;

mod advice;
mod epoch;
mod pages;
mod reword;
mod rows;
mod stamp;
pub(super) mod values;

/// The tables of both databases.
pub(super) fn tables() -> impl Iterator<Item = &'static str> {
    table::KERNEL.into_iter().chain(projected())
}

/// Returns the tables of the projections.
pub(super) fn projected() -> impl Iterator<Item = &'static str> {
    projections::all().map(|projection| projection.table.name)
}

/// Returns words between quotes, one after the other. They are letters, digits and marks alone: none holds a quote.
pub(super) fn quoted<'a>(
    words: impl IntoIterator<Item = &'a String>,
    quote: &str,
    between: &str,
) -> String {
    let words = words.into_iter();
    let words = words.map(|word| format!("{quote}{word}{quote}"));
    Vec::from_iter(words).join(between)
}

/// The number of threads of a space that have begun and not ended.
pub(super) const THREADS: &str = "select coalesce((select threads from roots where space = $1 and root = 0), 0) \
     - coalesce((select threads from roots where space = $1 and root = -1), 0)";

/// Behind `with recursive`: the spaces that have threads with something in their mailbox, one look-up each.
pub(super) const SPACES_WAITING: &str = "w (space) as (select (select min(space) from threads \
     where woken > handled and status not in ('waiting', 'done', 'failed', 'stopped')) \
     union all select (select min(t.space) from threads t where t.space > w.space \
     and t.woken > t.handled and t.status not in ('waiting', 'done', 'failed', 'stopped')) \
     from w where w.space is not null) select space from w where space is not null";

/// Dimensions of a model's vectors other than these, if any: two looks at the key, however many
/// vectors there are.
pub(super) const OTHER_DIMENSIONS: &str = "select dimensions from \
     (select max(dimensions) dimensions from vectors where model = $1 and dimensions < $2 union all \
     select min(dimensions) from vectors where model = $1 and dimensions > $2) o where dimensions is not null limit 1";

/// Dimensions as they are stored.
pub(super) fn dimensions(stored: Option<i64>) -> Result<Option<u32>, StoreError> {
    let read = |stored| {
        u32::try_from(stored)
            .map_err(|_| StoreError::Broken(format!("vectors of {stored} numbers")))
    };
    stored.map(read).transpose()
}

/// Vectors as they are stored, with their hashes.
pub(super) fn hashed_rows(
    rows: Vec<(Vec<u8>, Vec<u8>)>,
) -> Result<Vec<(Hash, Vec<u8>)>, StoreError> {
    let read = |(hash, bytes): (Vec<u8>, Vec<u8>)| match Hash::try_from(hash) {
        Ok(hash) => Ok((hash, bytes)),
        Err(hash) => Err(StoreError::Broken(format!(
            "a vector is stored under {} bytes that are no hash",
            hash.len()
        ))),
    };
    rows.into_iter().map(read).collect()
}

/// The next events of a log, for `catch_up.rs`: so many at a time.
pub(super) const AFTER: &str = concat!(
    "select ",
    event_columns!(),
    " from events e where space = $1 and seq > $2 order by seq limit $3 + 0"
);
/// Their threads.
pub(super) const THREADS_AFTER: &str =
    "select seq, thread from events where space = $1 and seq > $2 order by seq limit $3 + 0";
pub(super) const AFTER_PAGE: i64 = 256;

/// Stamps the reading of them for a `Source`, which has `reader`, `met`, which takes note of the last
/// event, and `end`: how far a log may be told of, asked after it was read.
macro_rules! next_events {
    () => {
        async fn threads_after(
            &self,
            space: &Space,
            seq: Seq,
        ) -> Result<Vec<(Seq, ThreadId)>, StoreError> {
            let query = sqlx::query_as(sql::THREADS_AFTER)
                .bind(space.as_str())
                .bind(seq)
                .bind(sql::AFTER_PAGE);
            let threads = sql::threads(sql::read!(self, None, query, fetch_all)?).into_iter();
            let end = self.end(space);
            Ok(threads.take_while(|(seq, _)| *seq <= end).collect())
        }

        async fn after(&self, space: &Space, seq: Seq) -> Result<Vec<Next>, StoreError> {
            let query = sqlx::query_as(sql::AFTER)
                .bind(space.as_str())
                .bind(seq)
                .bind(sql::AFTER_PAGE);
            let rows: Vec<sql::EventColumns> = sql::read!(self, None, query, fetch_all)?;
            let end = self.end(space);
            let told = rows.into_iter().take_while(|row| row.0 <= end);
            let next = Vec::from_iter(told.map(sql::event_or_why));
            if let Some(Ok(event)) = next.last() {
                self.met(space, event);
            }
            Ok(next)
        }
    };
}
pub(super) use next_events;

/// So many bytes take long enough to be hashed elsewhere: a thread that many share does nothing else meanwhile.
const LARGE: usize = 256 << 10;

/// The name of a blob with these bytes.
pub(super) async fn hashed(bytes: &bytes::Bytes) -> Result<String, StoreError> {
    if bytes.len() < LARGE {
        return Ok(sha256(bytes));
    }
    let bytes = bytes.clone();
    let hashed = tokio::task::spawn_blocking(move || sha256(&bytes)).await;
    hashed.map_err(|error| StoreError::Unavailable(format!("the server is stopping: {error}")))
}

/// Returns the error of a database by the party that can act on it.
pub(super) fn error(error: sqlx::Error) -> StoreError {
    use sqlx::Error::{Database, Io, PoolClosed, PoolTimedOut, Protocol, Tls, WorkerCrashed};
    let words = words(&error);
    match &error {
        Database(cause) if is_passing(cause.code().as_deref()) => StoreError::Unavailable(words),
        PoolTimedOut => StoreError::busy(),
        Io(_) | Tls(_) | Protocol(_) | PoolClosed | WorkerCrashed => StoreError::Unavailable(words),
        _ => StoreError::Broken(words),
    }
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        self::error(error)
    }
}

/// A value that cannot be handed to a database.
impl From<BoxDynError> for StoreError {
    fn from(error: BoxDynError) -> Self {
        Self::Broken(error.to_string())
    }
}

/// Returns the same of a search: one that was stopped for its time (SQLITE_INTERRUPT,
/// `query_canceled`) would not be faster next time.
pub(super) fn searched(error: sqlx::Error) -> StoreError {
    let code = error.as_database_error().and_then(|cause| cause.code());
    match code.as_deref() {
        Some("9" | "57014") => StoreError::TooDear,
        _ => error.into(),
    }
}

/// SQLite's result codes are numbers; Postgres' have five characters, the first two name the class.
fn is_passing(code: Option<&str>) -> bool {
    let Some(code) = code else { return false };
    match code.parse::<u32>() {
        // The low byte: 5 busy, 6 locked, 7 no memory, 8 read-only, 9 stopped for its time, 10 input or output, 13 full, 14 cannot
        // open.
        Ok(number) if code.len() < 5 => matches!(number & 0xff, 5..=10 | 13 | 14),
        // 08 connection, 40 rolled back, 53 resources, 55 not in that state (locks), 57 operator, 58 system; and 25006, read-only: no
        // server to write to any more, or one whose disk is full.
        _ => {
            matches!(code.get(..2), Some("08" | "40" | "53" | "55" | "57" | "58"))
                || ["25P02", "25006"].contains(&code)
        }
    }
}

/// Returns true for an error after which a connection to Postgres is of no use, though it answers: 08
/// connection, 57P shutdown, 25 transactions (read-only, timed out), 0A a plan of before a change of
/// the tables.
pub(super) fn spoils(error: &sqlx::Error) -> bool {
    let code = error.as_database_error().and_then(|cause| cause.code());
    let Some(code) = code else { return true };
    ["08", "57P", "25", "0A"]
        .iter()
        .any(|class| code.starts_with(class))
}

/// `after` and `before` as one range, both ends excluded.
pub(super) fn range(query: &Query) -> (Seq, Seq) {
    (query.after.unwrap_or(0), query.before.unwrap_or(Seq::MAX))
}

/// Returns the result of a reader's query within its limit. The database has one of its own, but
/// one that is dead without saying so, or stands still, keeps to none.
macro_rules! ask {
    ($store:expr, $space:expr, $query:expr, $fetch:ident) => {{
        let mut reader = $store.reader($space).await?;
        let over = reader.over();
        let read = tokio::select! {
            biased;
            result = $query.$fetch(reader.connection()) => Some(result),
            () = over => None,
        };
        match read {
            Some(result) => {
                match &result {
                    Err(error) if sql::spoils(error) => reader.spoiled(),
                    _ => reader.done(),
                }
                Ok(result)
            }
            None => Err(StoreError::no_answer()),
        }
    }};
}
pub(super) use ask;

/// Reads the rows of a query, for a space or (`None`) for all of them.
macro_rules! read {
    ($store:expr, $space:expr, $query:expr, $fetch:ident) => {
        sql::ask!($store, $space, $query, $fetch).and_then(|read| Ok(read?))
    };
}
pub(super) use read;

/// Reads the rows of a search in a space: one that takes too long is the caller's to change.
macro_rules! search {
    ($store:expr, $space:expr, $query:expr, $fetch:ident) => {
        sql::ask!($store, Some($space), $query, $fetch)
            .and_then(|found| found.map_err(sql::searched))
    };
}
pub(super) use search;

/// A connection that does not answer is given up: so much later than the database itself should have stopped.
pub(super) const GRACE: std::time::Duration = std::time::Duration::from_secs(1);

/// The migrations of a database, in order, of the kernel and of projections.
pub(super) fn migrations(text: fn(&migrations::Migration) -> &'static str) -> Migrator {
    let projected = projections::all().flat_map(|projection| projection.migrations);
    let mut all: Vec<&migrations::Migration> = migrations::KERNEL.iter().chain(projected).collect();
    all.sort_by_key(|migration| migration.number());
    let made = |it: &migrations::Migration| {
        Migration::new(
            it.number(),
            it.name().into(),
            MigrationType::Simple,
            text(it).into_sql_str(),
            false,
        )
    };
    let mut migrator = Migrator::with_migrations(all.into_iter().map(made).collect());
    // Those of a newer program only add: `admit` refuses the others.
    migrator.set_ignore_missing(true);
    migrator
}

/// The migrations that a database has, by number and name.
pub(super) const MADE: &str = "select version, description from _sqlx_migrations order by version";

/// Refuses a database of which a migration says that it needs a program with later ones than this.
pub(super) fn admit(known: &Migrator, made: &[(i64, String)]) -> Result<(), StoreError> {
    let is_made = |number: i64| made.iter().any(|(it, _)| *it == number);
    let (own, features): (Vec<i64>, Vec<i64>) =
        (known.iter().map(|it| it.version)).partition(|it| *it < migrations::OF_FEATURES);
    let last = own.into_iter().max().unwrap_or(0);
    if !made.is_empty() && !features.into_iter().all(is_made) {
        tracing::warn!(
            "a feature has a table that is new to this database: `thinkd rebuild` fills it from the log"
        );
    }
    let newer = made
        .iter()
        .filter(|(number, _)| !known.version_exists(*number));
    for (number, name) in newer {
        if *number >= migrations::OF_FEATURES {
            tracing::info!(
                "the database has the table of a feature that this program does not have (migration {number}, {name})"
            );
            continue;
        }
        if let Some(needed) = migrations::needed(name).filter(|needed| *needed > last) {
            return Err(StoreError::Broken(format!(
                "a newer thinkd made this database: its migration {number} ({name}) needs a thinkd that has migration {needed}, and \
                 the last one of this is {last}; start the version that made it, or restore a backup from before it"
            )));
        }
        tracing::info!(
            "a newer thinkd has added to this database (migration {number}, {name}): this one goes on without that"
        );
    }
    Ok(())
}

/// Sorts a failed migration by the party that can act on it.
impl From<MigrateError> for StoreError {
    fn from(error: MigrateError) -> Self {
        match error {
            MigrateError::Execute(cause) | MigrateError::ExecuteMigration(cause, _) => cause.into(),
            MigrateError::VersionMismatch(number) => StoreError::Broken(format!(
                "migration {number} of this database is another one than that of this thinkd; use the program that made it, or restore a \
                 backup"
            )),
            other => Self::Broken(other.to_string()),
        }
    }
}

/// The end of an `order by`.
pub(super) fn order(query: &Query) -> &'static str {
    match query.order {
        crate::query::Order::Descending => " desc",
        crate::query::Order::Ascending => "",
    }
}
