//! The model of planted missions (`tests/kit/planted_missions.rs`), and of plain ones: so
//! many tasks of which each is considered, done and judged at once, or never done. It answers over
//! HTTP, and counts its requests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use serde_json::{Value, json};
use tokio::task::AbortHandle;

use crate::planted_missions::Planted;
use crate::planted_worlds::door::called;

/// Requests of each step of missions.
type Counts = Arc<Mutex<BTreeMap<String, u64>>>;

/// The model. It closes when dropped.
pub struct Door {
    address: String,
    counts: Counts,
    serving: AbortHandle,
}

impl Drop for Door {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Door {
    /// Opens it on a free port.
    pub async fn open() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let counts = Counts::default();
        let router = Router::new()
            .route("/v1/chat/completions", post(spoken))
            .with_state(counts.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() })
            .abort_handle();
        Self {
            address,
            counts,
            serving,
        }
    }

    /// Returns the address of the model.
    pub fn model(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns the requests of this step.
    pub fn count(&self, step: &str) -> u64 {
        let counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.get(&format!("mission:{step}")).copied().unwrap_or(0)
    }
}

/// A mission of so many tasks that are done at once, or, where it is held, never.
pub fn plain(tasks: usize, held: bool) -> String {
    format!("plain={tasks} held={held}")
}

async fn spoken(State(counts): State<Counts>, headers: HeaderMap, body: Bytes) -> Response {
    let module = headers
        .get("x-thinkd-module")
        .and_then(|module| module.to_str().ok())
        .unwrap_or_default()
        .to_owned();
    *counts
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .entry(module.clone())
        .or_default() += 1;
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let last = body["messages"]
        .as_array()
        .and_then(|all| all.last())
        .and_then(|last| last["content"].as_str());
    let last = last.unwrap_or_default();
    if module == "mission:solve" && last.contains("held=true") {
        std::future::pending::<()>().await;
    }
    let Some((tool, arguments)) =
        Planted::said(&module, last).or_else(|| said_plainly(&module, last))
    else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    called(&body, tool, &arguments)
}

fn said_plainly(module: &str, last: &str) -> Option<(&'static str, Value)> {
    Some(match module.strip_prefix("mission:")? {
        "decompose" => {
            let (_, count) = last.split_once("plain=")?;
            let end = count.find(|it: char| !it.is_ascii_digit())?;
            let count: usize = count[..end].parse().ok()?;
            let part = |n| json!({ "name": format!("part {n}"), "description": format!("do part {n}"), "requires": [], "value": null, "brought_by": [], "exact": false });
            (
                "decompose",
                json!({ "tasks": (1..=count).map(part).collect::<Vec<_>>() }),
            )
        }
        "consider" => {
            let route = json!({ "name": "straight", "how": "do it", "estimate": 0.9 });
            let considered = json!({
                "split": false, "split_why": "it is small", "split_estimate": 0, "question": null, "routes": [route],
                "check": "rubric", "program": null, "query": null, "rubric": "it says what was done",
            });
            ("consider", considered)
        }
        "solve" => (
            "solve",
            json!({ "thought": "it is so", "answer": "done", "program": null }),
        ),
        "judge" => (
            "judge",
            json!({ "passes": true, "why": "nothing is missing" }),
        ),
        "answer" => ("answer", json!({ "answer": "all is done" })),
        _ => return None,
    })
}
