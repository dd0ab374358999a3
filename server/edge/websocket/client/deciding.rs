//! What a client says of calls that wait for people, and answers to questions.

use super::{Client, Done, End};
use crate::edge::ack::Ack;
use crate::event::request::Said;

impl Client {
    pub(super) fn decide(
        &mut self,
        id: Option<String>,
        approval: String,
        said: Said,
        reason: Option<String>,
    ) -> Result<(), End> {
        let session = self.session.clone();
        self.start(id, async move |id| {
            session
                .decide(&approval, said, reason.as_deref().unwrap_or_default())
                .await?;
            Ok(Done::Ack(Ack::ok(id)))
        })
    }

    pub(super) fn answer(
        &mut self,
        id: Option<String>,
        question: String,
        text: String,
    ) -> Result<(), End> {
        let session = self.session.clone();
        self.start(id, async move |id| {
            // Of a question with a schema the text is JSON.
            let value = serde_json::from_str(&text).ok();
            session.answer(&question, text, value).await?;
            Ok(Done::Ack(Ack::ok(id)))
        })
    }
}
