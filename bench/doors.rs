//! Doors: the CPU of a turn that is posted with `?wait`, beside the same turn over a socket.

use serde_json::json;

use crate::figures::{Arguments, Usage, client, median};
use crate::process::{self, Folder, Server, Shape};
use crate::stub::Stub;

/// Turns of a block; the CPU's clock ticks a hundred times a second.
const TURNS: usize = 300;

pub fn run(arguments: &Arguments) {
    let stub = Stub::start();
    let folder = Folder::new();
    let client = client();
    for shape in [Shape::A, Shape::B] {
        let server = client.block_on(Server::thinkd(
            &folder.file(&format!("{}.db", shape.name())),
            &stub,
            shape,
        ));
        client.block_on(compare(arguments, &server));
    }
}

async fn compare(arguments: &Arguments, server: &Server) {
    let http = process::http();
    let address = format!("http://{}/threads/talk/messages?wait=20", server.address);
    let mut socket = server.talk("talk").await;
    let mut by_socket = Vec::new();
    let mut by_wait = Vec::new();
    // The first round is for the thread to get as long as it is ever shown.
    for round in 0..=arguments.rounds {
        let before = Usage::of(server.pid()).cpu_ms;
        for turn in 0..TURNS {
            server
                .turn(
                    &mut socket,
                    "talk",
                    &format!("user message {turn}: what should I do next?"),
                )
                .await;
        }
        let between = Usage::quiet(server.pid()).await.cpu_ms;
        // Nobody listens beside: what a follower costs is no cost of this door.
        drop(socket);
        let begin = Usage::quiet(server.pid()).await.cpu_ms;
        for turn in 0..TURNS {
            let text = format!("user message {turn}: what should I do next?");
            let answer = http
                .post(&address)
                .json(&json!({ "text": text }))
                .send()
                .await
                .unwrap();
            assert_eq!(answer.status(), 200);
            assert!(answer.text().await.unwrap().contains("responses"));
        }
        let end = Usage::quiet(server.pid()).await.cpu_ms;
        socket = server.talk("talk").await;
        if round > 0 {
            by_socket.push((between - before) / TURNS as f64);
            by_wait.push((end - begin) / TURNS as f64);
        }
    }
    let ratio = median(
        by_socket
            .iter()
            .zip(&by_wait)
            .map(|(socket, wait)| wait / socket),
    );
    let socket = median(by_socket);
    let wait = median(by_wait);
    let name = server.shape.name();
    println!(
        "{name}  CPU a turn: over a socket {socket:.3} ms, by ?wait {wait:.3} ms, {ratio:.2} of it"
    );
}
