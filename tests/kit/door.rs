//! Clients of the doors for OpenAI's protocols.

use serde_json::Value;

use super::*;

pub mod chat;
pub mod responses;
pub mod tools;

pub async fn send(request: reqwest::RequestBuilder) -> (u16, Value) {
    let response = within("the answer of the door", request.send())
        .await
        .unwrap();
    let status = response.status().as_u16();
    (status, response.json().await.unwrap())
}

/// The words that were said in a thread.
pub async fn inputs(app: &App, thread: &str) -> Vec<String> {
    let events = app
        .pages(&format!("/events?thread={thread}&order=asc&tags=input&"))
        .await;
    events.iter().map(|event| said(event).to_owned()).collect()
}

/// A server without these doors.
pub async fn closed() -> App {
    let stub = Stub::start().await;
    let setup = Setup::new(Medium::sqlite(), &stub).voices(&[]);
    setup.env("THINKD_DOORS__OPENAI", "false").start().await
}
