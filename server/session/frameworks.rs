//! A session reads frameworks, creates, changes and removes them, asks which ones a task is like, and tells the outcome.

use super::handle::{Error, Session};
use super::right::Right;
use crate::event::framework::{Framework, FrameworkChange, Outcome};
use crate::log::projections::frameworks::FrameworkRow;
use crate::recall::frameworks::Likely;
use crate::words::id::Seq;

impl Session {
    /// Frameworks in the order in which they were created, those after `after`, of one kind if it is named; at most `limit`.
    pub async fn frameworks(
        &self,
        kind: Option<&str>,
        after: Option<&str>,
        limit: u32,
    ) -> Result<Vec<FrameworkRow>, Error> {
        let store = self.store(Right::Read)?;
        Ok(store.frameworks(self.space(), kind, after, limit).await?)
    }

    /// One framework.
    pub async fn framework(&self, id: &str) -> Result<Option<FrameworkRow>, Error> {
        Ok(self.store(Right::Read)?.framework(self.space(), id).await?)
    }

    /// The frameworks that a task is like, and whether it is to be solved with each.
    pub async fn frameworks_for(&self, task: &str) -> Result<Vec<Likely>, Error> {
        let recall = self.runtime(Right::Read)?.recall();
        Ok(recall.frameworks_for(self.space(), task).await?)
    }

    /// Creates a framework.
    pub async fn create_framework(&self, mut new: Framework) -> Result<FrameworkRow, Error> {
        new.by = self.user().map(str::to_owned);
        let runtime = self.runtime(Right::Shape)?;
        Ok(runtime.create_framework(self.space(), new).await?)
    }

    /// Changes a framework, as it is expected to be.
    pub async fn change_framework(
        &self,
        id: &str,
        change: FrameworkChange,
    ) -> Result<FrameworkRow, Error> {
        let runtime = self.runtime(Right::Shape)?;
        Ok(runtime.change_framework(self.space(), id, change).await?)
    }

    /// Removes a framework; with `expected` only if that event was the last that said something of it.
    pub async fn remove_framework(&self, id: &str, expected: Option<Seq>) -> Result<(), Error> {
        let runtime = self.runtime(Right::Shape)?;
        Ok(runtime.remove_framework(self.space(), id, expected).await?)
    }

    /// Tells the outcome of a task that a framework is for.
    pub async fn framework_outcome(&self, id: &str, came: &Outcome) -> Result<FrameworkRow, Error> {
        let runtime = self.runtime(Right::Speak)?;
        Ok(runtime.framework_outcome(self.space(), id, came).await?)
    }
}
