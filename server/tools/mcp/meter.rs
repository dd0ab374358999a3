//! How much another server may send: longest line, most bytes and most messages in a while. Who sends more is cut off.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::time::Instant;

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

/// Reads what a program writes, up to the limits; beyond them reading fails, which ends the connection.
pub struct Metered<R> {
    inner: R,
    line: usize,
    bytes: Count,
    messages: Messages,
}

impl<R> Metered<R> {
    /// Reads from this.
    pub fn new(inner: R, messages: Messages) -> Self {
        Self { inner, line: 0, bytes: Count::new(), messages }
    }

    /// Counts what was read, and says what of it was too much.
    fn count(&mut self, read: &[u8]) -> Option<&'static str> {
        for part in read.split_inclusive(|byte| *byte == b'\n') {
            self.line += part.len();
            if self.line > MESSAGE_MAX {
                return Some("a message of more bytes than may be");
            }
            if part.ends_with(b"\n") {
                self.line = 0;
                if self.messages.is_over() {
                    return self.messages.overrun();
                }
            }
        }
        self.bytes.is_over(read.len(), BYTES_MAX).then_some("more bytes than may be")
    }
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
