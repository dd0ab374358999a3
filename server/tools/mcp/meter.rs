//! How much another server may send: longest line, most bytes and most messages in a while. Who sends more is cut off.

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
        Self {
            since: Instant::now(),
            so_far: 0,
        }
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
        Self {
            count: Arc::new(Mutex::new(Count::new())),
            overrun: Arc::default(),
        }
    }

    /// Counts one, and says whether that was one too many.
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

    /// What was too much, if anything was.
    pub fn overrun(&self) -> Option<&'static str> {
        self.overrun.get().copied()
    }
}

/// How many lines of a program were no messages: nobody can know whose answers they were. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Garbled(Arc<AtomicU64>);

impl Garbled {
    /// So many so far.
    pub fn so_far(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// There is one more.
    pub fn add(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Reads what a program writes, line by line and up to the limits.
pub struct Lines<R> {
    inner: BufReader<R>,
    line: Vec<u8>,
    bytes: Count,
    messages: Messages,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Reads from this.
    pub fn new(inner: R, messages: Messages) -> Self {
        Self {
            inner: BufReader::new(inner),
            line: Vec::new(),
            bytes: Count::new(),
            messages,
        }
    }

    /// The next line. None: nothing more is read, because it ended or sent too much. Dropped before it is there, this loses nothing.
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
