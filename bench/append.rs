//! Measures how fast the store appends and reads, beside plain SQL in the same run: only the ratios mean anything.
//!
//! `cargo bench --bench append` measures SQLite in a temporary folder; with `BENCH_POSTGRES_URL` (an empty database on a server
//! with `fsync` on) Postgres, too. `BENCH_EVENTS` (default 100000) is how long the longest log of the page queries is; 0 leaves
//! them out.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a program for people: it prints, and stops where something fails"
)]

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;
use sqlx::postgres::PgPoolOptions;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, SqliteConnection};
use thinkd::event::draft::Draft;
use thinkd::event::envelope::{Event, Modality, Payload, Source};
use thinkd::event::fact::Fact;
use thinkd::log::appended::Append;
use thinkd::log::change::Applied;
use thinkd::log::kernel::Store;
use thinkd::log::options::Options;
use thinkd::log::query::{Order, Query, Show};
use thinkd::log::store;
use thinkd::log::thread_row::ThreadRow;
use thinkd::words::id::{Space, ThreadId};

mod notes;

/// The server's allocator.
#[global_allocator]
static MEMORY: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Duration of one block of a measurement.
const BLOCK: Duration = Duration::from_millis(1000);
/// Blocks of each, interleaved; the median counts.
const BLOCKS: usize = 5;
const WRITERS: usize = 64;
/// As long as a short reply.
const TEXT: &str = "A reply of ordinary length, as a mind gives it: two sentences, some words each. This is the second one.";

fn project(row: &mut ThreadRow, event: &Event, _: &Fact<'_>) -> Applied {
    if event.wakes() {
        row.woken = event.seq;
    }
    row.visible += 1;
    row.heard += 1;
    Applied::default()
}

fn draft(thread: &str, tags: &[&str]) -> Draft {
    Draft {
        event_id: None,
        thread: ThreadId::parse(thread).unwrap(),
        source: Source::Internal,
        modality: Modality::Text,
        payload: Payload::from_iter([
            ("text".to_owned(), json!(TEXT)),
            ("turn".to_owned(), json!(1)),
        ]),
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        conditions: Vec::new(),
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::main]
async fn main() {
    let path = std::env::temp_dir().join(format!("thinkd-bench-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    let folder = Folder(path);
    let sqlite = format!("sqlite://{}/thinkd.db", folder.0.display());
    append_sqlite(&sqlite, &folder.0).await;
    pages(
        &format!("sqlite://{}/pages.db", folder.0.display()),
        "SQLite",
    )
    .await;
    notes::sqlite(&folder.0, longest()).await;
    match std::env::var("BENCH_POSTGRES_URL") {
        Ok(url) => {
            append_postgres(&url).await;
            pages(&url, "Postgres").await;
            notes::postgres(&url, longest()).await;
        }
        Err(_) => println!("\nPostgres: not measured (BENCH_POSTGRES_URL names no database)"),
    }
}

/// Appends of one event each from so many writers for a block: events a second.
async fn grouped(store: &Arc<dyn Store>, writers: usize) -> f64 {
    let count = Arc::new(AtomicU64::new(0));
    let stop = Arc::new(AtomicBool::new(false));
    let start = Instant::now();
    let tasks: Vec<_> = (0..writers)
        .map(|writer| {
            let store = store.clone();
            let count = count.clone();
            let stop = stop.clone();
            let thread = format!("t{writer}");
            tokio::spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let draft = draft(&thread, &["submodule:critic", "turn:1"]);
                    store
                        .append(Append::free(&Space::default(), vec![draft]))
                        .await
                        .unwrap();
                    count.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    tokio::time::sleep(BLOCK).await;
    stop.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.unwrap();
    }
    count.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64()
}

const ROW: &str = "insert into raw (event_id, ts, thread, source, modality, payload, tags) values ($1, $2, $3, $4, $5, $6, $7)";

macro_rules! raw_row {
    ($connection:expr) => {
        sqlx::query(ROW)
            .bind(thinkd::words::id::fresh())
            .bind(thinkd::words::time::now().micros())
            .bind("main")
            .bind("internal")
            .bind("text")
            .bind(serde_json::to_string(&json!({ "text": TEXT, "turn": 1 })).unwrap())
            .bind(r#"["submodule:critic","turn:1"]"#)
            .execute($connection)
            .await
            .unwrap()
    };
}

async fn raw_sqlite(connection: &mut SqliteConnection, rows_a_commit: u64) -> f64 {
    let start = Instant::now();
    let mut rows = 0;
    while start.elapsed() < BLOCK {
        sqlx::query("begin immediate")
            .execute(&mut *connection)
            .await
            .unwrap();
        for _ in 0..rows_a_commit {
            raw_row!(&mut *connection);
        }
        sqlx::query("commit")
            .execute(&mut *connection)
            .await
            .unwrap();
        rows += rows_a_commit;
    }
    rows as f64 / start.elapsed().as_secs_f64()
}

async fn append_sqlite(url: &str, folder: &Path) {
    let store = store::open(url, Options::default(), project).await.unwrap();
    let mut raw = SqliteConnectOptions::new()
        .filename(folder.join("raw.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .connect()
        .await
        .unwrap();
    let table = "create table raw (seq integer primary key, event_id blob, ts integer, thread text, source text, \
         modality text, payload text, tags text)";
    sqlx::query(table).execute(&mut raw).await.unwrap();
    let mut one = vec![];
    let mut hundred = vec![];
    let mut many = vec![];
    let mut single = vec![];
    for _ in 0..BLOCKS {
        one.push(raw_sqlite(&mut raw, 1).await);
        hundred.push(raw_sqlite(&mut raw, 100).await);
        many.push(grouped(&store, WRITERS).await);
        single.push(grouped(&store, 1).await);
    }
    let one = median(one);
    let hundred = median(hundred);
    let many = median(many);
    let single = median(single);
    println!("SQLite, synchronous=FULL, events/s (median of {BLOCKS} blocks)");
    println!("  plain loop, one row a commit   {one:>9.0}");
    println!("  plain loop, 100 rows a commit  {hundred:>9.0}");
    println!(
        "  store, 1 writer                {single:>9.0}   {:.2} of one row a commit",
        single / one
    );
    println!(
        "  store, {WRITERS} writers              {many:>9.0}   {:.2} of 100 rows a commit (goal 0.6), {:.1} of one (goal 20)",
        many / hundred,
        many / one
    );
    store.close().await;
}

async fn append_postgres(url: &str) {
    let store = store::open(url, Options::default(), project).await.unwrap();
    let raw = PgPoolOptions::new()
        .max_connections(WRITERS as u32)
        .connect(url)
        .await
        .unwrap();
    let table = "create table raw (seq bigserial primary key, event_id uuid, ts bigint, thread text, source text, \
         modality text, payload text, tags text)";
    sqlx::query(table).execute(&raw).await.unwrap();
    let mut clients = vec![];
    let mut many = vec![];
    let mut single = vec![];
    for _ in 0..BLOCKS {
        clients.push(raw_postgres(&raw).await);
        many.push(grouped(&store, WRITERS).await);
        single.push(grouped(&store, 1).await);
    }
    sqlx::query("drop table raw").execute(&raw).await.unwrap();
    raw.close().await;
    let clients = median(clients);
    let many = median(many);
    let single = median(single);
    println!("\nPostgres, events/s (median of {BLOCKS} blocks)");
    println!("  {WRITERS} plain clients, one row each  {clients:>9.0}");
    println!("  store, 1 writer                {single:>9.0}");
    println!(
        "  store, {WRITERS} writers              {many:>9.0}   {:.2} of {WRITERS} plain clients (goal 0.7)",
        many / clients
    );
    store.close().await;
}

async fn raw_postgres(pool: &sqlx::PgPool) -> f64 {
    let count = Arc::new(AtomicU64::new(0));
    let stop = Arc::new(AtomicBool::new(false));
    let start = Instant::now();
    let tasks: Vec<_> = (0..WRITERS)
        .map(|_| {
            let pool = pool.clone();
            let count = count.clone();
            let stop = stop.clone();
            tokio::spawn(async move {
                let mut connection = pool.acquire().await.unwrap();
                while !stop.load(Ordering::Relaxed) {
                    raw_row!(&mut *connection);
                    count.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    tokio::time::sleep(BLOCK).await;
    stop.store(true, Ordering::Relaxed);
    for task in tasks {
        task.await.unwrap();
    }
    count.load(Ordering::Relaxed) as f64 / start.elapsed().as_secs_f64()
}

/// Returns a draft of a busy log: many threads, one of them half of it; a rare thread and a rare
/// tag at its very beginning.
fn filler(number: u64) -> Draft {
    let mut draft = match number % 8 {
        0 => Draft {
            source: Source::User,
            ..draft("main", &["input", "type:message"])
        },
        1..=2 => draft("main", &["submodule:critic"]),
        3 => draft("main", &["debug", "call:decision"]),
        4 => Draft {
            source: Source::Tool,
            ..draft(
                &format!("t{}", number % 1000),
                &["response", "result", "tool:reply"],
            )
        },
        _ => draft(&format!("t{}", number % 1000), &["decision"]),
    };
    if number < 100 {
        draft = super_rare(number);
    }
    draft
        .payload
        .insert("text".into(), json!(format!("{TEXT} number{number}")));
    draft
}

fn super_rare(number: u64) -> Draft {
    if number.is_multiple_of(2) {
        draft("rare.thread", &["input"])
    } else {
        draft("main", &["rare"])
    }
}

/// Events of the longest log, and notes.
fn longest() -> u64 {
    std::env::var("BENCH_EVENTS")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(100_000)
}

async fn pages(url: &str, name: &str) {
    let store = store::open(url, Options::default(), project).await.unwrap();
    let most = longest();
    let space = Space::parse("pages").unwrap();
    if most < 1000 {
        return store.close().await;
    }
    println!("\n{name}, pages of 50: median µs (95th percentile)");
    let mut length = 0;
    for size in [1_000, 10_000, 100_000, 1_000_000]
        .into_iter()
        .filter(|size| *size <= most)
    {
        let start = Instant::now();
        while length < size {
            let drafts = (length..size.min(length + 2000))
                .map(filler)
                .collect::<Vec<_>>();
            length += drafts.len() as u64;
            store.append(Append::free(&space, drafts)).await.unwrap();
        }
        println!(
            " {size} events (filled in {:.1} s)",
            start.elapsed().as_secs_f64()
        );
        for (what, query) in questions(size as i64) {
            let (median, late) = ask(&store, &space, &query).await;
            println!("  {what:<34} {median:>8.0} ({late:.0})");
        }
    }
    store.close().await;
}

fn questions(size: i64) -> Vec<(&'static str, Query)> {
    let thread = |id: &str| Some(ThreadId::parse(id).unwrap());
    let tags = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
    let base = Query {
        limit: 50,
        ..Query::default()
    };
    vec![
        ("latest", base.clone()),
        (
            "latest of a busy thread",
            Query {
                thread: thread("main"),
                ..base.clone()
            },
        ),
        (
            "latest of a rare thread",
            Query {
                thread: thread("rare.thread"),
                ..base.clone()
            },
        ),
        (
            "visible of a busy thread",
            Query {
                thread: thread("main"),
                show: Show::Visible,
                ..base.clone()
            },
        ),
        (
            "heard of a busy thread",
            Query {
                thread: thread("main"),
                show: Show::Heard,
                ..base.clone()
            },
        ),
        (
            "tags input, response",
            Query {
                tags: tags(&["input", "response"]),
                ..base.clone()
            },
        ),
        (
            "a rare tag",
            Query {
                tags: tags(&["rare"]),
                ..base.clone()
            },
        ),
        (
            "busy thread, rare tag",
            Query {
                thread: thread("main"),
                tags: tags(&["rare"]),
                ..base.clone()
            },
        ),
        (
            "below a rare thread",
            Query {
                thread: thread("rare"),
                subtree: true,
                ..base.clone()
            },
        ),
        (
            "source tool",
            Query {
                source: Some(Source::Tool),
                ..base.clone()
            },
        ),
        (
            "modality audio (none)",
            Query {
                modality: Some(Modality::Audio),
                ..base.clone()
            },
        ),
        (
            "from the middle on",
            Query {
                after: Some(size / 2),
                order: Order::Ascending,
                ..base.clone()
            },
        ),
        (
            "a rare word",
            Query {
                text: Some("number77".into()),
                ..base.clone()
            },
        ),
        (
            "a common word",
            Query {
                text: Some("reply".into()),
                ..base
            },
        ),
    ]
}

async fn ask(store: &Arc<dyn Store>, space: &Space, query: &Query) -> (f64, f64) {
    // The first of a kind prepares its statement, and a text waits for its index.
    loop {
        let start = Instant::now();
        store.events(space, query).await.unwrap();
        if query.text.is_none() || start.elapsed() < Duration::from_millis(1500) {
            break;
        }
    }
    let mut times = Vec::new();
    for _ in 0..60 {
        let start = Instant::now();
        store.events(space, query).await.unwrap();
        times.push(start.elapsed().as_secs_f64() * 1e6);
    }
    times.sort_by(f64::total_cmp);
    (times[times.len() / 2], times[times.len() * 95 / 100])
}
