//! Repeated lines of the log: the first is written at once, and of the others their number. A cause
//! that fails every request, such as a full disk, would fill the log and hide its other lines.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::{Duration, Instant};

/// For so long the same warning or error is not said again.
const PERIOD: Duration = Duration::from_secs(10);
/// Interval between two looks for periods that are over.
const LOOK: Duration = Duration::from_secs(1);
/// Most of them that are remembered. Lines beyond are written each time, rather than remembered
/// without end.
const KNOWN: usize = 1024;

/// The warnings and errors of the last period.
pub struct Repeats {
    said: HashMap<u64, Said>,
    looked: Instant,
}

struct Said {
    since: Instant,
    left_out: u64,
    /// The last line that was left out.
    last: Vec<u8>,
}

impl Repeats {
    /// Nothing was said yet.
    pub fn new(now: Instant) -> Self {
        Self {
            said: HashMap::new(),
            looked: now,
        }
    }

    /// Returns the time until the next look; `None`: until the next line.
    pub fn rest(&self) -> Option<Duration> {
        (!self.said.is_empty()).then_some(LOOK)
    }

    /// The line, if it is to be written now.
    pub fn take(&mut self, line: Vec<u8>, now: Instant) -> Option<Vec<u8>> {
        let Some(words) = complaint(&line) else {
            return Some(line);
        };
        let mut hasher = DefaultHasher::new();
        words.hash(&mut hasher);
        let key = hasher.finish();
        if let Some(said) = self.said.get_mut(&key) {
            said.left_out += 1;
            said.last = line;
            return None;
        }
        if self.said.len() < KNOWN {
            self.said.insert(
                key,
                Said {
                    since: now,
                    left_out: 0,
                    last: Vec::new(),
                },
            );
        }
        Some(line)
    }

    /// Returns a line for each period that is over and left lines out: the last of them, with their
    /// number. A period begins anew for those that go on.
    pub fn due(&mut self, now: Instant) -> Vec<Vec<u8>> {
        if now.duration_since(self.looked) < LOOK {
            return Vec::new();
        }
        self.looked = now;
        self.told(|said| now.duration_since(said.since) >= PERIOD, now)
    }

    /// Returns a line with the number of left-out lines for each period that has some, over or not.
    pub fn rest_of_all(&mut self, now: Instant) -> Vec<Vec<u8>> {
        self.told(|_| true, now)
    }

    fn told(&mut self, is_over: impl Fn(&Said) -> bool, now: Instant) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        self.said.retain(|_, said| {
            if !is_over(said) {
                return true;
            }
            let goes_on = said.left_out > 0;
            if goes_on {
                lines.push(counted(
                    &said.last,
                    said.left_out,
                    now.duration_since(said.since),
                ));
                *said = Said {
                    since: now,
                    left_out: 0,
                    last: Vec::new(),
                };
            }
            goes_on
        });
        lines
    }
}

/// Returns the text of a warning or an error, without its time; `None` for other lines.
fn complaint(line: &[u8]) -> Option<&[u8]> {
    let is_json = line.first() == Some(&b'{');
    let end = line
        .iter()
        .position(|byte| *byte == if is_json { b',' } else { b' ' })?;
    let words = line[end + 1..].trim_ascii_start();
    let levels: [&[u8]; 2] = if is_json {
        [br#""level":"WARN""#, br#""level":"ERROR""#]
    } else {
        [b"WARN ", b"ERROR "]
    };
    levels
        .iter()
        .any(|level| words.starts_with(level))
        .then_some(words)
}

/// The line with how many like it were left out.
fn counted(line: &[u8], left_out: u64, time: Duration) -> Vec<u8> {
    if let Some(members) = line.strip_prefix(b"{") {
        return [format!("{{\"left_out\":{left_out},").as_bytes(), members].concat();
    }
    let note = format!(
        " ({left_out} more like this were left out in {} s)\n",
        time.as_secs().max(1)
    );
    [line.trim_ascii_end(), note.as_bytes()].concat()
}
