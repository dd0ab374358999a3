//! Prompts: bytes that a turn sends to the model, with four voices and their follow-ups and with the voices of a new space, and the
//! share that repeats a prefix sent before, which a provider's cache serves. Bytes are the same on every machine.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::State;
use axum::http::HeaderMap;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::figures::{Arguments, client};
use crate::prefix::repeated;
use crate::process::{Folder, Server};

mod hello;

/// Turns of a block: the first begins with an empty log.
const BLOCKS: [usize; 2] = [50, 150];
const VOICES: [&str; 4] = ["understanding", "critic", "memory", "warmth"];
const WORDS: [&str; 8] = [
    "garden", "engine", "harbour", "violin", "glacier", "library", "kitchen", "orbit",
];
const LONG: &str = "It seems to me that there is more to this than meets the eye, and that a careful answer would say so first.";

/// A request as it came.
struct Sent {
    is_decision: bool,
    bytes: usize,
    prompt: String,
    tools: usize,
}

type Heard = Arc<Mutex<Vec<Sent>>>;

pub fn run(arguments: &Arguments) {
    if arguments.case.as_deref() == Some("hello") {
        return client().block_on(hello::run());
    }
    println!("four voices with prompts of a line, which follow up");
    client().block_on(measure(Mind::FourVoices));
    println!("the voices that a new space begins with");
    client().block_on(measure(Mind::AsItComes));
}

/// The voices of a measured conversation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mind {
    FourVoices,
    AsItComes,
}

async fn measure(mind: Mind) {
    let folder = Folder::new();
    let heard = Heard::default();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let model = format!("http://{}/v1", listener.local_addr().unwrap());
    let router = Router::new()
        .route("/v1/chat/completions", post(answer))
        .with_state(heard.clone());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let first = match mind {
        Mind::FourVoices => "runtime.default_submodules=false",
        Mind::AsItComes => "runtime.default_submodules=true",
    };
    let settings = ["turn.follow_up=true", "models.low.stream=false", first];
    let server = Server::thinkd_asking(&folder.file("prompts.db"), &model, &settings).await;
    if mind == Mind::FourVoices {
        server.voices(&VOICES).await;
    }
    let calls = calls(&server).await;
    let mut socket = server.talk("talk").await;
    let mut sent: Vec<Sent> = Vec::new();
    for turns in BLOCKS {
        let before = sent.len();
        for turn in before / calls..before / calls + turns {
            let one = WORDS[turn % 8];
            let other = WORDS[turn * 3 % 8];
            let text = format!(
                "Turn {turn}: tell me about the {one} that we saw near the {other} the other day."
            );
            server.turn(&mut socket, "talk", &text).await;
            // The follow-ups run beside.
            while sent.len() < (turn + 1) * calls {
                tokio::time::sleep(Duration::from_millis(1)).await;
                sent.append(&mut heard.lock().unwrap_or_else(PoisonError::into_inner));
            }
        }
        println!("turns {} to {}", before / calls + 1, before / calls + turns);
        print("the decision", &sent, before, turns, |sent| {
            sent.is_decision
        });
        print("the voices", &sent, before, turns, |sent| !sent.is_decision);
        print("all", &sent, before, turns, |_| true);
    }
    let lists: BTreeSet<(bool, usize)> = sent
        .iter()
        .map(|sent| (sent.is_decision, sent.tools))
        .collect();
    for (is_decision, bytes) in lists {
        println!(
            "tools of {}: {bytes} bytes",
            if is_decision {
                "the decision"
            } else {
                "a voice"
            }
        );
    }
}

/// Calls of a turn: the voices comment, the decision decides, voices follow up.
async fn calls(server: &Server) -> usize {
    let voices = server.get("/submodules").await;
    let voices = voices["items"].as_array().unwrap();
    // A build that does not list `follow_up` asks all of them.
    let follow_up = |voice: &&Value| voice["follow_up"] != json!(false);
    voices.len() + 1 + voices.iter().filter(follow_up).count()
}

/// Prints a line about the requests since `before`; earlier ones can be repeated, too.
fn print(what: &str, sent: &[Sent], before: usize, turns: usize, is: fn(&Sent) -> bool) {
    let prompts = |sent: &[Sent]| {
        sent.iter()
            .filter(|sent| is(sent))
            .map(|sent| sent.prompt.clone())
            .collect::<Vec<_>>()
    };
    let (early, early_all) = repeated(&prompts(&sent[..before]));
    let (again, all) = repeated(&prompts(sent));
    let own: Vec<&Sent> = sent[before..].iter().filter(|sent| is(sent)).collect();
    let a_turn = |number: usize| number as f64 / turns as f64;
    println!(
        "  {what:<12}  {:.2} calls  {:6.1} kB a turn, {:6.1} of them prompts, of which {:.2} % repeat and {:.2} kB do not",
        a_turn(own.len()),
        a_turn(own.iter().map(|sent| sent.bytes).sum()) / 1e3,
        a_turn(all - early_all) / 1e3,
        (again - early) as f64 / (all - early_all) as f64 * 100.0,
        a_turn(all - early_all - (again - early)) / 1e3
    );
}

async fn answer(State(heard): State<Heard>, headers: HeaderMap, bytes: Bytes) -> Json<Value> {
    let body: Value = serde_json::from_slice(&bytes).unwrap();
    let module = headers
        .get("x-thinkd-module")
        .and_then(|module| module.to_str().ok())
        .unwrap_or_default();
    let messages = body["messages"].as_array().unwrap();
    let last = messages
        .last()
        .and_then(|message| message["content"].as_str())
        .unwrap();
    let user = last
        .lines()
        .rfind(|line| line.contains("] user: "))
        .and_then(|line| line.split_once("] user: "));
    let said = user.map_or("", |(_, said)| said);
    let is_decision = module == "decision";
    let message = if is_decision {
        let text = format!("About {said}. {LONG} {LONG}");
        let function = json!({ "name": "reply", "arguments": json!({ "text": text }).to_string() });
        json!({ "role": "assistant", "tool_calls": [{ "id": "call_0", "type": "function", "function": function }] })
    } else if last.contains("has been made") {
        json!({ "role": "assistant", "content": "PASS" })
    } else {
        json!({ "role": "assistant", "content": format!("{said}, as {module}: {LONG}") })
    };
    let sent = Sent {
        is_decision,
        bytes: bytes.len(),
        prompt: messages.iter().map(ToString::to_string).collect(),
        tools: body["tools"].to_string().len(),
    };
    heard
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(sent);
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 6, "total_tokens": 16 });
    let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
    Json(json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [choice], "usage": usage,
    }))
}
