//! Replies that their reader has read: they are not sent again.

use super::driver::Driver;
use crate::action::Asked;
use crate::turn_writer::Lost;
use thinkd_event::draft::Draft;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_log::query::Query;
use thinkd_model::answer::said;

impl Driver {
    /// Returns true if the reader of a reply has read its text: earlier in the turn, or in the
    /// reply before a turn begun by a thought of the thread. `drafts` are about to be appended
    /// before it.
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
        if !self.turn.of_thought {
            return Ok(false);
        }
        let query = Query {
            thread: Some(self.place.thread.clone()),
            tags: vec!["response".to_owned()],
            before: self.turn.decided().first().copied(),
            limit: 1,
            ..Query::default()
        };
        let events = self.store().events(&self.place.space, &query).await?;
        let says = |event: &Event| matches!(event.fact(), Fact::Reply(reply) if reply.text == text);
        Ok(events.first().is_some_and(says))
    }
}
