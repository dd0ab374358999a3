//! Raw is the undecoded view of an event or a draft: its tags and payload, borrowed. Facts are decoded from it.

use serde::Deserialize;
use serde_json::Value;
use uuid::Uuid;

use super::draft::Draft;
use super::envelope::{Event, Modality, Payload, Source};
use thinkd_words::id::{Seq, ThreadId};
use thinkd_words::time::Timestamp;

/// See the module. Borrowed, so that reading a fact copies no text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Raw<'a> {
    /// The thread.
    pub thread: &'a ThreadId,
    /// The source of the event.
    pub source: Source,
    /// The modality of its content.
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
    /// Returns true if it has the tag (exactly).
    pub fn has(&self, tag: &str) -> bool {
        self.tags.iter().any(|it| it == tag)
    }

    /// Returns the rest behind `prefix` of the first tag that starts with it.
    pub fn value(&self, prefix: &str) -> Option<&'a str> {
        self.tags.iter().find_map(|tag| tag.strip_prefix(prefix))
    }

    /// Returns the rest behind `prefix` of each tag that starts with it.
    pub fn values(&self, prefix: &str) -> impl Iterator<Item = &'a str> {
        self.tags
            .iter()
            .filter_map(move |tag| tag.strip_prefix(prefix))
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

    /// A member of this type.
    pub fn field<T: Field<'a>>(&self, key: &str) -> Option<T> {
        T::of(self.get(key)?)
    }

    /// A member as serde reads it.
    pub fn json<T: Deserialize<'a>>(&self, key: &str) -> Option<T> {
        T::deserialize(self.get(key)?).ok()
    }

    /// A member that is true.
    pub fn is(&self, key: &str) -> bool {
        self.get(key).and_then(Value::as_bool).unwrap_or(false)
    }

    /// The number of the turn that produced it.
    pub fn turn(&self) -> Option<u64> {
        self.count("turn")
    }
}

/// A type that a member of a payload has.
pub trait Field<'a>: Sized {
    /// As TypeScript writes it.
    const KIND: &'static str;

    /// The value, if it is of this type.
    fn of(value: &'a Value) -> Option<Self>;

    /// As a payload has it.
    fn value(self) -> Value;
}

macro_rules! field {
    ($($type:ty: $kind:literal, $value:ident => $of:expr, $it:ident => $back:expr;)*) => {$(
        impl<'a> Field<'a> for $type {
            const KIND: &'static str = $kind;

            fn of($value: &'a Value) -> Option<Self> {
                $of
            }

            fn value(self) -> Value {
                let $it = self;
                $back.into()
            }
        }
    )*};
}
field! {
    u64: "number", value => value.as_u64(), it => it;
    u32: "number", value => value.as_u64().and_then(|it| it.try_into().ok()), it => it;
    usize: "number", value => value.as_u64().and_then(|it| it.try_into().ok()), it => it;
    i64: "number", value => value.as_i64(), it => it;
    bool: "boolean", value => value.as_bool(), it => it;
    &'a str: "string", value => value.as_str(), it => it;
    String: "string", value => value.as_str().map(Self::from), it => it;
    &'a Value: "unknown", value => Some(value), it => it.clone();
    Vec<&'a str>: "string[]", value => Some(items(value, Value::as_str)), it => it;
    Vec<String>: "string[]", value => Some(items(value, |it| it.as_str().map(String::from))), it => it;
    Vec<i64>: "number[]", value => Some(items(value, Value::as_i64)), it => it;
    Uuid: "string", value => Uuid::parse_str(value.as_str()?).ok(), it => it.to_string();
    ThreadId: "string", value => Self::parse(value.as_str()?).ok(), it => it.as_str();
    Timestamp: "string", value => Self::parse(value.as_str()?), it => it.to_string();
}

fn items<'a, T>(list: &'a Value, of: fn(&'a Value) -> Option<T>) -> Vec<T> {
    list.as_array()
        .into_iter()
        .flatten()
        .filter_map(of)
        .collect()
}
