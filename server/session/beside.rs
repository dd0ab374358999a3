//! A session asks a model beside the turns of a thread.

use tokio_util::sync::CancellationToken;

use super::handle::{Acted, Session};
use super::right::Right;
use thinkd_mind::call::Beside;
use thinkd_words::id::ThreadId;

impl Session {
    /// Asks the model of the tier `low`, outside of the log: `system` are the instructions, `user`
    /// is the text that they are about. The thread has the record of the call, without its words.
    pub async fn ask_beside(
        &self,
        thread: &ThreadId,
        system: &str,
        user: &str,
        stop: &CancellationToken,
    ) -> Acted<String> {
        let (runtime, space) = self.acting(Right::Speak)?;
        let asked = Beside {
            purpose: "side",
            system,
            user,
        };
        Ok(runtime.ask_beside((space, thread), asked, stop).await?)
    }

    /// Gives a thread a title that the model of the tier `low` makes of its first messages, and
    /// returns it.
    pub async fn suggest_title(
        &self,
        thread: &ThreadId,
        stop: &CancellationToken,
    ) -> Acted<String> {
        let (runtime, space) = self.acting(Right::Speak)?;
        let suggested = runtime.suggest_title((space, thread), self.user(), stop);
        Ok(suggested.await?)
    }
}
