//! The settings of the recall in a turn before any model thinks: on or off, its size, and the
//! events that ask for it. The recall itself is in `turn/driver/recall.rs`.

use std::sync::Arc;
use std::time::Duration;

use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_recall::finder::Recall;

/// The settings of recalls in turns.
#[derive(Clone)]
pub struct Recalling {
    /// Finds statements that are held.
    pub finder: Arc<Recall>,
    /// Most tokens of the found statements, as they are shown; 0: turns do not recall.
    pub tokens: u32,
    /// The longest that it may take.
    pub limit: Duration,
}

impl Recalling {
    /// Returns true if turns recall at all.
    pub fn is_on(&self) -> bool {
        self.tokens > 0
    }
}

/// Returns true if an event of a batch asks for something that could be held: words of a thread to
/// itself, to go on, do not, and results of calls that a client ran do not.
pub fn asks(event: &Event) -> bool {
    let goes_on = event.is_thought() || matches!(event.fact(), Fact::ClientResults(_));
    event.is_visible() && !goes_on && !event.text().trim().is_empty()
}
