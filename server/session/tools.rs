//! A session sees the tools of threads, and approves the changes of other servers to their tools.

use super::handle::{Acted, Session};
use super::right::Right;
use thinkd_model::provider::AskedModel;
use thinkd_runtime::tools::ThreadTools;
use thinkd_words::id::ThreadId;

impl Session {
    /// Returns the tools of a thread; without a thread those of `main`.
    pub async fn tools(&self, thread: Option<&ThreadId>) -> Acted<ThreadTools> {
        let (runtime, space) = self.acting(Right::Read)?;
        Ok(runtime.tools(space, thread).await?)
    }

    /// The models that are asked, with the habits learned of each.
    pub fn models(&self) -> Acted<Vec<AskedModel>> {
        Ok(self.runtime(Right::Read)?.models())
    }

    /// Takes these tools of other servers as they are described now, by name, if the hashes are those.
    pub async fn approve_tools(&self, tools: &[(String, String)]) -> Acted<()> {
        let runtime = self.runtime(Right::Shape)?;
        // Who is not named is known by what they may do: the audit says something of everybody.
        let by = self.author();
        Ok(runtime.approve_tools(self.space(), tools, by).await?)
    }
}
