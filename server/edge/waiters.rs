//! The clients of a door that wait for the answer to one message: a client that repeats its request
//! waits beside the first one. The turn is stopped when the last of them hangs up. A client that
//! comes while it is being stopped waits for the end of that, and looks at the log again.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use thinkd_words::id::{Space, ThreadId};

/// The clients that wait, by message.
#[derive(Debug, Clone, Default)]
pub struct Waiters(Arc<Mutex<All>>);

#[derive(Debug, Default)]
struct All {
    messages: HashMap<Uuid, Awaited>,
    /// The number of stops that are over.
    stops: u64,
    /// The number of messages that are being stored, by thread.
    storing: HashMap<(Space, ThreadId), usize>,
}

/// A message with an answer that clients wait for.
#[derive(Debug)]
enum Awaited {
    /// By so many.
    By(usize),
    /// By none: its turn is being stopped, until the token is cancelled.
    Stopping(CancellationToken),
}

/// A message that is being stored: until its client waits for its answer, or is gone.
#[derive(Debug)]
pub struct Storing {
    waiters: Waiters,
    thread: (Space, ThreadId),
}

/// The stop of a turn that is under way; dropped, it is over.
#[derive(Debug)]
pub struct Stopping {
    waiters: Waiters,
    message: Uuid,
}

impl Waiters {
    /// One more client waits for the answer to a message. An error for a message with a turn that is
    /// being stopped: the token is cancelled at the end of that.
    pub fn join(&self, message: Uuid) -> Result<(), CancellationToken> {
        let mut all = self.0.lock();
        match all.messages.entry(message).or_insert(Awaited::By(0)) {
            Awaited::By(count) => {
                *count += 1;
                Ok(())
            }
            Awaited::Stopping(over) => Err(over.clone()),
        }
    }

    /// A message of a client is being stored in a thread.
    pub fn store(&self, space: &Space, thread: &ThreadId) -> Storing {
        let thread = (space.clone(), thread.clone());
        *self.0.lock().storing.entry(thread.clone()).or_default() += 1;
        Storing {
            waiters: self.clone(),
            thread,
        }
    }

    /// Returns whether a message of a client is being stored in a thread.
    pub fn is_storing(&self, space: &Space, thread: &ThreadId) -> bool {
        let thread = (space.clone(), thread.clone());
        self.0.lock().storing.contains_key(&thread)
    }

    /// The number of stops that are over: one that ended while a client looked at the log may not
    /// have been seen there.
    pub fn stops(&self) -> u64 {
        self.0.lock().stops
    }

    /// Returns whether a client waits for the answer to a message.
    pub fn wait_for(&self, message: Uuid) -> bool {
        matches!(self.0.lock().messages.get(&message), Some(Awaited::By(_)))
    }

    /// A client waits no more, and the turn goes on.
    pub fn leave(&self, message: Uuid) {
        self.0.lock().leave(message);
    }

    /// A client waits no more. Returns the stop of the turn, if it was the last one.
    pub fn hang_up(&self, message: Uuid) -> Option<Stopping> {
        let mut all = self.0.lock();
        if !all.leave(message) {
            return None;
        }
        let over = Awaited::Stopping(CancellationToken::new());
        all.messages.insert(message, over);
        Some(Stopping {
            waiters: self.clone(),
            message,
        })
    }
}

impl All {
    /// A client waits no more. Returns true if it was the last one.
    fn leave(&mut self, message: Uuid) -> bool {
        let Some(Awaited::By(count)) = self.messages.get_mut(&message) else {
            return false;
        };
        *count -= 1;
        let is_last = *count == 0;
        if is_last {
            self.messages.remove(&message);
        }
        is_last
    }
}

impl Drop for Storing {
    fn drop(&mut self) {
        let mut all = self.waiters.0.lock();
        if let Entry::Occupied(mut count) = all.storing.entry(self.thread.clone()) {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }
}

impl Drop for Stopping {
    fn drop(&mut self) {
        let mut all = self.waiters.0.lock();
        all.stops += 1;
        if let Some(Awaited::Stopping(over)) = all.messages.remove(&self.message) {
            over.cancel();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_client_to_leave_stops_the_turn_and_later_ones_wait_for_that() {
        let waiters = Waiters::default();
        let message = Uuid::nil();
        assert!(waiters.join(message).is_ok() && waiters.join(message).is_ok());
        assert!(waiters.hang_up(message).is_none());
        assert!(waiters.join(message).is_ok());
        assert!(waiters.hang_up(message).is_none() && waiters.wait_for(message));
        let stopping = waiters.hang_up(message);
        let before = waiters.stops();
        assert!(stopping.is_some() && !waiters.wait_for(message));
        let over = waiters.join(message).unwrap_err();
        assert!(!over.is_cancelled());
        drop(stopping);
        assert!(over.is_cancelled() && waiters.stops() > before);
        assert!(waiters.join(message).is_ok());
        waiters.leave(message);
        assert!(waiters.0.lock().messages.is_empty());
    }
}
