//! A round is one answer of the decision with its tool calls. The limits count rounds, calls and tokens.

use serde_json::Value;

use super::options::{PlainText, TurnOptions};
use crate::decision::REPLY;
use thinkd_event::fact::calls::{Record, RecordedCall};
use thinkd_thread::settings::Language;
use thinkd_words::budget::Budget;

/// A tool call that has no result yet.
#[derive(Debug, Clone, PartialEq)]
pub struct Pending {
    /// Its id.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// The words in the place of its name.
    pub written: Option<String>,
    /// Its arguments.
    pub arguments: Value,
    /// Read from the words of the answer.
    pub is_from_text: bool,
    /// Its action is in the log: it may have run before a crash.
    pub begun: bool,
    /// Its number among the turn's calls, from 0.
    pub number: u64,
}

/// A tool call, and its outcome so far.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Call {
    pub pending: Pending,
    /// Its result is in the log.
    pub done: bool,
    /// The decision should read its result.
    pub back: bool,
    /// True if it waits for the client, which runs it.
    pub waits: bool,
    /// True if it failed by unreadable arguments, or by the name of no tool.
    pub unread: bool,
}

/// One answer of the decision.
#[derive(Debug, Clone, Default)]
pub(super) struct Round {
    pub calls: Vec<Call>,
    /// Some of it could not be read.
    pub unreadable: bool,
    /// Its words beside the calls.
    pub text: Option<String>,
}

impl Round {
    /// The answer that a record has. `before` calls were made in the turn before it.
    pub fn recorded(record: &Record<'_>, before: u64) -> Self {
        let call = |(number, call): (u64, RecordedCall<'_>)| Call {
            pending: Pending {
                call_id: call.id.to_owned(),
                tool: call.tool.to_owned(),
                written: call.written.map(str::to_owned),
                arguments: call.arguments.cloned().unwrap_or_default(),
                is_from_text: call.is_from_text,
                begun: false,
                number: before + number,
            },
            done: false,
            back: call.brings_back,
            waits: false,
            unread: false,
        };
        Self {
            calls: (0..).zip(record.calls()).map(call).collect(),
            ..Self::default()
        }
    }

    /// True if nothing of it could be read: no call is one that a tool could run.
    pub fn is_unread(&self) -> bool {
        let all_unread = self.calls.iter().all(|call| call.unread);
        all_unread && (self.unreadable || !self.calls.is_empty())
    }

    /// True if one of its calls is a reply that was made, or was made before.
    pub fn replies(&self) -> bool {
        let is_reply = |call: &Call| call.pending.tool == REPLY && !call.back;
        self.calls.iter().any(is_reply)
    }

    /// True if one of its calls waits for the client.
    pub fn waits(&self) -> bool {
        self.calls.iter().any(|call| call.waits)
    }

    /// True if it made the same calls.
    pub fn is_like(&self, other: &Self) -> bool {
        let is_same = |(a, b): (&Call, &Call)| {
            a.pending.tool == b.pending.tool && a.pending.arguments == b.pending.arguments
        };
        let mut pairs = self.calls.iter().zip(&other.calls);
        self.calls.len() == other.calls.len() && pairs.all(is_same)
    }

    /// The calls that have no result yet.
    pub fn pending(&self) -> Vec<Pending> {
        let pending = self.calls.iter().filter(|call| !call.done);
        pending.map(|call| call.pending.clone()).collect()
    }
}

/// The limits of a turn.
#[derive(Debug, Clone, Default)]
pub(super) struct Limits {
    pub rounds: u64,
    pub tool_calls: u64,
    pub model_calls: u64,
    pub tokens: Option<u64>,
    /// Answers in a row that cannot be read.
    pub unreadable: u64,
    /// The meaning of plain words.
    pub plain_text: PlainText,
    /// The manner of decisions where their threads do not say.
    pub language: Option<Language>,
}

impl Limits {
    pub fn new(options: &TurnOptions, budget: &Budget) -> Self {
        Self {
            rounds: options.max_rounds.max(1),
            tool_calls: options.max_tool_calls,
            model_calls: budget.model_calls,
            tokens: budget.tokens,
            unreadable: budget.unreadable.max(1),
            plain_text: options.plain_text,
            language: options.language,
        }
    }

    /// The same in sub-steps: each answer decides one thing, so that a step has as many as its budget of calls allows.
    pub fn in_substeps(self) -> Self {
        let tool_calls = self.tool_calls.max(self.model_calls);
        Self {
            rounds: self.model_calls,
            tool_calls,
            ..self
        }
    }
}
