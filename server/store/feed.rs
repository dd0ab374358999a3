//! Who is told after a commit. One bounded tail of committed events a space, shared; a reader is a cursor into it and pages
//! from the store when it is behind. Hints (deltas, status) ride beside: never stored, dropped when nobody keeps up.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{broadcast, watch};
use uuid::Uuid;

use super::Shown;
use crate::id::{Seq, Space, ThreadId};

/// What is worth showing but not storing.
#[derive(Debug, Clone, PartialEq)]
pub enum Hint {
    /// A piece of a reply to come: `at` counts Unicode scalars from its beginning.
    Delta {
        /// The thread that replies.
        thread: ThreadId,
        /// The id the reply's event will have.
        event_id: Uuid,
        /// Where the piece begins.
        at: usize,
        /// The piece.
        text: String,
    },
    /// No more pieces: what became of them (`stored`, `partial`, `discarded`).
    DeltaEnd {
        /// The thread.
        thread: ThreadId,
        /// The reply's id.
        event_id: Uuid,
        /// What became of it.
        outcome: DeltaOutcome,
    },
    /// A thread's status changed.
    Status {
        /// The thread.
        thread: ThreadId,
        /// What it does now.
        status: super::Status,
        /// How many inputs wait.
        queued: u32,
    },
}

/// What became of streamed pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeltaOutcome {
    /// The whole reply is an event.
    Stored,
    /// What was sent is an event, tagged `partial`.
    Partial,
    /// They never happened: forget them.
    Discarded,
}

/// What a tail has for a reader.
#[derive(Debug)]
pub enum Tail {
    /// All events after the reader's position, in order, possibly none.
    Events(Vec<Arc<Shown>>),
    /// The tail begins later: page from the store, then ask again.
    Behind,
}

/// Most events a tail keeps.
const TAIL_EVENTS: usize = 1024;
/// Most bytes of JSON a tail keeps (one event may exceed it alone).
const TAIL_BYTES: usize = 4 << 20;
/// Hints a slow reader may be behind before it loses the oldest.
const HINTS: usize = 256;

/// Tells followers of a space what was committed to it. A space without followers costs nothing.
#[derive(Default)]
pub struct Feed {
    // A plain mutex: held for a map look-up, never across an await.
    spaces: Mutex<HashMap<Space, Arc<Channel>>>,
}

struct Channel {
    // A plain mutex: held while a handful of pointers are copied, never across an await.
    tail: Mutex<TailBuffer>,
    head: watch::Sender<Seq>,
    hints: broadcast::Sender<Arc<Hint>>,
}

#[derive(Default)]
struct TailBuffer {
    events: VecDeque<Arc<Shown>>,
    bytes: usize,
}

impl TailBuffer {
    fn last(&self) -> Option<Seq> {
        self.events.back().map(|shown| shown.event.seq)
    }

    fn push(&mut self, shown: Arc<Shown>) {
        self.bytes += shown.json.len();
        self.events.push_back(shown);
        while self.events.len() > 1 && (self.events.len() > TAIL_EVENTS || self.bytes > TAIL_BYTES) {
            if let Some(oldest) = self.events.pop_front() {
                self.bytes -= oldest.json.len();
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A panic while one of these short locks was held left nothing half done.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Feed {
    /// Tells of committed events of one space, in order. Known ones are skipped. False: events between those known and these
    /// are missing (another server committed them); nothing was told, and the caller is to read them first.
    pub fn committed(&self, space: &Space, events: &[Arc<Shown>]) -> bool {
        let Some(channel) = lock(&self.spaces).get(space).cloned() else { return true };
        let mut tail = lock(&channel.tail);
        let mut last = tail.last();
        for shown in events {
            let seq = shown.event.seq;
            match last {
                Some(known) if seq <= known => continue,
                Some(known) if seq > known + 1 => return false,
                _ => tail.push(shown.clone()),
            }
            last = Some(seq);
        }
        drop(tail);
        if let Some(last) = last {
            channel.head.send_if_modified(|head| {
                last > *head && {
                    *head = last;
                    true
                }
            });
        }
        true
    }

    /// The last seq that the followers of a space were told of; `None` where nobody follows or nothing came yet.
    pub fn told(&self, space: &Space) -> Option<Seq> {
        let channel = lock(&self.spaces).get(space).cloned()?;
        let tail = lock(&channel.tail);
        tail.last()
    }

    /// The spaces somebody follows.
    pub fn followed(&self) -> Vec<Space> {
        lock(&self.spaces).keys().cloned().collect()
    }

    /// Passes a hint to those who follow the space now.
    pub fn hint(&self, space: &Space, hint: Hint) {
        if let Some(channel) = lock(&self.spaces).get(space) {
            // No receiver, no hint: that is what a hint is.
            let _ = channel.hints.send(Arc::new(hint));
        }
    }

    /// Follows a space from now on. Follow first, then read the store, then ask `after`: nothing is missed.
    pub fn follow(self: &Arc<Self>, space: &Space) -> Follower {
        let mut spaces = lock(&self.spaces);
        let channel = spaces.entry(space.clone()).or_insert_with(|| {
            let (head, _) = watch::channel(0);
            let (hints, _) = broadcast::channel(HINTS);
            Arc::new(Channel { tail: Mutex::default(), head, hints })
        });
        Follower {
            head: channel.head.subscribe(),
            hints: channel.hints.subscribe(),
            channel: channel.clone(),
            space: space.clone(),
            feed: self.clone(),
        }
    }
}

/// A reader of one space's commits.
pub struct Follower {
    feed: Arc<Feed>,
    space: Space,
    channel: Arc<Channel>,
    head: watch::Receiver<Seq>,
    hints: broadcast::Receiver<Arc<Hint>>,
}

impl Follower {
    /// What was committed after `seq`, as far as the tail reaches; at most `limit` events.
    pub fn after(&self, seq: Seq, limit: usize) -> Tail {
        let tail = lock(&self.channel.tail);
        match tail.events.front().map(|first| first.event.seq) {
            None => Tail::Events(Vec::new()),
            Some(first) if first > seq + 1 => Tail::Behind,
            Some(first) => {
                // seq + 1 >= first, and the tail has no gaps: the position follows from the difference.
                let skip = usize::try_from(seq + 1 - first).unwrap_or(usize::MAX);
                Tail::Events(tail.events.iter().skip(skip).take(limit).cloned().collect())
            }
        }
    }

    /// Waits until something was committed since the last call. Cancel safe.
    pub async fn changed(&mut self) {
        // The sender lives in the channel that `self` holds, so this cannot fail.
        let _ = self.head.changed().await;
    }

    /// The next hint; lost ones are skipped. Cancel safe.
    pub async fn hint(&mut self) -> Arc<Hint> {
        loop {
            match self.hints.recv().await {
                Ok(hint) => return hint,
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                // The sender lives in the channel that `self` holds.
                Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
            }
        }
    }

    /// Waits for a commit (`None`) or a hint, whichever comes first. Cancel safe.
    pub async fn next(&mut self) -> Option<Arc<Hint>> {
        let Self { head, hints, .. } = self;
        loop {
            tokio::select! {
                _ = head.changed() => return None,
                hint = hints.recv() => match hint {
                    Ok(hint) => return Some(hint),
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => std::future::pending().await,
                },
            }
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut spaces = lock(&self.feed.spaces);
        // This follower's own receiver still counts.
        if self.channel.head.receiver_count() <= 1 {
            spaces.remove(&self.space);
        }
    }
}
