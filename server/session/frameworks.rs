//! A session reads frameworks, creates, changes and removes them, asks which ones a task is like, and tells the outcome.

use super::handle::{Acted, Session};
use super::right::Right;
use thinkd_event::framework::{Framework, FrameworkChange, Outcome};
use thinkd_log::projections::frameworks::FrameworkRow;
use thinkd_recall::frameworks::Likely;
use thinkd_runtime::frameworks;
use thinkd_words::id::{self, Seq};

impl Session {
    /// Frameworks in the order in which they were created, those after `after`, of one kind if it is named; at most `limit`.
    pub async fn frameworks(
        &self,
        kind: Option<&str>,
        after: Option<&str>,
        limit: u32,
    ) -> Acted<Vec<FrameworkRow>> {
        let (store, space) = self.reading()?;
        Ok(store.frameworks(space, kind, after, limit).await?)
    }

    /// One framework.
    pub async fn framework(&self, id: &str) -> Acted<Option<FrameworkRow>> {
        let (store, space) = self.reading()?;
        Ok(store.framework(space, id).await?)
    }

    /// The frameworks that a task is like, and whether it is to be solved with each.
    pub async fn frameworks_for(&self, task: &str) -> Acted<Vec<Likely>> {
        let (runtime, space) = self.acting(Right::Read)?;
        Ok(runtime.recall().frameworks_for(space, task).await?)
    }

    /// Creates a framework. Nothing is known of it: it is on probation.
    pub async fn create_framework(&self, mut new: Framework) -> Acted<FrameworkRow> {
        new.by = self.user().map(str::to_owned);
        let (runtime, space) = self.acting(Right::Shape)?;
        runtime.open(space).await?;
        let limit = runtime.options().tool_limits.frameworks;
        let id = id::fresh().to_string();
        Ok(frameworks::create(&**runtime.store(), space, (&id, new), limit).await?)
    }

    /// Changes a framework, as it is expected to be.
    pub async fn change_framework(&self, id: &str, change: FrameworkChange) -> Acted<FrameworkRow> {
        let store = self.store(Right::Shape)?;
        Ok(frameworks::change(&**store, self.space(), id, change).await?)
    }

    /// Removes a framework; with `expected` only if that event was the last that said something of it.
    pub async fn remove_framework(&self, id: &str, expected: Option<Seq>) -> Acted<()> {
        let store = self.store(Right::Shape)?;
        Ok(frameworks::remove(&**store, self.space(), id, expected).await?)
    }

    /// Tells the outcome of a task that a framework is for. Returns how the framework stands then.
    pub async fn framework_outcome(&self, id: &str, came: &Outcome) -> Acted<FrameworkRow> {
        let store = self.store(Right::Speak)?;
        let came = (came, id::fresh());
        Ok(frameworks::tell_outcome(&**store, self.space(), id, came).await?)
    }
}
