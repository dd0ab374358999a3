//! A model with a short context: a conversation of any length is answered, in the words of each
//! provider; nothing that was refused is sent again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use kit::answer::Answer;
use kit::*;

/// About 8,000 tokens.
const WINDOW: usize = 32_000;

fn refusal(status: u16, body: &Value) -> Answer {
    raw(body.to_string()).with_status(status)
}

/// The words of providers for a request that is too long.
fn refusals() -> Vec<Answer> {
    let error = |body: Value| json!({ "error": body });
    let in_stream = error(json!({
        "message": "This model's maximum context length is 4096 tokens.", "code": "context_length_exceeded",
    }));
    // Ollama cuts the answer where the prompt alone fills the window.
    let full = json!({
        "choices": [{ "index": 0, "delta": {}, "finish_reason": "length" }],
        "usage": { "prompt_tokens": 8192, "completion_tokens": 0 },
    });
    vec![
        refusal(
            400,
            &json!({
                "object": "error", "code": 400,
                "message": "The decoder prompt (length 13543) is longer than the maximum model length of 8192. Make sure of that.",
            }),
        ),
        refusal(
            400,
            &json!({
                "code": "Client specified an invalid argument",
                "error": "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
            }),
        ),
        refusal(
            400,
            &error(json!({
                "message": "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
                "code": "invalid_parameter_error",
            })),
        ),
        refusal(
            400,
            &error(json!({ "code": "1261", "message": "Prompt exceeds max length" })),
        ),
        refusal(
            400,
            &error(json!({
                "message": "prompt token count of 128500 exceeds the limit of 128000", "code": "model_max_prompt_tokens_exceeded",
            })),
        ),
        refusal(
            500,
            &error(json!({
                "code": 500, "type": "server_error",
                "message": "the request exceeds the available context size. try increasing the context size or enable context shift",
            })),
        ),
        raw(format!("data: {in_stream}\n\n")).header("content-type", "text/event-stream"),
        raw(format!("data: {full}\n\ndata: [DONE]\n\n"))
            .header("content-type", "text/event-stream"),
        refusal(
            400,
            &error(json!({
                "code": "InvalidParameter", "message": "Input length 140000 exceeds the maximum length 131072",
            })),
        ),
    ]
}

/// Checks that no two requests of a thread are the same.
fn all_differ(stub: &Stub, thread: &str) {
    let asked = stub.all(at(thread));
    let different: BTreeSet<&[u8]> = asked.iter().map(|request| &request.bytes[..]).collect();
    assert_eq!(different.len(), asked.len(), "a request was sent again");
}

async fn failures(app: &App) -> Vec<String> {
    let log = app.log().await;
    with(&log, &["failure"])
        .iter()
        .map(|failure| said(failure).to_owned())
        .collect()
}

async fn all_exact(app: &App, thread: &str) {
    let log = app.log().await;
    for call in with(&log, &["call:decision"]) {
        if call["meta"]["thread_id"] == thread || call["thread"] == thread {
            let id = call["event_id"].as_str().unwrap();
            let view = app.get(&format!("/prompt-views/{id}")).await.expect(200);
            assert_eq!(view["exact"], true, "{view}");
        }
    }
}

#[tokio::test]
async fn a_conversation_of_any_length_is_answered_by_a_model_with_a_short_context() {
    let stub = Stub::start().await;
    let app = Setup::new(Medium::sqlite(), &stub).start().await;
    let words: Arc<Mutex<BTreeMap<String, Answer>>> = Arc::default();
    let of_thread = words.clone();
    stub.on_each(
        |request| request.bytes.len() > WINDOW,
        move |request| of_thread.lock().unwrap()[&request.thread].clone(),
    );
    let refusals = refusals();
    let talks = refusals
        .into_iter()
        .enumerate()
        .map(async |(case, refusal)| {
            let thread = app
                .conversation(json!({ "label": format!("case{case}") }))
                .await;
            words.lock().unwrap().insert(thread.clone(), refusal);
            let turns = if case == 0 { 40 } else { 24 };
            for turn in 0..turns {
                let text = format!(
                    "case {case}, message {turn}: {}",
                    "and so on, and on. ".repeat(40)
                );
                let replies = app.tell_in(&thread, &text).await;
                assert_eq!(
                    replies.len(),
                    1,
                    "case {case}, turn {turn}: {:?}",
                    failures(&app).await
                );
                let begin = format!("ok: case {case}, message {turn}: and so on");
                assert!(said(&replies[0]).starts_with(&begin), "{}", replies[0]);
            }
            let refused =
                stub.all(|request| request.thread == thread && request.bytes.len() > WINDOW);
            assert!(
                (1..=4).contains(&refused.len()),
                "case {case}: {} were refused",
                refused.len()
            );
            all_differ(&stub, &thread);
            // The beginning of the view stays where it is for turns, so that prompt caches serve it.
            let begins: Vec<i64> = stub
                .all(at(&thread))
                .iter()
                .map(|request| request.seqs()[0])
                .collect();
            let moves = begins.windows(2).filter(|pair| pair[0] != pair[1]).count();
            assert!(begins.is_sorted() && moves <= turns / 2 + 2, "{begins:?}");
            all_exact(&app, &thread).await;
        });
    futures_util::future::join_all(talks).await;
    let told = failures(&app).await;
    assert!(
        told.iter().all(|text| text.contains("was answered about")),
        "{told:#?}"
    );
}

#[tokio::test]
async fn one_long_message_is_shortened_from_the_size_that_was_refused() {
    let stub = Stub::start().await;
    let app = Setup::new(Medium::sqlite(), &stub).start().await;
    stub.on(|request| request.bytes.len() > 50_000, refusals().remove(4));
    let log = format!("what is wrong here? {}", "ERROR at line 7\n".repeat(4_000));
    let replies = app.tell(&log).await;
    assert!(
        said(&replies[0]).starts_with("ok: what is wrong here?"),
        "{replies:?}"
    );
    assert!(said(&app.tell("and now?").await[0]).starts_with("ok: and now?"));
    all_differ(&stub, "main");
    let sizes: Vec<usize> = stub
        .all(decision)
        .iter()
        .map(|request| request.bytes.len())
        .collect();
    assert_eq!(
        sizes.iter().filter(|size| **size > 50_000).count(),
        1,
        "{sizes:?}"
    );
}

#[tokio::test]
async fn a_refusal_without_words_is_tried_as_one_for_the_length_and_no_more_than_three_times() {
    let stub = Stub::start().await;
    let app = Setup::new(Medium::sqlite(), &stub).start().await;
    let wordless = |status: u16| refusal(status, &json!({ "error": { "message": "Bad Request" } }));
    // Of a request no larger than the last one that was taken it cannot be the length.
    assert!(said(&app.tell(&"one ".repeat(1000)).await[0]).starts_with("ok: one"));
    stub.script(decision, [wordless(400)]);
    let thread = app.conversation(json!({})).await;
    assert!(app.tell_in(&thread, "two").await.is_empty());
    assert_eq!(stub.count(at(&thread)), 1);
    // Here it is.
    stub.on(|request| request.bytes.len() > WINDOW, wordless(413));
    let replies = app
        .tell(&format!("three {}", "and more ".repeat(7000)))
        .await;
    assert!(
        said(&replies[0]).starts_with("ok: three and more"),
        "{replies:?}"
    );
    all_differ(&stub, "main");
    // Here it is not: the first words are told, nothing is learned.
    stub.clear();
    let mut count = 0;
    stub.on_each(
        |request| request.says("four"),
        move |_| {
            count += 1;
            refusal(
                400,
                &json!({ "error": { "message": format!("No. {count}") } }),
            )
        },
    );
    let thread = app.conversation(json!({})).await;
    let long = format!("four {}", "and more ".repeat(7_200));
    assert!(app.tell_in(&thread, &long).await.is_empty());
    assert_eq!(stub.count(at(&thread)), 4);
    let told = failures(&app).await;
    assert!(told.last().unwrap().contains("No. 1"), "{told:#?}");
    stub.clear();
    assert_eq!(app.tell_in(&thread, "five").await.len(), 1);
    let last = stub.all(at(&thread)).pop().unwrap();
    assert!(
        last.bytes.len() > 60_000,
        "less is asked about: {}",
        last.bytes.len()
    );
}

#[tokio::test]
async fn instructions_that_are_too_long_by_themselves_are_named() {
    let stub = Stub::start().await;
    let app = Setup::new(Medium::sqlite(), &stub).start().await;
    stub.on(any, refusals().remove(0));
    assert!(app.tell("hello").await.is_empty());
    assert_eq!(stub.count(any), 1);
    let told = failures(&app).await.pop().unwrap();
    let names = [
        "instructions and tools take",
        "tokens",
        "longer context",
        "longer than the maximum model length",
    ];
    assert!(names.iter().all(|name| told.contains(name)), "{told}");
    stub.clear();
    assert_eq!(app.tell("and now?").await.len(), 1);
}
