//! One tool call: from what a model wrote to the events it leaves. Whatever the model wrote, it ends in an action with a result,
//! or in the one event that is both.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::event::calls::Call;
use crate::event::draft::{DEPTH_MAX, Draft, is_within_depth};
use crate::log::store::Blob;
use crate::model::provider::ToolCall;
use crate::tools::tool::{self, Desk, Effect, Output, Toolbox};
use crate::words::failure::{Failure, FailureKind, Who};

/// What one tool call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// The longest it may run.
    pub time: Duration,
    /// Most bytes of its output in its event; a longer one is kept whole as a blob.
    pub output_bytes: usize,
    /// Most tags that it may ask the log for.
    pub filter_tags: usize,
    /// Most bytes of a text that it makes part of other requests.
    pub text_bytes: usize,
    /// Most threads of a space that have not ended.
    pub threads: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            time: Duration::from_secs(30),
            output_bytes: 64 << 10,
            filter_tags: 32,
            text_bytes: 64 << 10,
            threads: 100_000,
        }
    }
}

/// Stands for a tool whose name is none: a name is part of tags and of prompts.
pub const INVALID_NAME: &str = "invalid_name";

/// How many characters are kept of what a model wrote instead of a name.
const WRITTEN_MAX: usize = 200;

/// Whether it can be a tool's name, by the rule of those who serve models.
fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

/// A tool call as the turn knows it: every field present and bounded.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// Its id, unique within the thread.
    pub call_id: String,
    /// The tool, or `INVALID_NAME`.
    pub tool: String,
    /// What the model wrote where a name should be, as far as it is kept.
    pub written: Option<String>,
    /// The arguments, or the text that should have been JSON.
    pub arguments: Result<Value, String>,
}

impl Asked {
    /// The `index`-th call of a round of `who`. The id is ours: providers repeat theirs, or give none.
    pub fn new(call: &ToolCall, who: &str, round: u64, index: usize) -> Self {
        let text = call.arguments.trim();
        let parsed = if text.is_empty() { Some(json!({})) } else { serde_json::from_str(text).ok() };
        let arguments = parsed.filter(|it| is_within_depth(it, DEPTH_MAX)).ok_or_else(|| text.to_owned());
        let (tool, written) = if is_name(&call.name) {
            (call.name.clone(), None)
        } else {
            (INVALID_NAME.to_owned(), Some(call.name.chars().take(WRITTEN_MAX).collect()))
        };
        Self { call_id: call_id(who, round, index), tool, written, arguments }
    }

    /// The arguments as an action event shows them.
    pub fn shown_arguments(&self) -> Value {
        self.arguments.clone().unwrap_or_else(Value::from)
    }

    /// The event that says it is about to run; none for tools that are one event themselves.
    pub fn action(&self, tools: &Toolbox, desk: &Desk) -> Option<Draft> {
        let leaves = tools.get(&self.tool).is_none_or(|tool| tool.leaves_action());
        let arguments = self.shown_arguments();
        let action = || Draft::action(&desk.thread, desk.turn, &desk.by, &self.tool, &self.call_id, &arguments);
        leaves.then(|| match &self.written {
            Some(written) => action().with("written", written.as_str()),
            None => action(),
        })
    }

    /// What it does to the world; calls that cannot run do nothing.
    pub fn effect(&self, tools: &Toolbox) -> Effect {
        tools.get(&self.tool).map_or(Effect::Events, |tool| tool.effect())
    }

    /// Whether the decision should read what it brings back. Failures always should be read.
    pub fn brings_back(&self, tools: &Toolbox) -> bool {
        tools.get(&self.tool).is_none_or(|tool| tool.brings_back())
    }

    /// Whether it goes by what earlier calls left in rows.
    pub fn counts(&self, tools: &Toolbox) -> bool {
        tools.get(&self.tool).is_some_and(|tool| tool.counts())
    }

    /// Runs it and returns the events it leaves after its action.
    pub async fn run(&self, tools: &Toolbox, desk: &Desk, limits: Limits) -> Vec<Draft> {
        let begin = Instant::now();
        let outcome = self.outcome(tools, desk, limits.time).await;
        let ms = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
        let call = Call { turn: desk.turn, by: &desk.by, tool: &self.tool, call_id: &self.call_id };
        match outcome {
            Ok(Output { mut drafts, value, failure, intent, sent }) => {
                let result = match (value, failure) {
                    (_, Some(failure)) => Some(Draft::result_failed(&desk.thread, &call, &failure, ms)),
                    (Some(value), None) => {
                        let value = bounded(value, desk, limits.output_bytes).await;
                        Some(Draft::result(&desk.thread, &call, value, ms))
                    }
                    (None, None) => None,
                };
                let intent = intent.map(|intent| intent.to_value());
                drafts.extend(result.map(|result| result.intending(intent, sent)));
                drafts
            }
            Err(failure) => vec![Draft::result_failed(&desk.thread, &call, &failure, ms)],
        }
    }

    /// The result of a call that is not run at all.
    pub fn refused(&self, desk: &Desk, failure: &Failure) -> Draft {
        let call = Call { turn: desk.turn, by: &desk.by, tool: &self.tool, call_id: &self.call_id };
        Draft::result_failed(&desk.thread, &call, failure, 0)
    }

    async fn outcome(&self, tools: &Toolbox, desk: &Desk, limit: Duration) -> Result<Output, Failure> {
        let Some(tool) = tools.get(&self.tool) else {
            let asked = self.written.as_ref().unwrap_or(&self.tool);
            let text = format!("there is no tool {asked:?}; there are: {}", tools.names().join(", "));
            return Err(Failure::new(FailureKind::Tool, text).with(json!({ "reason": "unknown_tool" })));
        };
        let arguments = self.arguments.clone().map_err(|_| {
            let text = format!("the arguments of {} are not JSON, or nested deeper than {DEPTH_MAX}", self.tool);
            Failure::new(FailureKind::Tool, text).with(json!({ "reason": "invalid_arguments" }))
        })?;
        tool::run(tool.as_ref(), arguments, desk, limit).await
    }
}

/// Who calls, as the ids of a decision's calls begin: its turn makes them unique in the thread.
pub fn decision(turn: u64) -> String {
    format!("c{turn}")
}

/// The id of the `index`-th call of a round.
pub fn call_id(who: &str, round: u64, index: usize) -> String {
    format!("{who}.{round}.{index}")
}

/// How many of an answer's calls are taken, where `left` more may run: those, and the first beyond, whose result refuses it. The
/// rest leaves no event of its own, for a model may make tens of thousands at once.
pub fn taken(made: usize, left: u64) -> usize {
    made.min(usize::try_from(left).unwrap_or(usize::MAX).saturating_add(1))
}

/// What is told of the calls that were not taken; nothing where all were. It is no failure of who made them: they go on.
pub fn left_out(who: &Who, made: usize, taken: usize, limit: u64) -> Option<Failure> {
    let left_out = made.checked_sub(taken).filter(|count| *count > 0)?;
    let text = format!(
        "{who} made {made} tool calls in one answer, and {left_out} of them were left out, neither run nor stored: it may make \
         {limit} (turn.max_tool_calls)"
    );
    let detail =
        json!({ "module": who.to_string(), "left_out": left_out, "limit": limit, "key": "turn.max_tool_calls" });
    Some(Failure::new(FailureKind::Budget, text).with(detail))
}

/// An output small enough for an event: too large a one becomes a blob, and its beginning says so.
async fn bounded(value: Value, desk: &Desk, most: usize) -> Value {
    let text = match &value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    if text.len() <= most {
        return value;
    }
    let end = (0..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
    let begin = text[..end].to_owned();
    let (bytes, mime) = (text.len(), "text/plain; charset=utf-8".to_owned());
    match desk.store.put_blob(&desk.space, Blob { mime, bytes: text.into() }).await {
        Ok(sha256) => json!({ "truncated": begin, "blob": sha256, "bytes": bytes }),
        Err(error) => json!({ "truncated": begin, "bytes": bytes, "lost": error.to_string() }),
    }
}
