//! A model server that takes one call at a time: it answers 503 to any other. No voice is lost to it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Json;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use serde_json::{Value, json};

use kit::*;

/// The calls that the server has seen.
#[derive(Default)]
struct Seen {
    now: AtomicUsize,
    most: AtomicUsize,
    refused: AtomicUsize,
    answered: AtomicUsize,
}

/// Starts a server with so many places, which takes so long for an answer.
async fn server(places: usize, takes: Duration) -> (String, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let counts = seen.clone();
    let answer = async move |headers: HeaderMap, _: Json<Value>| -> Response {
        let now = counts.now.fetch_add(1, Ordering::SeqCst) + 1;
        counts.most.fetch_max(now, Ordering::SeqCst);
        if now > places {
            counts.now.fetch_sub(1, Ordering::SeqCst);
            counts.refused.fetch_add(1, Ordering::SeqCst);
            let error = json!({ "error": { "message": "busy", "code": 503 } });
            return (StatusCode::SERVICE_UNAVAILABLE, Json(error)).into_response();
        }
        // The time that an answer takes.
        tokio::time::sleep(takes).await;
        counts.now.fetch_sub(1, Ordering::SeqCst);
        counts.answered.fetch_add(1, Ordering::SeqCst);
        let is_decision = headers
            .get("x-thinkd-module")
            .is_some_and(|it| it == "decision");
        let call = json!({ "id": "a", "type": "function", "function": { "name": "reply", "arguments": "{\"text\":\"hi\"}" } });
        let message = if is_decision {
            json!({ "role": "assistant", "tool_calls": [call] })
        } else {
            json!({ "role": "assistant", "content": "noted" })
        };
        let choice = json!({ "index": 0, "message": message, "finish_reason": "stop" });
        Json(json!({ "id": "x", "choices": [choice] })).into_response()
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/v1", listener.local_addr().unwrap());
    let router = axum::Router::new().route(
        "/v1/chat/completions",
        post(move |headers, body| {
            let answer = answer.clone();
            async move { answer(headers, body).await }
        }),
    );
    tokio::spawn(async move { axum::serve(listener, router).await });
    (url, seen)
}

async fn app(url: &str, more: &str, retries: u32) -> App {
    let toml = format!(
        "[models.low]\nmodel = \"one\"\nbase_url = \"{url}\"\n{more}\n[turn]\nfollow_up = false\n"
    );
    let setup = Setup::offline(Medium::sqlite()).file("thinkd.toml", &toml);
    let setup = setup.env("THINKD_TEST_MODELS__LOW__RETRIES", retries);
    setup.voices(&["owl", "fox", "elk", "bee"]).start().await
}

// A busy server teaches how many calls it takes: all four voices are heard, and the user is answered.
#[tokio::test]
async fn a_server_of_one_slot_hears_all_voices() {
    let (url, seen) = server(1, Duration::from_secs(2)).await;
    let app = app(&url, "", 3).await;
    let begin = Instant::now();
    assert_eq!(said(&app.tell("hello").await[0]), "hi");
    let took = begin.elapsed();
    let log = app.log().await;
    assert!(with(&log, &["failure"]).is_empty(), "{}", story(&log));
    assert_eq!(seen.answered.load(Ordering::SeqCst), 5, "{}", story(&log));
    println!("four voices and the decision: {took:?}");
    assert!(took < Duration::from_secs(14), "{took:?}");
    // What was learned is known in the next turn.
    let refused = seen.refused.load(Ordering::SeqCst);
    app.tell("again").await;
    assert_eq!(seen.refused.load(Ordering::SeqCst), refused);
}

// The limit that is configured is kept, and the time of a call begins when it is sent.
#[tokio::test]
async fn no_more_calls_go_at_a_time_than_are_configured() {
    let (url, seen) = server(9, Duration::from_millis(800)).await;
    let app = app(&url, "at_once = 2\ntimeout_ms = 1200\n", 0).await;
    assert_eq!(said(&app.tell("hello").await[0]), "hi");
    let log = app.log().await;
    assert!(with(&log, &["failure"]).is_empty(), "{}", story(&log));
    assert_eq!(seen.most.load(Ordering::SeqCst), 2);
    assert_eq!(seen.answered.load(Ordering::SeqCst), 5);
}
