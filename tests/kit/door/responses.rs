//! A client of responses, and their streams.

use serde_json::{Value, json};

use super::send;
use crate::*;

pub const PATH: &str = "/v1/responses";

/// The events of a stream so far.
#[derive(Debug, Default, Clone)]
pub struct Stream {
    pub text: String,
}

impl Stream {
    pub fn events(&self) -> Vec<Value> {
        let whole = self.text.rsplit_once("\n\n").map_or("", |(whole, _)| whole);
        let lines = whole.lines();
        let lines = lines.filter_map(|line| line.strip_prefix("data: "));
        lines.map(|it| serde_json::from_str(it).unwrap()).collect()
    }

    pub fn names(&self) -> Vec<String> {
        let named = |event: &Value| event["type"].as_str().unwrap().to_owned();
        self.events().iter().map(named).collect()
    }

    pub fn numbers(&self) -> Vec<u64> {
        let number = |event: &Value| event["sequence_number"].as_u64().unwrap();
        self.events().iter().map(number).collect()
    }

    pub fn words(&self) -> String {
        let events = self.events();
        let words = events.iter().filter_map(|it| it["delta"].as_str());
        words.collect()
    }

    pub fn last(&self) -> Value {
        self.events().pop().unwrap()
    }

    /// Reads on until the text so far has this in it.
    pub async fn until(&mut self, response: &mut reqwest::Response, text: &str) {
        within(&format!("{text} in the stream"), async {
            while !self.text.contains(text) {
                let chunk = response.chunk().await.unwrap();
                let chunk = chunk.unwrap_or_else(|| panic!("it ended: {}", self.text));
                self.text.push_str(&String::from_utf8_lossy(&chunk));
            }
        })
        .await;
    }

    /// Reads a stream to its end.
    pub async fn whole(response: reqwest::Response) -> Self {
        assert_eq!(response.status(), 200);
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let text = within("the stream", response.text()).await.unwrap();
        Self { text }
    }
}

pub fn body(input: impl Into<Value>, more: Value) -> Value {
    let mut body = json!({ "model": "thinkd", "input": input.into() });
    let members = body.as_object_mut().unwrap();
    members.extend(more.as_object().unwrap().clone());
    body
}

pub async fn create(app: &App, input: impl Into<Value>, more: Value) -> Value {
    let (status, response) = send(app.request("POST", PATH).json(&body(input, more))).await;
    assert_eq!(status, 200, "{response}");
    response
}

pub async fn stream(app: &App, input: impl Into<Value>, mut more: Value) -> reqwest::Response {
    more["stream"] = true.into();
    let request = app.request("POST", PATH).json(&body(input, more));
    within("the head of a stream", request.send())
        .await
        .unwrap()
}

pub async fn get(app: &App, response: &Value) -> Value {
    let path = format!("{PATH}/{}", id(response));
    let (status, response) = send(app.request("GET", &path)).await;
    assert_eq!(status, 200, "{response}");
    response
}

pub async fn replayed(app: &App, response: &Value, after: Option<u64>) -> Stream {
    let after = after.map_or(String::new(), |after| format!("&starting_after={after}"));
    let path = format!("{PATH}/{}?stream=true{after}", id(response));
    let sent = app.request("GET", &path).send();
    Stream::whole(within("the head of a stream", sent).await.unwrap()).await
}

pub async fn cancel(app: &App, response: &Value) -> Value {
    let path = format!("{PATH}/{}/cancel", id(response));
    let (status, response) = send(app.request("POST", &path)).await;
    assert_eq!(status, 200, "{response}");
    response
}

/// Asks until the response is in this state.
pub async fn until(app: &App, response: &Value, status: &str) -> Value {
    within(&format!("a response that is {status}"), async {
        loop {
            let now = get(app, response).await;
            if now["status"] == status {
                return now;
            }
            tokio::time::sleep(ms(10)).await;
        }
    })
    .await
}

/// A response that is not over. Its turn is stored with its first result.
pub async fn unfinished(app: &App, response: &Value) -> Value {
    let now = get(app, response).await;
    let status = now["status"].as_str().unwrap();
    assert!(["queued", "in_progress"].contains(&status), "{now}");
    now
}

pub async fn refused(app: &App, body: &Value, status: u16) -> Value {
    let (got, answer) = send(app.request("POST", PATH).json(body)).await;
    assert_eq!(got, status, "{body} {answer}");
    let error = &answer["error"];
    assert!(
        error["message"].is_string() && error["type"].is_string(),
        "{answer}"
    );
    error.clone()
}

pub fn id(response: &Value) -> &str {
    response["id"].as_str().unwrap()
}

pub fn text_of(response: &Value) -> &str {
    response["output"][0]["content"][0]["text"]
        .as_str()
        .unwrap_or_default()
}

pub fn behind(response: &Value) -> Value {
    json!({ "previous_response_id": id(response) })
}

/// The thread of a response.
pub async fn thread_of(app: &App, response: &Value) -> String {
    let path = format!("{PATH}/{}", id(response));
    let sent = app.request("GET", &path).send().await.unwrap();
    let thread = sent.headers()["x-thinkd-thread"].to_str().unwrap();
    thread.to_owned()
}

/// A server with a decision that repeats the last message; of one that begins with `slow` it looks
/// something up, and then waits for the gate.
pub async fn echo(medium: Medium) -> (Stub, Gate, App) {
    let stub = Stub::start().await;
    let gate = Gate::new();
    let held = gate.clone();
    stub.on_each(decision, move |request| {
        let last = request.last_user();
        let answer = reply(&format!("ok: {last}")).usage(7, 3, 2);
        let entries = request.entries();
        let said = entries.iter().rposition(|it| it.who.starts_with("user"));
        let mut behind = entries[said.unwrap_or(0)..].iter();
        match last.starts_with("slow") {
            true if behind.any(|it| it.who.starts_with("result ")) => answer.held(&held),
            true => call("state_get", json!({ "key": "nothing" })),
            false => answer,
        }
    });
    let app = Setup::new(medium, &stub).voices(&[]).start().await;
    (stub, gate, app)
}
