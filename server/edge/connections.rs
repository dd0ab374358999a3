//! A connection belongs to a space as soon as its client has shown a key, and counts towards that
//! space's share; a socket has a permit instead. Before that it belongs to no space. When there are
//! too many of those, the oldest is closed, so that no client keeps others out by waiting.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::limits::Limits;
use super::problem::{Problem, Slug};
use thinkd_tasks::share::{Place, Places};
use thinkd_words::id::Space;

/// The connections of a server.
pub struct Connections {
    places: Places,
    strangers: usize,
    // A plain mutex: held to add or remove one, never across an await.
    waiting: Mutex<Waiting>,
}

/// The connections without a space, by the order in which they came.
#[derive(Default)]
struct Waiting {
    came: u64,
    strangers: BTreeMap<u64, CancellationToken>,
}

/// One connection.
pub struct Connection {
    of: Arc<Connections>,
    number: u64,
    superseded: CancellationToken,
    // A plain mutex: held to look and to change hands, never across an await.
    owner: Mutex<Option<(Space, Place)>>,
}

impl Connections {
    /// As many as the limits say; a space has at most `share` of them.
    pub fn new(limits: &Limits, share: f64) -> Arc<Self> {
        // A stream has a permit and a connection.
        let all =
            u32::try_from(limits.sockets.saturating_add(limits.connections)).unwrap_or(u32::MAX);
        let places = Places::new("connections", all, share);
        Arc::new(Self {
            places,
            strangers: limits.unauthenticated,
            waiting: Mutex::default(),
        })
    }

    /// Returns another connection, without a space yet. At the limit the oldest without a space is
    /// closed.
    pub fn admit(self: &Arc<Self>) -> Arc<Connection> {
        let superseded = CancellationToken::new();
        let mut waiting = self.waiting.lock();
        if waiting.strangers.len() >= self.strangers
            && let Some((_, oldest)) = waiting.strangers.pop_first()
        {
            metrics::counter!("thinkd_limit_total", "limit" => "unauthenticated").increment(1);
            oldest.cancel();
        }
        waiting.came += 1;
        let number = waiting.came;
        waiting.strangers.insert(number, superseded.clone());
        drop(waiting);
        Arc::new(Connection {
            of: self.clone(),
            number,
            superseded,
            owner: Mutex::default(),
        })
    }
}

impl Connection {
    /// Counts the connection for the space of an identified client. Behind a proxy its space may
    /// change from one request to the next.
    pub fn belongs(&self, space: &Space) -> Result<(), Problem> {
        let mut owner = self.owner.lock();
        if owner.as_ref().is_some_and(|(of, _)| of == space) {
            return Ok(());
        }
        let Some(place) = self.of.places.try_take(space) else {
            let all = self.of.places.all();
            let most = self.of.places.of_a_space();
            let detail = format!(
                "the server has room for {all} connections, and for {most} of one space (limits.sockets sets both); none is free"
            );
            return Err(Problem::new(Slug::TooManyRequests, detail));
        };
        self.known();
        *owner = Some((space.clone(), place));
        Ok(())
    }

    /// Marks its client as identified: other connections do not supersede it any more.
    pub fn known(&self) {
        self.of.waiting.lock().strangers.remove(&self.number);
    }

    /// Waits until it has to go, because of other connections without a space.
    pub async fn superseded(&self) {
        self.superseded.cancelled().await;
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.known();
    }
}
