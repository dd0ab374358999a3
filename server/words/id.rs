//! Ids: spaces, threads, names of submodules and tools, event ids, and positions in the log (`seq`).
//! Each type has one constructor, which refuses a text that is not valid.

use std::fmt;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// A position in a space's log: 1, 2, 3, … without gaps. 0 is "before the first event".
pub type Seq = i64;

/// The largest integer that every JSON reader keeps exactly, 2^53 − 1.
pub const INTEGER_MAX: i64 = (1 << 53) - 1;

/// Length limit of a thread id, in bytes (they are ASCII).
pub const THREAD_ID_MAX: usize = 255;

/// Why a text is not a valid id. The message names the rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {given:?} is not valid: {rule}")]
pub struct InvalidId {
    what: &'static str,
    given: String,
    rule: &'static str,
}

impl InvalidId {
    fn new(what: &'static str, given: &str, rule: &'static str) -> Self {
        let given = given.chars().take(40).collect();
        Self { what, given, rule }
    }
}

/// The prefix of the thread ids of pipeline runs. It is no thread itself.
const RUNS: &str = "runs";
/// The same of missions. A thread that only is called so is no mission.
const MISSIONS: &str = "missions";

const NAME_RULE: &str = "use 1 to 32 of a-z, 0-9, _ and -";
const PART_RULE: &str = "use 1 to 36 of a-z, 0-9, _ and -";
const THREAD_RULE: &str =
    "use parts of 1 to 36 of a-z, 0-9, _ and -, joined by dots, 255 characters in all";

/// Length limit of a name, in bytes (they are ASCII).
const NAME_MAX: usize = 32;
/// The same of a part of a thread id: frontends name threads by UUIDs, which have 36.
const PART_MAX: usize = 36;

fn is_name(text: &str) -> bool {
    is_part(text) && text.len() <= NAME_MAX
}

fn is_part(text: &str) -> bool {
    (1..=PART_MAX).contains(&text.len())
        && text
            .bytes()
            .all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
}

fn is_thread(text: &str) -> bool {
    text.len() <= THREAD_ID_MAX && text.split('.').all(is_part)
}

/// A name of a submodule, tool, contact or space: `[a-z0-9_-]{1,32}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

impl Name {
    /// The name under which the steps of missions are told of.
    pub fn of_mission() -> Self {
        Self("mission".into())
    }
}

/// A label is one part of a thread id: `[a-z0-9_-]{1,36}`, so that a UUID is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label(String);

impl Label {
    /// The name of a contact with this label: as much of it as a name may have.
    pub fn name(&self) -> Name {
        Name(self.0[..self.0.len().min(NAME_MAX)].to_owned())
    }
}

/// A space is one tenant: one log with its threads and submodules.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Space(String);

impl Default for Space {
    fn default() -> Self {
        Self("default".into())
    }
}

/// The id of a thread: labels joined by dots; `main.research` is a subthread of `main`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ThreadId(String);

impl ThreadId {
    /// The id of the child called `label`, unless it would be too long.
    pub fn child(&self, label: &Label) -> Result<Self, InvalidId> {
        Self::parse(&format!("{}.{}", self.0, label.as_str()))
    }

    /// The id up to its last dot; none for a root thread.
    pub fn parent(&self) -> Option<Self> {
        self.0
            .rsplit_once('.')
            .map(|(parent, _)| Self(parent.to_owned()))
    }

    /// The last of its names.
    pub fn label(&self) -> &str {
        self.0.rsplit('.').next().unwrap_or(&self.0)
    }

    /// Parent, its parent, …, nearest first.
    pub fn ancestors(&self) -> impl Iterator<Item = Self> {
        std::iter::successors(self.parent(), Self::parent)
    }

    /// Returns true if this is `root` or below it.
    pub fn is_within(&self, root: &Self) -> bool {
        self.0
            .strip_prefix(root.as_str())
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// The thread of a pipeline run: `runs.<32 hex digits>`.
    pub fn of_run(run: Uuid) -> Self {
        Self(format!("{RUNS}.{}", run.simple()))
    }

    /// The pipeline run that has this thread, if any.
    pub fn run(&self) -> Option<Uuid> {
        let (runs, run) = self.0.split_once('.')?;
        (runs == RUNS && run.len() == 32)
            .then(|| Uuid::try_parse(run).ok())
            .flatten()
    }

    /// The thread with the lease under which the trials of a space are done.
    pub fn of_trials() -> Self {
        Self(format!("{RUNS}.trials"))
    }

    /// Returns true for the thread of trials.
    pub fn is_of_trials(&self) -> bool {
        self.0.strip_prefix(RUNS) == Some(".trials")
    }

    /// The thread with the lease under which the summaries of a space are made.
    pub fn of_summaries() -> Self {
        Self(format!("{RUNS}.summaries"))
    }

    /// Returns true for the thread of summaries.
    pub fn is_of_summaries(&self) -> bool {
        self.0.strip_prefix(RUNS) == Some(".summaries")
    }

    /// The thread of a mission: `missions.<32 hex digits>`.
    pub fn of_mission(mission: Uuid) -> Self {
        Self(format!("{MISSIONS}.{}", mission.simple()))
    }

    /// The thread of a task of this mission.
    pub fn of_task(&self, task: impl fmt::Display) -> Self {
        Self(format!("{}.{task}", self.0))
    }

    /// The mission that has this thread, or a task of which has it, if any.
    pub fn mission(&self) -> Option<Uuid> {
        let mut names = self.0.split('.');
        let missions = names.next()?;
        let mission = names.next()?;
        (missions == MISSIONS && mission.len() == 32)
            .then(|| Uuid::try_parse(mission).ok())
            .flatten()
    }

    /// Returns true for the thread of a mission itself.
    pub fn is_of_mission(&self) -> bool {
        self.mission().is_some() && self.0.split('.').count() == 2
    }

    /// Returns true if it is `main`, the thread for messages that name none.
    pub fn is_main(&self) -> bool {
        *self == Self::default()
    }

    /// Returns true if it is reserved for work that is no conversation: runs of pipelines, trials,
    /// summaries, missions and their tasks.
    pub fn is_of_runs(&self) -> bool {
        let is_run = self
            .0
            .strip_prefix(RUNS)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        is_run || self.mission().is_some()
    }
}

/// The id of the thread where a message goes that names none.
pub const MAIN: &str = "main";

impl Default for ThreadId {
    /// `main`: the thread for messages that name none, and for matters of the whole space.
    fn default() -> Self {
        Self(MAIN.into())
    }
}

/// Gives an id its constructor and its text.
macro_rules! text_id {
    ($id:ident, $what:literal, $is_one:ident, $rule:ident) => {
        impl $id {
            /// Returns the id; the error names the rule that the text breaks.
            pub fn parse(text: &str) -> Result<Self, InvalidId> {
                match $is_one(text) {
                    true => Ok(Self(text.to_owned())),
                    false => Err(InvalidId::new($what, text, $rule)),
                }
            }

            /// Returns it as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }
        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl TryFrom<String> for $id {
            type Error = InvalidId;
            fn try_from(text: String) -> Result<Self, InvalidId> {
                Self::parse(&text)
            }
        }
        impl From<$id> for String {
            fn from(id: $id) -> Self {
                id.0
            }
        }
    };
}
text_id!(Name, "name", is_name, NAME_RULE);
text_id!(Label, "label", is_part, PART_RULE);
text_id!(Space, "space", is_name, NAME_RULE);
text_id!(ThreadId, "thread id", is_thread, THREAD_RULE);

/// Draws a random positive number of 59 bits.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where numbers are drawn"
)]
pub fn drawn() -> i64 {
    (Uuid::new_v4().as_u64_pair().0 >> 1).cast_signed()
}

/// Draws a secret: 64 hex digits, 244 bits of which the operating system drew.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where secrets are drawn"
)]
pub fn secret() -> String {
    format!("{}{}", Uuid::new_v4().simple(), Uuid::new_v4().simple())
}

/// Makes a fresh, time-ordered event id. Only drivers and the store call this: pure code gets its ids as arguments.
#[expect(
    clippy::disallowed_methods,
    reason = "the one place where ids are drawn"
)]
pub fn fresh() -> Uuid {
    Uuid::now_v7()
}

/// The last bytes of the ids that this server keeps for itself; they are of version 8 (RFC 9562: of one's own making).
const OWN: [u8; 4] = *b"thkd";
/// The same in the text of an id. All of them end in it, so it tells none of them from another.
pub const OWN_END: &str = "74686b64";

/// Makes an id for an event that clients learn of before it is stored. No client can take it meanwhile (`Key`).
pub fn announced() -> Uuid {
    own(*fresh().as_bytes())
}

/// The id of an event about a place of the log: the same place gives the same id, so that the event is stored once.
pub fn about(what: &str) -> Uuid {
    own(*Uuid::new_v5(&Uuid::nil(), what.as_bytes()).as_bytes())
}

fn own(mut bytes: [u8; 16]) -> Uuid {
    bytes[6] = 0x80 | (bytes[6] & 0x0f);
    bytes[12..].copy_from_slice(&OWN);
    Uuid::from_bytes(bytes)
}

/// A client's idempotency key: the id that it gives an event. Ids that the server reserves for itself are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key(Uuid);

impl Key {
    /// The key, unless only the server makes such ids.
    pub fn new(id: Uuid) -> Option<Self> {
        let is_own = id.get_version_num() == 8 && id.as_bytes()[12..] == OWN;
        (!is_own).then_some(Self(id))
    }

    /// The event's id.
    pub const fn id(self) -> Uuid {
        self.0
    }
}

/// Returns the id of part `index` of an input of which the last part has the id `last` (UUIDv5, so
/// a retry finds the same).
pub fn part_of(last: Uuid, index: usize) -> Uuid {
    Uuid::new_v5(&last, index.to_string().as_bytes())
}
