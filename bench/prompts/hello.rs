//! The cost of a conversation that begins with "hello", at default settings and with the offline model: calls, tokens and bytes of
//! a turn, by part. The texts are fixed, and tokens are a quarter of the bytes, so that figures of any two builds compare.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::hello::SAID;
use crate::prefix::repeated;
use crate::process::{self, Folder, Server};

/// Turns that are printed.
const SHOWN: [u64; 4] = [1, 4, 16, 64];

/// A model call, as it was recorded and built again.
struct Call {
    turn: u64,
    part: Part,
    tokens: u64,
    bytes: usize,
    tools: usize,
    prompt: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Voices,
    Decision,
    FollowUps,
}

/// Holds the conversation and prints the turns.
pub async fn run() {
    let folder = Folder::new();
    let calls = talk(&folder.file("hello.db")).await;
    println!("a conversation at default settings, offline model, tokens a quarter of bytes");
    for turn in SHOWN {
        print(&calls, turn);
    }
    let prompts: Vec<String> = calls.iter().map(|call| call.prompt.clone()).collect();
    let (again, all) = repeated(&prompts);
    let turns = *SHOWN.last().unwrap() as f64;
    println!(
        "turns 1 to {turns}: {:.1} kB of prompts a turn, of which {:.1} % repeat and {:.1} kB do not",
        all as f64 / turns / 1e3,
        again as f64 / all as f64 * 100.0,
        (all - again) as f64 / turns / 1e3
    );
}

/// Says all the texts, and returns the calls that this made.
async fn talk(file: &Path) -> Vec<Call> {
    let server = Server::thinkd_as_it_comes(file).await;
    let voices = server.get("/submodules").await;
    let voices = voices["items"].as_array().unwrap();
    let follow_up = voices
        .iter()
        .filter(|voice| voice["follow_up"] != json!(false))
        .count();
    println!("{} voices, of which {follow_up} follow up", voices.len());
    let http = process::http();
    let mut calls = Vec::new();
    let mut after = 0;
    for turn in 1..=*SHOWN.last().unwrap() {
        let text = SAID[(turn as usize - 1) % SAID.len()];
        let said = http
            .post(server.url("/threads/main/messages?wait=60"))
            .json(&json!({ "text": text }));
        assert_eq!(said.send().await.unwrap().status(), 200);
        let mut heard = 0;
        // The follow-ups run beside.
        loop {
            let path = format!("/events?thread=main&tags=debug&order=asc&limit=500&after={after}");
            for record in server.get(&path).await["items"].as_array().unwrap() {
                after = record["seq"].as_u64().unwrap();
                if let Some(call) = call(&server, record).await {
                    heard += usize::from(call.part == Part::FollowUps);
                    calls.push(call);
                }
            }
            if heard >= follow_up {
                break;
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert!(
            calls
                .iter()
                .any(|call| call.turn == turn && call.part == Part::Decision)
        );
    }
    calls
}

/// The call that a debug event records; none: it records none.
async fn call(server: &Server, record: &Value) -> Option<Call> {
    let payload = &record["payload"];
    let part = match payload["purpose"].as_str()? {
        "turn" => Part::Voices,
        "follow-up" => Part::FollowUps,
        _ => Part::Decision,
    };
    let view = server
        .get(&format!("/prompt-views/{}", record["event_id"].as_str()?))
        .await;
    assert_eq!(
        view["exact"],
        json!(true),
        "a call that cannot be built again: {record}"
    );
    let request = &view["request"];
    let messages = request["messages"].as_array()?;
    Some(Call {
        turn: payload["turn"].as_u64()?,
        part,
        tokens: payload["usage"]["input_tokens"].as_u64()?,
        bytes: request.to_string().len(),
        tools: request["tools"].to_string().len(),
        prompt: messages.iter().map(ToString::to_string).collect(),
    })
}

fn print(calls: &[Call], turn: u64) {
    let own: Vec<&Call> = calls.iter().filter(|call| call.turn == turn).collect();
    let bytes = |part| {
        let of = own.iter().filter(|call| call.part == part);
        (of.clone().count(), of.map(|call| call.bytes).sum::<usize>())
    };
    let (voices, voices_bytes) = bytes(Part::Voices);
    let (decision, decision_bytes) = bytes(Part::Decision);
    let (follow_ups, follow_up_bytes) = bytes(Part::FollowUps);
    let tokens: u64 = own.iter().map(|call| call.tokens).sum();
    let all: usize = own.iter().map(|call| call.bytes).sum();
    let tools: usize = own.iter().map(|call| call.tools).sum();
    println!(
        "turn {turn:>2}: {} calls, {tokens} tokens, {all} bytes: voices {voices} × {}, decision {decision} × {}, \
         follow-ups {follow_ups} × {}; tools {tools} of these bytes",
        own.len(),
        each(voices_bytes, voices),
        each(decision_bytes, decision),
        each(follow_up_bytes, follow_ups),
    );
}

fn each(bytes: usize, count: usize) -> usize {
    bytes / count.max(1)
}
