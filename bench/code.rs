//! Code: the cost of a `run_code` run in a worker, and the effect on a server of workers that
//! hostile code keeps busy.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use runner::pool::{Options, Pool};
use runner::request::{Language, Request};
use serde_json::json;
use thinkd::tools::code;

use crate::figures::{Arguments, Usage, at, client, ms, since};
use crate::process::{self, Folder, Server, until};
use crate::stub::Stub;

/// Runs that are timed one after the other, and starts.
const RUNS: usize = 1000;
const STARTS: usize = 50;
/// Calls at once.
const AT_ONCE: usize = 100;
/// Threads with minds that run endless loops, and messages of another one that are timed: so many
/// on each of so many servers. One in a hundred of a few hundred is noise of the machine.
const HOSTILE: usize = 8;
const MESSAGES: usize = 500;
const SERVERS: usize = 6;

pub fn run(_: &Arguments) {
    // Its threads cannot be started from those of the client.
    let stub = Stub::start();
    client().block_on(async {
        workers().await;
        acks(&stub).await;
    });
}

fn pool() -> Pool {
    Pool::new(Options {
        program: process::program(),
        ..code::Options::default().pool()
    })
}

async fn sum(pool: &Pool, n: usize) {
    let request = Request {
        language: Language::JavaScript,
        code: "input + 1".to_owned(),
        input: json!(n),
    };
    assert_eq!(
        pool.run("bench", request).await.unwrap().outcome,
        Ok(json!(n + 1))
    );
}

async fn workers() {
    let mut starts = Vec::new();
    for n in 0..STARTS {
        let pool = pool();
        let begin = Instant::now();
        sum(&pool, n).await;
        starts.push(since(begin));
    }
    let p50 = at(&mut starts, 0.5);
    let p99 = at(&mut starts, 0.99);
    println!("a first run, with the start of its worker: p50 {p50:.2} ms, p99 {p99:.2} ms");
    let pool = pool();
    sum(&pool, 0).await;
    let mut warm = Vec::new();
    for n in 0..RUNS {
        let begin = Instant::now();
        sum(&pool, n).await;
        warm.push(since(begin));
    }
    println!(
        "a run in a worker that waits: p50 {:.2} ms (goal 5), p99 {:.2} ms",
        at(&mut warm, 0.5),
        at(&mut warm, 0.99)
    );
    let begin = Instant::now();
    join_all((0..AT_ONCE).map(|n| sum(&pool, n))).await;
    println!(
        "{AT_ONCE} runs at once on two workers: {:.1} ms",
        since(begin)
    );
    let kib: Vec<f64> = children(std::process::id())
        .into_iter()
        .map(|pid| Usage::of(pid).kib)
        .collect();
    println!(
        "{} workers that wait: {:.1} MiB each",
        kib.len(),
        kib.iter().sum::<f64>() / kib.len() as f64 / 1024.0
    );
}

fn children(parent: u32) -> Vec<u32> {
    let pids = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_child = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(')')
            .next()
            .and_then(|rest| rest.split_whitespace().nth(1))
            == Some(&parent.to_string())
    };
    pids.filter(is_child).collect()
}

/// Measures acks, alone and while as many loops as there are workers run without end.
async fn acks(stub: &Stub) {
    let mut alone = Vec::new();
    let mut beside = Vec::new();
    for _ in 0..SERVERS {
        let folder = Folder::new();
        let settings = [
            "THINKD_TEST_TOOLS__CODE__TIME_MS=1000",
            "turn.max_rounds=1000",
        ];
        let server = Server::thinkd_asking(&folder.file("code.db"), &stub.url(), &settings).await;
        timed(&server, &mut alone).await;
        let http = process::http();
        for n in 0..HOSTILE {
            let url = server.url(&format!("/threads/loops-{n}/messages"));
            assert!(
                http.post(url)
                    .json(&json!({ "text": "loop" }))
                    .send()
                    .await
                    .unwrap()
                    .status()
                    .is_success()
            );
        }
        while children(server.pid()).len() < 2 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        timed(&server, &mut beside).await;
    }
    let [(p50, p99), (with50, with99)] =
        [&mut alone, &mut beside].map(|took| (at(took, 0.5), at(took, 0.99)));
    println!("ack alone: p50 {p50:.2} ms, p99 {p99:.2} ms");
    println!(
        "ack beside two endless loops: p50 {with50:.2} ms, p99 {with99:.2} ms; p99 {:.2} of it (goal 2)",
        with99 / p99
    );
}

async fn timed(server: &Server, took: &mut Vec<f64>) {
    let mut socket = server.talk("plain").await;
    for n in 0..MESSAGES {
        let begin = Instant::now();
        let said = json!({ "type": "message", "thread": "plain", "text": format!("hello {n}"), "id": format!("m{n}") });
        let said = tokio_tungstenite::tungstenite::Message::text(said.to_string());
        futures_util::SinkExt::send(&mut socket, said)
            .await
            .unwrap();
        until(&mut socket, r#""type":"ack""#).await;
        took.push(ms(begin.elapsed()));
        until(&mut socket, r#""response""#).await;
    }
}
