//! Replies that their reader has read: they are not sent again.

use super::driver::Driver;
use crate::event::draft::Draft;
use crate::event::envelope::Event;
use crate::event::fact::{Fact, Kind};
use crate::log::query::Query;
use crate::mind::action::Asked;
use crate::mind::turn_writer::Lost;
use crate::model::answer::said;
use crate::words::id::Seq;

impl Driver {
    /// Returns whether a reply says what its reader has read: earlier in the turn, or in the reply
    /// before a turn that a thought of the thread began. `drafts` are about to be appended before it.
    pub(super) async fn has_said(&self, call: &Asked, drafts: &[Draft]) -> Result<bool, Lost> {
        let arguments = call.arguments.as_ref().ok();
        let Some(text) = arguments.and_then(|it| it["text"].as_str()).map(said) else {
            return Ok(false);
        };
        let is_it =
            |draft: &Draft| matches!(draft.fact(), Fact::Reply(reply) if reply.text == text);
        if self.turn.replies().contains(&text) || drafts.iter().any(is_it) {
            return Ok(true);
        }
        let Some(first) = self.turn.batch().first().copied() else {
            return Ok(false);
        };
        let began = self.last_event(&[], first + 1).await?;
        let is_of_thought = began
            .is_some_and(|event| event.seq == first && event.fact().kind() == Some(Kind::Thought));
        if !is_of_thought {
            return Ok(false);
        }
        let before = self.last_event(&["response"], first).await?;
        Ok(before
            .is_some_and(|event| matches!(event.fact(), Fact::Reply(reply) if reply.text == text)))
    }

    /// The last event of the thread before a position, of these tags.
    async fn last_event(&self, tags: &[&str], before: Seq) -> Result<Option<Event>, Lost> {
        let query = Query {
            thread: Some(self.place.thread.clone()),
            tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
            before: Some(before),
            limit: 1,
            ..Query::default()
        };
        let events = self.mind.client.store().events(&self.place.space, &query);
        Ok(events.await.map_err(Lost::Store)?.into_iter().next())
    }
}
