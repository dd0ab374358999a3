//! Search for the ten best notes, beside the database's own full-text search for the same words with its own ranking.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use thinkd::event::draft::Draft;
use thinkd::log::appended::Append;
use thinkd::log::kernel::Store;
use thinkd::log::options::Options;
use thinkd::log::store;
use thinkd::words::id::{Space, ThreadId};

use crate::{median, project};

/// Questions of each kind.
const ASKED: usize = 40;
const BEST: u32 = 10;
/// The search words: in one note of all, in one of a hundred, in all; and two words, one of them in
/// all.
const WORDS: [(&str, &str); 4] = [
    ("a word of one note", "number77"),
    ("a word of one in a hundred", "seldom"),
    ("a common word", "notes"),
    ("a common and a rarer word", "notes seldom"),
];

fn text(number: u64) -> String {
    let seldom = if number.is_multiple_of(100) {
        " seldom"
    } else {
        ""
    };
    format!(
        "One of many notes{seldom}, as long as they are, about what somebody said of number{number}"
    )
}

fn note(number: u64) -> Draft {
    let note = json!({ "content": text(number), "related_keys": [], "owner": "bench" });
    Draft::changed(
        &ThreadId::default(),
        "entry",
        &format!("note-{number}"),
        note,
    )
}

async fn filled(url: &str, most: u64) -> Arc<dyn Store> {
    let store = store::open(url, Options::default(), project).await.unwrap();
    for from in (0..most).step_by(2000) {
        let notes = (from..most.min(from + 2000)).map(note).collect();
        store.append(Append::free(&space(), notes)).await.unwrap();
    }
    store
}

fn space() -> Space {
    Space::parse("notes").unwrap()
}

fn micros(times: &[Duration]) -> f64 {
    median(times.iter().map(|time| time.as_secs_f64() * 1e6).collect())
}

fn say(what: &str, ours: &[Duration], raw: &[Duration]) {
    let ours = micros(ours);
    let raw = micros(raw);
    println!(
        "  {what:<34} {ours:>8.0}   plain {raw:>8.0}   {:.2} of plain (goal 2)",
        ours / raw
    );
}

/// SQLite, beside FTS5 and its bm25.
pub async fn sqlite(folder: &Path, most: u64) {
    if most < 1000 {
        return;
    }
    let store = filled(&format!("sqlite://{}/notes.db", folder.display()), most).await;
    let file = SqliteConnectOptions::new()
        .filename(folder.join("raw-notes.db"))
        .create_if_missing(true);
    let mut raw = file.connect().await.unwrap();
    sqlx::query("create virtual table raw using fts5 (words)")
        .execute(&mut raw)
        .await
        .unwrap();
    sqlx::query("begin").execute(&mut raw).await.unwrap();
    for number in 0..most {
        sqlx::query("insert into raw (words) values ($1)")
            .bind(text(number))
            .execute(&mut raw)
            .await
            .unwrap();
    }
    sqlx::query("commit").execute(&mut raw).await.unwrap();
    println!("\nSQLite, the {BEST} best of {most} notes: median µs");
    for (what, words) in WORDS {
        let mut ours = Vec::new();
        let mut plain = Vec::new();
        for _ in 0..ASKED {
            let start = Instant::now();
            assert!(
                !store
                    .search_entries(&space(), words, BEST)
                    .await
                    .unwrap()
                    .is_empty()
            );
            ours.push(start.elapsed());
            let start = Instant::now();
            let text = "select rowid, words from raw where raw match $1 order by rank limit 10";
            let rows: Vec<(i64, String)> = sqlx::query_as(text)
                .bind(words)
                .fetch_all(&mut raw)
                .await
                .unwrap();
            assert!(!rows.is_empty());
            plain.push(start.elapsed());
        }
        say(what, &ours, &plain);
    }
    raw.close().await.unwrap();
    store.close().await;
}

/// Postgres, beside a tsvector and `ts_rank`.
pub async fn postgres(url: &str, most: u64) {
    if most < 1000 {
        return;
    }
    let store = filled(url, most).await;
    let raw = PgPoolOptions::new()
        .max_connections(1)
        .connect(url)
        .await
        .unwrap();
    for text in [
        "create table raw_notes (number bigint primary key, content text, words tsvector)",
        "create index on raw_notes using gin (words)",
    ] {
        sqlx::query(text).execute(&raw).await.unwrap();
    }
    for from in (0..most).step_by(2000) {
        let texts: Vec<String> = (from..most.min(from + 2000)).map(text).collect();
        let numbers: Vec<i64> = (from..most.min(from + 2000))
            .map(|number| i64::try_from(number).unwrap())
            .collect();
        let insert = "insert into raw_notes select n, t, to_tsvector('simple', t) from unnest($1::bigint[], $2::text[]) r (n, t)";
        sqlx::query(insert)
            .bind(numbers)
            .bind(texts)
            .execute(&raw)
            .await
            .unwrap();
    }
    sqlx::query("analyze").execute(&raw).await.unwrap();
    println!("\nPostgres, the {BEST} best of {most} notes: median µs");
    for (what, words) in WORDS {
        let mut ours = Vec::new();
        let mut plain = Vec::new();
        for _ in 0..ASKED {
            let start = Instant::now();
            assert!(
                !store
                    .search_entries(&space(), words, BEST)
                    .await
                    .unwrap()
                    .is_empty()
            );
            ours.push(start.elapsed());
            let start = Instant::now();
            let text = "select number, content from raw_notes, plainto_tsquery('simple', $1) q where words @@ q \
                 order by ts_rank(words, q) desc limit 10";
            let rows: Vec<(i64, String)> = sqlx::query_as(text)
                .bind(words)
                .fetch_all(&raw)
                .await
                .unwrap();
            assert!(!rows.is_empty());
            plain.push(start.elapsed());
        }
        say(what, &ours, &plain);
    }
    sqlx::query("drop table raw_notes")
        .execute(&raw)
        .await
        .unwrap();
    raw.close().await;
    store.close().await;
}
