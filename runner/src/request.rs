//! Requests of a runner and its answers. Both are data only: text and numbers, never code that the other side would run.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The languages there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Language {
    /// ECMAScript as QuickJS has it.
    JavaScript,
    /// The part of Python that monty has; in programs with the feature `python`.
    Python,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Language of the code.
    pub language: Language,
    /// The code.
    pub code: String,
    /// Value of `input` in the code.
    pub input: serde_json::Value,
}

/// Limits of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// The longest that it may compute; it is stopped after twice that and two seconds in any case.
    pub time: Duration,
    /// Most bytes of memory that its values may have.
    pub memory_bytes: u64,
    /// Most bytes that it may print, and most bytes of its value as JSON.
    pub output_bytes: u64,
    /// True for a run that computes only on idle processors.
    pub background: bool,
}

/// Outcome of a run that ended by itself.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Its value, or the error that it ended with.
    pub outcome: Result<serde_json::Value, Thrown>,
    /// Printed text.
    pub printed: String,
}

/// An error of the code itself, its syntax included.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thrown {
    /// Text of the error, its name first.
    pub message: String,
    /// The line of the code, from 1; `None` where the engine does not know it.
    pub line: Option<u32>,
}

/// Most bytes of an error's message: the code may make it as long as it likes.
const MESSAGE_MAX: usize = 2000;

impl Thrown {
    /// An error with as much of its message as is kept.
    pub(crate) fn new(message: &str, line: Option<u32>) -> Self {
        Self {
            message: message[..message.floor_char_boundary(MESSAGE_MAX)].to_owned(),
            line,
        }
    }
}

/// Why a run was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Reason {
    /// The run took too long.
    Time,
    /// The run wanted too much memory.
    Memory,
    /// The run printed or returned too much.
    Output,
    /// The worker died or wrote an invalid answer.
    Crash,
}

impl Reason {
    /// Its name, as it is written in events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Time => "time",
            Self::Memory => "memory",
            Self::Output => "output",
            Self::Crash => "crash",
        }
    }
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
pub enum Error {
    /// The run was stopped, and its worker replaced.
    #[error("stopped ({}): {detail}", reason.as_str())]
    Stopped {
        /// Why.
        reason: Reason,
        /// Known details.
        detail: String,
        /// Printed text, if its worker could still send it.
        printed: String,
    },
    /// No worker could be started; the code was not run.
    #[error("no worker can be started: {0}")]
    Unavailable(String),
}
