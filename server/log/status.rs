//! What a thread is doing, in one word.

use crate::event::envelope::words;

/// What a thread is doing, as its row says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Status {
    /// Nothing to do.
    #[default]
    Idle,
    /// A turn runs or is about to.
    Thinking,
    /// Waits for somebody.
    Waiting,
    /// Ended by its own choice.
    Done,
    /// Ended by a failure it cannot get past.
    Failed,
    /// Ended from outside.
    Stopped,
}

words!(Status {
    Idle = "idle",
    Thinking = "thinking",
    Waiting = "waiting",
    Done = "done",
    Failed = "failed",
    Stopped = "stopped",
});

impl Status {
    /// Whether nothing more can be sent to such a thread.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Stopped)
    }
}
