//! How much another server may send: longest line, most bytes and most messages in a while. Who sends more is cut off.

use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use serde::de::IgnoredAny;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::Instant;

use super::child::Said;

/// Longest message, in bytes: results are bounded by it before they are read.
pub const MESSAGE_MAX: usize = 8 << 20;
/// Most bytes in a while: a few of the longest messages.
const BYTES_MAX: usize = 8 * MESSAGE_MAX;
/// Most messages in a while. Progress of many calls at once is dozens a second.
const MESSAGES_MAX: usize = 500;
/// The while.
const WHILE: Duration = Duration::from_secs(10);

/// A count that begins again after a while.
#[derive(Debug)]
struct Count {
    since: Instant,
    so_far: usize,
}

impl Count {
    fn new() -> Self {
        Self { since: Instant::now(), so_far: 0 }
    }

    /// Counts, and says whether that was too much.
    fn is_over(&mut self, more: usize, most: usize) -> bool {
        if self.since.elapsed() > WHILE {
            *self = Self::new();
        }
        self.so_far = self.so_far.saturating_add(more);
        self.so_far > most
    }
}

/// Counts the messages of a connection, and remembers what of it was too much; cheap to clone.
#[derive(Debug, Clone)]
pub struct Messages {
    count: Arc<Mutex<Count>>,
    overrun: Arc<OnceLock<&'static str>>,
}

impl Messages {
    /// None so far.
    pub fn new() -> Self {
        Self { count: Arc::new(Mutex::new(Count::new())), overrun: Arc::default() }
    }

    /// Counts one, and says whether that was one too many.
    pub fn is_over(&self) -> bool {
        let is_over = self.count.lock().unwrap_or_else(PoisonError::into_inner).is_over(1, MESSAGES_MAX);
        if is_over {
            self.cut("more messages than may be");
        }
        is_over
    }

    fn cut(&self, what: &'static str) {
        let _ = self.overrun.set(what);
    }

    /// What was too much, if anything was.
    pub fn overrun(&self) -> Option<&'static str> {
        self.overrun.get().copied()
    }
}

/// How many lines of a program were no JSON: nobody can know whose answers they were. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Garbled(Arc<AtomicU64>);

impl Garbled {
    /// So many so far.
    pub fn so_far(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Reads what a program writes, up to the limits; beyond them reading fails, which ends the connection. What is no JSON is passed over behind this, and
/// logged and counted here.
pub struct Metered<R> {
    inner: R,
    line: Vec<u8>,
    bytes: Count,
    messages: Messages,
    garbled: Garbled,
    said: Said,
}

impl<R> Metered<R> {
    /// Reads from this.
    pub fn new(inner: R, messages: Messages, garbled: Garbled, said: Said) -> Self {
        Self { inner, line: Vec::new(), bytes: Count::new(), messages, garbled, said }
    }

    /// Counts what was read, and says what of it was too much.
    fn count(&mut self, read: &[u8]) -> Option<&'static str> {
        for part in read.split_inclusive(|byte| *byte == b'\n') {
            self.line.extend_from_slice(part);
            if self.line.len() > MESSAGE_MAX {
                return Some("a message of more bytes than may be");
            }
            if part.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                if !is_json(&line) {
                    self.garbled.0.fetch_add(1, Ordering::Relaxed);
                    self.said.line(&line);
                }
                if self.messages.is_over() {
                    return self.messages.overrun();
                }
            }
        }
        self.bytes.is_over(read.len(), BYTES_MAX).then_some("more bytes than may be")
    }
}

/// Whether a line is JSON, or nothing.
fn is_json(line: &[u8]) -> bool {
    let text = std::str::from_utf8(line).map(|text| text.trim_start_matches('\u{feff}').trim());
    text.is_ok_and(|text| text.is_empty() || serde_json::from_str::<IgnoredAny>(text).is_ok())
}

impl<R: AsyncRead + Unpin> AsyncRead for Metered<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(cx, buf))?;
        match self.count(&buf.filled()[before..]) {
            Some(what) => {
                self.messages.cut(what);
                Poll::Ready(Err(io::Error::other(what)))
            }
            None => Poll::Ready(Ok(())),
        }
    }
}
