//! A message in its place: the thread, the event, and the turn that comes to it.

use uuid::Uuid;

use crate::waiters::Storing;
use thinkd_event::envelope::Event;
use thinkd_tools::toolbox::client::offered;
use thinkd_words::id::{Seq, ThreadId};

/// A message in its place.
#[derive(Debug)]
pub struct Place {
    /// The thread.
    pub thread: ThreadId,
    /// The id of the message's last event.
    pub event_id: Uuid,
    /// Its position.
    pub seq: Seq,
    /// True if its turn runs, or is the next one.
    pub is_next: bool,
    /// True if an earlier request said it.
    pub was_said: bool,
    /// The mark of the client that offers tools with it: their calls come to it.
    pub client: Option<String>,
    /// Held until the client waits for the answer.
    pub storing: Option<Storing>,
}

/// Returns the place of words that an earlier request said.
pub fn said_before(event: &Event) -> Place {
    Place {
        thread: event.thread.clone(),
        event_id: event.event_id,
        seq: event.seq,
        is_next: false,
        was_said: true,
        client: offered(event).map(|it| it.client),
        storing: None,
    }
}
