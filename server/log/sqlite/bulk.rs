//! Many rows in few statements, many statements in one trip to the connection's thread. An insert
//! has room for a power of two of rows, and rows of nulls fill it up and are left out. So few
//! different statements are prepared, for any write.

use sqlx::error::BoxDynError;
use sqlx::sqlite::{SqliteArguments, SqliteConnection};
use sqlx::{Arguments, AssertSqlSafe};

use super::{Broken, SEQ_BITS, bound, execute, joined, sql};
use crate::error::StoreError;
use crate::indexed::{Indexed, TermRow, term_rows};
use crate::projections;
use crate::rows::Rows;
use crate::sql::Writes;
use crate::sql::values::{self, Value, Values};
use crate::table::{Cell, Key, Row, Words};
use thinkd_words::id::Space;

/// Most rows of one insert.
const ROWS: usize = 512;
/// Most statements of one trip to the connection's thread.
const STATEMENTS: usize = 32;

/// Removes everything that is derived from the log.
pub(crate) async fn clear(connection: &mut SqliteConnection) -> Result<(), StoreError> {
    let mut texts = [
        "delete from marks",
        "delete from mailboxes",
        "delete from threads",
        "delete from roots",
        "insert into event_words (event_words) values ('delete-all')",
        "delete from indexed",
    ]
    .map(str::to_owned)
    .to_vec();
    for projection in projections::all() {
        texts.push(format!("delete from {}", projection.table.name));
        if let Some(Words { table, .. }) = &projection.table.words {
            texts.push(format!(
                "insert into {table} ({table}) values ('delete-all')"
            ));
        }
    }
    for text in texts {
        execute(connection, text, Vec::new()).await?;
    }
    Ok(())
}

/// Writes rows, in a transaction that is open already.
pub(crate) async fn put(
    connection: &mut SqliteConnection,
    writes: &Writes<'_>,
) -> Result<(), StoreError> {
    let mut trips = Trips::default();
    trips.rows(writes)?;
    Ok(trips.run(connection).await?)
}

/// Writes rows in a transaction of their own: one trip, unless they are very many, or there are rows that need a look first.
pub(super) async fn put_alone(
    connection: &mut SqliteConnection,
    writes: &Writes<'_>,
    rest: &Rows,
    broken: &Broken,
) -> Result<(), StoreError> {
    let mut trips = Trips::default();
    trips.next("begin immediate");
    trips.rows(writes)?;
    if searched(rest).next().is_some() {
        trips.run(connection).await?;
        put_each_searched(connection, rest).await?;
        trips = Trips::default();
    }
    trips.singles(rest)?;
    trips.next("commit");
    let run = trips.run(connection).await;
    Ok(run.inspect_err(|error| broken.note(error))?)
}

/// Statements on their way.
#[derive(Default)]
struct Trips {
    list: Vec<(String, SqliteArguments)>,
    /// Statements in the last one.
    statements: usize,
}

impl Trips {
    /// One more statement; its arguments are to be added, in order, before the next one.
    fn next(&mut self, text: &str) -> &mut SqliteArguments {
        if self.list.is_empty() || self.statements == STATEMENTS {
            self.list.push(Default::default());
            self.statements = 0;
        }
        self.statements += 1;
        let last = self.list.len() - 1;
        let (texts, arguments) = &mut self.list[last];
        texts.push_str(text);
        texts.push(';');
        arguments
    }

    /// Rows of projections that need no look first, one by one. Those that are written alike share a trip, by powers of two, and no trip has others: so few
    /// different texts are prepared.
    fn singles(&mut self, rows: &Rows) -> Result<(), BoxDynError> {
        let statements: Vec<_> = plain(rows).map(single).collect();
        for alike in statements.chunk_by(|one, other| one.0 == other.0) {
            let mut left = alike;
            while let Some(most) = left.len().checked_ilog2() {
                let (now, later) = left.split_at(STATEMENTS.min(1 << most));
                self.statements = STATEMENTS;
                for (text, cells) in now {
                    let arguments = self.next(&unnumbered(text));
                    for cell in cells {
                        sql::add_cell(arguments, cell.clone())?;
                    }
                }
                left = later;
            }
        }
        Ok(())
    }

    /// Inserts rows of so many columns; `add` adds the arguments of one, the first of which is
    /// never null. `or` is the clause for a row that is there already.
    fn insert<'a, T>(
        &mut self,
        (into, or): (&str, &str),
        columns: usize,
        rows: &'a [T],
        add: impl Fn(&mut OneRow<'_, 'a, T>) -> Result<(), BoxDynError>,
    ) -> Result<(), BoxDynError> {
        for chunk in rows.chunks(ROWS) {
            let room = chunk.len().next_power_of_two();
            let arguments = self.next(&format!("{}{or}", inserting(into, columns, room)));
            for row in chunk {
                add(&mut OneRow { arguments, row })?;
            }
            for _ in 0..(room - chunk.len()) * columns {
                arguments.add(None::<i64>)?;
            }
        }
        Ok(())
    }

    async fn run(self, connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
        for (text, arguments) in self.list {
            sqlx::query_with(AssertSqlSafe(text), arguments)
                .execute(&mut *connection)
                .await?;
        }
        Ok(())
    }

    fn rows(&mut self, writes: &Writes<'_>) -> Result<(), BoxDynError> {
        let text = "insert into spaces (space, number) select ?, coalesce(max(number), 0) + 1 from spaces where true \
             on conflict (space) do nothing";
        for (space, _) in &writes.heads {
            self.next(text).add(space.as_str())?;
        }
        let into = "insert into events (space, seq, event_id, ts, thread, source, modality, payload, tags, visibility)";
        self.insert((into, ""), 10, &writes.events, |row| values::events(row))?;
        let into = "insert into mailboxes (space, thread, seq)";
        self.insert((into, ""), 3, &writes.mail, |row| values::mailboxes(row))?;
        // Added to what is there.
        let into = "insert into roots (space, root, calls, tokens, threads)";
        let or = " on conflict (space, root) do update set calls = calls + excluded.calls, \
             tokens = tokens + excluded.tokens, threads = threads + excluded.threads";
        self.insert((into, or), 5, &writes.roots, |row| values::roots(row))?;
        let into = concat!(
            "insert or replace into threads (space, ",
            sql::thread_columns!(),
            ", awaits)"
        );
        self.insert((into, ""), 17, &writes.threads, |row| values::threads(row))
    }

    fn terms(&mut self, space: &Space, rows: &[TermRow<'_>]) -> Result<(), BoxDynError> {
        let into = "insert or ignore into marks (space, mark, visibility, seq)";
        self.insert((into, ""), 4, rows, |row| {
            row.add(|_| space.as_str())?;
            row.add(|(term, ..)| *term)?;
            row.add(|(_, level, _)| *level)?;
            row.add(|(.., seq)| *seq)
        })
    }

    /// Row ids are the space's number and the seq.
    fn words(&mut self, base: i64, events: &[Indexed]) -> Result<(), BoxDynError> {
        let with_words = events.iter().filter(|event| !event.words.is_empty());
        let into = "insert into event_words (rowid, words)";
        self.insert((into, ""), 2, &Vec::from_iter(with_words), |row| {
            row.add(|event| base + event.seq)?;
            row.add(|event| joined(&event.words))
        })
    }
}

/// A row with values that are added one by one.
struct OneRow<'r, 'a, T> {
    arguments: &'r mut SqliteArguments,
    row: &'a T,
}

impl<'a, T> Values<'a, T> for OneRow<'_, 'a, T> {
    fn add<V: Value<'a>>(&mut self, of: impl Fn(&'a T) -> V) -> Result<(), BoxDynError> {
        self.arguments.add(of(self.row))
    }
}

/// `insert …` with room for so many rows.
fn inserting(into: &str, columns: usize, room: usize) -> String {
    let row = format!("({})", vec!["?"; columns].join(","));
    match room {
        1 => format!("{into} values {row}"),
        _ => format!(
            "{into} select * from (values {}) where column1 is not null",
            vec![row; room].join(",")
        ),
    }
}

/// Adds events, which follow one another, to the index.
pub(crate) async fn put_index(
    connection: &mut SqliteConnection,
    space: &Space,
    events: &[Indexed],
) -> Result<(), StoreError> {
    let Some(last) = events.last() else {
        return Ok(());
    };
    let number: i64 = sqlx::query_scalar("select number from spaces where space = $1")
        .bind(space.as_str())
        .fetch_one(&mut *connection)
        .await?;
    // Trip by trip: what is between two of them keeps nobody waiting for long.
    for part in events.chunks(ROWS) {
        let mut trips = Trips::default();
        trips.words(number << SEQ_BITS, part)?;
        trips.run(connection).await?;
    }
    for part in term_rows(events).chunks(ROWS) {
        let mut trips = Trips::default();
        trips.terms(space, part)?;
        trips.run(connection).await?;
    }
    let text = "insert into indexed (space, seq, event_id, ts) \
         select space, seq, event_id, ts from events where space = $1 and seq = $2 \
         on conflict (space) do update set seq = excluded.seq, event_id = excluded.event_id, ts = excluded.ts";
    sqlx::query(text)
        .bind(space.as_str())
        .bind(last.seq)
        .execute(connection)
        .await?;
    Ok(())
}

/// Returns the statement that writes a row of a projection that is not searched by words, or
/// removes it: the text, and its arguments.
fn single(((table, key), row): RowOf<'_>) -> (String, Vec<Cell>) {
    match row {
        Some(row) if !table.is_whole(row) => table.alter_text(row),
        Some(row) => (table.put_text(), row.cells(table.columns())),
        None => (table.remove_text(), key.clone()),
    }
}

/// A row of a projection, or that it is gone.
type RowOf<'a> = (&'a Key, &'a Option<Row>);

/// Returns the rows of tables that are searched by words.
fn searched(rows: &Rows) -> impl Iterator<Item = RowOf<'_>> {
    let rows = rows.single.iter();
    rows.filter(|((table, _), _)| table.words.is_some())
}

/// Returns the rows of tables that are not searched by words.
fn plain(rows: &Rows) -> impl Iterator<Item = RowOf<'_>> {
    let rows = rows.single.iter();
    rows.filter(|((table, _), _)| table.words.is_none())
}

/// Returns a text with its arguments in their order, without their numbers: of several statements
/// in one trip each goes on where the one before ended.
fn unnumbered(text: &str) -> String {
    let mut parts = text.split('$');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let rest = part.trim_start_matches(|it: char| it.is_ascii_digit());
        format!("{text}?{rest}")
    })
}

/// Writes the rows of projections, or removes them, one by one.
pub(crate) async fn put_rest(
    connection: &mut SqliteConnection,
    rows: &Rows,
) -> Result<(), StoreError> {
    put_each_searched(connection, rows).await?;
    for (text, cells) in plain(rows).map(single) {
        execute(connection, text, cells).await?;
    }
    Ok(())
}

/// The same, of those that are searched by words.
async fn put_each_searched(
    connection: &mut SqliteConnection,
    rows: &Rows,
) -> Result<(), StoreError> {
    for row in searched(rows) {
        put_searched(connection, row).await?;
    }
    Ok(())
}

/// Writes a row with its words, or removes both: a row that is written anew has another number.
async fn put_searched(
    connection: &mut SqliteConnection,
    ((table, key), row): RowOf<'_>,
) -> Result<(), StoreError> {
    let Some(words) = &table.words else {
        return Ok(());
    };
    if let Some(number) = number(connection, table.remove_text(), key.clone()).await? {
        let text = format!("delete from {} where rowid = $1", words.table);
        execute(connection, text, vec![number.into()]).await?;
    }
    let Some(row) = row else { return Ok(()) };
    let cells = row.cells(table.columns());
    let Some(number) = number(connection, table.put_text(), cells).await? else {
        return Ok(());
    };
    let text = format!("insert into {} (rowid, words) values ($1, $2)", words.table);
    let words = joined(&(words.of)(row));
    execute(connection, text, vec![number.into(), words.into()]).await
}

/// Runs a statement that writes one row; the row's number, if there is one.
async fn number(
    connection: &mut SqliteConnection,
    text: String,
    cells: Vec<Cell>,
) -> Result<Option<i64>, StoreError> {
    let text = sqlx::AssertSqlSafe(format!("{text} returning number"));
    let query = sqlx::query_scalar_with(text, bound(cells)?);
    Ok(query.fetch_optional(connection).await?)
}
