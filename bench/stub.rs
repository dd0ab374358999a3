//! A stub model that answers at once or after a constant time: with words, or with tool calls where
//! the model's name has "tool" in it. The beginning of the thread's name chooses the calls, mostly
//! `reply`. Beside it an echo and a fan-out, which show the cost of a socket without thinkd. It has
//! two threads of its own.

use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use axum::response::Response;
use axum::routing::{get, post};
use futures_util::StreamExt as _;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

const TEXT: &str = "hello there from the stub model";

/// When the models were asked that never answer.
type Hung = Arc<Mutex<Vec<Instant>>>;

/// A running stub.
pub struct Stub {
    /// `127.0.0.1:<port>`.
    pub address: String,
    delay: Arc<AtomicU64>,
    hung: Hung,
    _threads: tokio::runtime::Runtime,
}

impl Stub {
    pub fn start() -> Self {
        let threads = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let delay = Arc::new(AtomicU64::new(0));
        let listener = threads.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let hung = Hung::default();
        threads.spawn(serve(listener, delay.clone(), hung.clone()));
        Self {
            address,
            delay,
            hung,
            _threads: threads,
        }
    }

    /// The endpoint, as models are configured with.
    pub fn url(&self) -> String {
        format!("http://{}/v1", self.address)
    }

    /// Answers come after so many milliseconds from now on.
    pub fn delay(&self, ms: u64) {
        self.delay.store(ms, Ordering::Relaxed);
    }

    /// Returns the times of requests that a model never answers: those of threads with a name that
    /// begins with `hang-`.
    pub fn hung(&self) -> Vec<Instant> {
        self.hung.lock().unwrap().clone()
    }

    /// Forgets when.
    pub fn forget_hung(&self) {
        self.hung.lock().unwrap().clear();
    }
}

async fn serve(listener: TcpListener, delay: Arc<AtomicU64>, hung: Hung) {
    let (all, _) = broadcast::channel::<Utf8Bytes>(4096);
    let chat = move |headers: HeaderMap, body: Bytes| {
        let delay = delay.load(Ordering::Relaxed);
        let hung = hung.clone();
        async move {
            if delay > 0 {
                tokio::time::sleep(Duration::from_millis(delay)).await;
            }
            let thread = headers
                .get("x-thinkd-thread")
                .and_then(|thread| thread.to_str().ok())
                .unwrap_or_default();
            if thread.starts_with("hang-") {
                hung.lock().unwrap().push(Instant::now());
                std::future::pending::<()>().await;
            }
            answer(thread, &body)
        }
    };
    let small = |upgrade: WebSocketUpgrade| upgrade.read_buffer_size(4096).write_buffer_size(0);
    let fan = move |upgrade: WebSocketUpgrade| async move {
        let heard = all.subscribe();
        small(upgrade).on_upgrade(move |socket| pass_on(socket, all, heard))
    };
    let router = Router::new()
        .route("/v1/chat/completions", post(chat))
        .route(
            "/echo",
            get(move |upgrade: WebSocketUpgrade| async move { small(upgrade).on_upgrade(echo) }),
        )
        .route("/fan", get(fan));
    let listener = axum::serve::ListenerExt::tap_io(listener, |io| io.set_nodelay(true).unwrap());
    axum::serve(listener, router).await.unwrap();
}

async fn echo(mut socket: WebSocket) {
    while let Some(Ok(message)) = socket.recv().await {
        if socket.send(message).await.is_err() {
            return;
        }
    }
}

/// Passes the texts of one socket on to all.
async fn pass_on(
    socket: WebSocket,
    all: broadcast::Sender<Utf8Bytes>,
    mut heard: broadcast::Receiver<Utf8Bytes>,
) {
    use futures_util::SinkExt as _;
    let (mut out, mut incoming) = socket.split();
    loop {
        tokio::select! {
            said = incoming.next() => match said {
                Some(Ok(Message::Text(text))) => drop(all.send(text)),
                Some(Ok(_)) => {}
                _ => return,
            },
            text = heard.recv() => match text {
                Ok(text) => if out.send(Message::Text(text)).await.is_err() { return },
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return,
            },
        }
    }
}

#[derive(Deserialize)]
struct Asked {
    model: String,
    #[serde(default)]
    stream: bool,
}

fn answer(thread: &str, body: &[u8]) -> Response {
    let Ok(asked) = serde_json::from_slice::<Asked>(body) else {
        return Response::builder().status(400).body(Body::empty()).unwrap();
    };
    let calls = if asked.model.contains("tool") {
        calls(thread, body)
    } else {
        Vec::new()
    };
    let (kind, text) = match asked.stream {
        true => ("text/event-stream", streamed(&asked.model, &calls)),
        false => ("application/json", plain(&asked.model, &calls)),
    };
    let body = Body::from_stream(futures_util::stream::iter([Ok::<_, Infallible>(text)]));
    Response::builder()
        .header(CONTENT_TYPE, kind)
        .body(body)
        .unwrap()
}

type Call = (&'static str, String);

/// Number of calls that a thread proposes if its name begins with `asks-`.
pub const PROPOSALS: usize = 50;

/// Returns the calls of a thread of this name.
fn calls(thread: &str, body: &[u8]) -> Vec<Call> {
    let wait = || {
        (
            "wait",
            json!({ "from": null, "timeout_s": null }).to_string(),
        )
    };
    if thread.starts_with("ping-") {
        return vec![
            (
                "send",
                json!({ "to": ["peer"], "text": "your turn" }).to_string(),
            ),
            wait(),
        ];
    }
    if thread.starts_with("talks-") {
        return vec![("reply", json!({ "text": TEXT }).to_string()), wait()];
    }
    if thread.starts_with("asks-") && !String::from_utf8_lossy(body).contains("approval pending") {
        let put = |n: usize| {
            json!({ "key": format!("k{n}"), "content": TEXT, "related_keys": [] }).to_string()
        };
        return (0..PROPOSALS).map(|n| ("state_put", put(n))).collect();
    }
    if thread.starts_with("loops-") {
        let code = json!({ "language": "javascript", "code": "for (;;) {}", "input": null });
        return vec![("run_code", code.to_string())];
    }
    if thread.starts_with("timed-") {
        return vec![wait()];
    }
    if thread.starts_with("nest-") && thread.contains('.') {
        return vec![("terminate", json!({ "reason": "done" }).to_string())];
    }
    if thread.starts_with("nest-") {
        // Its last entry says whether it has just made one.
        let body = String::from_utf8_lossy(body);
        let made =
            body.rfind("thread-spawned").unwrap_or(0) > body.rfind("thread-ended").unwrap_or(0);
        let spawn = || {
            (
                "spawn_thread",
                json!({ "label": null, "prompt": null, "payload": "go" }).to_string(),
            )
        };
        return vec![if made { wait() } else { spawn() }];
    }
    vec![("reply", json!({ "text": TEXT }).to_string())]
}

fn usage() -> Value {
    json!({ "prompt_tokens": 10, "completion_tokens": 6, "total_tokens": 16 })
}

fn plain(model: &str, calls: &[Call]) -> String {
    let call = |(index, (name, arguments)): (usize, &Call)| json!({ "id": format!("call_{index}"), "type": "function", "function": { "name": name, "arguments": arguments } });
    let (message, finish) = match calls {
        [] => (json!({ "role": "assistant", "content": TEXT }), "stop"),
        calls => {
            let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
            (
                json!({ "role": "assistant", "content": null, "tool_calls": calls }),
                "tool_calls",
            )
        }
    };
    let choice = json!({ "index": 0, "message": message, "finish_reason": finish });
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": model, "choices": [choice], "usage": usage(),
    })
    .to_string()
}

fn streamed(model: &str, calls: &[Call]) -> String {
    let chunk = |choices: Value, usage: Value| {
        let chunk = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": model, "choices": choices,
            "usage": usage,
        });
        format!("data: {chunk}\n\n")
    };
    let delta = |delta: Value, finish: Option<&str>| {
        chunk(
            json!([{ "index": 0, "delta": delta, "finish_reason": finish }]),
            Value::Null,
        )
    };
    let silent = !calls.is_empty();
    let mut text = delta(
        json!({ "role": "assistant", "content": if silent { Value::Null } else { "".into() } }),
        None,
    );
    for (index, (name, arguments)) in calls.iter().enumerate() {
        let id = format!("call_{index}");
        let head = json!({ "index": index, "id": id, "type": "function", "function": { "name": name, "arguments": "" } });
        let tail = json!({ "index": index, "function": { "arguments": arguments } });
        text.extend([head, tail].map(|call| delta(json!({ "tool_calls": [call] }), None)));
    }
    if !silent {
        text.extend(
            TEXT.split_inclusive(' ')
                .map(|word| delta(json!({ "content": word }), None)),
        );
    }
    text += &delta(json!({}), Some(if silent { "tool_calls" } else { "stop" }));
    text += &chunk(json!([]), usage());
    text + "data: [DONE]\n\n"
}
