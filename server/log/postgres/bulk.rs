//! Many rows in one statement: columns go as arrays, `unnest` makes them rows again. Rows of projections are in `parts.rs`.

use std::collections::BTreeMap;

use sqlx::error::BoxDynError;
use sqlx::postgres::{PgArguments, PgConnection};
use sqlx::{Arguments, AssertSqlSafe};

use super::parts::Part;
use super::{columns, execute, sql, vector};
use crate::error::StoreError;
use crate::fence::Fence;
use crate::head::Position;
use crate::indexed::{Indexed, term_rows};
use crate::rows::Rows;
use crate::sql::Writes;
use crate::sql::values::{self, Value, Values};
use thinkd_words::id::Space;

/// Everything in one statement, one trip: each part is as it would be alone. The arguments are the
/// text that comes first, and the condition on which all of it depends. The rows of projections
/// follow, and a `select`.
macro_rules! put_text {
    ($first:expr, $if:expr) => {
        concat!(
            "with ", $first,
            "h as (insert into spaces (space, head, ts) select * from unnest($1::text[], $2::bigint[], $3::bigint[])", $if,
            " on conflict (space) do update set head = excluded.head, ts = excluded.ts), ",
            "e as (insert into events (space, seq, event_id, ts, thread, source, modality, payload, tags, visibility) ",
            "select * from unnest($4::text[], $5::bigint[], $6::uuid[], $7::bigint[], $8::text[], $9::text[], $10::text[], ",
            "$11::text[], $12::text[], $13::smallint[])", $if, "), ",
            "m as (insert into mailboxes (space, thread, seq) ",
            "select * from unnest($14::text[], $15::text[], $16::bigint[])", $if, "), ",
            "t as (insert into threads (space, ",
            sql::thread_columns!(),
            ", awaits) select * from unnest($17::text[], $18::text[], $19::text[], $20::text[], $21::bigint[], $22::bigint[], ",
            "$23::bigint[], $24::bigint[], $25::bigint[], $26::bigint[], $27::bigint[], $28::bigint[], $29::bigint[], ",
            "$30::text[], $31::bigint[], $32::bigint[], $33::text[])", $if,
            " on conflict (space, thread) do update set settings = excluded.settings, ",
            "status = excluded.status, head = excluded.head, woken = excluded.woken, handled = excluded.handled, ",
            "turn = excluded.turn, visible = excluded.visible, heard = excluded.heard, ",
            "self_messages = excluded.self_messages, model_calls = excluded.model_calls, tokens = excluded.tokens, ",
            "standing = excluded.standing, updated = excluded.updated, awaits = excluded.awaits), ",
            "r as (insert into roots (space, root, calls, tokens, threads) ",
            "select * from unnest($37::text[], $38::bigint[], $39::bigint[], $40::bigint[], $41::bigint[])", $if,
            " on conflict (space, root) do update set calls = roots.calls + excluded.calls, ",
            "tokens = roots.tokens + excluded.tokens, threads = roots.threads + excluded.threads), ",
            "l as (update leases l set number = 0, until = '-infinity' ",
            "from (select * from unnest($34::text[], $35::text[], $36::bigint[])", $if, ") f (space, thread, number) ",
            "where l.space = f.space and l.thread = f.thread and l.number = f.number)",
        )
    };
}

const PUT: &str = put_text!("", "");

/// The condition on which all of `PUT_IF` depends.
macro_rules! only_if {
    () => {
        " where (select same.is from same)"
    };
}

/// The same if nothing has changed since it was planned. The leases hold, the logs end where they
/// ended, the rows were not made anew, and it is still waited for. A statement that a network kept
/// until after its refusal is not stored. The spaces are locked first, then the leases, each in
/// order, as a transaction does it.
const PUT_IF: &str = put_text!(
    "ends as materialized (select space, head from spaces where space = any($1) order by space for update), \
     held as materialized (select l.number from unnest($42::text[], $43::text[], $44::bigint[]) f (space, thread, number) \
     cross join lateral (select number from leases where space = f.space and thread = f.thread and number = f.number \
     for no key update) l), \
     same as materialized (select (select count(*) from ends join unnest($1::text[], $45::bigint[]) n (space, head) \
     on n.space = ends.space and n.head = ends.head) = cardinality($1::text[]) \
     and (select count(*) from held) = cardinality($44::bigint[]) \
     and (select incarnation from log) = $46 \
     and extract(epoch from clock_timestamp()) * 1000000 < $47 as is), ",
    only_if!()
);

/// Rows of projections that are made anew in one statement.
const REST: usize = 100;

pub(crate) async fn put(
    connection: &mut PgConnection,
    writes: &Writes<'_>,
) -> Result<(), StoreError> {
    put_all(connection, writes, &[], &[]).await
}

/// Writes rows, those of projections among them, and gives leases back.
pub(super) async fn put_all(
    connection: &mut PgConnection,
    writes: &Writes<'_>,
    released: &[Fence],
    parts: &[Part],
) -> Result<(), StoreError> {
    let mut arguments = arguments(writes, released)?;
    let text = with_parts(PUT, "true", parts, "", &mut arguments)?;
    sqlx::query_with(text, arguments)
        .execute(connection)
        .await?;
    Ok(())
}

/// The text of a statement that writes these parts as well, and selects this; their arguments are added.
fn with_parts(
    text: &str,
    selects: &str,
    parts: &[Part],
    only_if: &str,
    arguments: &mut PgArguments,
) -> Result<AssertSqlSafe<String>, BoxDynError> {
    let mut text = text.to_owned();
    for (number, part) in parts.iter().enumerate() {
        text += &format!(
            ", p{number} as ({})",
            part.text(arguments.len() + 1, only_if)
        );
        part.add(arguments)?;
    }
    Ok(AssertSqlSafe(text + " select " + selects))
}

/// The state that has to be as it was for a commit in one statement.
pub(super) struct Unchanged<'a> {
    pub fences: &'a [Fence],
    pub heads: &'a BTreeMap<Space, Position>,
    pub incarnation: i64,
    /// The time, by the database's clock, after which no caller waits for it any more (µs since
    /// 1970).
    pub until: i64,
}

/// Writes rows and gives leases back, all in one statement, if everything is as it was and none of the events is there. False:
/// nothing is written.
pub(super) async fn put_if(
    connection: &mut PgConnection,
    writes: &Writes<'_>,
    released: &[Fence],
    parts: &[Part],
    unchanged: &Unchanged<'_>,
) -> Result<bool, StoreError> {
    let mut arguments = arguments(writes, released)?;
    add_fences(&mut arguments, unchanged.fences)?;
    arrays(&mut arguments, &writes.heads)
        .add(|(space, _)| unchanged.heads.get(*space).map(|head| head.seq))?;
    arguments.add(unchanged.incarnation)?;
    arguments.add(unchanged.until)?;
    let selects = "same.is from same";
    let text = with_parts(PUT_IF, selects, parts, only_if!(), &mut arguments)?;
    match sqlx::query_scalar_with(text, arguments)
        .fetch_one(connection)
        .await
    {
        // An event with one of these ids is there.
        Err(sqlx::Error::Database(cause)) if cause.is_unique_violation() => Ok(false),
        written => Ok(written?),
    }
}

/// Rows of a table, which go there as an array for each column.
struct Arrays<'r, 'a, T> {
    arguments: &'r mut PgArguments,
    rows: &'a [T],
}

impl<'a, T> Values<'a, T> for Arrays<'_, 'a, T> {
    fn add<V: Value<'a>>(&mut self, of: impl Fn(&'a T) -> V) -> Result<(), BoxDynError> {
        self.arguments
            .add(self.rows.iter().map(of).collect::<Vec<_>>())
    }
}

fn arrays<'r, 'a, T>(arguments: &'r mut PgArguments, rows: &'a [T]) -> Arrays<'r, 'a, T> {
    Arrays { arguments, rows }
}

fn arguments(writes: &Writes<'_>, released: &[Fence]) -> Result<PgArguments, BoxDynError> {
    let mut arguments = PgArguments::default();
    let mut heads = arrays(&mut arguments, &writes.heads);
    heads.add(|(space, _)| space.as_str())?;
    heads.add(|(_, head)| head.seq)?;
    heads.add(|(_, head)| head.ts.micros())?;
    values::events(&mut arrays(&mut arguments, &writes.events))?;
    values::mailboxes(&mut arrays(&mut arguments, &writes.mail))?;
    values::threads(&mut arrays(&mut arguments, &writes.threads))?;
    add_fences(&mut arguments, released)?;
    values::roots(&mut arrays(&mut arguments, &writes.roots))?;
    Ok(arguments)
}

fn add_fences(arguments: &mut PgArguments, fences: &[Fence]) -> Result<(), BoxDynError> {
    let (spaces, threads, numbers) = columns(fences);
    arguments.add(spaces)?;
    arguments.add(threads)?;
    arguments.add(numbers)
}

/// The index in one statement: words, terms, and how far it has come. Another server's terms may be there already.
const PUT_INDEX: &str = "with w as (insert into event_words (space, seq, words) \
     select $1, k.seq, k.words::tsvector from unnest($2::bigint[], $3::text[]) k (seq, words) on conflict do nothing), \
     m as (insert into marks (space, mark, visibility, seq) \
     select $1, k.mark, k.visibility, k.seq from unnest($4::text[], $5::smallint[], $6::bigint[]) \
     k (mark, visibility, seq) on conflict do nothing) \
     insert into indexed (space, seq) values ($1, $7) on conflict (space) do update set seq = excluded.seq";

/// Adds events, which follow one another, to the index.
pub(crate) async fn put_index(
    connection: &mut PgConnection,
    space: &Space,
    events: &[Indexed],
) -> Result<(), StoreError> {
    let Some(last) = events.last() else {
        return Ok(());
    };
    let with_words = events.iter().filter(|event| !event.words.is_empty());
    let (seqs, words): (Vec<i64>, Vec<String>) = with_words
        .map(|event| (event.seq, vector(&event.words)))
        .unzip();
    let terms = term_rows(events);
    sqlx::query(PUT_INDEX)
        .bind(space.as_str())
        .bind(seqs)
        .bind(words)
        .bind(terms.iter().map(|row| row.0).collect::<Vec<_>>())
        .bind(terms.iter().map(|row| row.1).collect::<Vec<_>>())
        .bind(terms.iter().map(|row| row.2).collect::<Vec<_>>())
        .bind(last.seq)
        .execute(connection)
        .await?;
    Ok(())
}

/// Writes the rows of projections, or removes them.
pub(crate) async fn put_rest(connection: &mut PgConnection, rows: &Rows) -> Result<(), StoreError> {
    let all = Vec::from_iter(&rows.single);
    for some in all.chunks(REST) {
        for part in Part::of(some.iter().copied()) {
            let mut arguments = PgArguments::default();
            part.add(&mut arguments)?;
            let query = sqlx::query_with(AssertSqlSafe(part.text(1, "")), arguments);
            query.execute(&mut *connection).await?;
        }
    }
    Ok(())
}

/// Removes everything that is derived from the log.
pub(crate) async fn clear(connection: &mut PgConnection) -> Result<(), StoreError> {
    // `indexed` first, as whoever indexes takes them: both wait for each other otherwise.
    let projected: Vec<&str> = sql::projected().collect();
    let text = format!(
        "truncate indexed, event_words, marks, mailboxes, threads, {}, roots",
        projected.join(", ")
    );
    execute(connection, text, Vec::new()).await
}
