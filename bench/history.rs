//! History: pages of a log over HTTP, turns in a long thread, and starts, at growing sizes of the log.

use std::path::{Path, PathBuf};
use std::time::Instant;

use sqlx::Connection as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use thinkd::event::draft::{Draft, When};
use thinkd::event::envelope::TurnOutcome;
use thinkd::log::appended::Append;
use thinkd::log::kernel::Store;
use thinkd::words::failure::Who;
use thinkd::words::id::{Name, Space, ThreadId};

use crate::figures::{Arguments, client, median, since};
use crate::process::{self, Folder, Server, Shape, http};
use crate::stub::Stub;

/// Requests of one block.
const TIMES: usize = 40;
/// Events of one append while a log is filled.
const FILL: usize = 2000;
/// Every so many-th event is in `main`, the rest in as many threads.
const THREADS: usize = 10;
/// Events of the thread that is called long, at most, and of the one that is called short.
const LONG: usize = 100_000;
const SHORT: usize = 100;

pub fn run(arguments: &Arguments) {
    let stub = Stub::start();
    let folder = Folder::new();
    let file = folder.file("thinkd.db");
    let floor_file = folder.file("floor.db");
    let client = client();
    starts(arguments, &stub, "an empty log", &folder, None);
    let mut first = f64::NAN;
    let mut filled = 0;
    for events in [1000, 100_000, arguments.events] {
        let begin = Instant::now();
        client.block_on(fill(&file, filled..events));
        let rate = (events - filled) as f64 / begin.elapsed().as_secs_f64();
        filled = events;
        if process::floor().is_some() {
            client.block_on(fill_floor(&floor_file, events));
        }
        println!("log of {events:>7} events, filled and indexed at {rate:.0}/s");
        let page = client.block_on(pages(arguments, &stub, &file, &floor_file));
        if first.is_nan() {
            first = page;
        } else {
            println!(
                "  to its own figure at 1000 events: ratio {:.2}",
                page / first
            );
        }
    }
    client.block_on(long_thread(arguments, &stub, &file));
    starts(
        arguments,
        &stub,
        &format!("{filled} events"),
        &folder,
        Some((&file, &floor_file)),
    );
    let program = std::fs::metadata(process::program()).unwrap().len();
    println!("the program is {:.1} MB", program as f64 / 1e6);
}

/// Returns the events of a turn, but for its input, which would begin one.
pub fn drafts(number: usize) -> Vec<Draft> {
    let thread = match number % THREADS {
        0 => ThreadId::default(),
        at => ThreadId::parse(&format!("thread-{at}")).unwrap(),
    };
    let turn = (number / THREADS) as u64;
    let voice = |name: &str| {
        let text = format!(
            "turn {turn}: {name} thinks that the plan number {number} should be looked at once more"
        );
        Draft::submodule_said(
            &thread,
            turn,
            &Name::parse(name).unwrap(),
            When::InTime,
            &text,
        )
    };
    let record = Draft::call_record(
        &thread,
        turn,
        &Who::Decision,
        serde_json::json!({ "purpose": "decide", "round": 0 }),
    );
    vec![
        voice("one"),
        voice("two"),
        voice("three"),
        record,
        Draft::reply(
            &thread,
            turn,
            "c0.0",
            &format!("here is what I think of plan number {number}"),
            false,
        ),
        Draft::turn_ended(&thread, turn, TurnOutcome::Done, 0),
    ]
}

/// Fills a log up to so many events and waits for its search index.
async fn fill(file: &Path, range: std::ops::Range<usize>) {
    let log = process::log(file).await;
    let all: Vec<usize> = (range.start / 6..range.end / 6).collect();
    for turns in all.chunks(FILL / 6) {
        let drafts = turns.iter().flat_map(|turn| drafts(*turn)).collect();
        log.append(Append::free(&Space::default(), drafts))
            .await
            .unwrap();
    }
    if range.start == 0 {
        one_thread(&log, "short", SHORT).await;
    } else if range.start <= 1000 {
        one_thread(&log, "long", LONG.min(range.end)).await;
    }
    process::indexed(&log, &format!("filled{}", range.end)).await;
    log.close().await;
}

async fn one_thread(log: &std::sync::Arc<dyn Store>, thread: &str, events: usize) {
    let thread = ThreadId::parse(thread).unwrap();
    let moved = |mut draft: Draft| {
        draft.thread = thread.clone();
        draft
    };
    for turns in Vec::from_iter(0..events / 6).chunks(FILL / 6) {
        let drafts = turns
            .iter()
            .flat_map(|turn| drafts(*turn))
            .map(moved)
            .collect();
        log.append(Append::free(&Space::default(), drafts))
            .await
            .unwrap();
    }
}

/// The floor's table, as the floor makes it.
async fn fill_floor(file: &Path, events: usize) {
    let options = SqliteConnectOptions::new()
        .filename(file)
        .create_if_missing(true);
    let mut log = SqliteConnection::connect_with(&options).await.unwrap();
    let text = "pragma journal_mode = wal; pragma synchronous = off;
        create table if not exists events(seq integer primary key, event_id text not null, ts integer not null, thread text not null,
          source text not null, modality text not null, payload text not null, meta text not null);
        create unique index if not exists e_id on events(event_id);
        create index if not exists e_thread on events(thread, seq);
        with recursive n(i) as (select coalesce(max(seq), 0) + 1 from events union all select i + 1 from n where i < ";
    let text = format!(
        "{text} {events}) insert into events select i, 'id-' || i, i, iif(i % {THREADS} = 0, 'main', 'thread-' || i % {THREADS}),
          'internal', 'text', 'turn ' || i || ': one thinks that the plan number should be looked at once more', '{{}}' from n"
    );
    sqlx::raw_sql(sqlx::AssertSqlSafe(text))
        .execute(&mut log)
        .await
        .unwrap();
    log.close().await.unwrap();
}

/// The latest 50 of a thread; the p50 of thinkd in ms.
async fn pages(arguments: &Arguments, stub: &Stub, file: &Path, floor_file: &Path) -> f64 {
    let thinkd = Server::thinkd(file, stub, Shape::A).await;
    let floor = match process::floor() {
        Some(program) => Some(Server::floor(&program, floor_file, stub, Shape::A).await),
        None => None,
    };
    let paths = [
        "/events?thread=main&limit=50",
        "/events?limit=50",
        "/events?tags=response&thread=main&limit=50",
    ];
    let mut main = f64::NAN;
    for path in paths {
        let mut ours = Vec::new();
        let mut theirs = Vec::new();
        for _ in 0..arguments.rounds {
            ours.push(get(&thinkd.url(path)).await);
            if let Some(floor) = &floor {
                theirs.push(get(&floor.url("/history?thread=main&limit=50")).await);
            }
        }
        let p50 = median(ours.iter().copied());
        print!("  {path}  p50 {p50:.3} ms");
        if theirs.is_empty() {
            println!();
        } else {
            let ratio = median(ours.iter().zip(&theirs).map(|(a, b)| a / b));
            println!(
                "  (floor's latest 50 {:.3} ms; ratio {ratio:.2})",
                median(theirs)
            );
        }
        if main.is_nan() {
            main = p50;
        }
    }
    main
}

async fn get(url: &str) -> f64 {
    let client = http();
    let mut took = Vec::new();
    for time in 0..TIMES + 5 {
        let begin = Instant::now();
        let answer = client.get(url).send().await.unwrap();
        assert!(answer.status().is_success(), "{url}: {}", answer.status());
        assert!(answer.bytes().await.unwrap().len() > 100);
        if time >= 5 {
            took.push(since(begin));
        }
    }
    median(took)
}

async fn long_thread(arguments: &Arguments, stub: &Stub, file: &Path) {
    let server = Server::thinkd(file, stub, Shape::B).await;
    let mut long = server.talk("long").await;
    let mut short = server.talk("short").await;
    let mut ratios = Vec::new();
    for round in 0..=arguments.rounds {
        let mut of_long = Vec::new();
        let mut of_short = Vec::new();
        for time in 0..TIMES {
            for (thread, socket, took) in [
                ("long", &mut long, &mut of_long),
                ("short", &mut short, &mut of_short),
            ] {
                let begin = Instant::now();
                server
                    .turn(
                        socket,
                        thread,
                        &format!("message {round} {time}: what next?"),
                    )
                    .await;
                took.push(since(begin));
            }
        }
        // In the first round the short thread has less to show.
        if round > 0 {
            ratios.push(median(of_long) / median(of_short));
        }
    }
    println!(
        "a turn (b) in a thread of {LONG} events to one of {SHORT}: ratio {:.2}",
        median(ratios)
    );
}

/// From the start of the process to ready, and to the first reply.
fn starts(
    arguments: &Arguments,
    stub: &Stub,
    about: &str,
    folder: &Folder,
    files: Option<(&Path, &Path)>,
) {
    let client = client();
    let fresh = |name: &str, round: usize| folder.file(&format!("{name}-{round}.db"));
    let mut ready = Vec::new();
    let mut ours = Vec::new();
    let mut theirs = Vec::new();
    for round in 0..arguments.rounds.max(5) {
        let file: PathBuf =
            files.map_or_else(|| fresh("start", round), |(file, _)| file.to_owned());
        let (r, t) = client.block_on(start(|| Server::spawn_thinkd(&file, stub, Shape::A)));
        ready.push(r);
        ours.push(t);
        if let Some(program) = process::floor() {
            let file =
                files.map_or_else(|| fresh("start-floor", round), |(_, file)| file.to_owned());
            theirs.push(
                client
                    .block_on(start(|| {
                        Server::spawn_floor(&program, &file, stub, Shape::A)
                    }))
                    .1,
            );
        }
    }
    print!(
        "start with {about}: ready after {:.0} ms, first reply after {:.0} ms",
        median(ready),
        median(ours.clone())
    );
    if theirs.is_empty() {
        println!();
    } else {
        let ratio = median(ours.iter().zip(&theirs).map(|(a, b)| a / b));
        println!(
            "  (floor's first reply {:.0} ms; ratio {ratio:.2})",
            median(theirs)
        );
    }
}

async fn start(spawn: impl FnOnce() -> Server) -> (f64, f64) {
    let begin = Instant::now();
    let server = spawn();
    server.ready().await;
    let ready = since(begin);
    let mut socket = server.talk("start").await;
    server.turn(&mut socket, "start", "are you there?").await;
    let first = since(begin);
    drop(socket);
    server.stop();
    (ready, first)
}
