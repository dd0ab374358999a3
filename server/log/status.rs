//! The status of a thread, in one word.

use thinkd_words::spelling::words;

words! {
    /// The status of a thread, as its row says.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
    pub enum Status {
        /// Nothing to do.
        #[default]
        Idle = "idle",
        /// A turn runs or is about to.
        Thinking = "thinking",
        /// Waits for another party.
        Waiting = "waiting",
        /// Ended by its own choice.
        Done = "done",
        /// Ended by a failure it cannot get past.
        Failed = "failed",
        /// Ended from outside.
        Stopped = "stopped",
    }
}

impl Status {
    /// Returns true if nothing more can be sent to such a thread.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Stopped)
    }
}
