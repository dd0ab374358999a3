//! The facts of changes to derived data: a thread's settings and end, its contacts, timers and
//! plan; submodules; notes. A change of null is a removal. A change that this build cannot read
//! removes nothing.
//! Long because a family of facts is one file: its types, how each is written and read, and the
//! answers to readers.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::{Value, json};

use super::family::{Declared, Family, Plain, Role};
use crate::condition::Condition;
use crate::draft::{Draft, tags};
use crate::envelope::{Modality, Source, Visibility, tag};
use crate::fork::Forked;
use crate::framework::Framework;
use crate::gather::Gather;
use crate::process::{Waiting, Watch, described};
use crate::raw::Raw;
use crate::schedule::Schedule;
use crate::spec::{ROOT, Spec, TURN_MAYBE, spec};
use crate::timer::Purpose;
use thinkd_words::defaults::{is_yes, yes};
use thinkd_words::id::{Name, Seq, ThreadId};
use thinkd_words::time::Timestamp;

/// A change.
#[derive(Debug, Clone, PartialEq)]
pub struct Set<'a> {
    /// The key of the changed thing, among those of its kind.
    pub key: &'a str,
    /// The change.
    pub change: Change<'a>,
    /// The turn, of a change that only turns make.
    pub turn: Option<u64>,
    /// The event from outside that it goes back to.
    pub root: Option<Seq>,
}

/// The kind of thing that is changed, and its new value; `None`: it is gone.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Change<'a> {
    /// A thread: its settings at its creation, its end, its parent.
    Thread(Thread<'a>),
    /// A thread sleeps on.
    Wait(Wait),
    /// A thread's plan.
    Plan(&'a Value),
    /// A watch.
    Watch(Option<Watch>),
    /// A gathering.
    Gather(Option<Gather>),
    /// Rare tools that are open to the thread.
    #[serde(serialize_with = "opened")]
    Tools(Vec<String>),
    /// A contact.
    Contact(Option<Contact>),
    /// A timer.
    Timer(Option<Timer>),
    /// A submodule.
    Submodule(Option<Submodule>),
    /// A note.
    Entry(Option<Note>),
    /// A setting of the space.
    Setting(SettingValue),
    /// A schedule.
    Schedule(Option<Box<Schedule>>),
    /// A framework.
    Framework(Option<Box<Framework>>),
    /// A tool of another server, as models may be told of it.
    Pin(Box<Pin>),
    /// The state of a turn's step.
    Step(&'a Value),
    /// `thinkd doctor` tried to write.
    Doctor(&'a Value),
    /// Something this build knows, in a form that it does not.
    #[serde(skip)]
    Unreadable {
        /// The kind.
        kind: Kind,
        /// The change.
        change: &'a Value,
    },
}

/// The changes of a thread: those that are there.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Thread<'a> {
    /// The word of its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<&'a str>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
    /// The settings it was created with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub settings: Option<&'a Value>,
    /// True if it was put aside; false: it is at work again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub archived: Option<bool>,
    /// The thread above it from now on; inside `None`: there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Option<&'a str>>,
    /// The number of watches that ended with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub watches_removed: Option<u64>,
    /// The past that it begins with, of a thread that was forked from another.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked: Option<Forked>,
    /// Its title from now on; inside `None`: it has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<Option<&'a str>>,
    /// The name of the person that changed the title or put the thread aside, when known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<&'a str>,
}

/// For whom a thread goes on waiting.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Wait {
    /// The thread it waits for; `None`: in a form that this build does not know, or for none.
    pub waiting: Option<Waiting>,
    /// The event up to which the log was looked at.
    pub seen: Option<Seq>,
}

/// A contact as `connect` wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contact {
    /// The thread.
    pub thread: ThreadId,
    /// The work, wants and offers of the thread.
    pub description: String,
}

/// A timer as `set_timer` wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timer {
    /// When.
    pub due: Timestamp,
    /// The purpose.
    pub note: String,
    /// The time at which it was set, by the setter's clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<Timestamp>,
}

/// A submodule as it was created or changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submodule {
    /// Its prompt.
    pub prompt: String,
    /// Asked once more after the decision. Older events lack this member, and mean yes.
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub follow_up: bool,
}

/// A note as `state_put` wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// The text.
    pub content: String,
    /// Other keys it goes with.
    pub related_keys: Vec<String>,
    /// The writer.
    pub owner: String,
}

/// A setting as a person set it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SettingValue {
    /// The value now.
    pub value: Value,
    /// The name of the person that set it, as far as known.
    #[serde(default)]
    pub by: Option<String>,
}

/// The description of a tool by another server, as it was when models were told of it first, or
/// when a person approved a change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// The server, as it is configured.
    pub server: String,
    /// The server's name for the tool.
    pub tool: String,
    /// The server's description of it.
    pub description: String,
    /// The schema of its arguments.
    pub schema: Value,
    /// The hash of all that.
    pub sha256: String,
    /// The name of the person that approved a change, as far as known.
    #[serde(default)]
    pub by: Option<String>,
}

#[derive(Deserialize)]
struct Opened {
    open: Vec<String>,
}

fn opened<S: Serializer>(open: &Vec<String>, to: S) -> Result<S::Ok, S::Error> {
    json!({ "open": open }).serialize(to)
}

macro_rules! kinds {
    ($(#[doc = $about:literal] $kind:ident = $word:literal, $name:literal: $change:literal, $means:literal;)*) => {
        /// The kinds of changes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Kind {
            $(#[doc = $about] $kind,)*
        }

        impl Kind {
            const ALL: &[Self] = &[$(Self::$kind),*];

            /// The word of its tag, behind `set:`.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $word,)*
                }
            }

            /// Its name in the documents.
            const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }

        impl Change<'_> {
            /// The kind of thing that is changed.
            pub fn kind(&self) -> Kind {
                match self {
                    $(Self::$kind(_) => Kind::$kind,)*
                    Self::Unreadable { kind, .. } => *kind,
                }
            }
        }

        impl Set<'_> {
            pub(super) fn specs() -> Vec<Spec> {
                vec![$(spec!(
                    #[doc = $about]
                    $name, ["state", concat!("set:", $word)];
                    /// for people
                    "text" => "string",
                    /// the kind of thing that is changed: the word behind `set:`
                    "kind" => "string",
                    /// the key of the thing within its kind
                    "key" => "string",
                    #[doc = $means]
                    "change" => $change,
                    TURN_MAYBE,
                    ROOT,
                )),*]
            }
        }
    };
}
// Each with the type of the change, and what that has.
kinds! {
    /// A thread was created, has ended, was put aside or got another parent.
    Thread = "thread", "set-thread": "object", "settings; forked: from, at, ranges, turn, visible, heard, left, state, of one with the past of another; status, reason, watches_removed; archived; parent; title, by: a person's word";
    /// A thread sleeps on: the event that came is not the one that it waits for.
    Wait = "wait", "set-wait": "object", "waiting, seen";
    /// A thread's plan.
    Plan = "plan", "set-plan": "unknown", "condition, steps, complete";
    /// A watch of a thread: the kind of event that it watches for.
    Watch = "watch", "set-watch": "object | null", "kind, from, note, raised; null: closed";
    /// A gathering of a thread: the work that it sent out together and waits to have back.
    Gather = "gather", "set-gather": "object | null", "total, steps, prompt, results; null: all is told";
    /// Rare tools are open to the thread from now on.
    Tools = "tools", "set-tools": "object", "open: their names";
    /// Whom a thread can send to.
    Contact = "contact", "set-contact": "object | null", "thread, description; null: no more";
    /// A timer of a thread.
    Timer = "timer", "set-timer": "object | null", "due, note; null: taken back";
    /// A submodule of the space.
    Submodule = "submodule", "set-submodule": "object | null", "prompt; follow_up: false where it is not asked again after the decision; null: removed";
    /// A note of the space.
    Entry = "entry", "set-entry": "object | null", "content, related_keys, owner; null: deleted";
    /// A person changed a setting of the space.
    Setting = "setting", "set-setting": "object", "value; by: the name of who set it, or null";
    /// A schedule of the space.
    Schedule = "schedule", "set-schedule": "object | null", "thread, event, payload, when, overlap, catch_up_s, note, paused; due, through, last; null: removed";
    /// A framework of the space: how a kind of task is solved.
    Framework = "framework", "set-framework": "object | null", "name, purpose, knowledge, recipe; by: the name of who made it, or null; tally: what came of like tasks so far; null: removed";
    /// Another server's text on a tool, for models from now on: the first, or approved by a person.
    Pin = "pin", "set-pin": "object", "server, tool, description, schema, sha256; by: the name of who approved it, or null";
    /// The state of a turn's step, in sub-steps.
    Step = "step", "set-step": "object", "what is decided so far";
    /// `thinkd doctor` tried to write.
    Doctor = "doctor", "set-doctor": "unknown", "what it tried";
}

impl Kind {
    fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.as_str() == word)
    }
}

/// Returns the content of a change: null is gone. None: the form is one that this build does not
/// know, which is never "gone".
fn said<T: DeserializeOwned>(change: &Value) -> Option<Option<T>> {
    if change.is_null() {
        Some(None)
    } else {
        T::deserialize(change).ok().map(Some)
    }
}

impl<'a> Change<'a> {
    fn decode(kind: Kind, change: &'a Value) -> Self {
        let read = match kind {
            Kind::Thread => Thread::decode(change).map(Self::Thread),
            Kind::Wait => change.as_object().map(|change| {
                let waiting = change
                    .get("waiting")
                    .and_then(|waiting| Waiting::deserialize(waiting).ok());
                Self::Wait(Wait {
                    waiting,
                    seen: change.get("seen").and_then(Value::as_i64),
                })
            }),
            Kind::Plan => Some(Self::Plan(change)),
            Kind::Watch => said(change).map(Self::Watch),
            Kind::Gather => said(change).map(Self::Gather),
            Kind::Tools => Opened::deserialize(change)
                .ok()
                .map(|opened| Self::Tools(opened.open)),
            Kind::Contact => said(change).map(Self::Contact),
            Kind::Timer => said(change).map(Self::Timer),
            Kind::Submodule => said(change).map(Self::Submodule),
            Kind::Entry => said(change).map(Self::Entry),
            Kind::Setting => SettingValue::deserialize(change).ok().map(Self::Setting),
            Kind::Schedule => said(change).map(Self::Schedule),
            Kind::Framework => said(change).map(Self::Framework),
            Kind::Pin => Pin::deserialize(change)
                .ok()
                .map(|pin| Self::Pin(Box::new(pin))),
            Kind::Step => Some(Self::Step(change)),
            Kind::Doctor => Some(Self::Doctor(change)),
        };
        read.unwrap_or(Self::Unreadable { kind, change })
    }

    fn to_value(&self) -> Value {
        match self {
            Self::Unreadable { change, .. } => (*change).clone(),
            // Made of maps with string keys: this cannot fail.
            known => serde_json::to_value(known).unwrap_or_default(),
        }
    }
}

impl<'a> Thread<'a> {
    /// None: its past is in a form that this build does not know.
    fn decode(change: &'a Value) -> Option<Self> {
        let text = |key: &str| change.get(key).and_then(Value::as_str);
        let forked = change.get("forked");
        let forked = forked.map(|it| Forked::deserialize(it).ok());
        Some(Self {
            status: text("status"),
            reason: text("reason"),
            settings: change.get("settings"),
            archived: change.get("archived").and_then(Value::as_bool),
            parent: change.get("parent").map(Value::as_str),
            watches_removed: change.get("watches_removed").and_then(Value::as_u64),
            forked: match forked {
                Some(forked) => Some(forked?),
                None => None,
            },
            title: change.get("title").map(Value::as_str),
            by: text("by"),
        })
    }
}

impl<'a> Set<'a> {
    pub(super) fn decode(raw: Raw<'a>) -> Option<Self> {
        let kind = Kind::parse(raw.value("set:")?)?;
        let change = Change::decode(kind, raw.get("change")?);
        Some(Self {
            key: raw.text("key")?,
            change,
            turn: raw.turn(),
            root: raw.seq("root"),
        })
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let kind = self.change.kind().as_str();
        let change = self.change.to_value();
        Draft::changed(thread, kind, self.key, change)
            .payload_some("turn", self.turn)
            .payload_some("root", self.root)
    }
}

impl Declared for Set<'_> {
    fn plain(&self) -> Plain {
        let kind = self.change.kind();
        let plain = Plain::new(kind.name(), Visibility::State, Role::Decision)
            .changing_thread(true)
            .labelled(kind.as_str());
        match self.change {
            Change::Unreadable { .. } => Plain {
                kind: None,
                ..plain
            },
            _ => plain,
        }
    }
}

impl<'a> Family<'a> for Set<'a> {
    fn has_root(&self) -> bool {
        match &self.change {
            Change::Timer(_) => true,
            Change::Thread(thread) => thread.settings.is_some(),
            _ => false,
        }
    }
}

impl Draft {
    /// A change of something derived from the log. `change` null: it is gone.
    pub fn changed(thread: &ThreadId, kind: &str, key: &str, change: Value) -> Self {
        let verb = if change.is_null() { "removed" } else { "set" };
        let payload = json!({ "text": format!("{kind} {key} {verb}"), "kind": kind, "key": key, "change": change });
        let tags = tags([tag::STATE, &format!("set:{kind}")]);
        Self::new(thread, Source::Internal, Modality::State, tags, payload)
    }

    /// A change.
    pub fn set(thread: &ThreadId, key: &str, change: Change<'_>) -> Self {
        Set {
            key,
            change,
            turn: None,
            root: None,
        }
        .encode(thread)
    }

    /// A change of a thread.
    pub fn set_thread(thread: &ThreadId, change: Thread<'_>) -> Self {
        Self::set(thread, thread.as_str(), Change::Thread(change))
    }

    /// From now on the thread is told of these tools.
    pub fn tools_opened(thread: &ThreadId, names: &[&str]) -> Self {
        Self::set(
            thread,
            "open",
            Change::Tools(names.iter().map(|name| (*name).to_owned()).collect()),
        )
    }

    /// A thread is created. Of two appends that create the same one at once, one is refused.
    pub fn created(thread: &ThreadId, settings: &Value) -> Self {
        let draft = Self::set_thread(
            thread,
            Thread {
                settings: Some(settings),
                ..Thread::default()
            },
        );
        draft.only_if(Condition::NewThread)
    }

    /// A thread is created with the past of another. Of two appends that create the same one at
    /// once, one is refused.
    pub fn forked(thread: &ThreadId, settings: &Value, forked: Forked) -> Self {
        let change = Thread {
            settings: Some(settings),
            forked: Some(forked),
            ..Thread::default()
        };
        Self::set_thread(thread, change).only_if(Condition::NewThread)
    }

    /// A thread has a contact from now on, or knows something else of it. The description is cut to
    /// its length here.
    pub fn contact(thread: &ThreadId, name: &Name, target: &ThreadId, description: &str) -> Self {
        let contact = Contact {
            thread: target.clone(),
            description: described(description),
        };
        Self::set(thread, name.as_str(), Change::Contact(Some(contact)))
    }

    fn put_aside(thread: &ThreadId, archived: bool) -> Self {
        let change = Thread {
            archived: Some(archived),
            ..Thread::default()
        };
        Self::set_thread(thread, change)
    }

    /// A subthread that has nothing to do is put aside in a turn of its parent, and the parent is
    /// told.
    pub fn archived(thread: &ThreadId, parent: &ThreadId, turn: u64) -> [Self; 2] {
        let changed = Self::put_aside(thread, true);
        [changed, Self::told_archived(parent, turn, thread)]
    }

    /// A subthread that was put aside is at work again: it is aside no more, and its parent is told.
    pub fn resumed(thread: &ThreadId, parent: Option<&ThreadId>) -> Vec<Self> {
        let changed = Self::put_aside(thread, false);
        std::iter::once(changed)
            .chain(parent.map(|parent| Self::told_resumed(parent, thread)))
            .collect()
    }

    /// The timer that ends a wait, if it has a limit.
    pub fn wait_limit(thread: &ThreadId, waiting: &Waiting, now: Timestamp) -> Option<Self> {
        let whom = waiting.name.as_deref().unwrap_or("anybody");
        let timer = Timer {
            due: waiting.until?,
            note: format!("nothing came from {whom} in time"),
            set: Some(now),
        };
        let name = Purpose::Wait.to_string();
        Some(Self::set(thread, &name, Change::Timer(Some(timer))))
    }
}
