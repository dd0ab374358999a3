//! Raw is the undecoded view of an event or a draft: its tags and payload, borrowed. Facts are decoded from it.

use serde_json::Value;

use super::draft::Draft;
use super::envelope::{Event, Modality, Payload, Source};
use crate::words::id::{Seq, ThreadId};

/// See the module. Borrowed, so that reading a fact copies no text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Raw<'a> {
    /// The thread.
    pub thread: &'a ThreadId,
    /// Where it comes from.
    pub source: Source,
    /// What it carries.
    pub modality: Modality,
    /// Its tags.
    pub tags: &'a [String],
    /// Its content.
    pub payload: &'a Payload,
}

impl<'a> From<&'a Event> for Raw<'a> {
    fn from(event: &'a Event) -> Self {
        let Event {
            thread,
            source,
            modality,
            payload,
            meta,
            ..
        } = event;
        Self {
            thread,
            source: *source,
            modality: *modality,
            tags: &meta.tags,
            payload,
        }
    }
}

impl<'a> From<&'a Draft> for Raw<'a> {
    fn from(draft: &'a Draft) -> Self {
        let Draft {
            thread,
            source,
            modality,
            payload,
            tags,
            ..
        } = draft;
        Self {
            thread,
            source: *source,
            modality: *modality,
            tags,
            payload,
        }
    }
}

impl<'a> Raw<'a> {
    /// Whether it has the tag (exactly).
    pub fn has(&self, tag: &str) -> bool {
        self.tags.iter().any(|it| it == tag)
    }

    /// What follows `prefix` in the first tag that starts with it.
    pub fn value(&self, prefix: &str) -> Option<&'a str> {
        self.tags.iter().find_map(|tag| tag.strip_prefix(prefix))
    }

    /// A member of the payload.
    pub fn get(&self, key: &str) -> Option<&'a Value> {
        self.payload.get(key)
    }

    /// A member that is a text.
    pub fn text(&self, key: &str) -> Option<&'a str> {
        self.get(key)?.as_str()
    }

    /// A member that is a text; empty where there is none.
    pub fn said(&self, key: &str) -> &'a str {
        self.text(key).unwrap_or_default()
    }

    /// A member that is a number of something.
    pub fn count(&self, key: &str) -> Option<u64> {
        self.get(key)?.as_u64()
    }

    /// A member that is a position in the log.
    pub fn seq(&self, key: &str) -> Option<Seq> {
        self.get(key)?.as_i64()
    }

    /// A member that is true.
    pub fn is(&self, key: &str) -> bool {
        self.get(key).and_then(Value::as_bool).unwrap_or(false)
    }

    /// A member as a list.
    pub fn list(&self, key: &str) -> impl Iterator<Item = &'a Value> {
        self.get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    }

    /// The number of the turn that produced it.
    pub fn turn(&self) -> Option<u64> {
        self.count("turn")
    }
}
