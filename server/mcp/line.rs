//! A line joins a server of tools and its tools. The task of the server publishes the server's
//! state on it, and the tools announce on it that they need the server.

use std::sync::OnceLock;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, timeout, timeout_at};

use super::meter::Garbled;
use super::wire::{CALLS_MAX, Link};
use thinkd_tasks::share::{Place, Places, SPACE_SHARE};
use thinkd_words::id::Space;

/// The name of the places for calls in the metrics.
const PLACES: &str = "tool_server_calls";

/// The time after which a server that is away is left alone, if no caller needs it.
const UNNEEDED: Duration = Duration::from_secs(10 * 60);

/// The state of a server.
#[derive(Debug, Clone)]
pub enum Phase {
    /// The server is not needed yet.
    Asleep,
    /// The server is being reached, for the first time or anew: its callers wait.
    Connecting,
    /// The server answers.
    Ready(Link),
    /// The server does not answer.
    Away {
        /// The reason.
        why: String,
        /// The number of times that the server was away, this one included.
        time: u64,
    },
}

/// The way to a server, as its tools have it.
pub struct Line {
    /// The server's name.
    pub name: String,
    /// The state of the server.
    pub phase: watch::Sender<Phase>,
    /// The count of lines of its program that are no messages.
    pub garbled: Garbled,
    /// The places for calls at a time: spaces share them.
    places: Places,
    wanted: Notify,
    /// The time at which the server was needed first.
    first: OnceLock<Instant>,
    // A plain mutex: held for a look, never across an await.
    needed: Mutex<Option<Instant>>,
}

impl Line {
    /// Returns the line to a server that is not needed yet.
    pub fn new(name: &str) -> Self {
        let phase = watch::Sender::new(Phase::Asleep);
        let garbled = Garbled::default();
        let wanted = Notify::new();
        let first = OnceLock::new();
        let needed = Mutex::default();
        Self {
            name: name.to_owned(),
            phase,
            garbled,
            places: Places::new(PLACES, CALLS_MAX, SPACE_SHARE),
            wanted,
            first,
            needed,
        }
    }

    /// Announces that a caller needs the server.
    pub fn need(&self) {
        self.first.get_or_init(Instant::now);
        *self.needed.lock() = Some(Instant::now());
        self.wanted.notify_one();
    }

    /// Waits until the server has been reached or not, for at most `most` after it was needed
    /// first. After that time, a server that hangs delays no caller.
    pub async fn tried_for(&self, most: Duration) {
        let until = *self.first.get_or_init(Instant::now) + most;
        let _ = timeout_at(until, self.tried()).await;
    }

    /// Waits until the server has been reached or not.
    pub async fn tried(&self) {
        let mut phase = self.phase.subscribe();
        // The sender lives as long as this.
        let _ = phase
            .wait_for(|phase| !matches!(phase, Phase::Asleep | Phase::Connecting))
            .await;
    }

    /// Returns the way to the server, as soon as there is one. The error says why there is none.
    pub async fn link(&self) -> Result<Link, String> {
        self.need();
        self.tried().await;
        match &*self.phase.borrow() {
            Phase::Ready(link) => Ok(link.clone()),
            Phase::Away { why, .. } => Err(why.clone()),
            Phase::Asleep | Phase::Connecting => Err("it is being reached".to_owned()),
        }
    }

    /// Returns a place for a call of this space. None: all that the space may have were taken for so long, and nothing was sent.
    pub async fn place(&self, space: &Space, most: Duration) -> Option<Place> {
        timeout(most, self.places.take(space)).await.ok()
    }

    /// Waits until a caller needs the server, unless one did lately.
    pub async fn wanted(&self) {
        let lately = || self.needed.lock().is_some_and(|at| at.elapsed() < UNNEEDED);
        while !lately() {
            self.wanted.notified().await;
        }
    }
}
