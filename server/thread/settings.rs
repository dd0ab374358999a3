//! The settings that a thread was created with. Its row (`ThreadRow`) has its state since.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use thinkd_event::fact::input::STEER;
use thinkd_event::mission::Wanted;
use thinkd_words::id::{Name, ThreadId};

/// The effect of new client input while a turn runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// The input waits for the next turn.
    #[default]
    Enqueue,
    /// The turn is cut off; the next one has both.
    Interrupt,
    /// The input is refused.
    Reject,
    /// A message joins the turn: the next call of its decision sees it.
    Steer,
}

impl Policy {
    /// The word of it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Enqueue => "enqueue",
            Self::Interrupt => "interrupt",
            Self::Reject => "reject",
            Self::Steer => STEER,
        }
    }

    /// Reads the word; none: no policy that this build knows.
    pub fn parse(word: &str) -> Option<Self> {
        let all = [Self::Enqueue, Self::Interrupt, Self::Reject, Self::Steer];
        all.into_iter().find(|policy| policy.as_str() == word)
    }
}

/// The kind of process that is created here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = NewKind)]
pub enum Kind {
    /// A process that talks with people, and waits for them.
    #[default]
    Conversation,
    /// A process that thinks by itself: it goes on until it waits or ends.
    Process,
    /// A mission, or a task of one: the wanted work is split into tasks, done and checked, and
    /// answered.
    Mission,
}

/// When the acts of a turn on other threads and on its contacts take effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Commit {
    /// All of it with the turn's end, or none of it.
    #[default]
    Deferred,
    /// As soon as it is said.
    Immediate,
}

/// The way in which a thread's decision says the actions that it wants done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// By tool calls.
    #[default]
    Tools,
    /// In text, by elements of the thinking language.
    Xml,
    /// By tool calls; in an answer without any, by elements, which a conversation is taught when it called no tool.
    Auto,
}

/// A subthread that was sent out together with others.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gathered {
    /// The gathering, in the parent.
    pub id: String,
    /// Its number among them, from 0.
    pub index: u64,
}

/// The settings that a thread was created with; everything absent is as configured.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Settings {
    /// A line for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The pipeline of which it is a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<Name>,
    /// Its kind: a conversation, a process or a mission.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: Kind,
    /// The time at which its acts on other threads and its contacts take effect.
    #[serde(default, skip_serializing_if = "is_default")]
    pub commit: Commit,
    /// The language of its decision's acts; absent: as configured, or else a process in either one,
    /// any other thread by tool calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<Language>,
    /// True if its turns go in sub-steps, each of which asks for the parts that are missing.
    #[serde(default, skip_serializing_if = "is_default")]
    pub substeps: bool,
    /// The thread that made it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spawned_by: Option<ThreadId>,
    /// Its parent waits for it together with others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gathered: Option<Gathered>,
    /// A text that the decision is told besides its own prompt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
    /// The voices it hears; absent: see `hears`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub submodules: Option<Vec<Name>>,
    /// The effect of new input on a running turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<Policy>,
    /// The mission that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wanted: Option<Wanted>,
    /// True if its decision uses the high tier.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub high_tier: bool,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Settings {
    /// Returns the settings that a subthread takes over from the thread that makes it.
    #[must_use]
    pub fn for_child(self) -> Self {
        Self {
            commit: self.commit,
            language: self.language,
            substeps: self.substeps,
            high_tier: self.high_tier,
            ..Self::default()
        }
    }

    /// Returns true if it hears this voice: one of those that are listed; without a list a process
    /// hears none, any other thread all.
    pub fn hears(&self, submodule: &Name) -> bool {
        let listed = self.submodules.as_ref();
        listed.map_or(!self.is_process(), |heard| heard.contains(submodule))
    }

    /// Returns true if it thinks by itself.
    pub fn is_process(&self) -> bool {
        self.kind == Kind::Process
    }

    /// Returns the language of its decision's acts; `configured` where it leaves that open.
    pub fn language(&self, configured: Option<Language>) -> Language {
        let language = self.language.or(configured);
        language.unwrap_or(match self.kind {
            Kind::Process => Language::Auto,
            Kind::Conversation | Kind::Mission => Language::Tools,
        })
    }

    /// Returns the settings in a thread's row. Settings that cannot be read are as if absent: an
    /// older or newer server wrote them.
    pub fn of(row: &Value) -> Self {
        serde_json::from_value(row.clone()).unwrap_or_default()
    }
}
