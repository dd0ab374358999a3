//! The time that a call to a model waits in the queue before it is sent (`at_once.rs`). Time limits do not count it.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use thinkd_words::failure::{Failure, FailureKind, Who};

/// The time that a call has waited for its place. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Waited(Arc<Mutex<Wait>>);

#[derive(Debug, Default)]
struct Wait {
    before: Duration,
    since: Option<Instant>,
}

impl Waited {
    /// Begins to wait; the returned value ends it when it is dropped.
    pub fn begin(&self) -> Waits {
        self.0.lock().since = Some(Instant::now());
        Waits(self.clone())
    }

    /// The time that it has waited, and true where it still waits.
    pub fn so_far(&self) -> (Duration, bool) {
        let wait = self.0.lock();
        let now = wait.since.map(|since| since.elapsed());
        (wait.before + now.unwrap_or_default(), now.is_some())
    }

    /// Returns the later time limit of a call that has waited: by as long as it has, and at most by the limit itself. Returns the
    /// failure of the call when that has passed, too.
    pub fn later(&self, who: &Who, at: Instant, limit: Duration) -> Result<Instant, Failure> {
        let (waited, waits) = self.so_far();
        let later = at + waited.min(limit);
        if later > Instant::now() {
            return Ok(later);
        }
        let ms = limit.as_millis();
        let text = if waits {
            format!(
                "the call for {who} waited {} ms for its turn among the calls to the model and was not sent: the model takes too \
                 few calls at a time (at_once)",
                waited.as_millis()
            )
        } else {
            format!("{who} had no answer within {ms} ms")
        };
        Err(Failure::new(FailureKind::Timeout, text).retryable())
    }
}

/// The wait of a call is no part of the request.
impl PartialEq for Waited {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// A call that waits, until it is dropped.
pub struct Waits(Waited);

impl Drop for Waits {
    fn drop(&mut self) {
        let mut wait = self.0.0.lock();
        if let Some(since) = wait.since.take() {
            wait.before += since.elapsed();
        }
    }
}
