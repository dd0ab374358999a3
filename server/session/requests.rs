//! A session sees the requests that wait for people, says whether calls may run, and answers
//! questions.

use serde_json::Value;

use super::handle::{Acted, Session};
use super::right::Right;
use thinkd_event::condition::RequestState;
use thinkd_event::request::Said;
use thinkd_log::projections::requests::{Asked, RequestRow};
use thinkd_runtime::requests::Reply;
use thinkd_words::id::{Seq, ThreadId};

impl Session {
    /// Returns calls that wait for a verdict, or questions that are open, with their requests, the
    /// oldest first: those behind `after`, of one thread or all, at most `limit`.
    pub async fn requests(
        &self,
        state: RequestState,
        thread: Option<&ThreadId>,
        after: Seq,
        limit: u32,
    ) -> Acted<Vec<Asked>> {
        let (store, space) = self.reading()?;
        Ok(store.asked(space, state, thread, after, limit).await?)
    }

    /// One of them, if it is open.
    pub async fn request(&self, state: RequestState, id: &str) -> Acted<Option<RequestRow>> {
        let row = self.store(Right::Read)?.request(self.space(), id).await?;
        Ok(row.filter(|row| row.state == state))
    }

    /// Settles a call that waits. Returns the word of the verdict.
    pub async fn decide(&self, id: &str, said: Said, reason: &str) -> Acted<&'static str> {
        let requests = self.runtime(Right::Judge)?.requests();
        // Who is not named is known by what they may do: the audit says something of everybody.
        let by = self.author();
        Ok(requests.decide(self.space(), id, said, reason, by).await?)
    }

    /// Answers an open question.
    pub async fn answer(&self, id: &str, text: String, value: Option<Value>) -> Acted<()> {
        let requests = self.runtime(Right::Speak)?.requests();
        Ok(requests
            .answer(self.space(), id, Reply { text, value }, self.user())
            .await?)
    }
}
