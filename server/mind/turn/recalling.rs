//! What a turn recalls before anybody thinks: whether, how much, and what asks for it. How a turn does it is in `turn/driver/recall.rs`.

use std::sync::Arc;
use std::time::Duration;

use thinkd_event::envelope::Event;
use thinkd_recall::finder::Recall;

/// How turns recall.
#[derive(Clone)]
pub struct Recalling {
    /// Finds what is held.
    pub finder: Arc<Recall>,
    /// Most tokens of what is found, as it is shown; 0: turns do not recall.
    pub tokens: u32,
    /// How long it may take.
    pub limit: Duration,
}

impl Recalling {
    /// Whether turns recall at all.
    pub fn is_on(&self) -> bool {
        self.tokens > 0
    }
}

/// Whether an event of a batch asks for something that could be held: what a thread tells itself to go on does not.
pub fn asks(event: &Event) -> bool {
    event.is_visible() && !event.is_thought() && !event.text().trim().is_empty()
}
