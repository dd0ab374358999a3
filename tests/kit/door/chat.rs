//! A client of chat completions: it sends the whole conversation with each message.

use serde_json::{Value, json};

use crate::*;

pub const PATH: &str = "/v1/chat/completions";

/// A client's side of a conversation.
#[derive(Clone)]
pub struct Client {
    pub model: String,
    pub messages: Vec<Value>,
    pub headers: Vec<(&'static str, String)>,
    pub user: Option<&'static str>,
}

/// An answer, and the thread it came from.
#[derive(Debug)]
pub struct Said {
    pub thread: String,
    pub text: String,
    pub body: Value,
}

impl Client {
    pub fn new() -> Self {
        Self {
            model: "thinkd".into(),
            messages: Vec::new(),
            headers: Vec::new(),
            user: None,
        }
    }

    pub fn of(thread: &str) -> Self {
        let model = format!("thinkd/{thread}");
        Self {
            model,
            ..Self::new()
        }
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub fn adds(mut self, role: &str, content: impl Into<Value>) -> Self {
        let content = content.into();
        self.messages
            .push(json!({ "role": role, "content": content }));
        self
    }

    pub fn request(&self, app: &App, more: Value) -> reqwest::RequestBuilder {
        let mut body = json!({ "model": self.model, "messages": self.messages });
        if let Some(user) = self.user {
            body["user"] = user.into();
        }
        let members = body.as_object_mut().unwrap();
        members.extend(more.as_object().unwrap().clone());
        let request = app.request("POST", PATH).json(&body);
        let headers = self.headers.iter();
        headers.fold(request, |request, (name, value)| {
            request.header(*name, value)
        })
    }

    pub async fn send(&self, app: &App, more: Value) -> (u16, Value, String) {
        let sent = self.request(app, more).send();
        let response = within("the answer of the door", sent).await.unwrap();
        let thread = response.headers().get("x-thinkd-thread");
        let thread = thread.map_or("", |it| it.to_str().unwrap()).to_owned();
        let status = response.status().as_u16();
        (status, response.json().await.unwrap(), thread)
    }

    /// Asks for an answer to the messages so far.
    pub async fn asks(&self, app: &App) -> Said {
        let (status, body, thread) = self.send(app, json!({})).await;
        assert_eq!(status, 200, "{body}");
        let text = body["choices"][0]["message"]["content"].as_str().unwrap();
        let text = text.to_owned();
        Said { thread, text, body }
    }

    /// Says something, and keeps the answer.
    pub async fn says(&mut self, app: &App, words: &str) -> Said {
        self.messages
            .push(json!({ "role": "user", "content": words }));
        let said = self.asks(app).await;
        self.messages
            .push(json!({ "role": "assistant", "content": said.text }));
        said
    }

    pub async fn is_refused(&self, app: &App, more: Value, status: u16) -> Value {
        let (got, body, _) = self.send(app, more).await;
        assert_eq!(got, status, "{body}");
        let error = &body["error"];
        assert!(
            error["message"].is_string() && error["type"].is_string(),
            "{body}"
        );
        error.clone()
    }
}

/// The pieces of a streamed answer, and its last line.
pub async fn pieces(response: reqwest::Response) -> (Vec<Value>, bool) {
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let text = within("the stream", response.text()).await.unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let (done, pieces): (Vec<&str>, Vec<&str>) = lines.partition(|line| *line == "[DONE]");
    let pieces = pieces
        .iter()
        .map(|line| serde_json::from_str(line).unwrap());
    (
        pieces.collect(),
        done.len() == 1 && text.ends_with("data: [DONE]\n\n"),
    )
}

pub fn words_of(pieces: &[Value]) -> String {
    let words = pieces
        .iter()
        .filter_map(|it| it["choices"][0]["delta"]["content"].as_str());
    words.collect()
}
