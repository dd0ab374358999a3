//! Live followers of a log, one for each way to follow: they suffer when the log grows and they are
//! not told.

use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{App, Socket, ms, seq, story, within};

/// A socket on the whole space, one that resumed, one on `main` alone, and a stream of server-sent events.
pub struct Followers {
    sockets: Vec<(&'static str, Socket)>,
    stream: reqwest::Response,
    buffer: String,
    streamed: Vec<Value>,
    begin: i64,
}

impl Followers {
    /// They follow from now on.
    pub async fn start(app: &App) -> Self {
        let begin = app.public_log().await.last().map_or(0, seq);
        let mut sockets = Vec::new();
        for (name, frame) in [
            ("a socket on everything", None),
            (
                "a socket that resumed",
                Some(json!({ "type": "subscribe", "after": begin })),
            ),
            (
                "a socket on main",
                Some(json!({ "type": "subscribe", "thread": "main", "after": begin })),
            ),
        ] {
            let mut socket = app.socket().await;
            if let Some(frame) = frame {
                socket.subscribe(frame).await;
                socket.of_type("caught_up").await;
            }
            sockets.push((name, socket));
        }
        let stream = app
            .request("GET", &format!("/events/stream?after={begin}"))
            .send()
            .await
            .unwrap();
        assert_eq!(stream.status(), 200);
        Self {
            sockets,
            stream,
            buffer: String::new(),
            streamed: Vec::new(),
            begin,
        }
    }

    /// Waits until each of them has seen everything that is in the log now, and fails if one has not, or not in order.
    pub async fn have_seen_all(&mut self, app: &App) {
        let log = app.since(self.begin).await;
        for (name, socket) in &mut self.sockets {
            let wanted: Vec<&Value> = log
                .iter()
                .filter(|event| *name != "a socket on main" || event["thread"] == "main")
                .collect();
            let Some(last) = wanted.last().map(|event| seq(event)) else {
                continue;
            };
            let is_in = |socket: &Socket| {
                socket
                    .events()
                    .last()
                    .is_some_and(|event| seq(event) >= last)
            };
            let all = async { while !is_in(socket) && socket.next().await.is_some() {} };
            if tokio::time::timeout(ms(8000), all).await.is_err() {
                panic!(
                    "{name} is deaf: it saw\n{}of\n{}",
                    story(&socket.events()),
                    story(&log)
                );
            }
            let seen: Vec<Value> = socket
                .events()
                .into_iter()
                .filter(|event| seq(event) <= last)
                .collect();
            assert_eq!(seen.iter().collect::<Vec<_>>(), wanted, "{name}");
        }
        let last = log.last().map_or(0, seq);
        while self.streamed.last().map_or(0, seq) < last {
            let event = self.next_streamed(&log).await;
            self.streamed.push(event);
        }
        assert_eq!(self.streamed[..log.len()], log, "the stream");
    }

    async fn next_streamed(&mut self, log: &[Value]) -> Value {
        loop {
            if let Some((block, rest)) = self.buffer.split_once("\n\n") {
                let data = block
                    .lines()
                    .find_map(|line| line.strip_prefix("data:"))
                    .map(str::to_owned);
                self.buffer = rest.to_owned();
                if let Some(data) = data {
                    return serde_json::from_str(&data).unwrap();
                }
                continue;
            }
            match tokio::time::timeout(ms(8000), self.stream.chunk()).await {
                Ok(chunk) => self
                    .buffer
                    .push_str(&String::from_utf8_lossy(&chunk.unwrap().unwrap())),
                Err(_) => panic!(
                    "the stream is deaf: it saw\n{}of\n{}",
                    story(&self.streamed),
                    story(log)
                ),
            }
        }
    }
}

/// Says something over HTTP and waits for the reply in a task of its own.
pub fn telling(app: &App, thread: &str, text: &str) -> JoinHandle<super::Reply> {
    let path = format!("/threads/{thread}/messages?wait=15");
    let request = app.request("POST", &path).json(&json!({ "text": text }));
    tokio::spawn(async move { within("who waits over HTTP", super::http::send(request)).await })
}
