//! The clients of a door that wait for the answer to one message: a client that repeats its request
//! waits beside the first one. The turn is stopped when the last of them hangs up.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use uuid::Uuid;

/// The number of clients that wait, by message.
#[derive(Debug, Clone, Default)]
pub struct Waiters(Arc<Mutex<HashMap<Uuid, usize>>>);

impl Waiters {
    /// One more client waits for the answer to a message.
    pub fn join(&self, message: Uuid) {
        *self.0.lock().entry(message).or_default() += 1;
    }

    /// Returns whether a client waits for the answer to a message.
    pub fn wait_for(&self, message: Uuid) -> bool {
        self.0.lock().contains_key(&message)
    }

    /// A client waits no more. Returns true if it was the last one.
    pub fn leave(&self, message: Uuid) -> bool {
        let mut all = self.0.lock();
        let left = all.get_mut(&message).map_or(0, |count| {
            *count -= 1;
            *count
        });
        if left == 0 {
            all.remove(&message);
        }
        left == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_client_to_leave_is_told_so() {
        let (waiters, message) = (Waiters::default(), Uuid::nil());
        waiters.join(message);
        waiters.join(message);
        assert!(!waiters.leave(message));
        waiters.join(message);
        assert!(!waiters.leave(message));
        assert!(waiters.leave(message));
        assert!(waiters.0.lock().is_empty());
    }
}
