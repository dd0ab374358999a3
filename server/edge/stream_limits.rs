//! The number of sockets and streams is limited: in all, of each space and of each key. A permit is
//! given back when it is dropped.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use super::limits::Limits;
use super::problem::{Problem, Slug};
use thinkd_tasks::share::{Place, Places};
use thinkd_words::principal::{Holder, Principal};

/// The seats of a server.
pub struct StreamLimits {
    places: Places,
    per_key: usize,
    // A plain mutex: held to count, never across an await.
    of_key: Mutex<HashMap<Holder, usize>>,
}

/// The limit that leaves no permit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Full {
    /// The limit of the key.
    Key,
    /// The limit of the server, or the share that a space may have of it.
    Sockets,
}

impl StreamLimits {
    /// As many as the limits say; a space has at most `share` of them.
    pub fn new(limits: &Limits, share: f64) -> Arc<Self> {
        let all = u32::try_from(limits.sockets).unwrap_or(u32::MAX);
        let places = Places::new("sockets", all, share);
        Arc::new(Self {
            places,
            per_key: limits.sockets_per_key,
            of_key: Mutex::default(),
        })
    }

    /// A permit for this client, if one is free.
    pub fn take(self: &Arc<Self>, who: &Principal) -> Result<StreamPermit, Full> {
        // Where nobody needs a key there is none to count for.
        let holder = who.credential.holder();
        let counted = holder.map(|key| self.count(key).ok_or(Full::Key));
        let counted = counted.transpose()?;
        let place = self.places.try_take(&who.space).ok_or(Full::Sockets)?;
        metrics::gauge!("thinkd_sockets").increment(1.0);
        Ok(StreamPermit {
            _place: place,
            _counted: counted,
        })
    }

    fn count(self: &Arc<Self>, key: Holder) -> Option<Counted> {
        let mut of_key = self.of_key.lock();
        let count = of_key.entry(key).or_default();
        if *count >= self.per_key {
            metrics::counter!("thinkd_limit_total", "limit" => "sockets_per_key").increment(1);
            return None;
        }
        *count += 1;
        Some(Counted {
            seats: self.clone(),
            key,
        })
    }

    /// Returns the refusal of a client that gets no permit.
    pub fn refusal(&self, full: Full) -> Problem {
        let detail = match full {
            Full::Key => format!(
                "limits.sockets_per_key = {}: this key has as many sockets and streams open; close one of them",
                self.per_key
            ),
            Full::Sockets => format!(
                "limits.sockets = {}: so many sockets and streams there are in all, and one space has {} of them at most; \
                 none is free for this one",
                self.places.all(),
                self.places.of_a_space()
            ),
        };
        Problem::new(Slug::TooManyRequests, detail)
    }
}

impl Full {
    /// The same as the reason of a close frame.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Key => "too many sockets and streams of this key (limits.sockets_per_key)",
            Self::Sockets => "too many sockets and streams (limits.sockets)",
        }
    }
}

/// One permit.
pub struct StreamPermit {
    _place: Place,
    _counted: Option<Counted>,
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        metrics::gauge!("thinkd_sockets").decrement(1.0);
    }
}

/// One more of a key, as long as it lives.
struct Counted {
    seats: Arc<StreamLimits>,
    key: Holder,
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut of_key = self.seats.of_key.lock();
        if let Some(count) = of_key.get_mut(&self.key) {
            *count -= 1;
            // Keys come and go: one without sockets takes no room.
            if *count == 0 {
                of_key.remove(&self.key);
            }
        }
    }
}
