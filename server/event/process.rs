//! The vocabulary of threads as processes: the cause that woke a thread, its waits, its watches,
//! and the feedback of the core. Feedback is written twice: as an element for models, and as fields
//! for clients.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::draft::{Draft, tags};
use super::envelope::{Event, Modality, Payload, Source, tag};
use thinkd_words::id::ThreadId;
use thinkd_words::spelling::words;
use thinkd_words::time::Timestamp;

/// The waker of a thread, as far as it matters to one that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waking {
    /// The thread that the event is from, or is about.
    pub by: Option<ThreadId>,
    /// True if it came from outside the mind.
    pub outside: bool,
    /// True if it ends any wait: the time is up, or waiting is of no use.
    pub ends_any_wait: bool,
}

/// An element in the log. The words of a model in the log of another thread or its own are data,
/// and so are those of the core. So attributes and text are escaped, always.
pub(super) struct Element<'a> {
    pub name: &'a str,
    pub attributes: &'a [(&'a str, Value)],
    pub text: &'a str,
}

impl fmt::Display for Element<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}", self.name)?;
        for (name, value) in self.attributes {
            match value {
                Value::Null => {}
                Value::String(text) => write!(f, " {name}=\"{}\"", Escaped(text))?,
                other => write!(f, " {name}=\"{}\"", Escaped(&other.to_string()))?,
            }
        }
        if self.text.is_empty() {
            return f.write_str("/>");
        }
        write!(f, ">{}</{}>", Escaped(self.text), self.name)
    }
}

struct Escaped<'a>(&'a str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;
        self.0.chars().try_for_each(|c| match c {
            '&' => f.write_str("&amp;"),
            '<' => f.write_str("&lt;"),
            '>' => f.write_str("&gt;"),
            '"' => f.write_str("&quot;"),
            c => f.write_char(c),
        })
    }
}

words! {
    /// The error of a thread's primitive. The text names only the caller's words.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub enum ErrorCode {
        /// No such contact or thread, or none that may be written to.
        UnknownThread = "unknown_thread",
        /// The label cannot be part of an id.
        InvalidLabel = "invalid_label",
        /// Too deep.
        DepthLimit = "depth_limit",
        /// Too many subthreads.
        SubthreadLimit = "subthread_limit",
        /// Too many messages in a row.
        SendLimit = "send_limit",
        /// The recipient ended before the message was delivered.
        Undelivered = "undelivered",
        /// Threads wait for one another in a circle.
        WaitCycle = "wait_cycle",
        /// No such watch is open.
        UnknownWatch = "unknown_watch",
    }
}

/// A thread that waits: for whom, and until when at the latest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// For this one alone; absent: for anybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<ThreadId>,
    /// The name that the thread has for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// True if events from outside the mind wake it, in any wait.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
    /// When it stops waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// Why it waits, where it did not ask to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl Waiting {
    /// For anybody.
    pub fn for_anybody() -> Self {
        Self {
            from: None,
            name: None,
            outside: true,
            until: None,
            reason: None,
        }
    }

    /// Returns true if this wakes it.
    pub fn admits(&self, waking: &Waking) -> bool {
        self.from.is_none()
            || waking.ends_any_wait
            || (self.outside && waking.outside)
            || self.from == waking.by
    }
}

/// A watch of a thread for an event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    /// A tag of the event, in lower case.
    pub kind: String,
    /// Only from this thread; absent: from anybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<ThreadId>,
    /// The note for that time.
    pub note: String,
    /// True if the event has come.
    pub raised: bool,
}

impl Watch {
    /// Returns true if this is the event: the whole tag counts, without regard to case.
    pub fn matches(&self, event: &Event) -> bool {
        let is_kind = event
            .meta
            .tags
            .iter()
            .any(|tag| tag.to_lowercase() == self.kind);
        let by = || event.waking().and_then(|waking| waking.by);
        is_kind && (self.from.is_none() || by() == self.from)
    }

    /// The same, raised.
    #[must_use]
    pub fn raised(self) -> Self {
        Self {
            raised: true,
            ..self
        }
    }
}

/// The end of a thread, for those that knew it.
#[derive(Debug, Clone, Copy)]
pub struct Ending<'a> {
    /// The thread.
    pub thread: &'a ThreadId,
    /// `done`, `failed` or `stopped`.
    pub status: &'a str,
    /// Why.
    pub reason: &'a str,
    /// The last thing it said.
    pub last: &'a str,
}

impl Draft {
    /// Feedback of the core to a thread, by its tag (`fact/told.rs`): as an element, and as fields.
    pub fn feedback(
        thread: &ThreadId,
        turn: Option<u64>,
        what: &str,
        attributes: &[(&str, Value)],
        text: &str,
    ) -> Self {
        let element = Element {
            name: what,
            attributes,
            text,
        };
        let payload: Payload = attributes
            .iter()
            .map(|(name, value)| ((*name).to_owned(), value.clone()))
            .collect();
        let tags = tags([tag::THREAD, what]);
        Self::new(thread, Source::System, Modality::Text, tags, payload.into())
            .payload("text", element.to_string())
            .payload_some("content", (!text.is_empty()).then_some(text))
            .payload_some("turn", turn)
    }
}

/// Most characters that are kept of the description of a contact, which stands in every prompt of
/// its thread.
pub const DESCRIPTION_MAX: usize = 1000;

/// Returns the part of a contact's description that is kept.
pub fn described(text: &str) -> String {
    match text.chars().nth(DESCRIPTION_MAX) {
        None => text.to_owned(),
        Some(_) => text
            .chars()
            .take(DESCRIPTION_MAX - 1)
            .chain(['…'])
            .collect(),
    }
}
