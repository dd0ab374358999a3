//! Memory: of an idle process, an idle socket and sleeping threads, and after many turns.

use std::path::Path;
use std::time::Duration;

use thinkd::event::draft::Draft;
use thinkd::event::envelope::TurnOutcome;
use thinkd::log::appended::Append;
use thinkd::words::id::{Space, ThreadId};

use crate::figures::{Arguments, Usage, client};
use crate::process::{self, Folder, Server, Shape, connect, until};
use crate::stub::Stub;

/// Sockets that say nothing.
const SOCKETS: usize = 1000;
/// Conversations that take turns at the same time while memory is watched.
const TALKS: usize = 16;

pub fn run(arguments: &Arguments) {
    let stub = Stub::start();
    let folder = Folder::new();
    client().block_on(async {
        let idle = idle(&stub, &folder).await;
        sleeping(arguments, &stub, &folder, idle).await;
        many_turns(arguments, &stub, &folder).await;
    });
}

async fn idle(stub: &Stub, folder: &Folder) -> Usage {
    let server = Server::thinkd(&folder.file("idle.db"), stub, Shape::A).await;
    let idle = Usage::quiet(server.pid()).await;
    println!(
        "idle: {:.1} MiB, {} descriptors",
        idle.kib / 1024.0,
        idle.descriptors
    );
    let mut sockets = Vec::new();
    for _ in 0..SOCKETS {
        let mut socket = connect(&format!("ws://{}/ws", server.address)).await;
        until(&mut socket, "hello").await;
        sockets.push(socket);
    }
    let with = Usage::quiet(server.pid()).await;
    println!(
        "an idle socket: {:.1} KiB ({SOCKETS} of them)",
        (with.kib - idle.kib) / SOCKETS as f64
    );
    idle
}

/// Threads that have nothing to do: rows.
async fn sleeping(arguments: &Arguments, stub: &Stub, folder: &Folder, idle: Usage) {
    let file = folder.file("sleeping.db");
    make_threads(&file, arguments.threads).await;
    let server = Server::thinkd(&file, stub, Shape::A).await;
    // Two looks for waiting threads.
    tokio::time::sleep(Duration::from_secs(7)).await;
    let with = Usage::quiet(server.pid()).await;
    println!(
        "{} sleeping threads: {:.1} MiB, {} descriptors; {:.0} bytes a thread more than an empty log",
        arguments.threads,
        with.kib / 1024.0,
        with.descriptors,
        (with.kib - idle.kib) * 1024.0 / arguments.threads as f64
    );
}

async fn make_threads(file: &Path, threads: usize) {
    let log = process::log(file).await;
    let ended = |number: &usize| {
        Draft::turn_ended(
            &ThreadId::parse(&format!("sleeper-{number}")).unwrap(),
            1,
            TurnOutcome::Done,
            0,
        )
    };
    for numbers in Vec::from_iter(0..threads).chunks(2000) {
        log.append(Append::free(
            &Space::default(),
            numbers.iter().map(ended).collect(),
        ))
        .await
        .unwrap();
    }
    process::indexed(&log, "sleepers").await;
    log.close().await;
}

/// Turns, every one in a thread of its own.
async fn many_turns(arguments: &Arguments, stub: &Stub, folder: &Folder) {
    let server = Server::thinkd(&folder.file("turns.db"), stub, Shape::B).await;
    let mut taken = 0;
    let mut first = f64::NAN;
    for tenth in 1..=10 {
        let upto = arguments.turns * tenth / 10;
        let talks = (0..TALKS).map(|slot| {
            talk(
                &server,
                (taken..upto).filter(move |turn| turn % TALKS == slot),
            )
        });
        futures_util::future::join_all(talks).await;
        taken = upto;
        let now = Usage::quiet(server.pid()).await;
        if first.is_nan() {
            first = now.kib;
        }
        if matches!(tenth, 1 | 2 | 5 | 10) {
            println!(
                "after {taken} turns (b), each in a new thread: {:.1} MiB, {} descriptors; {:+.1} % since the first tenth",
                now.kib / 1024.0,
                now.descriptors,
                (now.kib / first - 1.0) * 100.0
            );
        }
    }
}

async fn talk(server: &Server, turns: impl Iterator<Item = usize>) {
    let mut socket = connect(&format!("ws://{}/ws", server.address)).await;
    until(&mut socket, "hello").await;
    for turn in turns {
        let thread = format!("turn-{turn}");
        server.listen(&mut socket, &thread).await;
        server
            .turn(&mut socket, &thread, &format!("message {turn}: what next?"))
            .await;
    }
}
