//! A server of tools that speaks MCP over streamable HTTP, by a script: it answers, fails, hangs, floods, goes away and comes back.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use axum::routing::post;
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};
use tokio::sync::{broadcast, watch};

use super::{Duration, Gate, within};

/// The outcome of a call of a tool.
#[derive(Clone)]
pub enum Does {
    /// This result.
    Answers(Value),
    /// Sends these messages first, each in the stream of the answer, and then answers this.
    Sends(Vec<Value>, Value),
    /// Answers these bytes, as this type of content.
    Says(&'static str, String),
    /// Answers with this status, and a page for people.
    Fails(u16),
    /// An answer with this status, a challenge and these bytes.
    Refuses(u16, String),
    /// An error of the protocol.
    Errs(String),
    /// Opens the stream of its answer, and answers in it when the gate is open.
    Streams(Gate, Value),
    /// Never answers.
    Hangs,
    /// Answers when the gate is open.
    Waits(Gate, Value),
    /// Sends messages without end.
    Floods,
    /// Asks these in the stream of the answer, one after the other: method and parameters. Its
    /// result is the words of the replies, a line each.
    Asks(Vec<(&'static str, Value)>),
    /// Does not know the session any more.
    Forgets,
    /// Keeps the stream of its answer open, and says nothing in it.
    Hums,
    /// Begins an answer of this type of content with these bytes (`ID`: that of the call), and goes
    /// on like that.
    Begins(&'static str, String, Then),
}

/// The rest of an answer that has begun.
#[derive(Clone, Copy)]
pub enum Then {
    /// Breaks off: the connection is gone.
    Breaks,
    /// Nothing more comes.
    Stays,
}

/// A page of a list, by its cursor.
pub type Pages = Box<dyn Fn(Option<&str>) -> Value + Send>;

/// See the module; cheap to clone.
#[derive(Clone)]
pub struct ToolServer(Arc<Inner>);

struct Inner {
    url: Mutex<String>,
    tools: Mutex<Vec<Value>>,
    does: Mutex<HashMap<String, Does>>,
    others: Mutex<HashMap<String, Value>>,
    heard: watch::Sender<Vec<Value>>,
    headers: Mutex<Vec<HeaderMap>>,
    news: Mutex<Option<broadcast::Sender<String>>>,
    is_down: Mutex<bool>,
    /// The contents of each page of its list of tools, by the cursor.
    pages: Mutex<Option<Pages>>,
    /// The key that its requests need.
    key: Mutex<Option<String>>,
    /// The address to which it redirects every request.
    elsewhere: Mutex<Option<String>>,
    /// The response to its followers, instead of a stream of news: status and whole stream.
    follows: Mutex<Option<(u16, &'static str)>>,
}

/// Words, as a tool answers them.
pub fn words(text: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": text }] })
}

/// A tool with one text as its argument.
pub fn tool(name: &str, description: &str) -> Value {
    let text = json!({ "type": "string" });
    let schema = json!({ "type": "object", "properties": { "text": text }, "required": ["text"] });
    json!({ "name": name, "description": description, "inputSchema": schema })
}

impl ToolServer {
    /// A server with these tools, each of which answers `done`.
    pub async fn start(tools: Vec<Value>) -> Self {
        let inner = Inner {
            url: Mutex::default(),
            tools: Mutex::new(tools),
            does: Mutex::default(),
            others: Mutex::default(),
            heard: watch::Sender::new(Vec::new()),
            headers: Mutex::default(),
            news: Mutex::new(Some(broadcast::channel(64).0)),
            is_down: Mutex::new(false),
            pages: Mutex::default(),
            key: Mutex::default(),
            elsewhere: Mutex::default(),
            follows: Mutex::default(),
        };
        let server = Self(Arc::new(inner));
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        *server.0.url.lock().unwrap() = format!("http://{}/mcp", listener.local_addr().unwrap());
        let router = axum::Router::new().route("/mcp", post(asked).get(follows).delete(left));
        let router = router.with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, router).await });
        server
    }

    /// Returns its address.
    pub fn url(&self) -> String {
        self.0.url.lock().unwrap().clone()
    }

    /// Sets the outcome of this tool's calls from now on.
    pub fn does(&self, tool: &str, does: Does) {
        self.0.does.lock().unwrap().insert(tool.to_owned(), does);
    }

    /// Sets its answer to requests of another method.
    pub fn answers(&self, method: &str, result: Value) {
        self.0
            .others
            .lock()
            .unwrap()
            .insert(method.to_owned(), result);
    }

    /// Lists its tools in these pages, by the cursor, from now on.
    pub fn lists(&self, page: Pages) {
        *self.0.pages.lock().unwrap() = Some(page);
    }

    /// Takes only requests with this value of the header `x-key` from now on.
    pub fn wants(&self, key: &str) {
        *self.0.key.lock().unwrap() = Some(key.to_owned());
    }

    /// Says that its list of tools is another one.
    pub fn says_changed(&self) {
        self.says(&json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
    }

    /// Never answers requests of another method from now on.
    pub fn hangs(&self, method: &str) {
        self.answers(method, Value::Null);
    }

    /// Has these tools from now on, and says that they changed.
    pub fn changes(&self, tools: Vec<Value>) {
        *self.0.tools.lock().unwrap() = tools;
        self.says_changed();
    }

    /// Sends this to all its followers.
    pub fn says(&self, message: &Value) {
        if let Some(news) = &*self.0.news.lock().unwrap() {
            let _ = news.send(message.to_string());
        }
    }

    /// Is down: refuses every request (502) from now on, and cuts off its followers.
    pub fn goes(&self) {
        *self.0.is_down.lock().unwrap() = true;
        self.0.news.lock().unwrap().take();
    }

    /// Redirects every request to another one from now on.
    pub fn sends_on(&self, other: &Self) {
        *self.0.elsewhere.lock().unwrap() = Some(other.url());
    }

    /// Knows no sessions, and declares this of its tools.
    pub fn has_no_sessions(&self, tools: &Value) {
        let about = json!({ "name": "stub", "version": "1" });
        let can = json!({ "tools": tools });
        self.answers(
            "initialize",
            json!({ "protocolVersion": "2025-11-25", "capabilities": can, "serverInfo": about }),
        );
    }

    /// Gives its followers this status, and this stream, which ends.
    pub fn is_followed_by(&self, status: u16, stream: &'static str) {
        *self.0.follows.lock().unwrap() = Some((status, stream));
    }

    /// Comes back.
    pub fn comes_back(&self) {
        *self.0.news.lock().unwrap() = Some(broadcast::channel(64).0);
        *self.0.is_down.lock().unwrap() = false;
    }

    /// The messages of this method that it heard so far.
    pub fn heard(&self, method: &str) -> Vec<Value> {
        self.0
            .heard
            .borrow()
            .iter()
            .filter(|message| message["method"] == method)
            .cloned()
            .collect()
    }

    /// Waits until it has heard nothing for so long.
    pub async fn quiet(&self, time: Duration) {
        let mut heard = self.0.heard.subscribe();
        let quiet = async { while tokio::time::timeout(time, heard.changed()).await.is_ok() {} };
        within("an end of the messages", quiet).await;
    }

    /// Waits until it has heard so many messages of this method; returns the last.
    pub async fn hears(&self, method: &str, count: usize) -> Value {
        let mut heard = self.0.heard.subscribe();
        let is_there = |all: &Vec<Value>| {
            all.iter()
                .filter(|message| message["method"] == method)
                .count()
                >= count
        };
        within(&format!("the {count}. {method}"), heard.wait_for(is_there))
            .await
            .unwrap();
        self.heard(method)[count - 1].clone()
    }

    /// Waits for the answer to its request of this id, and returns it.
    pub async fn told(&self, id: &str) -> Value {
        let mut heard = self.0.heard.subscribe();
        let is_answer = |message: &Value| message["id"] == id && message["method"].is_null();
        let is_there = |all: &Vec<Value>| all.iter().any(is_answer);
        let heard = within(&format!("the answer to {id}"), heard.wait_for(is_there))
            .await
            .unwrap();
        heard
            .iter()
            .find(|message| is_answer(message))
            .unwrap()
            .clone()
    }

    /// The headers of its requests.
    pub fn headers(&self) -> Vec<HeaderMap> {
        self.0.headers.lock().unwrap().clone()
    }

    fn is_down(&self) -> bool {
        *self.0.is_down.lock().unwrap()
    }
}

async fn asked(State(server): State<ToolServer>, headers: HeaderMap, body: Bytes) -> Response {
    if server.is_down() {
        return StatusCode::BAD_GATEWAY.into_response();
    }
    if let Some(other) = server.0.elsewhere.lock().unwrap().clone() {
        return (StatusCode::TEMPORARY_REDIRECT, [("location", other)]).into_response();
    }
    if server
        .0
        .key
        .lock()
        .unwrap()
        .as_deref()
        .is_some_and(|key| headers.get("x-key").is_none_or(|given| given != key))
    {
        return StatusCode::UNAUTHORIZED.into_response();
    }
    server.0.headers.lock().unwrap().push(headers);
    let message: Value = serde_json::from_slice(&body).unwrap();
    server
        .0
        .heard
        .send_modify(|heard| heard.push(message.clone()));
    let id = message["id"].clone();
    if id.is_null() || message["method"].is_null() {
        return StatusCode::ACCEPTED.into_response();
    }
    let result = |result: Value| json!({ "jsonrpc": "2.0", "id": id, "result": result });
    let other = server
        .0
        .others
        .lock()
        .unwrap()
        .get(message["method"].as_str().unwrap())
        .cloned();
    match message["method"].as_str().unwrap() {
        _ if other == Some(Value::Null) => std::future::pending().await,
        _ if other.is_some() => whole(&result(other.unwrap())),
        "initialize" => {
            let list = json!({ "listChanged": true });
            let can = json!({ "tools": list, "resources": {}, "prompts": {} });
            let about = json!({ "name": "stub", "version": "1" });
            let answer = json!({ "protocolVersion": "2025-11-25", "capabilities": can, "serverInfo": about });
            let mut response = whole(&result(answer));
            response
                .headers_mut()
                .insert("mcp-session-id", "s1".parse().unwrap());
            response
        }
        "tools/list" => {
            let page = server
                .0
                .pages
                .lock()
                .unwrap()
                .as_ref()
                .map(|page| page(message["params"]["cursor"].as_str()));
            whole(&result(page.unwrap_or_else(
                || json!({ "tools": *server.0.tools.lock().unwrap() }),
            )))
        }
        "tools/call" => {
            let name = message["params"]["name"].as_str().unwrap();
            let does = server.0.does.lock().unwrap().get(name).cloned();
            match does.unwrap_or_else(|| Does::Answers(words("done"))) {
                Does::Asks(requests) => asking(server.clone(), requests, message["id"].clone()),
                does => called(does, result).await,
            }
        }
        method => {
            let error = json!({ "code": -32601, "message": format!("there is no {method}") });
            whole(&json!({ "jsonrpc": "2.0", "id": id, "error": error }))
        }
    }
}

/// A stream of questions, each of which waits for its answer, and of the result.
fn asking(server: ToolServer, requests: Vec<(&'static str, Value)>, call: Value) -> Response {
    let id = move |index: usize, call: &Value| format!("ask-{call}-{index}");
    let pieces = stream::unfold((0, Vec::<String>::new()), move |(index, mut told)| {
        let server = server.clone();
        let requests = requests.clone();
        let call = call.clone();
        async move {
            if index > 0 && index <= requests.len() {
                let message = server.told(&id(index - 1, &call)).await;
                told.push(
                    message
                        .get("result")
                        .unwrap_or(&message["error"])
                        .to_string(),
                );
            }
            let message = match requests.get(index) {
                Some((method, params)) => {
                    json!({ "jsonrpc": "2.0", "id": id(index, &call), "method": method, "params": params })
                }
                None if index == requests.len() => {
                    json!({ "jsonrpc": "2.0", "id": call, "result": words(&told.join("\n")) })
                }
                None => return None,
            };
            Some((
                Ok::<_, Infallible>(piece(&message.to_string())),
                (index + 1, told),
            ))
        }
    });
    streamed(Body::from_stream(pieces))
}

async fn called(does: Does, result: impl Fn(Value) -> Value) -> Response {
    match does {
        Does::Answers(value) => whole(&result(value)),
        Does::Says(kind, bytes) => ([("content-type", kind)], bytes).into_response(),
        Does::Sends(mut messages, value) => {
            messages.push(result(value));
            let pieces: Vec<_> = messages
                .iter()
                .map(|message| Ok::<_, Infallible>(piece(&message.to_string())))
                .collect();
            streamed(Body::from_stream(stream::iter(pieces)))
        }
        Does::Fails(status) => {
            let status = StatusCode::from_u16(status).unwrap();
            (
                status,
                [("content-type", "text/html")],
                "<html>It went wrong.</html>",
            )
                .into_response()
        }
        Does::Refuses(status, words) => {
            let status = StatusCode::from_u16(status).unwrap();
            let challenge =
                format!("Bearer error=\"invalid_token\", error_description=\"{words}\"");
            (status, [("www-authenticate", challenge)], words).into_response()
        }
        Does::Errs(words) => {
            let error = json!({ "code": -32000, "message": words, "data": { "said": words } });
            axum::Json(json!({ "jsonrpc": "2.0", "id": result(json!({}))["id"], "error": error }))
                .into_response()
        }
        Does::Streams(gate, value) => {
            let answer = piece(&result(value).to_string());
            let later = stream::once(async move {
                gate.pass().await;
                Ok(answer)
            });
            let first = stream::iter([Ok::<_, Infallible>(": it comes\n\n".to_owned())]);
            streamed(Body::from_stream(first.chain(later)))
        }
        Does::Forgets => StatusCode::NOT_FOUND.into_response(),
        Does::Hums => streamed(Body::from_stream(stream::repeat_with(|| {
            Ok::<_, Infallible>(": hm\n\n")
        }))),
        Does::Begins(kind, bytes, then) => {
            let bytes = bytes.replace("ID", &result(Value::Null)["id"].to_string());
            let rest = stream::once(async move {
                // What it began with is on its way.
                tokio::task::yield_now().await;
                match then {
                    Then::Breaks => Err(std::io::Error::other("it breaks off")),
                    Then::Stays => std::future::pending().await,
                }
            });
            let body = Body::from_stream(stream::iter([Ok(bytes)]).chain(rest));
            ([("content-type", kind)], body).into_response()
        }
        Does::Hangs | Does::Asks(_) => std::future::pending().await,
        Does::Waits(gate, value) => {
            gate.pass().await;
            whole(&result(value))
        }
        Does::Floods => {
            let params = json!({ "level": "info", "data": "x".repeat(1000) });
            let message =
                json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": params })
                    .to_string();
            streamed(Body::from_stream(stream::repeat_with(move || {
                Ok::<_, Infallible>(piece(&message))
            })))
        }
    }
}

async fn follows(State(server): State<ToolServer>, headers: HeaderMap) -> Response {
    let session = headers
        .get("mcp-session-id")
        .map(|session| session.to_str().unwrap().to_owned());
    server
        .0
        .heard
        .send_modify(|heard| heard.push(json!({ "method": "GET", "session": session })));
    if let Some((status, all)) = *server.0.follows.lock().unwrap() {
        return (
            StatusCode::from_u16(status).unwrap(),
            streamed(Body::from(all)),
        )
            .into_response();
    }
    let news = server
        .0
        .news
        .lock()
        .unwrap()
        .as_ref()
        .map(broadcast::Sender::subscribe);
    let Some(news) = news.filter(|_| !server.is_down()) else {
        return StatusCode::BAD_GATEWAY.into_response();
    };
    let pieces = stream::unfold(news, async |mut news| {
        let message = news.recv().await.ok()?;
        Some((Ok::<_, Infallible>(piece(&message)), news))
    });
    streamed(Body::from_stream(pieces))
}

async fn left() -> StatusCode {
    StatusCode::OK
}

fn piece(message: &str) -> String {
    format!("event: message\ndata: {message}\n\n")
}

fn whole(message: &Value) -> Response {
    ([("content-type", "application/json")], message.to_string()).into_response()
}

fn streamed(body: Body) -> Response {
    ([("content-type", "text/event-stream")], body).into_response()
}
