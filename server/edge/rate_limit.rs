//! Rate limits bound the frames of a socket and the requests of a key: a burst of one second's
//! worth, then an even rate. Above it a socket is read later. A request waits up to a second and is
//! then refused, because nothing else slows down its sender.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep_until};

use super::problem::{Problem, Slug};
use thinkd_words::principal::Holder;

/// The time within which requests are a burst.
const BURST: Duration = Duration::from_secs(1);
/// The longest time that a request waits.
const SLOWED: Duration = Duration::from_secs(1);

/// The pace of one socket.
pub struct RateLimit {
    every: Duration,
    /// When the next frame is due at an even pace.
    due: Instant,
    paused: bool,
}

impl RateLimit {
    /// So many frames a second.
    pub fn new(per_second: u32, now: Instant) -> Self {
        Self {
            every: Duration::from_secs(1) / per_second.max(1),
            due: now,
            paused: false,
        }
    }

    /// A frame came.
    pub fn count(&mut self, now: Instant) {
        self.due = self.due.max(now) + self.every;
        self.paused = self.due > now + BURST;
        if self.paused {
            metrics::counter!("thinkd_limit_total", "limit" => "frames_per_second").increment(1);
        }
    }

    /// Returns true if the socket is to be read now.
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

/// The paces of all requests, by sender: the holder of a key, or the user of a token.
pub struct RateLimits {
    per_second: u32,
    /// When requests are due at an even pace. A plain mutex: held to count, never across an await.
    due: Mutex<Dues>,
}

/// When the next request of each holder is due.
#[derive(Default)]
struct Dues {
    of: HashMap<Holder, Instant>,
    /// With more than this they are looked through.
    most: usize,
}

/// With more holders than this, those that have sent nothing for a while are forgotten: they are as new.
const REMEMBERED: usize = 1024;

impl Dues {
    /// Returns the time at which the next request of this holder is due.
    fn of(&mut self, holder: Holder, now: Instant) -> &mut Instant {
        if self.of.len() > self.most.max(REMEMBERED) {
            self.of.retain(|_, due| *due > now);
            // Looked through again only when as many more have come: a look costs as much as all of them.
            self.most = 2 * self.of.len();
        }
        self.of.entry(holder).or_insert(now)
    }
}

impl RateLimits {
    /// So many requests a second of each key.
    pub fn new(per_second: u32) -> Self {
        Self {
            per_second,
            due: Mutex::default(),
        }
    }

    /// Waits until a request of this holder is due; refuses it where that would be too long. Where
    /// no key is needed there is no pace.
    pub async fn pass(&self, holder: Option<Holder>) -> Result<(), Problem> {
        let Some(holder) = holder else { return Ok(()) };
        let now = Instant::now();
        let at = {
            let mut all = self.due.lock();
            let due = all.of(holder, now);
            let next = (*due).max(now) + Duration::from_secs(1) / self.per_second;
            if next <= now + BURST + SLOWED {
                *due = next;
            }
            next
        };
        if at > now + BURST {
            metrics::counter!("thinkd_limit_total", "limit" => "requests_per_second").increment(1);
        }
        if at > now + BURST + SLOWED {
            let detail = format!(
                "this key sends more than {} requests a second (five times limits.frames_per_second); the requests before this one are \
                 slowed already",
                self.per_second
            );
            return Err(Problem::new(Slug::TooManyRequests, detail).again_in(SLOWED));
        }
        if at > now + BURST {
            sleep_until(at - BURST).await;
        }
        Ok(())
    }
}
