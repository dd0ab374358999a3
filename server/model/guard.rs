//! A guard between the network and async-openai: it limits the size of an answer, passes whole lines, and notes how the answer ended, which
//! async-openai does not keep.

use std::borrow::Cow;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _};
use reqwest::Response;

use super::answer::ANSWER_MAX;

/// Most bytes of one line of a streamed answer, and of a whole plain one.
const LINE_MAX: usize = ANSWER_MAX;

/// Most bytes of a whole streamed answer: every few letters come in an envelope of 200 to 400 bytes.
const STREAM_MAX: usize = 64 << 20;

/// How long a provider may take to end an answer behind the mark of its end.
const AFTER_MARK: Duration = Duration::from_millis(500);

/// What was seen of an answer's bytes, for the reader at the other end of async-openai.
#[derive(Default)]
pub(super) struct Seen {
    /// Why no more came, if that was no orderly end, and whether another try may go better.
    pub broke: Option<(String, bool)>,
    /// Whether it ended with `[DONE]`.
    pub done: bool,
}

pub(super) fn lock(seen: &Mutex<Seen>) -> MutexGuard<'_, Seen> {
    seen.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The same response, whose body ends in an error where it becomes larger than it may.
pub(super) fn guarded(response: Response, seen: Arc<Mutex<Seen>>, streamed: bool) -> Response {
    let mut envelope = http::Response::new(());
    *envelope.status_mut() = response.status();
    *envelope.headers_mut() = response.headers().clone();
    let body = Guard {
        bytes: Some(Box::pin(response.bytes_stream())),
        seen,
        streamed,
        total: 0,
        line: BytesMut::new(),
    };
    Response::from(envelope.map(|()| reqwest::Body::wrap_stream(body)))
}

type ByteStream = Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>;

/// A body on its way to async-openai. A streamed one goes there in whole lines of valid UTF-8: its parser reads a line from the
/// start again with every part that comes, and stops at a bad letter without a word.
struct Guard {
    /// None after the end.
    bytes: Option<ByteStream>,
    seen: Arc<Mutex<Seen>>,
    streamed: bool,
    total: usize,
    /// The beginning of a line.
    line: BytesMut,
}

impl Guard {
    /// What can be handed on now that this has come; possibly nothing.
    fn take(&mut self, chunk: Bytes) -> Result<Bytes, String> {
        self.total += chunk.len();
        let max = if self.streamed { STREAM_MAX } else { LINE_MAX };
        if self.total > max {
            return Err(format!("gave an answer of more than {max} bytes"));
        }
        if !self.streamed {
            return Ok(chunk);
        }
        let (whole, rest) = chunk.split_at(
            chunk
                .iter()
                .rposition(|byte| *byte == b'\n')
                .map_or(0, |at| at + 1),
        );
        let whole = if self.line.is_empty() {
            chunk.slice_ref(whole)
        } else {
            self.complete(whole)
        };
        self.line.extend_from_slice(rest);
        if self.line.len() > LINE_MAX {
            return Err(format!("gave an event of more than {LINE_MAX} bytes"));
        }
        Ok(self.look_at(whole))
    }

    fn complete(&mut self, whole: &[u8]) -> Bytes {
        if whole.is_empty() {
            return Bytes::new();
        }
        self.line.extend_from_slice(whole);
        self.line.split().freeze()
    }

    /// Notes the mark of the end among whole lines, and makes them readable.
    fn look_at(&mut self, lines: Bytes) -> Bytes {
        let is_mark = |line: &[u8]| {
            line.strip_prefix(b"data:")
                .is_some_and(|data| data.trim_ascii() == b"[DONE]")
        };
        if lines.split(|byte| *byte == b'\n').any(is_mark) {
            lock(&self.seen).done = true;
        }
        match String::from_utf8_lossy(&lines) {
            Cow::Borrowed(_) => lines,
            Cow::Owned(mended) => mended.into(),
        }
    }

    fn broke(&mut self, why: String, passing: bool) -> std::io::Error {
        lock(&self.seen).broke = Some((why, passing));
        self.bytes = None;
        std::io::Error::other("see `Seen`")
    }

    fn step(
        &mut self,
        next: Option<reqwest::Result<Bytes>>,
    ) -> Option<Result<Bytes, std::io::Error>> {
        match next {
            Some(Ok(chunk)) => Some(self.take(chunk).map_err(|why| self.broke(why, false))),
            Some(Err(error)) => Some(Err(self.broke(
                format!("broke the connection: {}", root_cause(&error)),
                true,
            ))),
            None => {
                self.bytes = None;
                let last = self.line.split().freeze();
                (!last.is_empty()).then(|| Ok(self.look_at(last)))
            }
        }
    }
}

impl Stream for Guard {
    type Item = Result<Bytes, std::io::Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            let Some(bytes) = &mut self.bytes else {
                return Poll::Ready(None);
            };
            let next = ready!(bytes.poll_next_unpin(context));
            match self.step(next) {
                Some(Ok(nothing)) if nothing.is_empty() => {}
                other => return Poll::Ready(other),
            }
        }
    }
}

impl Drop for Guard {
    /// Reads the few bytes behind the mark of the end, which nobody waits for: the connection can then be used again.
    fn drop(&mut self) {
        let done = lock(&self.seen).done;
        if let Some(mut bytes) = self.bytes.take().filter(|_| done)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let rest = async move { while let Some(Ok(_)) = bytes.next().await {} };
            runtime.spawn(tokio::time::timeout(AFTER_MARK, rest));
        }
    }
}

/// The innermost cause, which is the one that says something. It never holds the address, which may hold a secret.
pub(super) fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    match cause.downcast_ref::<reqwest::Error>() {
        Some(_) => "the request failed".to_owned(),
        None => cause.to_string(),
    }
}
