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
        let place = |placed: &Placed| {
            let event = &placed.shown.event;
            Placement {
                event_id: event.event_id,
                thread: event.thread.clone(),
                seq: event.seq,
            }
        };
        let status = match received {
            Received::Started => AckStatus::Started,
            Received::Queued => AckStatus::Queued,
            Received::Duplicate => AckStatus::Duplicate,
        };
        Self {
            id,
            events: placed.iter().map(place).collect(),
            status,
        }
    }
}
