//! Many rows in one statement: columns go as arrays, `unnest` makes them rows again.

use std::collections::BTreeMap;

use sqlx::postgres::PgConnection;

use super::{json, sql, stored, vector};
use crate::event::Event;
use crate::id::{Space, ThreadId};
use crate::store::append::Position;
use crate::store::rows::Rows;
use crate::store::sql::EventRow;
use crate::store::{Blob, Entry, Error, ThreadRow, marks, rank};

pub(in crate::store) async fn put_heads(
    connection: &mut PgConnection,
    heads: &BTreeMap<Space, Position>,
) -> Result<(), Error> {
    let text = "insert into spaces (space, head, ts) select * from unnest($1::text[], $2::bigint[], $3::bigint[]) \
         on conflict (space) do update set head = excluded.head, ts = excluded.ts";
    sqlx::query(text)
        .bind(heads.keys().map(Space::as_str).collect::<Vec<_>>())
        .bind(heads.values().map(|head| head.seq).collect::<Vec<_>>())
        .bind(heads.values().map(|head| head.ts.micros()).collect::<Vec<_>>())
        .execute(connection)
        .await
        .map(|_| ())
        .map_err(sql::error)
}

pub(in crate::store) async fn put_events(connection: &mut PgConnection, rows: &[EventRow<'_>]) -> Result<(), Error> {
    if rows.is_empty() {
        return Ok(());
    }
    let text = "insert into events (space, seq, event_id, ts, thread, source, modality, payload, tags, visibility) \
         select * from unnest($1::text[], $2::bigint[], $3::uuid[], $4::bigint[], $5::text[], $6::text[], $7::text[], \
         $8::text[], $9::text[], $10::smallint[])";
    sqlx::query(text)
        .bind(rows.iter().map(|row| row.space.as_str()).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.event.seq).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.event.event_id).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.event.ts.micros()).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.event.thread.as_str()).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.event.source.as_str()).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.event.modality.as_str()).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.payload).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.tags.as_str()).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.event.visibility() as i16).collect::<Vec<_>>())
        .execute(connection)
        .await
        .map(|_| ())
        .map_err(sql::error)
}

pub(in crate::store) async fn put_marks<'a>(
    connection: &mut PgConnection,
    events: impl Iterator<Item = (&'a Space, &'a Event)>,
) -> Result<(), Error> {
    let mut rows: Vec<(&str, String, i16, i64)> = Vec::new();
    for (space, event) in events {
        let level = event.visibility() as i16;
        rows.extend(marks::of(event).into_iter().map(|mark| (space.as_str(), mark, level, event.seq)));
    }
    // In the order of the key: neighbours share pages.
    rows.sort_unstable();
    let text = "insert into marks (space, mark, visibility, seq) \
         select * from unnest($1::text[], $2::text[], $3::smallint[], $4::bigint[])";
    sqlx::query(text)
        .bind(rows.iter().map(|row| row.0).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.1.as_str()).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.2).collect::<Vec<_>>())
        .bind(rows.iter().map(|row| row.3).collect::<Vec<_>>())
        .execute(connection)
        .await
        .map(|_| ())
        .map_err(sql::error)
}

pub(in crate::store) async fn put_threads(
    connection: &mut PgConnection,
    threads: &BTreeMap<(Space, ThreadId), ThreadRow>,
) -> Result<(), Error> {
    if threads.is_empty() {
        return Ok(());
    }
    let text = concat!(
        "insert into threads (space, ",
        sql::thread_columns!(),
        ") select * from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], ",
        "$8::bigint[], $9::bigint[], $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::bigint[], ",
        "$15::bigint[]) on conflict (space, thread) do update set settings = excluded.settings, status = excluded.status, ",
        "head = excluded.head, woken = excluded.woken, handled = excluded.handled, turn = excluded.turn, ",
        "visible = excluded.visible, heard = excluded.heard, self_messages = excluded.self_messages, ",
        "model_calls = excluded.model_calls, tokens = excluded.tokens, updated = excluded.updated"
    );
    let rows = || threads.values();
    sqlx::query(text)
        .bind(threads.keys().map(|(space, _)| space.as_str()).collect::<Vec<_>>())
        .bind(rows().map(|row| row.thread.as_str()).collect::<Vec<_>>())
        .bind(rows().map(|row| row.settings.to_string()).collect::<Vec<_>>())
        .bind(rows().map(|row| row.status.as_str()).collect::<Vec<_>>())
        .bind(rows().map(|row| row.head).collect::<Vec<_>>())
        .bind(rows().map(|row| row.woken).collect::<Vec<_>>())
        .bind(rows().map(|row| row.handled).collect::<Vec<_>>())
        .bind(rows().map(|row| stored(row.turn)).collect::<Vec<_>>())
        .bind(rows().map(|row| stored(row.visible)).collect::<Vec<_>>())
        .bind(rows().map(|row| stored(row.heard)).collect::<Vec<_>>())
        .bind(rows().map(|row| i64::from(row.self_messages)).collect::<Vec<_>>())
        .bind(rows().map(|row| stored(row.model_calls)).collect::<Vec<_>>())
        .bind(rows().map(|row| stored(row.tokens)).collect::<Vec<_>>())
        .bind(rows().map(|row| row.created.micros()).collect::<Vec<_>>())
        .bind(rows().map(|row| row.updated.micros()).collect::<Vec<_>>())
        .execute(connection)
        .await
        .map(|_| ())
        .map_err(sql::error)
}

pub(in crate::store) async fn put_rest(connection: &mut PgConnection, rows: &Rows) -> Result<(), Error> {
    for ((space, name), row) in &rows.submodules {
        sql::put_submodule!(connection, space, name, row);
    }
    for ((space, key), row) in &rows.entries {
        match row {
            Some(entry) => put_entry(connection, space, entry).await?,
            None => {
                let delete = sqlx::query("delete from entries where space = $1 and key = $2");
                delete.bind(space.as_str()).bind(key).execute(&mut *connection).await.map_err(sql::error)?;
            }
        }
    }
    Ok(())
}

async fn put_entry(connection: &mut PgConnection, space: &Space, entry: &Entry) -> Result<(), Error> {
    let text = "insert into entries (space, key, content, related_keys, owner, updated, words) \
         values ($1, $2, $3, $4, $5, $6, $7::tsvector) on conflict (space, key) do update set content = excluded.content, \
         related_keys = excluded.related_keys, owner = excluded.owner, updated = excluded.updated, words = excluded.words";
    sqlx::query(text)
        .bind(space.as_str())
        .bind(&entry.key)
        .bind(&entry.content)
        .bind(json(&entry.related_keys)?)
        .bind(&entry.owner)
        .bind(entry.updated.micros())
        .bind(vector(rank::entry_words(&entry.key, &entry.content, &entry.related_keys)))
        .execute(connection)
        .await
        .map(|_| ())
        .map_err(sql::error)
}

/// Removes everything that is derived from the log.
pub(in crate::store) async fn clear(connection: &mut PgConnection) -> Result<(), Error> {
    // `indexed` first, as whoever indexes takes them: both wait for each other otherwise.
    sqlx::query("truncate indexed, event_words, marks, threads, submodules, entries")
        .execute(connection)
        .await
        .map(|_| ())
        .map_err(sql::error)
}

pub(in crate::store) async fn put_blob(
    connection: &mut PgConnection,
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
