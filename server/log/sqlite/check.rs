//! The check of a log's file. At a start: header, schema, and the end of the log, which are needed
//! to go on. While the server works: all of it, in small steps. SQLite notices a page that is none
//! when it reads it, so everything is read.

use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{AssertSqlSafe, ConnectOptions as _};
use tokio::time::timeout;

use super::{Sqlite, read_blob, sql};
use crate::error::StoreError;
use crate::upkeep::Checked;
use thinkd_words::text::sha256;

/// Events looked at before anything is served, of all spaces together.
const AT_START: i64 = 1000;
/// Events of one step.
const STEP: i64 = 256;
/// Faults that are told.
const TOLD: usize = 20;
/// Longest search for the page of a fault.
const LOCATING: Duration = Duration::from_secs(60);
/// Pages of a schema that are looked at.
const SCHEMA_PAGES: usize = 1000;

/// The columns that are asked of the events of some rows `e`: the count, the first seq and the
/// last, and the first of those that cannot be read.
macro_rules! looked_at {
    ($readable:literal) => {
        concat!(
            "count(*), coalesce(min(e.seq), 0), coalesce(max(e.seq), 0), \
             min(case when json_valid(e.payload) and json_valid(e.tags) and length(e.event_id) = 16",
            $readable,
            " then null else e.seq end)"
        )
    };
}

type Looked = (i64, i64, i64, Option<i64>);

/// Returns the fault of some events in a row.
fn wrong(space: &str, (count, first, last, unreadable): Looked) -> Option<String> {
    if let Some(seq) = unreadable {
        return Some(format!("event {seq} of the space {space} cannot be read"));
    }
    let missing = last - first + 1 - count;
    (count > 0 && missing > 0).then(|| {
        format!("{missing} events of the space {space} are missing between {first} and {last}")
    })
}

/// Reads the end of the log. An error: it is damaged.
pub(super) async fn end_of_log(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let text = concat!(
        "select s.space, ",
        looked_at!(""),
        " from (select space from spaces limit $1) s cross join events e where e.space = s.space \
         and e.seq > (select max(seq) from events where space = s.space) - (select max($1 / count(*), 1) from spaces) \
         group by s.space"
    );
    let rows: Vec<(String, i64, i64, i64, Option<i64>)> = sqlx::query_as(text)
        .bind(AT_START)
        .fetch_all(connection)
        .await?;
    let found = rows
        .into_iter()
        .find_map(|(space, count, first, last, bad)| wrong(&space, (count, first, last, bad)));
    found.map_or(Ok(()), |what| {
        Err(StoreError::Broken(format!("malformed: {what}")))
    })
}

/// An error of opening a file; where the file is damaged, with the pages that are.
pub(super) async fn located(reading: &SqliteConnectOptions, error: StoreError) -> StoreError {
    let path = reading.get_filename();
    match &error {
        StoreError::Broken(why) if is_damage(why) => {
            let pages = timeout(LOCATING, pages(reading)).await.unwrap_or_default();
            let pages = if pages.is_empty() {
                String::new()
            } else {
                format!(" ({})", pages.join("; "))
            };
            let path = path.display();
            StoreError::Broken(format!(
                "the log is damaged: {why}{pages}. Stop everything that uses {path}, keep a copy of it, and restore a backup"
            ))
        }
        _ => error,
    }
}

/// Returns true if SQLite, or this server, met data that was never written so.
fn is_damage(why: &str) -> bool {
    why.contains("malformed") || why.contains("not a database")
}

/// Returns the pages of the file that are no pages, as SQLite names them.
async fn pages(reading: &SqliteConnectOptions) -> Vec<String> {
    let found = async {
        let mut connection = reading.connect().await?;
        sqlx::query_scalar::<_, String>("pragma quick_check(3)")
            .fetch_all(&mut connection)
            .await
    };
    match found.await {
        Ok(lines) => named_pages(lines),
        // What SQLite cannot even begin to read is the header or the schema.
        Err(_) => {
            let page = broken_schema_page(reading.get_filename()).unwrap_or(1);
            vec![format!("page {page}")]
        }
    }
}

fn named_pages(lines: Vec<String>) -> Vec<String> {
    let lines = lines
        .iter()
        .flat_map(|line| line.lines())
        .filter(|line| !line.starts_with("***") && *line != "ok");
    lines.map(str::to_owned).collect()
}

/// The first page of the schema's tree that is none, read without SQLite.
fn broken_schema_page(path: &Path) -> Option<u32> {
    let file = File::open(path).ok()?;
    let mut header = [0; 100];
    file.read_exact_at(&mut header, 0).ok()?;
    let size = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        size => usize::from(size),
    };
    if !header.starts_with(b"SQLite format 3\0") || !size.is_power_of_two() || size < 512 {
        return Some(1);
    }
    let mut waiting = vec![1_u32];
    for _ in 0..SCHEMA_PAGES {
        let number = waiting.pop()?;
        let mut page = vec![0; size];
        let before = u64::from(number).checked_sub(1);
        let begin = before.map(|before| before * size as u64);
        let read = begin.and_then(|begin| file.read_exact_at(&mut page, begin).ok());
        match read.and_then(|()| children(&page, if number == 1 { 100 } else { 0 })) {
            Some(children) => waiting.extend(children),
            None => return Some(number),
        }
    }
    None
}

/// The pages below a page of a table's tree; none where it is no such page.
fn children(page: &[u8], header: usize) -> Option<Vec<u32>> {
    let short = |at: usize| {
        let short = u16::from_be_bytes(page.get(at..at + 2)?.try_into().ok()?);
        Some(usize::from(short))
    };
    let long = |at: usize| Some(u32::from_be_bytes(page.get(at..at + 4)?.try_into().ok()?));
    let inner = match page.get(header)? {
        5 => true,
        13 => false,
        _ => return None,
    };
    let cells = short(header + 3)?;
    let pointers = header + if inner { 12 } else { 8 };
    let mut below = Vec::new();
    for cell in 0..cells {
        let at = short(pointers + 2 * cell)?;
        let left = long(at)?;
        if inner {
            below.push(left);
        }
    }
    if inner {
        below.push(long(header + 8)?);
    }
    Some(below)
}

impl Sqlite {
    /// Looks at all that is stored, step by step.
    pub(super) async fn check_all(&self, pause: Duration) -> Result<Checked, StoreError> {
        let pages = self.number("pragma source.page_count").await?;
        let mut checked = Checked::sound(pages, 0);
        let tables = "select name from source.sqlite_schema where type = 'table' and rootpage > 0";
        for table in self.column(tables).await? {
            // Those are read row by row below.
            if !matches!(table.as_str(), "events" | "blobs" | "blob_parts") {
                checked.faults.extend(self.quick_check(&table).await?);
                tokio::time::sleep(pause).await;
            }
        }
        let spaces = "select space from spaces order by space";
        for space in self.column(spaces).await? {
            if let Err(error) = self.check_events(&space, pause, &mut checked).await {
                checked.faults.extend(self.told("events", error).await?);
                break;
            }
        }
        if let Err(error) = self.check_blobs(pause, &mut checked).await {
            checked.faults.extend(self.told("blobs", error).await?);
        }
        *self.checked.lock() = Some(checked.clone());
        for fault in checked.faults.iter().take(TOLD) {
            tracing::error!(fault, "the log is damaged; restore a backup");
        }
        metrics::gauge!("thinkd_log_faults").set(checked.faults.len() as f64);
        Ok(checked)
    }

    async fn number(&self, text: &'static str) -> Result<u64, StoreError> {
        let number: i64 = sql::read!(self, None, sqlx::query_scalar(text), fetch_one)?;
        Ok(u64::try_from(number).unwrap_or_default())
    }

    async fn column(&self, text: &'static str) -> Result<Vec<String>, StoreError> {
        sql::read!(self, None, sqlx::query_scalar(text), fetch_all)
    }

    /// The pages of one table and its indices that are none.
    async fn quick_check(&self, table: &str) -> Result<Vec<String>, StoreError> {
        let text = format!("pragma source.quick_check('{}')", table.replace('\'', "''"));
        let query = sqlx::query_scalar(AssertSqlSafe(text)).persistent(false);
        let line = |line: String| format!("{table}: {line}");
        match sql::read!(self, None, query, fetch_all) {
            Ok(lines) => Ok(named_pages(lines).into_iter().map(line).collect()),
            Err(StoreError::Broken(why)) if is_damage(&why) => Ok(vec![format!("{table}: {why}")]),
            Err(error) => Err(error),
        }
    }

    /// An error met in reading a table's rows, as faults; one that says nothing of the file stays an error.
    async fn told(&self, table: &str, error: StoreError) -> Result<Vec<String>, StoreError> {
        match error {
            StoreError::Broken(why) if is_damage(&why) => {
                let pages = self.quick_check(table).await?;
                Ok(if pages.is_empty() {
                    vec![format!("{table}: {why}")]
                } else {
                    pages
                })
            }
            other => Err(other),
        }
    }

    /// Every event can be read, none is missing, and each is found by its id.
    async fn check_events(
        &self,
        space: &str,
        pause: Duration,
        checked: &mut Checked,
    ) -> Result<(), StoreError> {
        let text = concat!(
            "select ",
            looked_at!(
                " and exists (select 1 from events i indexed by events_id \
                 where i.space = e.space and i.event_id = e.event_id and i.seq = e.seq)"
            ),
            " from (select * from events where space = $1 and seq > $2 order by seq limit $3) e"
        );
        let mut after = 0;
        loop {
            let query = sqlx::query_as(text).bind(space).bind(after).bind(STEP);
            let row: Looked = sql::read!(self, None, query, fetch_one)?;
            let (count, first, last, unreadable) = row;
            if count == 0 {
                return Ok(());
            }
            checked.events += u64::try_from(count).unwrap_or_default();
            // From where the last step ended: what is missing between two steps is missing, too.
            let looked = (count, first.min(after + 1), last, unreadable);
            checked.faults.extend(wrong(space, looked));
            after = last;
            tokio::time::sleep(pause).await;
        }
    }

    /// Checks that every blob has the hash that its name says.
    async fn check_blobs(&self, pause: Duration, checked: &mut Checked) -> Result<(), StoreError> {
        let mut after = (String::new(), String::new());
        loop {
            let mut reader = self.reader(None).await?;
            let next = read_blob(reader.connection(), &after).await;
            reader.done();
            let Some((space, name, blob)) = next? else {
                return Ok(());
            };
            if sha256(&blob.bytes) != name {
                checked.faults.push(format!(
                    "the blob {name} of the space {space} is not what was stored"
                ));
            }
            after = (space.to_string(), name);
            tokio::time::sleep(pause).await;
        }
    }
}
