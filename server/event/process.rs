//! Events of threads as processes: messages from one to another, contacts, waiting, timers, and what the core tells a thread of
//! its own acts. Feedback is written twice: as an element, which models read, and as fields, which clients read.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::condition::Condition;
use super::draft::{Draft, tags};
use super::envelope::{Event, Modality, Payload, Source, tag};
use super::gather::Part;
use crate::words::id::{Name, Seq, ThreadId};
use crate::words::time::Timestamp;

/// Who woke a thread, as far as it matters to one that waits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waking {
    /// The thread that the event is from, or is about.
    pub by: Option<ThreadId>,
    /// It came from outside the mind.
    pub outside: bool,
    /// It ends any wait: the time is up, or waiting is of no use.
    pub overrules: bool,
}

/// What the core tells a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feedback {
    /// A subthread was created.
    Spawned,
    /// A subthread or contact has ended.
    Ended,
    /// A thread that this one depends on cannot go on.
    Stuck,
    /// A subthread that had nothing to do was put aside.
    Archived,
    /// A subthread that was put aside is at work again.
    Resumed,
    /// Earlier events are no longer shown to the thread.
    Cleared,
    /// A timer was set.
    TimerSet,
    /// A timer is due, or the time of a wait is up.
    Timer,
    /// The thread's plan is complete.
    PlanComplete,
    /// What the thread watches for has come.
    WatchRaised,
    /// A watch is registered.
    WatchSet,
    /// A watch is closed.
    WatchClosed,
    /// All that was sent out together has come back.
    Gathered,
    /// Something the thread tried failed.
    Error,
}

impl Feedback {
    /// The element's name and the event's tag.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Spawned => "thread-spawned",
            Self::Ended => tag::THREAD_ENDED,
            Self::Stuck => tag::THREAD_STUCK,
            Self::Archived => "thread-archived",
            Self::Resumed => "thread-resumed",
            Self::Cleared => "context-cleared",
            Self::TimerSet => "timer-set",
            Self::Timer => tag::TIMER,
            Self::PlanComplete => "plan-complete",
            Self::WatchRaised => "watch-raised",
            Self::WatchSet => "watch-set",
            Self::WatchClosed => "watch-closed",
            Self::Gathered => "gathered",
            Self::Error => "system-thread-error",
        }
    }
}

/// What a model writes to the log of another thread or its own has this in common with what the core writes: it is data. So
/// attributes and text are escaped, always.
struct Element<'a> {
    name: &'a str,
    attributes: &'a [(&'a str, Value)],
    text: &'a str,
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

/// Why a thread's primitive failed. The text names only what the caller wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCode {
    /// No such contact or thread, or none that may be written to.
    UnknownThread,
    /// The label cannot be part of an id.
    InvalidLabel,
    /// Too deep.
    DepthLimit,
    /// Too many subthreads.
    SubthreadLimit,
    /// Too many messages in a row.
    SendLimit,
    /// The recipient ended before the message was delivered.
    Undelivered,
    /// Threads wait for one another in a circle.
    WaitCycle,
    /// No such watch is open.
    UnknownWatch,
}

impl ErrorCode {
    /// The word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownThread => "unknown_thread",
            Self::InvalidLabel => "invalid_label",
            Self::DepthLimit => "depth_limit",
            Self::SubthreadLimit => "subthread_limit",
            Self::SendLimit => "send_limit",
            Self::Undelivered => "undelivered",
            Self::WaitCycle => "wait_cycle",
            Self::UnknownWatch => "unknown_watch",
        }
    }
}

/// A thread that waits: for whom, and until when at the latest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// For this one alone; absent: for anybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<ThreadId>,
    /// What the thread calls it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What comes from outside the mind wakes it, whoever it waits for.
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
        Self { from: None, name: None, outside: true, until: None, reason: None }
    }

    /// Whether this wakes it.
    pub fn admits(&self, waking: &Waking) -> bool {
        self.from.is_none() || waking.overrules || (self.outside && waking.outside) || self.from == waking.by
    }
}

/// What a thread watches for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Watch {
    /// A tag of the event, in lower case.
    pub kind: String,
    /// Only from this thread; absent: from anybody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<ThreadId>,
    /// What is to be done then.
    pub note: String,
    /// It has come.
    pub raised: bool,
}

impl Watch {
    /// Whether this is it: the whole tag counts, without regard to case.
    pub fn matches(&self, event: &Event) -> bool {
        let is_kind = event.meta.tags.iter().any(|tag| tag.to_lowercase() == self.kind);
        let by = || event.waking().and_then(|waking| waking.by);
        is_kind && (self.from.is_none() || by() == self.from)
    }

    /// The same, raised.
    #[must_use]
    pub fn raised(self) -> Self {
        Self { raised: true, ..self }
    }
}

impl Event {
    /// The subthread of a gathering whose end it tells, or that it cannot go on.
    pub fn part(&self) -> Option<Part> {
        let is_told = self.has(tag::THREAD_ENDED) || self.has(tag::THREAD_STUCK);
        let part = self.payload.get("gather").filter(|_| is_told && self.source == Source::System)?;
        Part::deserialize(part).ok()
    }

    /// What it means to a thread that waits; `None` when it wakes nobody.
    pub fn waking(&self) -> Option<Waking> {
        if !self.wakes() {
            return None;
        }
        let outside = self.has(tag::INPUT) || self.has(tag::ANSWER);
        // What a client writes into a payload says nothing about who it is.
        let from = self.payload.get("from").and_then(Value::as_str).filter(|_| !outside);
        let by = from.and_then(|from| ThreadId::parse(from).ok());
        Some(Waking { by, outside, overrules: self.has(tag::OVERRULES) })
    }
}

/// How a thread ended, for those who knew it.
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
    /// A message from one thread to another (or the same). Who it is from is decided by the core alone.
    pub fn message(to: &ThreadId, from: &ThreadId, text: &str) -> Self {
        let payload = json!({ "text": text, "from": from });
        Self::new(to, Source::Internal, Modality::Text, tags([tag::MESSAGE, &format!("from:{from}")]), payload)
    }

    /// What the core tells a thread: as an element, and as fields.
    pub fn feedback(
        thread: &ThreadId,
        turn: Option<u64>,
        what: Feedback,
        attributes: &[(&str, Value)],
        text: &str,
    ) -> Self {
        let element = Element { name: what.as_str(), attributes, text };
        let mut payload = Payload::new();
        payload.insert("text".into(), element.to_string().into());
        payload.extend(attributes.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        if !text.is_empty() {
            payload.insert("content".into(), text.into());
        }
        let tags = tags([tag::THREAD, what.as_str()]);
        let draft = Self::new(thread, Source::System, Modality::Text, tags, Value::Object(payload));
        match turn {
            Some(turn) => draft.payload("turn", turn),
            None => draft,
        }
    }

    /// A primitive failed: with what the caller wrote, a code, and what to do.
    pub fn thread_error(thread: &ThreadId, turn: Option<u64>, given: &str, code: ErrorCode, message: &str) -> Self {
        let attributes =
            [("unknown_id", Value::from(given)), ("code", code.as_str().into()), ("message", message.into())];
        Self::feedback(thread, turn, Feedback::Error, &attributes, "")
    }

    /// A thread is created. Of two who create the same one at once, one is refused.
    pub fn created(thread: &ThreadId, settings: &Value) -> Self {
        let draft = Self::changed(thread, "thread", thread.as_str(), json!({ "settings": settings }));
        draft.only_if(Condition::NewThread)
    }

    /// A thread has a contact from now on, or knows something else of it. What is said of it has its length by this.
    pub fn contact(thread: &ThreadId, name: &Name, target: &ThreadId, description: &str) -> Self {
        let change = json!({ "thread": target, "description": described(description) });
        Self::changed(thread, "contact", name.as_str(), change)
    }

    /// A subthread was created; told in its parent.
    pub fn spawned(parent: &ThreadId, turn: Option<u64>, child: &ThreadId, contact: Option<&Name>) -> Self {
        let contact = contact.map_or(Value::Null, |name| name.as_str().into());
        let attributes =
            [("assigned_id", Value::from(child.as_str())), ("parent_id", parent.as_str().into()), ("contact", contact)];
        // It would live on below one that nobody ends any more.
        Self::feedback(parent, turn, Feedback::Spawned, &attributes, "").only_if(Condition::NotEnded)
    }

    /// A subthread that was put aside is at work again: it is aside no more, and its parent is told.
    pub fn resumed(thread: &ThreadId, parent: Option<&ThreadId>) -> Vec<Self> {
        let told = |parent: &ThreadId| {
            Self::feedback(parent, None, Feedback::Resumed, &[("id", Value::from(thread.as_str()))], "")
        };
        let changed = Self::changed(thread, "thread", thread.as_str(), json!({ "archived": false }));
        std::iter::once(changed).chain(parent.map(told)).collect()
    }

    /// A thread has ended; told to one who knew it. Wakes.
    pub fn ended(to: &ThreadId, ending: &Ending<'_>) -> Self {
        let Ending { thread, status, reason, last } = *ending;
        let attributes = [("id", Value::from(thread.as_str())), ("status", status.into()), ("reason", reason.into())];
        // A thread that ends with its reason and nothing else has said that once.
        let said = if last == reason { "" } else { last };
        let draft = Self::feedback(to, None, Feedback::Ended, &attributes, said).payload("from", thread.as_str());
        let draft = if last.is_empty() { draft } else { draft.payload("content", last) };
        draft.tagged([format!("from:{thread}")])
    }

    /// A thread cannot go on; told to one who depends on it. Wakes.
    pub fn stuck(to: &ThreadId, thread: &ThreadId, reason: &str) -> Self {
        let attributes = [("id", Value::from(thread.as_str())), ("reason", reason.into())];
        let draft = Self::feedback(to, None, Feedback::Stuck, &attributes, "");
        draft.payload("from", thread.as_str()).tagged([format!("from:{thread}")])
    }

    /// The same, as one of several that its parent gathers.
    #[must_use]
    pub fn counted(self, part: &Part) -> Self {
        self.payload("gather", serde_json::to_value(part).unwrap_or_default())
    }

    /// The same, whose text leaves what the thread came to for later: it is told with what the others did.
    #[must_use]
    pub fn brief(self) -> Self {
        let what = if self.has(tag::THREAD_STUCK) { Feedback::Stuck } else { Feedback::Ended };
        let attributes = ["id", "status"].map(|name| (name, self.payload.get(name).cloned().unwrap_or_default()));
        let text = Element { name: what.as_str(), attributes: &attributes, text: "" }.to_string();
        self.payload("text", text)
    }

    /// The same, waking nobody.
    #[must_use]
    pub fn silent(self) -> Self {
        self.tagged([tag::PART])
    }

    /// A timer is due. Wakes. It ends the timer, so that of several servers one fires it.
    pub fn timer(thread: &ThreadId, timer: &str, note: &str, due: Timestamp) -> Self {
        let attributes = [("id", Value::from(timer)), ("due", due.to_string().into())];
        let draft = Self::feedback(thread, None, Feedback::Timer, &attributes, note).payload("timer", timer);
        draft.only_if(Condition::TimerStands { name: timer.to_owned(), due })
    }

    /// The timer that ends a wait, if it has a limit.
    pub fn wait_limit(thread: &ThreadId, waiting: &Waiting) -> Option<Self> {
        let whom = waiting.name.as_deref().unwrap_or("anybody");
        let change = json!({ "due": waiting.until?, "note": format!("nothing came from {whom} in time") });
        Some(Self::changed(thread, "timer", WAIT, change))
    }

    /// The same, ending whatever wait the thread is in.
    #[must_use]
    pub fn overruling(self) -> Self {
        self.tagged([tag::OVERRULES])
    }

    /// The same, with the event from outside that it goes back to (its root), where others go by that: what a call used, what a
    /// thread was made for, what wakes another thread, or this one later. One that says so already keeps it.
    #[must_use]
    pub fn rooted(self, root: Option<Seq>) -> Self {
        let Some(root) = root.filter(|_| !self.payload.contains_key("root")) else { return self };
        let any = |tags: &[&str]| tags.iter().any(|tag| self.has(tag));
        let begins = self.has(tag::TURN) && self.has(tag::STARTED);
        let calls = || self.tags.iter().any(|tag| tag.starts_with("call:"));
        let wakes = || any(&[tag::MESSAGE, tag::THREAD_ENDED, tag::THREAD_STUCK, "set:timer"]);
        let makes = || {
            let change = self.payload.get("change").filter(|_| self.has("set:thread"));
            self.has(Feedback::Spawned.as_str()) || change.is_some_and(|change| change.get("settings").is_some())
        };
        if begins || calls() || wakes() || makes() { self.payload("root", root) } else { self }
    }

    /// The same, with a member more.
    #[must_use]
    pub fn with(self, key: &str, value: impl Into<Value>) -> Self {
        self.payload(key, value)
    }

    /// The same, of this turn.
    #[must_use]
    pub fn of_turn(self, turn: u64) -> Self {
        self.payload("turn", turn)
    }
}

/// What is said of a contact stands in every prompt of its thread: so many characters of it are kept.
pub const DESCRIPTION_MAX: usize = 1000;

/// What is said of a contact, as much of it as is kept.
pub fn described(text: &str) -> String {
    match text.chars().nth(DESCRIPTION_MAX) {
        None => text.to_owned(),
        Some(_) => text.chars().take(DESCRIPTION_MAX - 1).chain(['…']).collect(),
    }
}

/// The name of the timer that ends a wait. No name that a thread can give.
pub const WAIT: &str = "wait!";
/// What the names of timers begin with that end a gathering.
pub const GATHER: &str = "gather!";
