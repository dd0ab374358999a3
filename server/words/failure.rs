//! A failure is an error inside the server; it becomes an event in the thread that it concerns.
//! Errors that clients are shown are problems (`edge/problem.rs`).

use std::fmt;

use serde_json::{Value, json};

use super::id::Name;
use super::spelling::words;

words! {
    /// The kind of a failure. `Display` writes its word on the wire.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub enum FailureKind {
        /// A time limit passed.
        Timeout = "timeout",
        /// The model's provider answered with an error, or unreadably.
        Model = "model",
        /// A tool refused, failed, or does not exist.
        Tool = "tool",
        /// Model output that could not be read as actions.
        Interpreter = "interpreter",
        /// A budget or limit is used up.
        Budget = "budget",
        /// An effect may or may not have happened.
        OutcomeUnknown = "outcome_unknown",
        /// Its turn or its thread was over before it came to anything; it changed nothing.
        Cancelled = "cancelled",
        /// A node of a pipeline failed.
        Node = "node",
        /// The store failed.
        Store = "store",
        /// A defect of ours (a panic), contained.
        Internal = "internal",
    }
}

/// The module that failed; the event of the failure has it as a tag.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Who {
    /// The decision of a turn.
    Decision,
    /// A submodule, by name.
    Submodule(Name),
    /// A tool, by the name the model used.
    Tool(String),
    /// A pipeline, by name.
    Pipeline(Name),
    /// The trial of a statement.
    Trial,
    /// The summaries of conversations.
    Summary,
    /// A node of a mission, by name.
    Mission(Name),
    /// The core itself.
    Core,
}

impl fmt::Display for Who {
    /// `decision`, `submodule:<name>`, `tool:<name>`, `pipeline:<name>`, `trial`, `summary`, `mission:<node>`, `core`: the tag, and the `module` of call records.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.by().fmt(f)
    }
}

/// The same, borrowed from the tag or the record that names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By<'a> {
    /// The decision of a turn.
    Decision,
    /// A submodule, by name.
    Submodule(&'a str),
    /// A tool, by the name the model used.
    Tool(&'a str),
    /// A pipeline, by name.
    Pipeline(&'a str),
    /// The trial of a statement.
    Trial,
    /// The summaries of conversations.
    Summary,
    /// A node of a mission, by name.
    Mission(&'a str),
    /// The core itself.
    Core,
}

impl<'a> By<'a> {
    /// Reads the text that `Display` writes.
    pub fn parse(text: &'a str) -> Option<Self> {
        match text.split_once(':') {
            None if text == "decision" => Some(Self::Decision),
            None if text == "core" => Some(Self::Core),
            None if text == "trial" => Some(Self::Trial),
            None if text == "summary" => Some(Self::Summary),
            Some(("submodule", name)) => Some(Self::Submodule(name)),
            Some(("tool", name)) => Some(Self::Tool(name)),
            Some(("pipeline", name)) => Some(Self::Pipeline(name)),
            Some(("mission", node)) => Some(Self::Mission(node)),
            _ => None,
        }
    }

    /// The submodule's name, if it is one.
    pub const fn submodule(self) -> Option<&'a str> {
        match self {
            Self::Submodule(name) => Some(name),
            _ => None,
        }
    }
}

impl fmt::Display for By<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Decision => f.write_str("decision"),
            Self::Submodule(name) => write!(f, "submodule:{name}"),
            Self::Tool(name) => write!(f, "tool:{name}"),
            Self::Pipeline(name) => write!(f, "pipeline:{name}"),
            Self::Trial => f.write_str("trial"),
            Self::Summary => f.write_str("summary"),
            Self::Mission(node) => write!(f, "mission:{node}"),
            Self::Core => f.write_str("core"),
        }
    }
}

impl Who {
    /// The same, borrowed.
    pub fn by(&self) -> By<'_> {
        match self {
            Self::Decision => By::Decision,
            Self::Submodule(name) => By::Submodule(name.as_str()),
            Self::Tool(name) => By::Tool(name),
            Self::Pipeline(name) => By::Pipeline(name.as_str()),
            Self::Trial => By::Trial,
            Self::Summary => By::Summary,
            Self::Mission(node) => By::Mission(node.as_str()),
            Self::Core => By::Core,
        }
    }
}

/// A failure: its kind, a sentence for the reader, and whether a retry may help.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{text}")]
pub struct Failure {
    /// The sort of failure.
    pub kind: FailureKind,
    /// The cause, its object, and the remedy.
    pub text: String,
    /// True if the same thing may succeed later.
    pub retryable: bool,
    /// Further facts (status, limits, …); null when there are none.
    pub detail: Value,
}

impl Failure {
    /// A failure that a retry does not cure, without further facts.
    pub fn new(kind: FailureKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
            retryable: false,
            detail: Value::Null,
        }
    }

    /// Marks the failure as worth a retry.
    #[must_use]
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }

    /// Returns true if the provider refused the request as too long.
    pub fn is_too_long(&self) -> bool {
        self.reason() == Some(TOO_LONG)
    }

    /// The reason for which the provider refused the request, as far as its words say.
    pub fn reason(&self) -> Option<&str> {
        self.detail.get("reason").and_then(Value::as_str)
    }

    /// Adds further facts.
    #[must_use]
    pub fn with(mut self, detail: Value) -> Self {
        self.detail = detail;
        self
    }
}

/// The reason in a failure's facts when the provider refused the request as too long.
pub const TOO_LONG: &str = "too_long";
/// The reason where its words say nothing: it may be the length.
pub const UNSAID: &str = "unsaid";
/// The reason of a refusal without a known cause: a new part of the request may be it.
pub const UNCLEAR: &str = "unclear";
/// The reason where a filter stopped the answer.
pub const WITHHELD: &str = "withheld";
/// The reason where it takes no such picture or sound; `media` beside it names the kind, `all` says that it takes none.
pub const MEDIA: &str = "media";
/// The reason where a filter does not let the words pass.
pub const FILTERED: &str = "filtered";

/// The failure of a tool call that was cut off while it ran. `why` is a clause: the turn was cancelled. `is_outside`: it may have done
/// something that no event shows.
pub fn cut_off(why: &str, tool: &str, is_outside: bool) -> Failure {
    let (kind, rest) = match is_outside {
        true => (
            FailureKind::OutcomeUnknown,
            "whether it took effect is not known, and it is not run again",
        ),
        false => (FailureKind::Cancelled, "it changed nothing"),
    };
    Failure::new(kind, format!("{why} while {tool} ran: {rest}"))
}

/// The failure of a tool call that was not run any more, for the same kind of reason.
pub fn not_run(why: &str, tool: &str) -> Failure {
    let text = format!("{why} before {tool} ran: it was not run");
    Failure::new(FailureKind::Cancelled, text)
}

/// The failure of a thread that sent itself too many messages in a row.
pub fn self_messages(limit: u64) -> Failure {
    let text = format!(
        "the thread has sent itself {limit} messages in a row (budget.self_messages); it waits for something from outside"
    );
    Failure::new(FailureKind::Budget, text)
        .with(json!({ "limit": limit, "key": "budget.self_messages" }))
}
