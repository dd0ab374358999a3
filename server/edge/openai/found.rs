//! The place of a message as it was found.

use uuid::Uuid;

use thinkd_event::envelope::Event;
use thinkd_runtime::fork::NewFork;
use thinkd_words::id::{Seq, ThreadId};

/// The place in which a message is said.
pub enum Where {
    /// In a conversation of its own.
    New,
    /// In this thread.
    In(ThreadId),
    /// Behind the first of these turns, in a thread that has not gone on: several people may have had the
    /// same conversation so far.
    Behind(Vec<Behind>),
    /// In a fork.
    Fork(Box<NewFork>),
    /// An earlier request said the message.
    Said(Event),
}

/// The place of a message, and the part of the client's words that the log has there.
pub struct Found {
    /// The place.
    pub place: Where,
    /// The number of exchanges.
    pub known: usize,
    /// The number of pieces of the message.
    pub had: usize,
    /// The same message as it was said before, and taken back.
    pub taken_back: Option<Uuid>,
}

impl Found {
    /// The place of a message of which the log has so many exchanges and pieces.
    pub const fn new(place: Where, known: usize, had: usize) -> Self {
        Self {
            place,
            known,
            had,
            taken_back: None,
        }
    }

    /// The message is said as a whole.
    pub const fn whole(place: Where, known: usize) -> Self {
        Self::new(place, known, 0)
    }
}

/// A turn that a message may go on behind.
pub struct Behind {
    /// The thread.
    pub thread: ThreadId,
    /// The input that it was about.
    pub seq: Seq,
    /// The mark of the conversation up to the message: of two that go on here at once one is let in.
    pub mark: String,
    /// Its end; none: it has none yet.
    pub end: Option<Seq>,
    /// False: the thread has gone on.
    pub is_free: bool,
}
