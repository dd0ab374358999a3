//! The identity of a thread, and its latest thoughts.

use super::handle::Runtime;
use super::refused::Refused;
use thinkd_event::envelope::{Event, tag};
use thinkd_log::query::{Query, Show};
use thinkd_mind::call::Identity;
use thinkd_words::id::{Space, ThreadId};

/// Thoughts that are looked at, the newest.
const THOUGHTS: u32 = 10;

impl Runtime {
    /// Returns the identity of a thread, and its newest thoughts, the newest first. The main thread
    /// need not be there yet.
    pub async fn identity(
        &self,
        space: &Space,
        thread: &ThreadId,
    ) -> Result<(Identity, Vec<Event>), Refused> {
        let row = self.store().thread(space, thread).await?;
        if row.is_none() && !thread.is_main() {
            return Err(Refused::NotFound(format!("thread {thread}")));
        }
        let identity = self
            .0
            .ground
            .mind
            .client
            .identity(space, row.as_ref())
            .await?;
        let query = Query {
            thread: Some(thread.clone()),
            tags: vec![tag::THOUGHT.to_owned()],
            show: Show::Visible,
            limit: THOUGHTS,
            ..Query::default()
        };
        Ok((identity, self.store().events(space, &query).await?))
    }
}
