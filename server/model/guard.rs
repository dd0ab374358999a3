//! A guard between the network and async-openai: it limits the size of an answer, brings its frame into one form, and
//! notes the end, which async-openai does not keep.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{Stream, StreamExt as _};
use http::header::{CONTENT_TYPE, HeaderValue};
use parking_lot::Mutex;
use reqwest::Response;
use tokio::time::Instant;

use super::answer::ANSWER_MAX;
use super::http::root_cause;
use frame::Frame;

mod frame;

/// Most bytes of one line of a streamed answer, and of a whole plain one.
const LINE_MAX: usize = ANSWER_MAX;

/// Most bytes of a whole streamed answer: every few letters come in an envelope of 200 to 400 bytes.
const STREAM_MAX: usize = 64 << 20;

/// The time that a provider may take to end an answer behind the mark of its end.
const AFTER_MARK: Duration = Duration::from_millis(500);

/// The state of an answer's bytes, for the reader at the other end of async-openai.
#[derive(Default)]
pub(super) struct Seen {
    /// Why no more came, if that was no orderly end, and whether another try may go better.
    pub broke: Option<(String, bool)>,
    /// True if it ended with `[DONE]`, or was a plain answer that is whole.
    pub done: bool,
    /// True if it was a plain answer, not a streamed one.
    pub plain: bool,
    /// The time of its last bytes, of any kind: a sign of life.
    pub heard: Option<Instant>,
}

/// Returns the same response as server-sent events, one JSON text each, whichever type its header
/// named. Its body ends in an error where it becomes larger than it may.
pub(super) fn guarded(response: Response, seen: Arc<Mutex<Seen>>) -> Response {
    let mut envelope = http::Response::new(());
    *envelope.status_mut() = response.status();
    envelope
        .headers_mut()
        .insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    let body = Guard {
        bytes: Some(Box::pin(response.bytes_stream())),
        seen,
        total: 0,
        frame: Frame::default(),
    };
    Response::from(envelope.map(|()| reqwest::Body::wrap_stream(body)))
}

type ByteStream = Pin<Box<dyn Stream<Item = reqwest::Result<Bytes>> + Send>>;

/// A body on its way to async-openai. Its parser reads a line from the start again with every part that comes, and stops at
/// a bad letter or an empty event without a word.
struct Guard {
    /// None after the end.
    bytes: Option<ByteStream>,
    seen: Arc<Mutex<Seen>>,
    total: usize,
    frame: Frame,
}

impl Guard {
    /// The events that are whole now; possibly none.
    fn take(&mut self, chunk: &[u8]) -> Result<Bytes, String> {
        self.total += chunk.len();
        self.seen.lock().heard = Some(Instant::now());
        if self.total > STREAM_MAX {
            return Err(format!("gave an answer of more than {STREAM_MAX} bytes"));
        }
        let events = self.frame.take(chunk);
        if self.frame.held() > LINE_MAX {
            let part = if self.frame.is_plain() {
                "answer"
            } else {
                "event"
            };
            return Err(format!("gave an {part} of more than {LINE_MAX} bytes"));
        }
        Ok(self.note(events))
    }

    /// Notes the end and the form of the answer, for the reader at the other end.
    fn note(&mut self, events: Vec<u8>) -> Bytes {
        let mut seen = self.seen.lock();
        seen.done |= self.frame.is_done();
        seen.plain |= self.frame.is_plain();
        events.into()
    }

    fn broke(&mut self, why: String, passing: bool) -> std::io::Error {
        self.seen.lock().broke = Some((why, passing));
        self.bytes = None;
        std::io::Error::other("see `Seen`")
    }

    fn step(
        &mut self,
        next: Option<reqwest::Result<Bytes>>,
    ) -> Option<Result<Bytes, std::io::Error>> {
        match next {
            Some(Ok(chunk)) => Some(self.take(&chunk).map_err(|why| self.broke(why, false))),
            Some(Err(error)) => Some(Err(self.broke(
                format!("broke the connection: {}", root_cause(&error)),
                true,
            ))),
            None => {
                self.bytes = None;
                let last = self.frame.finish();
                if self.frame.is_binary() {
                    let why = "gave an answer that is no text: it may be compressed, which was not asked for";
                    return Some(Err(self.broke(why.to_owned(), false)));
                }
                let last = self.note(last);
                (!last.is_empty()).then_some(Ok(last))
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
    /// Reads the few bytes behind the mark of the end, which no reader waits for: the connection
    /// can then be used again.
    fn drop(&mut self) {
        let done = self.seen.lock().done;
        if let Some(mut bytes) = self.bytes.take().filter(|_| done)
            && let Ok(runtime) = tokio::runtime::Handle::try_current()
        {
            let rest = async move { while let Some(Ok(_)) = bytes.next().await {} };
            runtime.spawn(tokio::time::timeout(AFTER_MARK, rest));
        }
    }
}
