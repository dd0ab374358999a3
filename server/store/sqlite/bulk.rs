//! Many rows in few statements: inserts of several rows each, of few sizes, so that few statements are prepared.

use std::collections::BTreeMap;

use sqlx::AssertSqlSafe;
use sqlx::sqlite::SqliteConnection;

use super::{joined, json, sql, stored};
use crate::event::Event;
use crate::id::{Space, ThreadId};
use crate::store::append::Position;
use crate::store::rows::Rows;
use crate::store::sql::EventRow;
use crate::store::{Blob, Entry, Error, ThreadRow, marks, rank};

/// Rows of one insert. Every statement is a way to the connection's thread and back: few for any number of rows.
const CHUNKS: [usize; 8] = [128, 64, 32, 16, 8, 4, 2, 1];

pub(in crate::store) async fn put_heads(
    connection: &mut SqliteConnection,
    heads: &BTreeMap<Space, Position>,
) -> Result<(), Error> {
    let text = "insert into spaces (space, head, ts, number) \
         select $1, $2, $3, coalesce(max(number), 0) + 1 from spaces where true \
         on conflict (space) do update set head = excluded.head, ts = excluded.ts";
    for (space, head) in heads {
        let insert = sqlx::query(text).bind(space.as_str()).bind(head.seq).bind(head.ts.micros());
        insert.execute(&mut *connection).await.map_err(sql::error)?;
    }
    Ok(())
}

/// Removes everything that is derived from the log.
pub(in crate::store) async fn clear(connection: &mut SqliteConnection) -> Result<(), Error> {
    for text in [
        "delete from marks",
        "delete from threads",
        "delete from submodules",
        "delete from entries",
        "insert into entry_words (entry_words) values ('delete-all')",
        "insert into event_words (event_words) values ('delete-all')",
        "delete from indexed",
    ] {
        sqlx::query(text).execute(&mut *connection).await.map_err(sql::error)?;
    }
    Ok(())
}

pub(in crate::store) async fn put_blob(
    connection: &mut SqliteConnection,
    space: &Space,
    sha256: &str,
    blob: &Blob,
) -> Result<(), Error> {
    sqlx::query("insert into blobs (space, sha256, mime, bytes) values ($1, $2, $3, $4) on conflict do nothing")
        .bind(space.as_str())
        .bind(sha256)
        .bind(&blob.mime)
        .bind(&blob.bytes[..])
        .execute(connection)
        .await
        .map(|_| ())
        .map_err(sql::error)
}

/// `insert …` for `rows` rows of `columns` placeholders.
fn inserting(head: &str, rows: usize, columns: usize, tail: &str) -> AssertSqlSafe<String> {
    let row = format!("({})", vec!["?"; columns].join(","));
    AssertSqlSafe(format!("{head} values {}{tail}", vec![row; rows].join(",")))
}

/// Cuts rows into chunks of few sizes, so that few statements are prepared.
fn chunks<T>(mut rows: &[T]) -> impl Iterator<Item = &[T]> {
    std::iter::from_fn(move || {
        let size = CHUNKS.into_iter().find(|size| *size <= rows.len())?;
        let (chunk, rest) = rows.split_at(size);
        rows = rest;
        Some(chunk)
    })
}

/// Adds texts, as their words, to the search index: row id and words.
pub(in crate::store) async fn put_words(
    connection: &mut SqliteConnection,
    rows: &[(i64, String)],
) -> Result<(), Error> {
    for chunk in chunks(rows) {
        let mut insert = sqlx::query(inserting("insert into event_words (rowid, words)", chunk.len(), 2, ""));
        for (id, words) in chunk {
            insert = insert.bind(*id).bind(words.as_str());
        }
        insert.execute(&mut *connection).await.map_err(sql::error)?;
    }
    Ok(())
}

pub(in crate::store) async fn put_events(
    connection: &mut SqliteConnection,
    rows: &[EventRow<'_>],
) -> Result<(), Error> {
    let head = "insert into events (space, seq, event_id, ts, thread, source, modality, payload, tags, visibility)";
    for chunk in chunks(rows) {
        let mut insert = sqlx::query(inserting(head, chunk.len(), 10, ""));
        for EventRow { space, event, payload, tags } in chunk {
            insert = insert
                .bind(space.as_str())
                .bind(event.seq)
                .bind(event.event_id)
                .bind(event.ts.micros())
                .bind(event.thread.as_str())
                .bind(event.source.as_str())
                .bind(event.modality.as_str())
                .bind(*payload)
                .bind(tags.as_str())
                .bind(event.visibility() as i16);
        }
        insert.execute(&mut *connection).await.map_err(sql::error)?;
    }
    Ok(())
}

pub(in crate::store) async fn put_marks<'a>(
    connection: &mut SqliteConnection,
    events: impl Iterator<Item = (&'a Space, &'a Event)>,
) -> Result<(), Error> {
    let mut rows: Vec<(&str, String, i16, i64)> = Vec::new();
    for (space, event) in events {
        let level = event.visibility() as i16;
        rows.extend(marks::of(event).into_iter().map(|mark| (space.as_str(), mark, level, event.seq)));
    }
    // In the order of the key: neighbours share pages.
    rows.sort_unstable();
    for chunk in chunks(&rows) {
        let mut insert = sqlx::query(inserting("insert into marks (space, mark, visibility, seq)", chunk.len(), 4, ""));
        for (space, mark, level, seq) in chunk {
            insert = insert.bind(*space).bind(mark.as_str()).bind(*level).bind(*seq);
        }
        insert.execute(&mut *connection).await.map_err(sql::error)?;
    }
    Ok(())
}

pub(in crate::store) async fn put_threads(
    connection: &mut SqliteConnection,
    threads: &BTreeMap<(Space, ThreadId), ThreadRow>,
) -> Result<(), Error> {
    let rows = Vec::from_iter(threads);
    for chunk in chunks(&rows) {
        let head = concat!("insert or replace into threads (space, ", sql::thread_columns!(), ")");
        let mut insert = sqlx::query(inserting(head, chunk.len(), 15, ""));
        for ((space, thread), row) in chunk {
            insert = insert
                .bind(space.as_str())
                .bind(thread.as_str())
                .bind(row.settings.to_string())
                .bind(row.status.as_str())
                .bind(row.head)
                .bind(row.woken)
                .bind(row.handled)
                .bind(stored(row.turn))
                .bind(stored(row.visible))
                .bind(stored(row.heard))
                .bind(i64::from(row.self_messages))
                .bind(stored(row.model_calls))
                .bind(stored(row.tokens))
                .bind(row.created.micros())
                .bind(row.updated.micros());
        }
        insert.execute(&mut *connection).await.map_err(sql::error)?;
    }
    Ok(())
}

pub(in crate::store) async fn put_rest(connection: &mut SqliteConnection, rows: &Rows) -> Result<(), Error> {
    for ((space, name), row) in &rows.submodules {
        sql::put_submodule!(connection, space, name, row);
    }
    for ((space, key), row) in &rows.entries {
        put_entry(connection, space, key, row.as_ref()).await?;
    }
    Ok(())
}

async fn put_entry(
    connection: &mut SqliteConnection,
    space: &Space,
    key: &str,
    entry: Option<&Entry>,
) -> Result<(), Error> {
    let number: Option<i64> = sqlx::query_scalar("delete from entries where space = $1 and key = $2 returning number")
        .bind(space.as_str())
        .bind(key)
        .fetch_optional(&mut *connection)
        .await
        .map_err(sql::error)?;
    if let Some(number) = number {
        let gone = sqlx::query("delete from entry_words where rowid = $1").bind(number);
        gone.execute(&mut *connection).await.map_err(sql::error)?;
    }
    let Some(entry) = entry else { return Ok(()) };
    let text = "insert into entries (space, key, content, related_keys, owner, updated) \
         values ($1, $2, $3, $4, $5, $6) returning number";
    let number: i64 = sqlx::query_scalar(text)
        .bind(space.as_str())
        .bind(key)
        .bind(&entry.content)
        .bind(json(&entry.related_keys)?)
        .bind(&entry.owner)
        .bind(entry.updated.micros())
        .fetch_one(&mut *connection)
        .await
        .map_err(sql::error)?;
    let words = joined(rank::entry_words(key, &entry.content, &entry.related_keys));
    let insert = sqlx::query("insert into entry_words (rowid, words) values ($1, $2)").bind(number).bind(words);
    insert.execute(connection).await.map(|_| ()).map_err(sql::error)
}
