//! Threads that work as processes, with a model that answers at once: messages between two, subthreads, timers, schedules.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use thinkd::event::draft::Draft;
use thinkd::log::appended::Append;
use thinkd::words::id::{Space, ThreadId};
use thinkd::words::time::{self, Timestamp};

use crate::figures::{Arguments, Usage, at, client, median, since};
use crate::postgres::Database;
use crate::process::{self, Folder, Server, Shape, http};
use crate::stub::Stub;

/// Events of a process that has lived long, and of one that has not.
const LONG: usize = 10_000;
const SHORT: usize = 100;
/// Timers that are due each second, and for so many seconds.
const DUE: usize = 1000;
const SECONDS: usize = 5;

pub fn run(arguments: &Arguments) {
    let stub = Stub::start();
    let folder = Folder::new();
    client().block_on(async {
        if arguments.case.as_deref() == Some("schedules") {
            return schedules(&stub, &folder).await;
        }
        for pairs in [1, 16] {
            messages(arguments, &stub, &folder, pairs).await;
        }
        for nests in [1, 16] {
            subthreads(arguments, &stub, &folder, nests).await;
        }
        long_thread(arguments, &stub, &folder).await;
        timers(arguments, &stub, &folder).await;
        schedules(&stub, &folder).await;
    });
}

/// A turn of a process with a long log and of one with a short log, both shown their newest 60
/// events: the cost of the length itself.
async fn long_thread(arguments: &Arguments, stub: &Stub, folder: &Folder) {
    let file = folder.file("long.db");
    let log = process::log(&file).await;
    for (thread, events) in [("talks-long", LONG), ("talks-short", SHORT)] {
        let thread = ThreadId::parse(thread).unwrap();
        let said = |number: usize| {
            Draft::decision_said(&thread, 1, &format!("thought {number} of a long life"))
        };
        let mut drafts = vec![Draft::created(&thread, &json!({ "kind": "process" }))];
        drafts.extend((0..events).map(said));
        let keep = [("kept_messages", json!(60))];
        drafts.push(Draft::feedback(
            &thread,
            Some(1),
            "context-cleared",
            &keep,
            "",
        ));
        for drafts in drafts.chunks(2000) {
            log.append(Append::free(&Space::default(), drafts.to_vec()))
                .await
                .unwrap();
        }
    }
    process::indexed(&log, "lives").await;
    log.close().await;
    drop(log);
    let server = Server::thinkd(&file, stub, Shape::A).await;
    let mut long = server.talk("talks-long").await;
    let mut short = server.talk("talks-short").await;
    let mut of_long = Vec::new();
    let mut of_short = Vec::new();
    for time in 0..arguments.rounds * 40 {
        for (thread, socket, took) in [
            ("talks-long", &mut long, &mut of_long),
            ("talks-short", &mut short, &mut of_short),
        ] {
            let begin = Instant::now();
            server
                .turn(socket, thread, &format!("message {time}: what next?"))
                .await;
            took.push(since(begin));
        }
    }
    println!(
        "a turn of a process of {LONG} events to one of {SHORT}, each shown as much: ratio {:.2}",
        median(of_long) / median(of_short)
    );
}

/// Pairs of threads that write to each other, each message a turn.
async fn messages(arguments: &Arguments, stub: &Stub, folder: &Folder, pairs: usize) {
    let file = folder.file(&format!("messages-{pairs}.db"));
    let log = process::log(&file).await;
    let thread = |pair: usize, side: &str| ThreadId::parse(&format!("ping-{pair}-{side}")).unwrap();
    for pair in 0..pairs {
        let drafts = [("a", "b"), ("b", "a")]
            .into_iter()
            .flat_map(|(side, peer)| {
                let side = thread(pair, side);
                let contact = json!({ "thread": thread(pair, peer), "description": "the other" });
                let created = Draft::created(&side, &json!({ "kind": "process" }));
                [created, Draft::changed(&side, "contact", "peer", contact)]
            });
        log.append(Append::free(&Space::default(), drafts.collect()))
            .await
            .unwrap();
    }
    log.close().await;
    drop(log);
    let server = Server::thinkd(&file, stub, Shape::A).await;
    for pair in 0..pairs {
        say(&server, thread(pair, "a").as_str()).await;
    }
    let taken = async || {
        let mut taken = 0;
        for pair in 0..pairs {
            for side in ["a", "b"] {
                taken += server.get(&format!("/threads/ping-{pair}-{side}")).await["turn"]
                    .as_u64()
                    .unwrap();
            }
        }
        taken
    };
    tokio::time::sleep(Duration::from_millis(300)).await;
    let before = taken().await;
    let begin = Instant::now();
    let used = Usage::of(server.pid());
    tokio::time::sleep(Duration::from_secs_f64(arguments.secs)).await;
    let after = taken().await;
    let cpu = Usage::of(server.pid()).cpu_ms - used.cpu_ms;
    let messages = (after - before) as f64;
    println!(
        "{pairs} pairs of threads that write to each other: {:.0} messages/s, {:.2} ms of CPU each",
        messages / begin.elapsed().as_secs_f64(),
        cpu / messages
    );
}

/// Threads that make a subthread, wait for its end, and make the next.
async fn subthreads(arguments: &Arguments, stub: &Stub, folder: &Folder, nests: usize) {
    let server = Server::thinkd(&folder.file(&format!("nests-{nests}.db")), stub, Shape::A).await;
    for nest in 0..nests {
        create(&server, &format!("nest-{nest}"), json!([])).await;
        say(&server, &format!("nest-{nest}")).await;
    }
    let count = async || {
        let mut turns = 0;
        for nest in 0..nests {
            // A turn hears of one's end and makes the next.
            turns += server.get(&format!("/threads/nest-{nest}")).await["turn"]
                .as_u64()
                .unwrap();
        }
        turns
    };
    tokio::time::sleep(Duration::from_millis(300)).await;
    let before = count().await;
    let begin = Instant::now();
    tokio::time::sleep(Duration::from_secs_f64(arguments.secs)).await;
    let cycles = (count().await - before) as f64;
    println!(
        "{nests} threads that make and end subthreads: {:.0} subthreads/s",
        cycles / begin.elapsed().as_secs_f64()
    );
}

/// Threads that sleep with a timer each, of which a thousand a second become due.
async fn timers(arguments: &Arguments, stub: &Stub, folder: &Folder) {
    let file = folder.file("timers.db");
    let empty = Server::thinkd(&folder.file("empty.db"), stub, Shape::A).await;
    let idle = Usage::quiet(empty.pid()).await;
    drop(empty);
    let first = time::now().micros() + 20_000_000 + arguments.threads as i64 * 100;
    set_timers(&file, arguments.threads, first).await;
    let server = Server::thinkd(&file, stub, Shape::A).await;
    let asleep = Usage::quiet(server.pid()).await;
    println!(
        "{} sleeping threads with a timer each: {:.1} MiB, {} descriptors; {:.0} bytes a thread more than an empty log",
        arguments.threads,
        asleep.kib / 1024.0,
        asleep.descriptors,
        (asleep.kib - idle.kib) * 1024.0 / arguments.threads as f64
    );
    let last = first + SECONDS as i64 * 1_000_000;
    while time::now().micros() < last + 1_000_000 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let fired = all(&server, "timer", DUE * SECONDS).await;
    let mut late: Vec<f64> = fired.iter().map(lateness).collect();
    println!(
        "{} of {} timers fired, {DUE} due each second: late by {:.1} ms (p50), {:.1} ms (p99)",
        late.len(),
        DUE * SECONDS,
        at(&mut late, 0.5),
        at(&mut late, 0.99)
    );
}

/// Ten thousand schedules of which none is due, beside as many that are paused, which are never
/// looked at. Then a thousand that fire once a second each, into a thread each: with as many places
/// for turns as there are by default, and with so few that turns leave the machine to the firing.
async fn schedules(stub: &Stub, folder: &Folder) {
    let mut cpu = [0.0; 2];
    for (cpu, paused) in cpu.iter_mut().zip([false, true]) {
        let file = folder.file(&format!("idle-{paused}.db"));
        set_schedules(
            &process::on(&file),
            10 * DUE,
            time::now().micros() + 86_400_000_000,
            paused,
        )
        .await;
        let server = Server::thinkd(&file, stub, Shape::A).await;
        server.ready().await;
        // What a start does, such as reading all of the log, is over.
        tokio::time::sleep(Duration::from_secs(10)).await;
        let before = Usage::computed_us(server.pid());
        tokio::time::sleep(Duration::from_secs(30)).await;
        *cpu = (Usage::computed_us(server.pid()) - before) / 1000.0 / 30.0;
    }
    println!(
        "{} schedules of which none is due: {:.2} ms of CPU a second; as many that are paused: {:.2}",
        10 * DUE,
        cpu[0],
        cpu[1]
    );
    for places in [1024, 4] {
        let url = process::on(&folder.file(&format!("schedules-{places}.db")));
        fire(stub, folder, "SQLite", &url, places).await;
    }
    let Ok(server) = std::env::var("BENCH_POSTGRES_URL") else {
        return;
    };
    let database = Database::new(&server, true).await;
    fire(stub, folder, "Postgres", &database.url, 4).await;
    database.drop().await;
}

async fn fire(stub: &Stub, folder: &Folder, kind: &str, url: &str, places: usize) {
    let first = time::now().micros() + 10_000_000;
    set_schedules(url, DUE, first, false).await;
    let server = Server::thinkd_with(
        url,
        &folder.0,
        stub,
        &[&format!("THINKD_TEST_RUNTIME__WORKERS={places}")],
    );
    server.ready().await;
    let last = first + SECONDS as i64 * 1_000_000;
    while time::now().micros() < last + 1_000_000 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let fired = all(&server, "type:trigger", DUE * (SECONDS + 2)).await;
    let mut late: Vec<f64> = fired.iter().flat_map(late_by).collect();
    let skipped = all(&server, "skipped", DUE * (SECONDS + 2)).await.len();
    println!(
        "{kind}, {places} places for turns: {} due times fired, {skipped} skipped, for their thread was busy; {DUE} due each second into {DUE} threads: \
         late by {:.1} ms (p50), {:.1} ms (p99)",
        late.len(),
        at(&mut late, 0.5),
        at(&mut late, 0.99)
    );
}

/// Milliseconds from each due time of a run to when its event was stored.
fn late_by(event: &Value) -> Vec<f64> {
    let stored = moment(event, &event["ts"]);
    let due = event["payload"]["schedule"]["due"]
        .as_array()
        .into_iter()
        .flatten();
    due.map(|due| (stored - moment(event, due)) as f64 / 1000.0)
        .collect()
}

/// A log of schedules with a thread each, every second from `first` on, a thousand a second.
async fn set_schedules(url: &str, schedules: usize, first: i64, paused: bool) {
    let log = process::log_at(url).await;
    let set = |number: &usize| {
        let due = Timestamp::from_micros(first + (*number as i64) * 1_000_000 / DUE as i64);
        let change = json!({
            "thread": format!("belled-{number}"), "event": "bell", "payload": { "text": "What now?" },
            "when": { "kind": "every", "seconds": 1.0, "start": due }, "overlap": "skip", "catch_up_s": 86_400.0,
            "note": "", "paused": paused, "due": if paused { None } else { Some(due) },
        });
        Draft::changed(
            &ThreadId::default(),
            "schedule",
            &format!("s{number}"),
            change,
        )
    };
    for numbers in Vec::from_iter(0..schedules).chunks(2000) {
        log.append(Append::free(
            &Space::default(),
            numbers.iter().map(set).collect(),
        ))
        .await
        .unwrap();
    }
    process::indexed(&log, "schedules").await;
    log.close().await;
}

fn moment(event: &Value, at: &Value) -> i64 {
    Timestamp::parse(at.as_str().unwrap_or_default())
        .unwrap_or_else(|| panic!("no time in {event}"))
        .micros()
}

/// Milliseconds from when a timer was due to when its event was stored.
fn lateness(event: &Value) -> f64 {
    (moment(event, &event["ts"]) - moment(event, &event["payload"]["due"])) as f64 / 1000.0
}

/// Events with a tag, the newest.
async fn all(server: &Server, tag: &str, most: usize) -> Vec<Value> {
    let mut items = Vec::new();
    let mut cursor = String::new();
    while items.len() < most {
        let page = server
            .get(&format!("/events?tags={tag}&limit=500{cursor}"))
            .await;
        items.extend(page["items"].as_array().unwrap().iter().cloned());
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    items
}

/// A log of threads that have a timer each: the first ones due from `first` on, a thousand a second, the others tomorrow.
async fn set_timers(file: &Path, threads: usize, first: i64) {
    let log = process::log(file).await;
    let set = |number: &usize| {
        let thread = ThreadId::parse(&format!("timed-{number}")).unwrap();
        let soon = first + (*number as i64) * 1_000_000 / DUE as i64;
        let due = if *number < DUE * SECONDS {
            soon
        } else {
            first + 86_400_000_000
        };
        let change = json!({ "due": Timestamp::from_micros(due), "note": "wake up" });
        Draft::changed(&thread, "timer", "t1", change)
    };
    for numbers in Vec::from_iter(0..threads).chunks(2000) {
        log.append(Append::free(
            &Space::default(),
            numbers.iter().map(set).collect(),
        ))
        .await
        .unwrap();
    }
    process::indexed(&log, "timers").await;
    log.close().await;
}

async fn create(server: &Server, label: &str, contacts: Value) {
    let thread = json!({ "label": label, "kind": "process", "contacts": contacts });
    let answer = http()
        .post(server.url("/threads"))
        .json(&thread)
        .send()
        .await
        .unwrap();
    assert!(
        answer.status().is_success(),
        "a thread was refused: {}",
        answer.text().await.unwrap()
    );
}

async fn say(server: &Server, thread: &str) {
    let path = format!("/threads/{thread}/messages");
    let answer = http()
        .post(server.url(&path))
        .json(&json!({ "text": "begin" }))
        .send()
        .await
        .unwrap();
    assert!(
        answer.status().is_success(),
        "a message was refused: {}",
        answer.text().await.unwrap()
    );
}
