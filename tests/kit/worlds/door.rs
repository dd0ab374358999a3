//! The door behind which the truth of a planted world is: a register that is searched over HTTP, and errs as it is told. Beside it the model's door,
//! where nothing is known.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Bytes;
use axum::extract::{RawQuery, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use serde_json::{Value, json};
use tokio::task::AbortHandle;

use super::super::planted::Dice;
use super::{Claim, FIRST_YEAR, RELATIONS, Truth, World, model};

/// The quality of the instrument's readings.
#[derive(Debug, Clone, Copy)]
pub struct Quality {
    /// The share of cases in which it is right.
    pub reliability: f64,
    /// The share of cases in which it reads a statement as it always does, right or wrong.
    pub correlation: f64,
    /// The share of statements of which it says anything.
    pub coverage: f64,
    /// The share of searches that break.
    pub failures: f64,
}

impl Quality {
    /// Right in so many cases, of everything, each time anew.
    pub const fn of(reliability: f64) -> Self {
        Self {
            reliability,
            correlation: 0.0,
            coverage: 1.0,
            failures: 0.0,
        }
    }
}

struct Shared {
    world: Arc<World>,
    quality: Quality,
    now: AtomicU32,
    /// The number of times that each thing was looked for.
    readings: Mutex<HashMap<String, u64>>,
    calls: AtomicU64,
}

impl Shared {
    /// The how-manieth reading of this it is.
    fn read(&self, what: &str) -> u64 {
        let mut readings = self.readings.lock().unwrap_or_else(PoisonError::into_inner);
        let count = readings.entry(what.to_owned()).or_default();
        *count += 1;
        *count
    }
}

/// Both doors. They close when dropped.
pub struct Door {
    shared: Arc<Shared>,
    address: String,
    serving: AbortHandle,
}

impl Drop for Door {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Door {
    /// Opens them on a free port.
    pub async fn open(world: &Arc<World>, quality: Quality) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let shared = Shared {
            world: world.clone(),
            quality,
            now: AtomicU32::new(FIRST_YEAR),
            readings: Mutex::default(),
            calls: AtomicU64::default(),
        };
        let shared = Arc::new(shared);
        let router = Router::new()
            .route("/search", get(search))
            .route("/v1/chat/completions", post(spoken))
            .with_state(shared.clone());
        let serving = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() })
            .abort_handle();
        Self {
            shared,
            address,
            serving,
        }
    }

    /// Returns the address of the register's search.
    pub fn search(&self) -> String {
        format!("http://{}/search", self.address)
    }

    /// Returns the base URL of the model.
    pub fn model(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Returns a person's answer to a question. The person is as reliable as the register, and errs
    /// independently of it.
    pub fn person(&self, question: &str) -> String {
        let this = &self.shared;
        let asked = question
            .lines()
            .next()
            .and_then(|line| line.strip_prefix(model::QUESTION))
            .unwrap_or_default();
        let Some((claim, _)) = looked_for(asked) else {
            return "I do not know".to_owned();
        };
        let reading = this.read(&format!("person {asked}"));
        let errs = share(this.world.seed, &format!("person errs {reading} {asked}"))
            >= this.quality.reliability;
        match (
            this.world.truth(&claim, this.now.load(Ordering::Relaxed)),
            errs,
        ) {
            (Truth::So, false) | (Truth::Not | Truth::Until(..), true) => "yes".to_owned(),
            (Truth::So | Truth::Not, _) => "no: it is otherwise".to_owned(),
            (Truth::Until(year, object), false) => format!("no: since {year} it is {object}"),
        }
    }

    /// Sets the current year.
    pub fn year(&self, now: u32) {
        self.shared.now.store(now, Ordering::Relaxed);
    }

    /// Returns the number of requests to the model.
    pub fn calls(&self) -> u64 {
        self.shared.calls.load(Ordering::Relaxed)
    }
}

/// A number from 0 to 1 that belongs to these words.
fn share(seed: u64, words: &str) -> f64 {
    let hash = words
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64 ^ seed, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
        });
    Dice::new(hash).below(1_000_000) as f64 / 1e6
}

async fn search(State(this): State<Arc<Shared>>, RawQuery(query): RawQuery) -> Response {
    let url = reqwest::Url::parse(&format!("http://door/?{}", query.unwrap_or_default())).unwrap();
    let asked = url
        .query_pairs()
        .find_map(|(name, words)| (name == "q").then(|| words.into_owned()))
        .unwrap_or_default();
    let Some((claim, line)) = looked_for(&asked) else {
        return axum::Json(json!({ "results": [] })).into_response();
    };
    let reading = this.read(&asked);
    let of = |what: &str, words: &str| share(this.world.seed, &format!("{what} {words}"));
    let anew = format!("{reading} {asked}");
    if of("breaks", &anew) < this.quality.failures {
        return axum::http::StatusCode::SERVICE_UNAVAILABLE.into_response();
    }
    if of("covers", &line) >= this.quality.coverage {
        return axum::Json(json!({ "results": [] })).into_response();
    }
    let is_as_ever = of("again", &anew) < this.quality.correlation;
    let errs = of("errs", if is_as_ever { &line } else { &anew }) >= this.quality.reliability;
    let text = shown(
        &this.world,
        &claim,
        &line,
        this.now.load(Ordering::Relaxed),
        errs,
    );
    axum::Json(json!({ "results": [{ "title": "Register", "url": "https://register.example", "text": text }] }))
        .into_response()
}

/// Returns the claim that a query for a register has, and the line that would confirm it.
fn looked_for(asked: &str) -> Option<(Claim, String)> {
    let (_, line) = asked.split_once("; ")?;
    let [subject, relation, object, since] =
        line.split("; ").collect::<Vec<_>>().try_into().ok()?;
    let relation = RELATIONS.iter().position(|it| it.name == relation)?;
    let from = since.strip_prefix("since ")?.parse().ok()?;
    Some((
        Claim {
            subject: subject.to_owned(),
            relation,
            object: object.to_owned(),
            from,
        },
        line.to_owned(),
    ))
}

/// Returns the lines that the register shows: the truth, or where it errs the contrary.
fn shown(world: &World, claim: &Claim, line: &str, now: u32, errs: bool) -> String {
    let subject = &claim.subject;
    let relation = RELATIONS[claim.relation].name;
    match (world.truth(claim, now), errs) {
        (Truth::So, false) | (Truth::Not | Truth::Until(..), true) => line.to_owned(),
        (Truth::So | Truth::Not, _) => {
            format!("{subject}; {relation}; somebody else; since {}", claim.from)
        }
        (Truth::Until(year, object), false) => {
            format!("{line}; until {year}\n{subject}; {relation}; {object}; since {year}")
        }
    }
}

async fn spoken(State(this): State<Arc<Shared>>, body: Bytes) -> Response {
    this.calls.fetch_add(1, Ordering::Relaxed);
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let text: Vec<&str> = body["messages"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|it| it["content"].as_str())
        .collect();
    let Some((tool, arguments)) = model::answer(&text.join("\n")) else {
        return axum::http::StatusCode::BAD_REQUEST.into_response();
    };
    called(&body, tool, &arguments)
}

/// Returns the response of a model that calls a tool: whole or as a stream, as it was asked.
pub fn called(asked: &Value, tool: &str, arguments: &Value) -> Response {
    let function = json!({ "name": tool, "arguments": arguments.to_string() });
    let call = json!({ "index": 0, "id": "call_0", "type": "function", "function": function });
    let message = json!({ "role": "assistant", "content": null, "tool_calls": [call] });
    let usage = json!({ "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110 });
    let whole = |kind: &str, member: &str| {
        let choice = json!({ "index": 0, member: message, "finish_reason": "tool_calls" });
        json!({ "id": "m", "object": kind, "created": 1, "model": "planted", "choices": [choice], "usage": usage })
    };
    if asked["stream"] != json!(true) {
        return axum::Json(whole("chat.completion", "message")).into_response();
    }
    let events = format!(
        "data: {}\n\ndata: [DONE]\n\n",
        whole("chat.completion.chunk", "delta")
    );
    ([("content-type", "text/event-stream")], events).into_response()
}
