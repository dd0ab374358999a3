//! Names and positions: spaces, threads, names of voices and tools, `seq`.
//! Each type has one constructor that refuses what is not valid; nothing here knows what the names are for.

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

/// What the threads of pipelines' runs are below. No thread itself.
const RUNS: &str = "runs";

const NAME_RULE: &str = "use 1 to 32 of a-z, 0-9, _ and -";
const THREAD_RULE: &str = "use names of 1 to 32 of a-z, 0-9, _ and -, joined by dots, 255 characters in all";

fn is_name(text: &str) -> bool {
    (1..=32).contains(&text.len()) && text.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-'))
}

/// A name of a submodule, tool, space or label: `[a-z0-9_-]{1,32}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Name(String);

impl Name {
    /// The name, if it is one.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        if is_name(text) { Ok(Self(text.to_owned())) } else { Err(InvalidId::new("name", text, NAME_RULE)) }
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// One mind: one log, its threads and voices. The unit of tenancy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Space(String);

impl Space {
    /// The space, if the text is a valid name.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        if is_name(text) { Ok(Self(text.to_owned())) } else { Err(InvalidId::new("space", text, NAME_RULE)) }
    }

    /// The space's name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for Space {
    fn default() -> Self {
        Self("default".into())
    }
}

/// A thread's address: names joined by dots; `main.research` is a subthread of `main`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ThreadId(String);

impl ThreadId {
    /// The thread id, if the text is one.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        if text.len() <= THREAD_ID_MAX && text.split('.').all(is_name) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidId::new("thread id", text, THREAD_RULE))
        }
    }

    /// The id of the child called `label`, unless it would be too long.
    pub fn child(&self, label: &Name) -> Result<Self, InvalidId> {
        Self::parse(&format!("{}.{}", self.0, label.as_str()))
    }

    /// The id up to its last dot; none for a root thread.
    pub fn parent(&self) -> Option<Self> {
        self.0.rsplit_once('.').map(|(parent, _)| Self(parent.to_owned()))
    }

    /// The last of its names.
    pub fn label(&self) -> &str {
        self.0.rsplit('.').next().unwrap_or(&self.0)
    }

    /// Parent, its parent, …, nearest first.
    pub fn ancestors(&self) -> impl Iterator<Item = Self> {
        std::iter::successors(self.parent(), Self::parent)
    }

    /// Whether this is `root` or below it.
    pub fn is_within(&self, root: &Self) -> bool {
        self.0.strip_prefix(root.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// The thread of a pipeline's run: `runs.<32 hex digits>`.
    pub fn of_run(run: Uuid) -> Self {
        Self(format!("{RUNS}.{}", run.simple()))
    }

    /// The run that has this thread, if it is one's.
    pub fn run(&self) -> Option<Uuid> {
        let (runs, run) = self.0.split_once('.')?;
        (runs == RUNS && run.len() == 32).then(|| Uuid::try_parse(run).ok()).flatten()
    }

    /// Whether it is where a message goes that names no thread.
    pub fn is_main(&self) -> bool {
        *self == Self::default()
    }

    /// Whether it is where runs of pipelines are, and nothing else.
    pub fn is_of_runs(&self) -> bool {
        self.0.strip_prefix(RUNS).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The id of the thread where a message goes that names none.
pub const MAIN: &str = "main";

impl Default for ThreadId {
    /// `main`: where a message goes that names no thread, and what concerns the whole space.
    fn default() -> Self {
        Self(MAIN.into())
    }
}

macro_rules! text_id {
    ($($id:ident),*) => {$(
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
    )*};
}
text_id!(Name, Space, ThreadId);

/// A positive number that nobody else has drawn (59 random bits).
#[expect(clippy::disallowed_methods, reason = "the one place where numbers are drawn")]
pub fn drawn() -> i64 {
    (Uuid::new_v4().as_u64_pair().0 >> 1).cast_signed()
}

/// A fresh, time-ordered event id. For drivers and the store only: pure code is handed its ids.
#[expect(clippy::disallowed_methods, reason = "the one place where ids are drawn")]
pub fn fresh() -> Uuid {
    Uuid::now_v7()
}

/// The last bytes of the ids that this server keeps for itself; they are of version 8 (RFC 9562: of one's own making).
const OWN: [u8; 4] = *b"thkd";

/// An id for an event that is known to clients before it is stored. No client can take it meanwhile (`Key`).
pub fn announced() -> Uuid {
    own(*fresh().as_bytes())
}

/// The id of an event that says something about a place of the log, once.
pub fn about(what: &str) -> Uuid {
    own(*Uuid::new_v5(&Uuid::nil(), what.as_bytes()).as_bytes())
}

fn own(mut bytes: [u8; 16]) -> Uuid {
    bytes[6] = 0x80 | (bytes[6] & 0x0f);
    bytes[12..].copy_from_slice(&OWN);
    Uuid::from_bytes(bytes)
}

/// A client's idempotency key: the id it gives an event. Any, but those that this server keeps for itself.
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

/// The id of part `index` of an input whose last part has the id `last` (UUIDv5, so a retry finds the same).
pub fn part_of(last: Uuid, index: usize) -> Uuid {
    Uuid::new_v5(&last, index.to_string().as_bytes())
}
