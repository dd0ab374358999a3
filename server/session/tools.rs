//! A session sees what threads may use, and approves what other servers changed of their tools.

use super::handle::{Error, Session};
use super::right::Right;
use crate::model::provider::AskedModel;
use crate::runtime::tools::ThreadTools;
use crate::words::id::ThreadId;

impl Session {
    /// What a thread may use; without a thread what `main` may.
    pub async fn tools(&self, thread: Option<&ThreadId>) -> Result<ThreadTools, Error> {
        Ok(self
            .runtime(Right::Read)?
            .tools(self.space(), thread)
            .await?)
    }

    /// The models that are asked, with the habits learned of each.
    pub fn models(&self) -> Result<Vec<AskedModel>, Error> {
        Ok(self.runtime(Right::Read)?.models())
    }

    /// Lets models be told of what another server says of a tool now, if that has this hash.
    pub async fn approve_tool(&self, name: &str, sha256: &str) -> Result<(), Error> {
        let runtime = self.runtime(Right::Shape)?;
        // Who is not named is known by what they may do: the audit says something of everybody.
        let by = self.user().unwrap_or(self.principal().role.as_str());
        Ok(runtime.approve_tool(self.space(), name, sha256, by).await?)
    }
}
