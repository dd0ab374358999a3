//! A question to the log, and the test whether an event is among its answers. The databases'
//! answers are in `sql.rs` and in their own files.

use std::collections::BTreeSet;

use super::words;
use thinkd_event::envelope::{Event, Modality, Source};
use thinkd_event::estimate::VERDICTS;
use thinkd_event::fact::task::VERDICT;
use thinkd_words::id::{Seq, ThreadId};
use thinkd_words::time::Timestamp;

/// The order of a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Newest first.
    #[default]
    Descending,
    /// Oldest first.
    Ascending,
}

/// The kinds of events that a reader wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Show {
    /// All there are.
    All,
    /// All but `debug` (unless the tag `debug` is asked for).
    #[default]
    Public,
    /// Events that a decision may see (`Visibility::Submodule` and above).
    Visible,
    /// Events that a submodule may see (`Visibility::Heard`).
    Heard,
}

/// A question to the log. Conditions are all to be met; `Default` asks for the newest of everything public.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Query {
    /// Only this thread.
    pub thread: Option<ThreadId>,
    /// With `thread`: and all below it.
    pub subtree: bool,
    /// Any of these tags, without regard to case; empty: any.
    pub tags: Vec<String>,
    /// With `tags`: all of them.
    pub all_tags: bool,
    /// Only from this source.
    pub source: Option<Source>,
    /// Only of this modality.
    pub modality: Option<Modality>,
    /// Full text: all the words, in any order (`store::words`).
    pub text: Option<String>,
    /// At or after.
    pub since: Option<Timestamp>,
    /// Strictly older.
    pub before_ts: Option<Timestamp>,
    /// `seq` greater than.
    pub after: Option<Seq>,
    /// `seq` less than.
    pub before: Option<Seq>,
    /// The kinds of events.
    pub show: Show,
    /// In which order.
    pub order: Order,
    /// At most so many (at least 1).
    pub limit: u32,
}

impl Query {
    /// Returns the query for the event at a position.
    pub fn at(seq: Seq) -> Self {
        Self {
            after: Some(seq - 1),
            before: Some(seq + 1),
            show: Show::All,
            limit: 1,
            ..Self::default()
        }
    }

    /// Returns the query for the verdicts on tasks that estimates are learned from.
    pub fn of_verdicts() -> Self {
        Self {
            tags: VERDICT.map(str::to_owned).into(),
            limit: VERDICTS,
            ..Self::default()
        }
    }

    /// Returns true if the event is among those asked for; order and limit aside. For readers of
    /// the feed.
    pub fn matches(&self, event: &Event) -> bool {
        let text = self.text.as_ref();
        self.matches_place(event)
            && event.visibility() >= self.least()
            && self.source.is_none_or(|it| event.source == it)
            && self.modality.is_none_or(|it| event.modality == it)
            && self.matches_tags(event)
            && text.is_none_or(|text| words::matches(text, event.text()))
    }

    fn matches_place(&self, event: &Event) -> bool {
        let thread = match &self.thread {
            None => true,
            Some(root) if self.subtree => event.thread.is_within(root),
            Some(thread) => event.thread == *thread,
        };
        thread
            && self.since.is_none_or(|since| event.ts >= since)
            && self.before_ts.is_none_or(|before| event.ts < before)
            && self.after.is_none_or(|after| event.seq > after)
            && self.before.is_none_or(|before| event.seq < before)
    }

    fn matches_tags(&self, event: &Event) -> bool {
        let tags = self.tags();
        if tags.is_empty() {
            return true;
        }
        let own: BTreeSet<String> = event.meta.tags.iter().map(|it| it.to_lowercase()).collect();
        match self.all_tags {
            true => tags.is_subset(&own),
            false => !tags.is_disjoint(&own),
        }
    }
}
