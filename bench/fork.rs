//! Forks: the time of one at the end, in the middle and near the beginning of a long thread; turns
//! in forks of forks; and the share of a regenerated turn's prompt that a provider's cache has.

use std::path::Path;
use std::sync::LazyLock;
use std::time::Instant;

use serde_json::{Value, json};
use thinkd::log::appended::Append;
use thinkd::words::id::{Space, ThreadId};

use crate::figures::{Arguments, client, median, since};
use crate::history::drafts;
use crate::postgres::Database;
use crate::prefix::repeated;
use crate::process::{self, Folder, Server, Shape, http};
use crate::stub::Stub;

/// Forks at one place.
const TIMES: usize = 20;
/// Events of one append while the log is filled.
const FILL: usize = 2000;
/// Depths at which turns are compared with those of the first thread.
const DEPTHS: [usize; 2] = [8, 60];
/// Turns of a block.
const TURNS: usize = 20;

pub fn run(arguments: &Arguments) {
    let stub = Stub::start();
    let folder = Folder::new();
    let file = folder.file("long.db");
    client().block_on(async {
        long(
            arguments,
            &stub,
            &process::on(&file),
            folder.file("").as_path(),
        )
        .await;
        if let Ok(server) = std::env::var("BENCH_POSTGRES_URL") {
            let database = Database::new(&server, true).await;
            long(arguments, &stub, &database.url, folder.file("").as_path()).await;
            database.drop().await;
        }
        deep(arguments, &stub, &folder.file("deep.db")).await;
        for turns in [TURNS, 3 * TURNS] {
            again(&stub, &folder.file(&format!("again{turns}.db")), turns).await;
        }
    });
}

/// Forks of a thread that has all events of its log.
async fn long(arguments: &Arguments, stub: &Stub, url: &str, folder: &Path) {
    let log = process::log_at(url).await;
    let thread = ThreadId::parse("long").unwrap();
    for turns in Vec::from_iter(0..arguments.events / 6).chunks(FILL / 6) {
        let mut all: Vec<_> = turns.iter().flat_map(|turn| drafts(*turn)).collect();
        all.iter_mut()
            .for_each(|draft| draft.thread = thread.clone());
        log.append(Append::free(&Space::default(), all))
            .await
            .unwrap();
    }
    process::indexed(&log, "filledforks").await;
    log.close().await;
    drop(log);
    let server = Server::thinkd_on(url, folder, stub, Shape::A).await;
    let head = server.get("/threads/long").await["head"].as_i64().unwrap();
    let kind = url.split(':').next().unwrap_or_default();
    println!("a thread of {head} events on {kind}");
    let places = [
        ("the end", head),
        ("the middle", head / 2),
        ("the second message", 14),
    ];
    for (place, at) in places {
        let mut took = Vec::new();
        for _ in 0..TIMES {
            let begin = Instant::now();
            fork(&server, "long", json!({ "at": at })).await;
            took.push(since(begin));
        }
        let most = took.iter().copied().fold(0.0, f64::max);
        println!(
            "  a fork at {place}: p50 {:.1} ms, most {most:.1} ms",
            median(took)
        );
    }
    server.stop();
}

/// Turns in forks of forks, each with a turn of its own, beside turns in the first thread.
async fn deep(arguments: &Arguments, stub: &Stub, file: &Path) {
    let server = Server::thinkd(file, stub, Shape::A).await;
    let mut parent = server.talk("first").await;
    for turn in 0..TURNS {
        server
            .turn(&mut parent, "first", &format!("message {turn}"))
            .await;
    }
    let mut thread = "first".to_owned();
    let mut forks = Vec::new();
    for depth in 1..=DEPTHS[1] {
        thread = fork(&server, &thread, json!({})).await;
        let mut socket = server.talk(&thread).await;
        server
            .turn(&mut socket, &thread, &format!("at depth {depth}"))
            .await;
        if DEPTHS.contains(&depth) {
            forks.push((depth, thread.clone(), socket));
        }
    }
    for (depth, thread, socket) in &mut forks {
        let mut ratios = Vec::new();
        for round in 0..=arguments.rounds {
            let mut of_fork = Vec::new();
            let mut of_parent = Vec::new();
            for turn in 0..TURNS {
                let text = format!("round {round}, message {turn}");
                let begin = Instant::now();
                server.turn(socket, thread, &text).await;
                of_fork.push(since(begin));
                let begin = Instant::now();
                server.turn(&mut parent, "first", &text).await;
                of_parent.push(since(begin));
            }
            if round > 0 {
                ratios.push(median(of_fork) / median(of_parent));
            }
        }
        println!(
            "a turn (a) at depth {depth} to one of the first thread: ratio {:.2}",
            median(ratios)
        );
    }
    server.stop();
}

/// The same message once more, in a fork before its turn.
async fn again(stub: &Stub, file: &Path, turns: usize) {
    let server = Server::thinkd(file, stub, Shape::A).await;
    let mut socket = server.talk("main").await;
    for turn in 0..turns {
        let text = format!("message {turn}: tell me about the garden that we saw the other day");
        server.turn(&mut socket, "main", &text).await;
    }
    let last = json!({ "text": format!("message {}: tell me about the garden that we saw the other day", turns - 1) });
    let inputs = server.get("/events?thread=main&tags=input&limit=1").await;
    let id = inputs["items"][0]["event_id"].clone();
    let body = json!({ "instead_of": id, "message": last });
    let thread = fork(&server, "main", body).await;
    let of_fork = loop {
        let prompt = last_prompt(&server, &thread).await;
        if let Some(prompt) = prompt {
            break prompt;
        }
    };
    let of_main = last_prompt(&server, "main").await.unwrap();
    let (_, first) = repeated(std::slice::from_ref(&of_main));
    let (shared, all) = repeated(&[of_main, of_fork]);
    let share = shared as f64 / (all - first) as f64;
    println!(
        "of a regenerated turn's prompt behind {turns} turns a provider's cache has {share:.4}"
    );
    server.stop();
}

/// The text of the last decision's prompt in a thread's own events; none: there is none yet.
async fn last_prompt(server: &Server, thread: &str) -> Option<String> {
    let path = format!("/events?thread={thread}&tags=debug&limit=1");
    let calls = server.get(&path).await;
    let call = calls["items"]
        .get(0)
        .filter(|call| call["thread"] == thread)?;
    let id = call["event_id"].as_str()?;
    let view = server.get(&format!("/prompt-views/{id}")).await;
    let messages = view["request"]["messages"].as_array()?.iter();
    Some(messages.map(|it| it["content"].to_string()).collect())
}

/// Forks a thread; the fork.
async fn fork(server: &Server, thread: &str, body: Value) -> String {
    let path = server.url(&format!("/threads/{thread}/fork"));
    // A client of its own for each would cost more than the fork.
    static CLIENT: LazyLock<reqwest::Client> = LazyLock::new(http);
    let answer = CLIENT.post(path).json(&body).send().await.unwrap();
    assert_eq!(answer.status(), 201);
    let made: Value = answer.json().await.unwrap();
    made["thread"].as_str().unwrap().to_owned()
}
