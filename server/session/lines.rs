//! The first and the last line of threads, for lists of conversations.

use futures_util::{StreamExt, TryStreamExt, stream};
use serde::Serialize;
use utoipa::ToSchema;

use super::handle::{Acted, Session};
use thinkd_event::envelope::{Event, tag};
use thinkd_log::query::{Order, Query};
use thinkd_words::id::{Seq, ThreadId};
use thinkd_words::time::Timestamp;

/// Characters of a line.
const CHARS: usize = 200;
/// Threads that are looked at together.
const AT_ONCE: usize = 4;

/// A line of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct ChatLine {
    /// The event.
    #[schema(value_type = i64, example = 41)]
    pub seq: Seq,
    /// When.
    #[schema(value_type = String, example = "2026-11-21T04:25:00.123456Z")]
    pub ts: Timestamp,
    /// `person` or `mind`.
    #[schema(example = "person")]
    pub by: &'static str,
    /// The first 200 characters of its text; of an image or a sound its kind in brackets.
    pub text: String,
}

/// The first and the last line of a thread; `None`: nothing was said in it.
pub type Lines = Option<(ChatLine, ChatLine)>;

impl ChatLine {
    fn new(event: &Event) -> Self {
        let is_reply = event.meta.tags.iter().any(|tag| tag == tag::RESPONSE);
        let text = match event.text() {
            "" => format!("[{}]", event.modality),
            text => text.chars().take(CHARS).collect(),
        };
        Self {
            seq: event.seq,
            ts: event.ts,
            by: if is_reply { "mind" } else { "person" },
            text,
        }
    }
}

impl Session {
    /// Returns the first and the last line of each thread, in their order.
    pub async fn lines(&self, threads: &[ThreadId]) -> Acted<Vec<Lines>> {
        let each = threads.iter().cloned().map(|thread| self.lines_of(thread));
        stream::iter(each).buffered(AT_ONCE).try_collect().await
    }

    async fn lines_of(&self, thread: ThreadId) -> Acted<Lines> {
        let query = |order| Query {
            thread: Some(thread.clone()),
            tags: ["type:message", tag::RESPONSE].map(str::to_owned).into(),
            order,
            limit: 1,
            ..Query::default()
        };
        let first = query(Order::Ascending);
        let last = query(Order::Descending);
        let Some(first) = self.events(&first).await?.pop() else {
            return Ok(None);
        };
        let last = self.events(&last).await?.pop();
        let line = ChatLine::new(&first);
        Ok(Some((
            line.clone(),
            last.as_ref().map_or(line, ChatLine::new),
        )))
    }
}
