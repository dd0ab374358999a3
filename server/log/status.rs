//! What a thread is doing, in one word.

use std::fmt;

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

impl Status {
    /// The word on the wire and in the store.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Thinking => "thinking",
            Self::Waiting => "waiting",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }

    /// The status of a word.
    pub fn parse(word: &str) -> Option<Self> {
        [
            Self::Idle,
            Self::Thinking,
            Self::Waiting,
            Self::Done,
            Self::Failed,
            Self::Stopped,
        ]
        .into_iter()
        .find(|status| status.as_str() == word)
    }

    /// Whether nothing more can be sent to such a thread.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Stopped)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
