//! Soundness says whether the log can be written, as far as the last writes tell: `/readyz` goes by it.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

use crate::error::StoreError;

/// A write that takes longer is in trouble.
const SLOW: Duration = Duration::from_secs(2);
/// Bytes that a probe writes besides those that were refused: the pages around a message, and a
/// message.
const PROBE: usize = 128 << 10;
/// Most that a probe writes.
const PROBE_MAX: usize = 8 << 20;

/// Shared by the writer and the callers that ask whether it works.
#[derive(Default)]
pub(super) struct Soundness(Mutex<State>);

#[derive(Default)]
struct State {
    /// Since when a write is under way, and its bytes.
    writing: Option<(Instant, usize)>,
    /// The bytes of the largest write that failed, since when none as large was made.
    refused: Option<usize>,
}

impl Soundness {
    /// A write of so many bytes begins.
    pub fn begins(&self, bytes: usize) {
        self.0.lock().writing = Some((Instant::now(), bytes));
    }

    /// Begins a probe; returns the number of bytes it is to write.
    pub fn probe(&self) -> usize {
        let refused = self.0.lock().refused.unwrap_or_default();
        let bytes = refused.saturating_add(PROBE).min(PROBE_MAX);
        self.begins(bytes);
        bytes
    }

    /// The write is over. A small one that succeeds says nothing about one as large as that which failed.
    pub fn ended(&self, well: bool) {
        let mut state = self.0.lock();
        let bytes = state.writing.take().map_or(0, |(_, bytes)| bytes);
        state.refused = match state.refused {
            Some(refused) if well && bytes < refused.min(PROBE_MAX) => Some(refused),
            _ if well => None,
            before => before.max(Some(bytes)),
        };
    }

    /// True: writing works. False: it did not when it was last tried. An error: it does not now.
    pub fn check(&self) -> Result<bool, StoreError> {
        let state = self.0.lock();
        match state.writing {
            Some((since, _)) if since.elapsed() > SLOW => Err(StoreError::Unavailable(
                "the database has not taken a write for some seconds".into(),
            )),
            _ => Ok(state.refused.is_none()),
        }
    }
}
