//! The limits on the messages of another server: the longest line, and most bytes and messages in
//! an interval. A server that sends more is cut off.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::time::Instant;

/// Longest message, in bytes: results are bounded by it before they are read.
pub const MESSAGE_MAX: usize = 8 << 20;
/// Most bytes in a while: a few of the longest messages.
const BYTES_MAX: usize = 8 * MESSAGE_MAX;
/// Most messages in a while. Progress of many calls at once is dozens a second.
const MESSAGES_MAX: usize = 500;
/// The interval for the counts of bytes and messages.
const WHILE: Duration = Duration::from_secs(10);

/// A count that begins again after a while.
#[derive(Debug)]
struct Count {
    since: Instant,
    so_far: usize,
}

impl Count {
    fn new() -> Self {
        Self {
            since: Instant::now(),
            so_far: 0,
        }
    }

    /// Counts `more`, and returns true if the count is above `most`.
    fn is_over(&mut self, more: usize, most: usize) -> bool {
        if self.since.elapsed() > WHILE {
            *self = Self::new();
        }
        self.so_far = self.so_far.saturating_add(more);
        self.so_far > most
    }
}

/// Counts the messages of a connection, and remembers the limit that it exceeded; cheap to clone.
#[derive(Debug, Clone)]
pub struct Messages {
    count: Arc<Mutex<Count>>,
    overrun: Arc<OnceLock<&'static str>>,
}

impl Messages {
    /// Returns a count of no messages.
    pub fn new() -> Self {
        Self {
            count: Arc::new(Mutex::new(Count::new())),
            overrun: Arc::default(),
        }
    }

    /// Counts one message, and returns true if it was one too many.
    pub fn is_over(&self) -> bool {
        let is_over = self.count.lock().is_over(1, MESSAGES_MAX);
        if is_over {
            self.cut("more messages than may be");
        }
        is_over
    }

    fn cut(&self, what: &'static str) {
        let _ = self.overrun.set(what);
    }

    /// Returns the limit that was exceeded, in words, if one was.
    pub fn overrun(&self) -> Option<&'static str> {
        self.overrun.get().copied()
    }
}

/// The count of lines of a program that are no messages: the call that such a line answers is
/// unknown. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Garbled(Arc<AtomicU64>);

impl Garbled {
    /// Returns the number of lines so far.
    pub fn so_far(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Counts one more line.
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Reads the output of a program, line by line and up to the limits.
pub struct Lines<R> {
    inner: BufReader<R>,
    line: Vec<u8>,
    bytes: Count,
    messages: Messages,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Returns a reader of `inner`, which counts its lines in `messages`.
    pub fn new(inner: R, messages: Messages) -> Self {
        Self {
            inner: BufReader::new(inner),
            line: Vec::new(),
            bytes: Count::new(),
            messages,
        }
    }

    /// Returns the next line. None: nothing more is read, because the program ended or sent too
    /// much. A call that is dropped before the line is there loses nothing.
    pub async fn next(&mut self) -> Option<Vec<u8>> {
        loop {
            let read = self
                .inner
                .fill_buf()
                .await
                .ok()
                .filter(|read| !read.is_empty())?;
            let end = read.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(read.len(), |at| at + 1);
            self.line.extend_from_slice(&read[..taken]);
            self.inner.consume(taken);
            if self.line.len() > MESSAGE_MAX {
                self.messages.cut("a message of more bytes than may be");
                return None;
            }
            if self.bytes.is_over(taken, BYTES_MAX) {
                self.messages.cut("more bytes than may be");
                return None;
            }
            if end.is_some() {
                return (!self.messages.is_over()).then(|| std::mem::take(&mut self.line));
            }
        }
    }
}
