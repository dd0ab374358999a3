//! A WebSocket client that sends frames and waits for frames. It keeps frames that no test waited for, in order.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async_with_config};

use super::{PATIENCE, facts, schema, within};

/// One connection.
pub struct Socket {
    stream: WebSocketStream<MaybeTlsStream<TcpStream>>,
    waiting: VecDeque<Value>,
    /// Frames sent with an `id`: those that are taken must be as described.
    sent: HashMap<String, Value>,
    /// Every frame that came, in order.
    pub seen: Vec<Value>,
    /// The close code, once closed with one.
    pub code: Option<u16>,
    next_id: u32,
}

/// The result of a read from a socket.
pub(super) enum Came {
    Frame,
    Closed,
}

impl Socket {
    /// Connects; nothing is read yet.
    pub async fn connect(url: &str) -> Self {
        Self::connect_with(url, &[]).await
    }

    /// Connects with these headers.
    pub async fn connect_with(url: &str, headers: &[(&'static str, &str)]) -> Self {
        let mut request: Request = url.into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let connected = within(
            "a WebSocket",
            connect_async_with_config(request, None, true),
        )
        .await;
        let (stream, _) =
            connected.unwrap_or_else(|error| panic!("cannot connect to {url}: {error}"));
        Self {
            stream,
            waiting: VecDeque::new(),
            sent: HashMap::new(),
            seen: Vec::new(),
            code: None,
            next_id: 0,
        }
    }

    /// Sends text as it is.
    pub async fn send_text(&mut self, text: &str) {
        if let Ok(frame) = serde_json::from_str::<Value>(text)
            && let Some(id) = frame["id"].as_str()
        {
            self.sent.insert(id.to_owned(), frame);
        }
        within("room to send", self.stream.send(Message::text(text)))
            .await
            .unwrap();
    }

    /// Sends any WebSocket message.
    pub async fn send_message(&mut self, message: Message) {
        within("room to send", self.stream.send(message))
            .await
            .unwrap();
    }

    /// Sends a frame. Only one with an `id` may be other than described: it must be refused then.
    pub async fn send(&mut self, frame: Value) {
        if frame["id"].is_null() {
            schema::check_frame(&frame);
        }
        self.send_text(&frame.to_string()).await;
    }

    /// Sends a frame with an `id` and waits for its answer: `ack`, `forked` or `problem`.
    pub async fn ask(&mut self, mut frame: Value) -> Value {
        self.next_id += 1;
        let id = format!("{}", self.next_id);
        frame["id"] = json!(id);
        self.send(frame).await;
        let what = format!("the answer to frame {id}");
        self.wait(&what, |frame| {
            let answers = ["ack", "forked", "problem"];
            answers.iter().any(|it| frame["type"] == *it) && frame["id"] == json!(id)
        })
        .await
    }

    /// Says something in `main` and waits for the ack.
    #[track_caller]
    pub fn say(&mut self, text: &str) -> impl Future<Output = Value> {
        self.say_in("main", text)
    }

    /// Says something in a thread and waits for the ack.
    pub async fn say_in(&mut self, thread: &str, text: &str) -> Value {
        let ack = self
            .ask(json!({ "type": "message", "thread": thread, "text": text }))
            .await;
        assert_eq!(ack["type"], "ack", "{ack}");
        ack
    }

    /// Says something in `main` and waits for the reply (the next response that comes).
    pub async fn chat(&mut self, text: &str) -> Value {
        self.say(text).await;
        self.response().await
    }

    /// The next frame, of those not taken yet. `None`: closed.
    pub async fn next(&mut self) -> Option<Value> {
        while self.waiting.is_empty() {
            if let Came::Closed = within("a frame", self.read()).await {
                return None;
            }
        }
        self.waiting.pop_front()
    }

    /// Takes the first frame that fits; those before it stay.
    pub async fn wait(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let found = tokio::time::timeout(PATIENCE, self.find(&fits)).await;
        match found {
            Ok(Some(frame)) => frame,
            Ok(None) => panic!(
                "{what} did not come before the socket closed ({:?}): {:#?}",
                self.code, self.seen
            ),
            Err(_) => panic!(
                "{what} did not come within {PATIENCE:?}; these did: {:#?}",
                Lines(&self.seen)
            ),
        }
    }

    async fn find(&mut self, fits: &impl Fn(&Value) -> bool) -> Option<Value> {
        let mut looked_at = 0;
        loop {
            if let Some(at) = self.waiting.iter().skip(looked_at).position(fits) {
                return self.waiting.remove(looked_at + at);
            }
            looked_at = self.waiting.len();
            if let Came::Closed = self.read().await {
                return None;
            }
        }
    }

    pub(super) async fn read(&mut self) -> Came {
        loop {
            match self.stream.next().await {
                Some(Ok(Message::Text(text))) => {
                    let frame: Value =
                        serde_json::from_str(&text).unwrap_or_else(|_| panic!("not JSON: {text}"));
                    schema::check_frame(&frame);
                    if frame["type"] == "event" {
                        facts::check(&frame["event"]);
                    }
                    if let Some(taken) = frame["id"].as_str().filter(|_| frame["type"] == "ack") {
                        self.sent
                            .get(taken)
                            .into_iter()
                            .for_each(schema::check_frame);
                    }
                    self.seen.push(frame.clone());
                    self.waiting.push_back(frame);
                    return Came::Frame;
                }
                Some(Ok(Message::Close(frame))) => {
                    self.code = frame.map(|frame| frame.code.into()).or(self.code);
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Came::Closed,
            }
        }
    }

    /// Takes the first event that fits (the event itself, not its frame).
    pub async fn event(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let frame = self
            .wait(what, |frame| {
                frame["type"] == "event" && fits(&frame["event"])
            })
            .await;
        frame["event"].clone()
    }

    /// Takes the first event with the tag.
    pub async fn tagged(&mut self, tag: &str) -> Value {
        self.event(&format!("an event tagged {tag}"), |event| {
            super::has(event, tag)
        })
        .await
    }

    /// Takes the next response.
    pub async fn response(&mut self) -> Value {
        self.tagged("response").await
    }

    /// Takes the next end of a turn.
    pub async fn turn_ended(&mut self) -> Value {
        self.event("the end of a turn", |event| {
            super::has(event, "turn") && super::has(event, "ended")
        })
        .await
    }

    /// Takes the first frame of the type.
    pub async fn of_type(&mut self, kind: &str) -> Value {
        self.wait(&format!("a frame of type {kind}"), |frame| {
            frame["type"] == kind
        })
        .await
    }

    /// Takes the next problem.
    pub async fn problem(&mut self) -> Value {
        self.of_type("problem").await["problem"].clone()
    }

    /// Subscribes to everything after `after`, filtered by these members, and waits until caught
    /// up. Returns the replayed events.
    pub async fn follow(&mut self, after: i64, filter: Value) -> Vec<Value> {
        let mut frame = json!({ "type": "subscribe", "after": after });
        frame
            .as_object_mut()
            .unwrap()
            .extend(filter.as_object().cloned().unwrap_or_default());
        self.subscribe(frame).await;
        self.of_type("caught_up").await;
        let replayed = |frame: &Value| frame["type"] == "event" && frame["replay"] == json!(true);
        let events = self
            .waiting
            .iter()
            .filter(|frame| replayed(frame))
            .map(|frame| frame["event"].clone())
            .collect();
        self.waiting.retain(|frame| !replayed(frame));
        events
    }

    /// Sends a `subscribe` frame and waits for its ack: every frame that is taken from now on
    /// belongs to it.
    pub async fn subscribe(&mut self, frame: Value) {
        let ack = self.ask(frame).await;
        assert_eq!(ack["type"], "ack", "{ack}");
        self.waiting.clear();
    }

    /// All events that came, in order.
    pub fn events(&self) -> Vec<Value> {
        self.seen
            .iter()
            .filter(|frame| frame["type"] == "event")
            .map(|frame| frame["event"].clone())
            .collect()
    }

    /// Waits for the end of the connection and returns the close code, if there was one.
    pub async fn closed(&mut self) -> Option<u16> {
        within("the end of the connection", async {
            while let Came::Frame = self.read().await {}
        })
        .await;
        self.code
    }

    /// Reads for so long and fails if a frame comes that fits: for frames that must not come.
    /// Prefer to wait for frames that must.
    pub async fn quiet(&mut self, time: Duration, fits: impl Fn(&Value) -> bool) {
        let found = tokio::time::timeout(time, self.find(&fits)).await;
        assert!(!matches!(found, Ok(Some(_))), "{:#?}", found);
    }

    /// Closes the connection as a client does.
    pub async fn close(mut self) {
        let _ = self.stream.close(None).await;
        self.closed().await;
    }
}

/// Frames, a line each.
struct Lines<'a>(&'a [Value]);

impl std::fmt::Debug for Lines<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|frame| writeln!(f, "{frame}"))
    }
}
