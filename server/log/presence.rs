//! The servers on a log, as each says of itself when it looks for threads without a runner.

use std::time::Duration;

use parking_lot::Mutex;

use thinkd_words::id;
use thinkd_words::spelling::words;
use thinkd_words::time::{self, Timestamp};

/// A server tells others of its changes; after so many looks it tells of itself in any case.
const LOOKS: u32 = 3;
/// After so many looks without a word it is lost.
const LOOKS_LOST: u32 = 10;

words! {
    /// A server's handling of waiting threads.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
    pub enum Doing {
        /// The server takes them up.
        #[default]
        Ready = "ready",
        /// The server stops: it finishes the work that it has begun.
        Draining = "draining",
        /// The server has stopped.
        Gone = "gone",
    }
}

/// The presence of a server, as it says itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Presence {
    /// Its handling of waiting threads.
    pub doing: Doing,
    /// The number of threads it looks after.
    pub threads: u64,
    /// The number of leases it holds.
    pub leases: u64,
    /// The pause between two looks.
    pub every: Duration,
}

/// A server.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
pub struct Server {
    /// Its id: another one with each start.
    pub id: String,
    /// Its host and the number of its process.
    #[schema(example = "thinkd-1/7")]
    pub name: String,
    /// Its version.
    pub version: String,
    /// When it started.
    #[schema(value_type = String, example = "2026-11-21T04:25:00.123456Z")]
    pub since: Timestamp,
    /// When it said last how it is; of the one that is asked: now.
    #[serde(rename = "seen_at")]
    #[schema(value_type = String, example = "2026-11-21T04:25:00.123456Z")]
    pub seen: Timestamp,
    /// `ready`; `draining`: it stops, and finishes the work it has begun; `lost`: it has not said
    /// anything for ten looks, and others take up its work.
    #[schema(example = "ready")]
    pub state: String,
    /// The number of threads it looked after then.
    pub threads: u64,
    /// The number of leases it held then: threads that it worked on.
    pub leases: u64,
    /// True if the server is the one that is asked.
    #[serde(rename = "this")]
    pub is_this: bool,
}

/// This server.
pub(super) struct Here {
    pub id: String,
    pub name: String,
    pub since: Timestamp,
    // A plain mutex: held to read or write one value, never across an await.
    said: Mutex<Presence>,
}

impl Here {
    /// Returns this server, which starts now.
    pub fn new() -> Self {
        let host = std::fs::read_to_string("/proc/sys/kernel/hostname")
            .ok()
            .or_else(|| std::env::var("HOSTNAME").ok());
        let host = host
            .map(|host| host.trim().to_owned())
            .filter(|host| !host.is_empty());
        let name = format!(
            "{}/{}",
            host.as_deref().unwrap_or("localhost"),
            std::process::id()
        );
        Self {
            id: id::fresh().simple().to_string(),
            name,
            since: time::now(),
            said: Mutex::default(),
        }
    }

    /// Sets its presence from now on.
    pub fn say(&self, presence: Presence) {
        *self.said.lock() = presence;
    }

    /// Returns its presence.
    pub fn says(&self) -> Presence {
        *self.said.lock()
    }

    /// As it is now.
    pub fn server(&self) -> Server {
        let said = self.says();
        Server {
            id: self.id.clone(),
            name: self.name.clone(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            since: self.since,
            seen: time::now(),
            state: said.doing.as_str().to_owned(),
            threads: said.threads,
            leases: said.leases,
            is_this: true,
        }
    }
}

impl Presence {
    /// After how long it says the same again.
    pub(super) fn again(&self) -> Duration {
        self.every * LOOKS
    }

    /// After how long without a word it is lost.
    pub(super) fn lost(&self) -> Duration {
        self.every * LOOKS_LOST
    }
}
