//! The end of a space's log.

use uuid::Uuid;

use thinkd_event::envelope::Event;
use thinkd_words::id::Seq;
use thinkd_words::time::Timestamp;

/// A space's log as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The seq of its last event; 0 when there is none.
    pub seq: Seq,
    /// This incarnation of the log; another one after a restore.
    pub epoch: Uuid,
}

/// The end of a space's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Position {
    pub seq: Seq,
    pub ts: Timestamp,
}

impl Position {
    pub fn of(last: &Event) -> Self {
        Self {
            seq: last.seq,
            ts: last.ts,
        }
    }

    /// As it is stored: the seq, and the time in microseconds since 1970.
    pub fn stored((seq, ts): (i64, i64)) -> Self {
        let ts = Timestamp::from_micros(ts);
        Self { seq, ts }
    }
}
