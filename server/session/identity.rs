//! A session asks for the identity of a thread.

use super::handle::{Acted, Session};
use super::right::Right;
use thinkd_event::envelope::Event;
use thinkd_mind::call::Identity;
use thinkd_words::id::ThreadId;

impl Session {
    /// Returns the identity of a thread, and its newest thoughts, the newest first.
    pub async fn identity(&self, thread: &ThreadId) -> Acted<(Identity, Vec<Event>)> {
        let (runtime, space) = self.acting(Right::Read)?;
        Ok(runtime.identity(space, thread).await?)
    }
}
