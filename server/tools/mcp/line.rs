//! A line joins a server of tools and its tools: the task of the server says on it how the server is, and the tools say on it that
//! somebody needs the server.

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

/// After so long without anybody who needs it, a server that is away is left alone.
const UNNEEDED: Duration = Duration::from_secs(10 * 60);

/// How a server is.
#[derive(Debug, Clone)]
pub enum Phase {
    /// Nobody has needed it yet.
    Asleep,
    /// It is being reached, for the first time or anew: who needs it waits.
    Connecting,
    /// It answers.
    Ready(Link),
    /// It does not.
    Away {
        /// Why.
        why: String,
        /// The how-manieth time.
        time: u64,
    },
}

/// The way to a server, as its tools have it.
pub struct Line {
    /// The server's name.
    pub name: String,
    /// How it is.
    pub phase: watch::Sender<Phase>,
    /// What its program wrote so far that is no message.
    pub garbled: Garbled,
    /// Calls at a time: spaces share them.
    places: Places,
    wanted: Notify,
    /// When somebody needed it for the first time.
    first: OnceLock<Instant>,
    // A plain mutex: held for a look, never across an await.
    needed: Mutex<Option<Instant>>,
}

impl Line {
    /// To a server that nobody has needed yet.
    pub fn new(name: &str) -> Self {
        let phase = watch::Sender::new(Phase::Asleep);
        let garbled = Garbled::default();
        let (wanted, first, needed) = (Notify::new(), OnceLock::new(), Mutex::default());
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

    /// Somebody needs the server.
    pub fn need(&self) {
        self.first.get_or_init(Instant::now);
        *self.needed.lock() = Some(Instant::now());
        self.wanted.notify_one();
    }

    /// Waits until it has been reached or not, but so long at most after somebody needed it for the first time: what hangs delays nobody else.
    pub async fn tried_for(&self, most: Duration) {
        let until = *self.first.get_or_init(Instant::now) + most;
        let _ = timeout_at(until, self.tried()).await;
    }

    /// Waits until it has been reached or not.
    pub async fn tried(&self) {
        let mut phase = self.phase.subscribe();
        // The sender lives as long as this.
        let _ = phase
            .wait_for(|phase| !matches!(phase, Phase::Asleep | Phase::Connecting))
            .await;
    }

    /// The way to it, as soon as there is one, or why there is none.
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

    /// Waits until somebody needs it, unless somebody did lately.
    pub async fn wanted(&self) {
        let lately = || self.needed.lock().is_some_and(|at| at.elapsed() < UNNEEDED);
        while !lately() {
            self.wanted.notified().await;
        }
    }
}
