//! The answer to a client's frame or request: its outcome and the events it became, the same on
//! sockets and HTTP.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use thinkd_log::appended::Placed;
use thinkd_runtime::turns::input::Received;
use thinkd_words::id::{Seq, ThreadId};

/// A frame was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Ack {
    /// The frame's `id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The events that it became.
    pub events: Vec<Placement>,
    /// The outcome of the frame.
    pub status: AckStatus,
}

/// The place of an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Placement {
    /// Its id.
    pub event_id: Uuid,
    /// Its thread.
    #[schema(value_type = String, example = "main")]
    pub thread: ThreadId,
    /// Its position in the log.
    #[schema(value_type = i64)]
    pub seq: Seq,
}

impl Placement {
    /// Returns the place of a stored event.
    pub fn of(placed: &Placed) -> Self {
        let event = &placed.shown.event;
        Self {
            event_id: event.event_id,
            thread: event.thread.clone(),
            seq: event.seq,
        }
    }
}

/// The outcome of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum AckStatus {
    /// A turn begins with it.
    Started,
    /// The input waits for the next turn.
    Queued,
    /// The input was there already.
    Duplicate,
    /// Done.
    Ok,
}

/// A thread was forked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Forked {
    /// The frame's `id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The fork.
    #[schema(value_type = String, example = "main-again")]
    pub thread: ThreadId,
    /// The thread with the event `at`; where `at` is 0, the thread that was forked.
    #[schema(value_type = String, example = "main")]
    pub from: ThreadId,
    /// The end of the turn up to which its past goes; 0: its past is empty, for no turn of the
    /// thread had ended by then.
    #[schema(value_type = i64, example = 41)]
    pub at: Seq,
    /// The events of its first message.
    pub events: Vec<Placement>,
}

impl Ack {
    /// Taken, and no event of it.
    pub fn ok(id: Option<String>) -> Self {
        Self {
            id,
            events: Vec::new(),
            status: AckStatus::Ok,
        }
    }

    /// An input was stored.
    pub fn stored(id: Option<String>, received: Received, placed: &[Placed]) -> Self {
        let status = match received {
            Received::Started => AckStatus::Started,
            Received::Queued => AckStatus::Queued,
            Received::Duplicate => AckStatus::Duplicate,
        };
        Self {
            id,
            events: placed.iter().map(Placement::of).collect(),
            status,
        }
    }
}
