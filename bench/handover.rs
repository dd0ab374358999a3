//! The handover of threads when their server goes, on Postgres: the time until another one asks
//! their model again, after `kill -9` and after SIGTERM. `BENCH_POSTGRES_URL` names a server where
//! databases may be made.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use serde_json::json;

use crate::figures::{Arguments, at, client, ms};
use crate::postgres::Database;
use crate::process::{Folder, Server, http};
use crate::stub::Stub;

/// Threads that wait for their model when their server goes.
const THREADS: usize = 64;
/// `runtime.lease_ms` and `runtime.scan_ms`, and a second for the work.
const TAKE_OVER: Duration = Duration::from_millis(10_000 + 3_000 + 1_000);
const HAND_OVER: Duration = Duration::from_millis(1_000);
/// When a thread counts as lost.
const PATIENCE: Duration = Duration::from_secs(60);

/// The end of a server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Going {
    Killed,
    Drained,
}

pub fn run(arguments: &Arguments) {
    let Ok(url) = std::env::var("BENCH_POSTGRES_URL") else {
        println!("not measured: BENCH_POSTGRES_URL names no server");
        return;
    };
    let stub = Stub::start();
    for (name, going, goal) in [
        ("killed", Going::Killed, TAKE_OVER),
        ("drained", Going::Drained, HAND_OVER),
    ] {
        if arguments.case.as_ref().is_some_and(|case| case != name) {
            continue;
        }
        let mut took = Vec::new();
        for _ in 0..arguments.rounds {
            took.extend(client().block_on(round(&stub, &url, going)));
        }
        println!(
            "{name}: {} threads, their model is asked again after {:.0} ms (p50), {:.0} (p99), {:.0} (all); the goal is {:.0} for p99",
            took.len(),
            at(&mut took, 0.5),
            at(&mut took, 0.99),
            at(&mut took, 1.0),
            ms(goal)
        );
    }
}

/// Milliseconds, of each thread, on a database of their own.
async fn round(stub: &Stub, url: &str, going: Going) -> Vec<f64> {
    let folder = Folder::new();
    let database = Database::new(url, true).await;
    // How long a turn may go on is not what is measured.
    let start = || Server::thinkd_with(&database.url, &folder.0, stub, &["runtime.grace_ms=1"]);
    let goes = start();
    goes.ready().await;
    stub.forget_hung();
    let client = http();
    let said = (0..THREADS).map(|number| {
        let message = client
            .post(goes.url(&format!("/threads/hang-{number}/messages")))
            .json(&json!({ "text": "go" }));
        async {
            assert!(
                message.send().await.unwrap().status().is_success(),
                "a message was refused"
            )
        }
    });
    join_all(said).await;
    hung(stub, THREADS).await;
    // Only now, so that all threads are with the one that goes.
    let stays = start();
    stays.ready().await;
    let begin = Instant::now();
    match going {
        Going::Killed => drop(goes),
        Going::Drained => goes.stop(),
    }
    hung(stub, 2 * THREADS).await;
    let took = stub
        .hung()
        .iter()
        .skip(THREADS)
        .map(|at| ms(at.duration_since(begin)))
        .collect();
    drop(stays);
    database.drop().await;
    took
}

/// Waits until so many models were asked that do not answer.
async fn hung(stub: &Stub, count: usize) {
    let begin = Instant::now();
    while stub.hung().len() < count {
        assert!(
            begin.elapsed() < PATIENCE,
            "{} of {count} threads are run after a minute",
            stub.hung().len()
        );
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}
