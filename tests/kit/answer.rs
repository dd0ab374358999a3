//! Answers of the stub model: words, tool calls, errors, faults; at once, late, in pieces, or never.

use std::collections::VecDeque;
use std::time::Duration;

use axum::body::Bytes;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::Request;

/// Holds answers back until it is opened.
#[derive(Clone)]
pub struct Gate(watch::Sender<bool>);

impl Gate {
    /// A closed gate.
    pub fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// Lets everything pass that waits or will come.
    pub fn open(&self) {
        self.0.send_replace(true);
    }

    pub async fn pass(&self) {
        // `self` holds the sender.
        let _ = self.0.subscribe().wait_for(|open| *open).await;
    }
}

/// An answer of the stub.
#[derive(Clone)]
pub struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) text: String,
    pub(super) calls: Vec<(String, String)>,
    pub(super) usage: (u64, u64, u64),
    pub(super) delay: Duration,
    pub(super) gap: Duration,
    pub(super) gate: Option<Gate>,
    pub(super) pause: Option<(usize, Gate)>,
    pub(super) cut: Option<usize>,
    pub(super) finish: Option<&'static str>,
    pub(super) raw: Option<Vec<Bytes>>,
}

/// Words, possibly none.
pub fn text(text: &str) -> Answer {
    Answer {
        status: 200,
        headers: Vec::new(),
        text: text.to_owned(),
        calls: Vec::new(),
        usage: (100, 10, 0),
        delay: Duration::ZERO,
        gap: Duration::ZERO,
        gate: None,
        pause: None,
        cut: None,
        finish: None,
        raw: None,
    }
}

/// One tool call.
pub fn call(tool: &str, arguments: Value) -> Answer {
    text("").and(tool, arguments)
}

/// One tool call with this text, JSON or not, as its arguments.
pub fn call_raw(tool: &str, arguments: &str) -> Answer {
    let mut answer = text("");
    answer.calls.push((tool.to_owned(), arguments.to_owned()));
    answer
}

/// A call of `reply`.
pub fn reply(words: &str) -> Answer {
    call("reply", json!({ "text": words }))
}

/// An HTTP error with the body providers send.
pub fn status(status: u16) -> Answer {
    let body = json!({ "error": { "message": format!("the stub says {status}"), "type": "stub", "code": status } });
    raw(body.to_string().into_bytes()).with_status(status)
}

/// These bytes as the body.
pub fn raw(bytes: impl Into<Vec<u8>>) -> Answer {
    raw_parts(vec![bytes.into()])
}

/// These parts as the body, with the gap between them.
pub fn raw_parts(parts: Vec<Vec<u8>>) -> Answer {
    Answer {
        raw: Some(parts.into_iter().map(Bytes::from).collect()),
        ..text("")
    }
}

impl Answer {
    /// And another tool call.
    pub fn and(mut self, tool: &str, arguments: Value) -> Self {
        self.calls.push((tool.to_owned(), arguments.to_string()));
        self
    }

    /// Beside these words.
    pub fn saying(mut self, words: &str) -> Self {
        self.text = words.to_owned();
        self
    }

    /// With this status.
    pub fn with_status(mut self, status: u16) -> Self {
        self.status = status;
        self
    }

    /// With this header.
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// Tokens of the prompt, of the answer, and of the prompt from the cache.
    pub fn usage(mut self, input: u64, output: u64, cached: u64) -> Self {
        self.usage = (input, output, cached);
        self
    }

    /// After this time (before anything is sent).
    pub fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// With this time between chunks (streamed answers).
    pub fn gap(mut self, gap: Duration) -> Self {
        self.gap = gap;
        self
    }

    /// When the gate is opened (before anything is sent).
    pub fn held(mut self, gate: &Gate) -> Self {
        self.gate = Some(gate.clone());
        self
    }

    /// `chunks` chunks, and the rest when the gate is opened (streamed answers).
    pub fn paused(mut self, chunks: usize, gate: &Gate) -> Self {
        self.pause = Some((chunks, gate.clone()));
        self
    }

    /// The connection breaks after so many chunks (streamed) or in the middle of the body (plain, any number).
    pub fn cut(mut self, chunks: usize) -> Self {
        self.cut = Some(chunks);
        self
    }

    /// Never.
    pub fn never(self) -> Self {
        self.held(&Gate::new())
    }

    /// With this reason of its end: `length` for one that was cut off at its limit.
    pub fn finished(mut self, reason: &'static str) -> Self {
        self.finish = Some(reason);
        self
    }

    fn finish(&self) -> &'static str {
        if let Some(reason) = self.finish {
            reason
        } else if self.calls.is_empty() {
            "stop"
        } else {
            "tool_calls"
        }
    }

    fn usage_json(&self) -> Value {
        let (input, output, cached) = self.usage;
        json!({
            "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
            "prompt_tokens_details": { "cached_tokens": cached },
        })
    }

    pub(super) fn plain(&self, request: &Request) -> Bytes {
        let call = |(index, (name, arguments)): (usize, &(String, String))| {
            let id = format!("call_{}_{index}", request.index);
            json!({ "id": id, "type": "function", "function": { "name": name, "arguments": arguments } })
        };
        let mut message = json!({ "role": "assistant", "content": (!self.text.is_empty()).then_some(&self.text) });
        if !self.calls.is_empty() {
            message["tool_calls"] = self.calls.iter().enumerate().map(call).collect();
        }
        let body = json!({
            "id": format!("stub-{}", request.index), "object": "chat.completion", "created": 1, "model": request.model(),
            "choices": [{ "index": 0, "message": message, "finish_reason": self.finish() }],
            "usage": self.usage_json(),
        });
        body.to_string().into()
    }

    /// The server-sent events of a streamed answer: text and arguments come in small pieces.
    pub(super) fn chunks(&self, request: &Request) -> VecDeque<Bytes> {
        let mut deltas = vec![json!({ "role": "assistant", "content": "" })];
        deltas.extend(pieces(&self.text).map(|piece| json!({ "content": piece })));
        for (index, (name, arguments)) in self.calls.iter().enumerate() {
            let function = json!({ "name": name, "arguments": "" });
            let id = format!("call_{}_{index}", request.index);
            let head =
                json!({ "index": index, "id": id, "type": "function", "function": function });
            deltas.push(json!({ "tool_calls": [head] }));
            let more =
                |piece: String| json!({ "index": index, "function": { "arguments": piece } });
            deltas.extend(pieces(arguments).map(|piece| json!({ "tool_calls": [more(piece)] })));
        }
        let chunk = |choices: Value| {
            json!({
                "id": format!("stub-{}", request.index), "object": "chat.completion.chunk", "created": 1,
                "model": request.model(), "choices": choices,
            })
        };
        let mut all: Vec<Value> = deltas
            .into_iter()
            .map(|delta| chunk(json!([{ "index": 0, "delta": delta, "finish_reason": null }])))
            .collect();
        all.push(chunk(
            json!([{ "index": 0, "delta": {}, "finish_reason": self.finish() }]),
        ));
        if request.body["stream_options"]["include_usage"] == json!(true) {
            let mut last = chunk(json!([]));
            last["usage"] = self.usage_json();
            all.push(last);
        }
        let lines = all
            .iter()
            .map(|chunk| Bytes::from(format!("data: {chunk}\n\n")));
        lines
            .chain([Bytes::from_static(b"data: [DONE]\n\n")])
            .collect()
    }
}

/// Pieces of a few characters each.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    let chars: Vec<char> = text.chars().collect();
    chars
        .chunks(5)
        .map(|chunk| chunk.iter().collect())
        .collect::<Vec<_>>()
        .into_iter()
}
