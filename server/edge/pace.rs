//! How fast a socket is read: bursts of a second's worth, then evenly. Above that it is read later, not refused.

use std::time::Duration;

use tokio::time::Instant;

/// A burst is what comes in this time.
const BURST: Duration = Duration::from_secs(1);

/// The pace of one socket.
pub struct Pace {
    every: Duration,
    /// When the next frame is due at an even pace.
    due: Instant,
    paused: bool,
}

impl Pace {
    /// So many frames a second.
    pub fn new(per_second: u32, now: Instant) -> Self {
        Self { every: Duration::from_secs(1) / per_second.max(1), due: now, paused: false }
    }

    /// A frame came.
    pub fn count(&mut self, now: Instant) {
        self.due = self.due.max(now) + self.every;
        self.paused = self.due > now + BURST;
        if self.paused {
            metrics::counter!("thinkd_limit_total", "limit" => "frames_per_second").increment(1);
        }
    }

    /// Whether to read now.
    pub fn allows(&self) -> bool {
        !self.paused
    }

    /// When to read again, if not now.
    pub fn again(&self) -> Option<Instant> {
        self.paused.then(|| self.due - BURST)
    }

    /// Time has passed.
    pub fn renew(&mut self, now: Instant) {
        self.paused = self.due > now + BURST;
    }
}
