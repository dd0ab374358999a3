//! A client's decisions on calls that wait for people, and answers to questions.

use super::{Client, Done, End};
use crate::ack::Ack;
use thinkd_event::request::Said;

impl Client {
    pub(super) fn decide(
        &mut self,
        id: Option<String>,
        approval: String,
        said: Said,
        reason: Option<String>,
    ) -> Result<(), End> {
        self.start(id, async move |_, session, id| {
            let reason = reason.as_deref().unwrap_or_default();
            session.decide(&approval, said, reason).await?;
            Ok(Done::Ack(Ack::ok(id)))
        })
    }

    pub(super) fn answer(
        &mut self,
        id: Option<String>,
        question: String,
        text: String,
    ) -> Result<(), End> {
        self.start(id, async move |_, session, id| {
            // Of a question with a schema the text is JSON.
            let value = serde_json::from_str(&text).ok();
            session.answer(&question, text, value).await?;
            Ok(Done::Ack(Ack::ok(id)))
        })
    }
}
