//! The order of one sender holds while the log cannot be written: after a refused frame the frames behind it on the socket are refused,
//! too, until the sender has had the chance to send that one again. Otherwise a pipeline of frames would be stored with its first ones
//! last.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use uuid::Uuid;

use crate::problem::{Problem, Slug};

/// The time for which a sender that was told, and that can say which frame it sends again, is
/// waited for.
const CHANCE: Duration = Duration::from_secs(2);

/// The order of a socket's inputs decides which are taken in.
#[derive(Default)]
pub struct Order {
    refused: Option<Refused>,
    /// The number of refused inputs.
    times: u64,
}

/// The frame that the others wait for.
struct Refused {
    event_id: Option<Uuid>,
    /// The content of the ping before the refusal: its pong comes behind everything the sender had
    /// on its way.
    mark: Bytes,
    told: Option<Instant>,
}

impl Order {
    /// Notes that an input was refused because the log cannot be written. Returns the content of
    /// the ping that goes before the refusal.
    pub fn refused(&mut self, event_id: Option<Uuid>) -> Bytes {
        self.times += 1;
        let mark = Bytes::copy_from_slice(&self.times.to_be_bytes());
        self.refused = Some(Refused {
            event_id,
            mark: mark.clone(),
            told: None,
        });
        mark
    }

    /// A pong came.
    pub fn pong(&mut self, mark: &[u8], now: Instant) {
        if let Some(refused) = self.refused.as_mut().filter(|refused| refused.mark == mark) {
            refused.told = Some(now);
        }
    }

    /// Returns true if an input is taken in now; from the first that is, all are.
    pub fn takes(&mut self, event_id: Option<Uuid>, now: Instant) -> bool {
        let takes =
            self.refused
                .as_ref()
                .is_none_or(|refused| match (refused.event_id, refused.told) {
                    (Some(first), _) if event_id == Some(first) => true,
                    (Some(_), Some(told)) => told + CHANCE <= now,
                    // Nobody could know it again.
                    (None, Some(_)) => true,
                    (_, None) => false,
                });
        if takes {
            self.refused = None;
        }
        takes
    }
}

/// The refusal of an input that stands behind a refused one.
pub fn behind() -> Problem {
    let detail = "what was sent before this on the same socket was refused because the log could not be written; send that again \
         first, with its event_id, then this";
    Problem::new(Slug::Unavailable, detail)
}
