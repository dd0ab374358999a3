//! A message in its place, and the client's ids of it.

use uuid::Uuid;

use super::kept::Kept;
use super::marks::Scope;
use thinkd_event::envelope::Event;
use thinkd_thread::settings::Policy;
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
    /// True if no other turn runs before the one about it.
    pub is_next: bool,
    /// True if an earlier request said it.
    pub was_said: bool,
}

/// The client's ids, and its word that it asks again.
#[derive(Debug)]
pub struct Asked {
    /// The clients that can find the conversation.
    pub scope: Scope,
    /// The id that the message is to have.
    pub event_id: Option<Uuid>,
    /// True: an earlier request like this got no answer.
    pub is_retry: bool,
    /// The thread that the model's name names.
    pub thread: Option<ThreadId>,
    /// Its effect on a running turn; none: that of the thread.
    pub policy: Option<Policy>,
    /// The response behind which the client says the message, if it names one.
    pub previous: Option<Previous>,
    /// The members of the request that are stored with the message.
    pub request: Option<Kept>,
}

/// The turn that a client goes on behind.
#[derive(Debug, Clone)]
pub struct Previous {
    /// The thread.
    pub thread: ThreadId,
    /// The message that the turn is about.
    pub input: Uuid,
    /// Its position.
    pub seq: Seq,
    /// The end of the turn; none: it runs, and the message joins it.
    pub end: Option<Seq>,
    /// The calls that the client is to run, by the client's ids.
    pub calls: Vec<String>,
    /// True if the thread has not gone on.
    pub is_last: bool,
}

/// Returns the place of words that an earlier request said.
pub fn said_before(event: &Event) -> Place {
    Place {
        thread: event.thread.clone(),
        event_id: event.event_id,
        seq: event.seq,
        is_next: false,
        was_said: true,
    }
}
