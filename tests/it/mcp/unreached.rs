//! Servers that cannot be connected, and the words for people: one sentence, with a remedy. Every `on_sqlite!` is two `#[tokio::test]`s, one a
//! database.

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};

use super::*;

type Answers = fn() -> Response;

/// Serves this to everybody; returns the address.
async fn posts(answer: Answers) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let router = axum::Router::new().fallback(move || async move { answer() });
    tokio::spawn(async move { axum::serve(listener, router).await });
    url
}

fn sends_on() -> Response {
    (
        StatusCode::TEMPORARY_REDIRECT,
        [("location", "/mcp/?key=Qx7longsecret9Zt4Lm2P")],
    )
        .into_response()
}

fn is_older() -> Response {
    (StatusCode::NOT_FOUND, "Not Found").into_response()
}

fn takes_no_post() -> Response {
    StatusCode::METHOD_NOT_ALLOWED.into_response()
}

fn is_compressed() -> Response {
    let bytes: &[u8] = &[
        0x1f, 0x8b, 0x08, 0, 0, 0, 0, 0, 0, 3, 0xab, 0xae, 5, 0, 0x43, 0xbf, 0xa6, 0xa3, 2, 0, 0, 0,
    ];
    let headers = [
        ("content-type", "application/json"),
        ("content-encoding", "gzip"),
    ];
    (headers, bytes).into_response()
}

fn is_a_page() -> Response {
    ([("content-type", "text/html")], "<html>Hello.</html>").into_response()
}

on_sqlite!(
    t1_03_why_a_server_is_away_is_said_in_words_for_people,
    |medium| {
        let all: [(Answers, &[&str]); 5] = [
            (sends_on, &["307", "/mcp/", "write that address"]),
            (is_older, &["404", "SSE"]),
            (takes_no_post, &["405", "SSE"]),
            (is_compressed, &["compressed (gzip)", "switch that off"]),
            (is_a_page, &["text/html"]),
        ];
        let mut toml = String::new();
        for (number, (answer, _)) in all.iter().enumerate() {
            let url = posts(*answer).await;
            toml += &format!("[tools.mcp.it{number}]\nurl = \"{url}/mcp\"\n");
        }
        let stub = Stub::start().await;
        stub.on(decision, reply("yes"));
        let setup = Setup::new(medium, &stub).file("thinkd.toml", &toml);
        let app = setup.start().await;
        app.tell("one").await;
        let servers = app.get("/tools").await.expect(200)["servers"].clone();
        for (number, (_, words)) in all.iter().enumerate() {
            let why = servers[number]["why"].as_str().unwrap();
            assert!(words.iter().all(|word| why.contains(word)), "{why}");
            for odd in ["rmcp", "Transport", "Worker", "when send", "longsecret"] {
                assert!(!why.contains(odd), "{why}");
            }
        }
    }
);
