//! The queue of the writer: appends, space by space. The writer takes the spaces in turns, so an
//! append of one is in the next commit, however many another has queued. A space that has queued
//! its share waits, alone, for a place.

use std::collections::{HashMap, VecDeque};

use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use super::plan::Item;
use crate::error::StoreError;
use thinkd_tasks::share::{Place, Places};
use thinkd_words::id::Space;

/// Appends that may wait for the writer, of all spaces together.
const APPENDS: u32 = 1024;

/// A question whether writing works.
pub(super) struct Probe {
    pub answer: oneshot::Sender<Result<(), StoreError>>,
    /// By a write; otherwise it is enough that there is a connection.
    pub writes: bool,
}

/// See the module. Many put in; the writer alone takes out.
pub(super) struct Queue {
    places: Places,
    // A plain mutex: held to put in or take out one, never across an await.
    state: Mutex<State>,
    filled: Notify,
}

#[derive(Default)]
struct State {
    spaces: HashMap<Space, VecDeque<(Item, Place)>>,
    /// The spaces that have some; the first is served next.
    round: VecDeque<Space>,
    probes: Vec<Probe>,
    /// There is something else to write.
    nudged: bool,
    closing: Vec<oneshot::Sender<()>>,
    closed: bool,
    /// The writer is no more.
    ended: bool,
}

impl Queue {
    pub fn new(share: f64) -> Self {
        Self {
            places: Places::new("appends", APPENDS, share),
            state: Mutex::default(),
            filled: Notify::new(),
        }
    }

    /// Waits for a place. Fails where the queue is closed.
    pub async fn put(&self, item: Item) -> Result<(), StoreError> {
        let place = self.places.take(&item.space).await;
        self.change(|state| {
            let queue = state.spaces.entry(item.space.clone()).or_default();
            if queue.is_empty() {
                state.round.push_back(item.space.clone());
            }
            queue.push_back((item, place));
        })
    }

    /// Asks whether writing works. Fails where the queue is closed.
    pub fn probe(&self, probe: Probe) -> Result<(), StoreError> {
        self.change(|state| state.probes.push(probe))
    }

    /// Notes that there is something else to write. Fails where the queue is closed.
    pub fn nudge(&self) -> Result<(), StoreError> {
        self.change(|state| state.nudged = true)
    }

    /// Notes that there is more of a write that was begun: it is done, closed or not.
    pub fn nudge_again(&self) {
        self.state.lock().nudged = true;
        self.filled.notify_one();
    }

    /// Closes the queue for more items; `answer` is dropped when all items have been taken out and
    /// answered.
    pub fn close(&self, answer: oneshot::Sender<()>) {
        let mut state = self.state.lock();
        if state.ended {
            return;
        }
        state.closed = true;
        state.closing.push(answer);
        drop(state);
        self.filled.notify_one();
    }

    /// Drops all items and probes, so that their callers wait no longer: the writer takes out no
    /// more.
    pub fn end(&self) {
        *self.state.lock() = State {
            closed: true,
            ended: true,
            ..State::default()
        };
    }

    fn change(&self, put: impl FnOnce(&mut State)) -> Result<(), StoreError> {
        let mut state = self.state.lock();
        if state.closed {
            return Err(StoreError::closed());
        }
        put(&mut state);
        drop(state);
        self.filled.notify_one();
        Ok(())
    }

    /// Returns when something may have been put in since the last time.
    pub async fn filled(&self) {
        self.filled.notified().await;
    }

    /// Returns true if there is something to do, or if the queue is closed.
    pub fn is_ready(&self, has_room: impl Fn(&Space) -> bool) -> bool {
        let state = self.state.lock();
        !state.probes.is_empty() || state.nudged || state.closed || state.round.iter().any(has_room)
    }

    /// The next append of a space that has room.
    pub fn next(&self, has_room: impl Fn(&Space) -> bool) -> Option<Item> {
        let mut state = self.state.lock();
        let at = state.round.iter().position(has_room)?;
        let space = state.round.remove(at)?;
        let queue = state.spaces.get_mut(&space)?;
        let (item, place) = queue.pop_front()?;
        if queue.is_empty() {
            state.spaces.remove(&space);
        } else {
            state.round.push_back(space);
        }
        drop(state);
        // Whoever waits for it may put in the next.
        drop(place);
        Some(item)
    }

    pub fn take_probes(&self) -> Vec<Probe> {
        std::mem::take(&mut self.state.lock().probes)
    }

    pub fn take_nudge(&self) -> bool {
        std::mem::take(&mut self.state.lock().nudged)
    }

    /// Nothing is in here, and nothing will be.
    pub fn is_over(&self) -> bool {
        let state = self.state.lock();
        state.closed && state.round.is_empty() && state.probes.is_empty() && !state.nudged
    }
}
