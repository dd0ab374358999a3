//! A session asks who a thread is.

use super::handle::{Error, Session};
use super::right::Right;
use thinkd_event::envelope::Event;
use thinkd_mind::call::Identity;
use thinkd_words::id::ThreadId;

impl Session {
    /// Who a thread is, and its newest thoughts, the newest first.
    pub async fn identity(&self, thread: &ThreadId) -> Result<(Identity, Vec<Event>), Error> {
        let (runtime, space) = self.acting(Right::Read)?;
        Ok(runtime.identity(space, thread).await?)
    }
}
