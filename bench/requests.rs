//! Requests to people: how long after a verdict its call starts, and has its result in the log, with 10,000 others that wait; and how long a page and the
//! whole list of them take. A plain message in the same run, to the same kind of thread, is the measure.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::figures::{Arguments, at, client, ms};
use crate::process::{self, Folder, Server, until};
use crate::stub::{PROPOSALS, Stub};

/// Calls that wait.
const WAITING: usize = 10_000;
/// Verdicts that are timed, and pages.
const TIMED: usize = 300;
/// Times that all of them are listed.
const LISTS: usize = 20;

pub fn run(_: &Arguments) {
    // It has threads of its own, which cannot start inside of others.
    let stub = Stub::start();
    client().block_on(measure(&stub));
}

async fn measure(stub: &Stub) {
    let folder = Folder::new();
    let settings = ["tools.approval=state_put", "turn.max_tool_calls=64"];
    let server = Server::thinkd_asking(&folder.file("requests.db"), &stub.url(), &settings).await;
    let http = process::http();
    let names: Vec<String> = (0..WAITING / PROPOSALS)
        .map(|n| format!("asks-{n}"))
        .collect();
    for some in names.chunks(16) {
        let turns = some.iter().map(async |thread| {
            let url = server.url(&format!("/threads/{thread}/messages?wait=60"));
            let said = http
                .post(url)
                .json(&json!({ "text": "put it" }))
                .send()
                .await
                .unwrap();
            assert_eq!(said.status(), 200);
        });
        join_all(turns).await;
    }
    let page = async |path: &str| -> Value {
        http.get(server.url(path))
            .send()
            .await
            .unwrap()
            .json()
            .await
            .unwrap()
    };

    let mut pages = Vec::new();
    for _ in 0..TIMED {
        let begin = Instant::now();
        let first = page("/approvals?limit=50").await;
        pages.push(ms(begin.elapsed()));
        assert_eq!(first["items"].as_array().unwrap().len(), 50);
    }
    // What it takes to receive them all; what a client does with them is its own affair.
    let mut all = Vec::new();
    let mut lists = Vec::new();
    for _ in 0..LISTS {
        let mut took = Duration::ZERO;
        let mut path = "/approvals?limit=500".to_owned();
        all.clear();
        loop {
            let begin = Instant::now();
            let bytes = http
                .get(server.url(&path))
                .send()
                .await
                .unwrap()
                .bytes()
                .await
                .unwrap();
            took += begin.elapsed();
            let mut next: Value = serde_json::from_slice(&bytes).unwrap();
            all.append(next["items"].as_array_mut().unwrap());
            let Some(cursor) = next["next"].as_str() else {
                break;
            };
            path = format!("/approvals?limit=500&cursor={cursor}");
        }
        lists.push(ms(took));
    }
    println!(
        "{} calls wait; all of them in pages of 500: p50 {:.0} ms (goal 50)",
        all.len(),
        at(&mut lists, 0.5)
    );
    println!(
        "the first 50 of them: p50 {:.2} ms, p99 {:.2} ms",
        at(&mut pages, 0.5),
        at(&mut pages, 0.99)
    );

    let mut socket = server.talk("plain-0").await;
    let mut messages = Vec::new();
    for _ in 0..TIMED {
        let begin = Instant::now();
        server.turn(&mut socket, "plain-0", "hello").await;
        messages.push(ms(begin.elapsed()));
    }
    let mut starts = Vec::new();
    let mut results = Vec::new();
    // Each in a thread of its own, as people come to them.
    for waiting in all.iter().step_by((all.len() / TIMED).max(1)).take(TIMED) {
        let id = waiting["approval_id"].as_str().unwrap();
        let thread = waiting["thread"].as_str().unwrap();
        let mut socket = process::connect(&format!("ws://{}/ws", server.address)).await;
        let follow =
            json!({ "type": "subscribe", "thread": thread, "tags": ["result"], "id": "s" });
        futures_util::SinkExt::send(
            &mut socket,
            tokio_tungstenite::tungstenite::Message::text(follow.to_string()),
        )
        .await
        .unwrap();
        until(&mut socket, r#""id":"s""#).await;
        let begin = Instant::now();
        let sent = Timestamp::now();
        let verdict = http
            .post(server.url(&format!("/approvals/{id}")))
            .json(&json!({ "verdict": "approve" }));
        let (said, result) = tokio::join!(verdict.send(), until(&mut socket, id));
        assert_eq!(said.unwrap().status(), 200);
        results.push(ms(begin.elapsed()));
        starts.push(ms(started(&result).duration_since(sent).unsigned_abs()));
    }
    for (what, times) in [("start", &mut starts), ("result", &mut results)] {
        let p50 = at(times, 0.5);
        let p99 = at(times, 0.99);
        println!(
            "from a verdict to the {what} of its call: p50 {p50:.2} ms, p99 {p99:.2} ms (goal for the start: 20)"
        );
    }
    let p99 = at(&mut results, 0.99);
    let turn50 = at(&mut messages, 0.5);
    let turn99 = at(&mut messages, 0.99);
    println!(
        "from a message to its reply: p50 {turn50:.2} ms, p99 {turn99:.2} ms; p99 {:.2} of it",
        p99 / turn99
    );
}

/// When the tool began: the time of its result's event, which is written when it has ended, less how long it took, by the same clock.
fn started(result: &str) -> Timestamp {
    let frame: Value = serde_json::from_str(result).unwrap();
    let event = frame.get("event").unwrap_or(&frame);
    let took = event["payload"]["duration_ms"]
        .as_u64()
        .unwrap_or_else(|| panic!("no duration: {result}"));
    let ended: Timestamp = event["ts"].as_str().unwrap().parse().unwrap();
    ended - std::time::Duration::from_millis(took)
}
