//! The facts of calls: the record of a model call; the action and the result of a tool call; and
//! the reply, which is the result of the tool `reply`.
//! Long because a family of facts is one file: its types, how each is written and read, and the
//! answers to readers.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::{Value, json};
use thinkd_facts::Fact;

use super::Fact;
use super::failed::Problem;
use super::family::{Byline, Declared, Family, Piece, Plain, Role};
use super::recalled;
use crate::draft::{Draft, tags};
use crate::envelope::{Modality, Payload, Source, Visibility, tag};
use crate::intent::Intent;
use crate::raw::Raw;
use crate::spec::{ROOT, Spec, TEXT, TURN, spec};
use thinkd_words::failure::{By, Failure, Who};
use thinkd_words::id::{Seq, ThreadId};

/// The record of one model call: from it, the call can be rebuilt.
#[derive(Debug, Clone, PartialEq)]
pub struct Record<'a> {
    /// The module that asked.
    pub module: &'a str,
    /// All that is recorded.
    pub record: &'a Payload,
}

/// The member `from` of a call that was read from the words of an answer.
pub const FROM_TEXT: &str = "text";

/// The outcome of a model call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CallOutcome {
    /// With an answer.
    Answered,
    /// With a failure.
    Failed,
    /// The call was not made: a budget refused it, or the one it asks is gone.
    Refused,
    /// The call was stopped with its turn.
    Stopped,
}

/// A tool call, as it is about to run. `think` and `do_nothing` have none.
#[derive(Debug, Clone, Copy, PartialEq, Fact)]
#[fact(name = "action", tags("decision|submodule:<name>" = by, "action", "tool:<name>" = tool),
       modality = Text, visibility = seen_of(self.by.submodule()), role = role_of(self.by.submodule()),
       text = format!("{tool} {arguments}"))]
pub struct Action<'a> {
    /// The module that made it.
    #[fact(tag = "", read = By::parse(raw.tags.first()?)?)]
    pub by: By<'a>,
    /// The turn.
    pub turn: u64,
    /// The tool.
    #[fact(from_tag = "tool:")]
    pub tool: &'a str,
    /// The call's id within the thread.
    #[fact(or_default)]
    pub call_id: &'a str,
    /// Its arguments; a text: the words that should have been JSON.
    #[fact(read = raw.get("arguments").unwrap_or(&Value::Null))]
    pub arguments: &'a Value,
    /// The text that stood where the tool's name should be.
    pub written: Option<&'a str>,
    /// The call was read from the words of an answer.
    #[fact(name = "from", kind = "\"text\"", missing, read = raw.text("from") == Some(FROM_TEXT),
           write = is_from_text.then_some(FROM_TEXT))]
    pub is_from_text: bool,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome<'a> {
    /// The submodule that made it; none: the decision.
    pub submodule: Option<&'a str>,
    /// The turn.
    pub turn: u64,
    /// The tool.
    pub tool: &'a str,
    /// The call's id within the thread.
    pub call_id: &'a str,
    /// The time it ran, in milliseconds.
    pub duration_ms: u64,
    /// Its output or failure.
    pub came: Came<'a>,
    /// The intent of its turn since (`event/intent.rs`).
    pub intent: Option<&'a Value>,
    /// The number of messages it sent.
    pub sent: u64,
    /// The approval without which it would not have run; of a client's tool the event that asked the
    /// client.
    pub approval: Option<&'a str>,
    /// The statements that it returned, of a recall.
    pub recalled: Vec<&'a str>,
}

/// The output or failure of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub enum Came<'a> {
    /// An output.
    Output(Cow<'a, Value>),
    /// A failure.
    Failed(Problem<'a>),
}

/// An answer to the user, the result of the tool `reply`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Fact)]
#[fact(name = "reply", tags("response", "result", "tool:reply", "partial?" = is_partial),
       source = Tool, modality = Text, visibility = Heard, role = Decision, label = "reply")]
pub struct Reply<'a> {
    /// The turn.
    pub turn: u64,
    /// `reply`.
    #[fact(read = "reply")]
    pub tool: &'a str,
    /// The call's id within the thread.
    #[fact(or_default)]
    pub call_id: &'a str,
    /// The words.
    #[fact(or_default)]
    pub text: &'a str,
    /// True if it was cut off.
    #[fact(flag = "partial")]
    pub is_partial: bool,
}

impl<'a> Record<'a> {
    pub(super) fn specs() -> Vec<Spec> {
        let spec = spec!(
            /// The record of one model call: from it, GET /prompt-views/{event_id} makes the call again, byte for byte.
            "model-call", ["debug", "call:<module>"];
            TEXT,
            TURN,
            /// the module that asked: decision, submodule:<name>, pipeline:<name>, mission:<step>,
            /// trial, summary
            "module" => "string",
            /// turn, follow-up, answer, decide, repair; node; derive, reflect, weigh; sum-up,
            /// join; a mission's step; trial: a call of before,
            /// made again with another prompt
            "purpose?" => "string",
            /// its place among the calls of its kind in the turn, from 0
            "round?" => "number",
            /// the outcome
            "outcome?" => "\"answered\" | \"failed\" | \"refused\" | \"stopped\"",
            /// why it failed
            "failure?" => "string",
            /// why the model ended its answer
            "finish?" => "string",
            /// input_tokens, output_tokens, cached_tokens, as far as the provider said
            "usage?" => "object",
            /// the time it took, in milliseconds
            "duration_ms?" => "number",
            /// when the first piece of its answer came, from the same beginning
            "first_piece_ms?" => "number",
            /// the model
            "model?" => "string",
            /// the parameters of the request
            "parameters?" => "object",
            /// SHA-256 of the request
            "request_sha256?" => "string",
            /// habits of the model by which the request was sent otherwise than this hash says, such as a member that it refuses
            "adjusted?" => "unknown",
            /// of a submodule: names of the repairs to the arguments of its tool calls; of a
            /// decision, each of its `calls` has its own
            "mended?" => "string[]",
            /// the events and texts of the request; as, thread: of a call of before, made again,
            /// the module that first made it and the thread that it saw
            "view?" => "object",
            /// of a decision: the tool calls of its answer; of a submodule: how many
            "calls?" => "unknown",
            /// the number of tool calls that the answer had, where some were left out
            "calls_made?" => "number",
            /// a submodule is done with this
            "last?" => "boolean",
            /// of a mission that a turn began, where the beginning of the mission is the root: the
            /// event from outside that the turn goes back to
            "cause?" => "number",
            ROOT,
        );
        vec![Spec { open: true, ..spec }]
    }

    pub(super) fn decode(raw: Raw<'a>) -> Option<Self> {
        Some(Self {
            module: raw.value("call:")?,
            record: raw.payload,
        })
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let tags = tags([tag::DEBUG, &format!("call:{}", self.module)]);
        let payload = self.record.clone().into();
        Draft::new(thread, Source::Internal, Modality::State, tags, payload)
    }

    fn text(&self, key: &str) -> Option<&'a str> {
        self.record.get(key)?.as_str()
    }

    /// Returns the one that asked.
    pub fn by(&self) -> Option<By<'a>> {
        By::parse(self.module)
    }

    /// A member of the record.
    pub fn get(&self, key: &str) -> Option<&'a Value> {
        self.record.get(key)
    }

    /// The event from outside that it goes back to.
    pub fn root(&self) -> Option<Seq> {
        self.get("root")?.as_i64()
    }

    /// The event from outside that the mission goes back to which asked.
    pub fn cause(&self) -> Option<Seq> {
        self.get("cause")?.as_i64()
    }

    /// The submodule that asked, if one did.
    pub fn submodule(&self) -> Option<&'a str> {
        self.module.strip_prefix("submodule:")
    }

    /// Why it asked.
    pub fn purpose(&self) -> &'a str {
        self.text("purpose").unwrap_or_default()
    }

    /// Returns the outcome; none: one that this build does not know.
    pub fn outcome(&self) -> Option<CallOutcome> {
        CallOutcome::deserialize(self.get("outcome")?).ok()
    }

    /// Returns true if a submodule is done with it: a call that was stopped with its turn may be
    /// made again.
    pub fn is_last(&self) -> bool {
        let last = self.get("last").and_then(Value::as_bool);
        last == Some(true) && self.outcome() != Some(CallOutcome::Stopped)
    }

    /// The tool calls of a decision's answer.
    pub fn calls(&self) -> impl Iterator<Item = RecordedCall<'a>> {
        let calls = self
            .record
            .get("calls")
            .and_then(Value::as_array)
            .into_iter()
            .flatten();
        calls.map(|call| {
            let text = |key: &str| call.get(key).and_then(Value::as_str);
            RecordedCall {
                id: text("id").unwrap_or_default(),
                tool: text("tool").unwrap_or_default(),
                written: text("written"),
                is_from_text: text("from") == Some(FROM_TEXT),
                arguments: call.get("arguments"),
                brings_back: call.get("back").and_then(Value::as_bool).unwrap_or(true),
            }
        })
    }

    /// Returns its duration in milliseconds.
    pub fn duration_ms(&self) -> Option<u64> {
        self.get("duration_ms")?.as_u64()
    }

    /// The tokens it used, in and out, as far as the provider said.
    pub fn tokens(&self) -> u64 {
        let usage = |key| {
            self.record
                .get("usage")
                .and_then(|usage| usage.get(key))
                .and_then(Value::as_u64)
        };
        usage("input_tokens").unwrap_or(0) + usage("output_tokens").unwrap_or(0)
    }
}

/// A tool call as the record of the answer that made it has it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecordedCall<'a> {
    /// Its id.
    pub id: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// The text in the place of the tool's name.
    pub written: Option<&'a str>,
    /// The call was read from the words of an answer.
    pub is_from_text: bool,
    /// Its arguments, unless an action has them.
    pub arguments: Option<&'a Value>,
    /// True if the decision should read its result.
    pub brings_back: bool,
}

impl<'a> Outcome<'a> {
    pub(super) fn specs() -> Vec<Spec> {
        let came = spec!(
            /// The output of a tool call.
            "result", ["result", "tool:<name>", "submodule:<name>?", "recalled:<statement>*"];
            TEXT,
            TURN,
            /// the tool
            "tool" => "string",
            /// the call's id within the thread
            "call_id" => "string",
            /// the output; a large one is cut, with the blob that has it all
            "output" => "unknown",
            /// the time it ran, in milliseconds
            "duration_ms" => "number",
            /// the intent that the turn carries out when it ends
            "intent?" => "object",
            /// the number of messages it sent
            "sent?" => "number",
            /// the approval without which it would not have run; of a client's tool the event that
            /// asked the client
            "approval_id?" => "string",
        );
        let mut failed = spec!(
            /// A tool call that failed.
            "result-failed", ["result", "tool:<name>", "submodule:<name>?", "failure", "<kind>"];
            /// the sort of failure
            "kind" => "string",
            /// kind, text, retryable, detail
            "problem" => "object",
        );
        // They take the place of the output.
        let before = &came.members[..4];
        let after = &came.members[5..];
        failed.members = [before, &failed.members, after].concat();
        vec![came, failed]
    }

    pub(super) fn decode(raw: Raw<'a>) -> Option<Self> {
        let came = match raw.has(tag::FAILURE) {
            true => Came::Failed(Problem::of_result(raw)),
            false => Came::Output(
                raw.get("output")
                    .map_or(Cow::Owned(Value::Null), Cow::Borrowed),
            ),
        };
        Some(Self {
            submodule: raw.value("submodule:"),
            turn: raw.turn()?,
            tool: raw.value("tool:")?,
            call_id: raw.said("call_id"),
            duration_ms: raw.count("duration_ms").unwrap_or(0),
            came,
            intent: raw.get("intent"),
            sent: raw.count("sent").unwrap_or(0),
            approval: raw.text("approval_id"),
            recalled: raw.values(recalled::OF).collect(),
        })
    }

    pub(super) fn encode(self, thread: &ThreadId) -> Draft {
        let turn = self.turn;
        let tool = self.tool;
        let call_id = self.call_id;
        let payload = json!({
            "turn": turn, "tool": tool, "call_id": call_id, "duration_ms": self.duration_ms,
        });
        let tags = tags([tag::RESULT, &format!("tool:{tool}")]);
        let submodule = self.submodule.map(|name| format!("submodule:{name}"));
        let draft =
            Draft::new(thread, Source::Tool, Modality::Text, tags, payload).tagged(submodule);
        let draft = match self.came {
            Came::Output(output) => {
                let output = output.into_owned();
                let text = match &output {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                draft.payload("text", text).payload("output", output)
            }
            Came::Failed(problem) => draft
                .tagged([tag::FAILURE, problem.kind])
                .payload("text", problem.text)
                .payload("problem", problem.to_value())
                .payload("kind", problem.kind),
        };
        draft
            .payload_some("intent", self.intent.cloned())
            .payload_some("sent", (self.sent > 0).then_some(self.sent))
            .payload_some("approval_id", self.approval)
            .tagged(recalled::tags_of(self.recalled))
    }
}

impl Draft {
    /// The answer of a mission, which no tool call gave: its thread's only turn says it.
    pub fn answered(thread: &ThreadId, text: &str) -> Self {
        Reply {
            turn: 1,
            tool: "reply",
            call_id: "answer",
            text,
            is_partial: false,
        }
        .encode(thread)
    }
}

impl Declared for Record<'_> {
    fn plain(&self) -> Plain {
        Plain::new("model-call", Visibility::Debug, Role::Turn).changing_thread(true)
    }
}

impl<'a> Family<'a> for Record<'a> {
    fn has_root(&self) -> bool {
        true
    }

    fn label(&self) -> Option<String> {
        Some(self.module.to_owned())
    }
}

impl<'a> Family<'a> for Action<'a> {
    fn submodule(&self) -> Option<&'a str> {
        self.by.submodule()
    }

    fn call_id(&self) -> Option<&'a str> {
        Some(self.call_id)
    }

    fn byline(&self, _raw: Raw<'a>) -> Byline<'a> {
        let call = named("call ", self.tool, self.call_id).into_iter();
        call.chain(made_by(self.submodule())).collect()
    }

    // What a reply says stands in the reply's own entry.
    fn content(&self) -> Option<String> {
        Some(if self.tool == "reply" {
            String::new()
        } else {
            self.arguments.to_string()
        })
    }

    fn label(&self) -> Option<String> {
        Some(format!(
            "{} → {}",
            self.submodule().unwrap_or("decision"),
            self.tool
        ))
    }
}

impl Declared for Outcome<'_> {
    fn plain(&self) -> Plain {
        let kind = match self.came {
            Came::Output(_) => "result",
            Came::Failed(_) => "result-failed",
        };
        let visibility = seen_of(self.submodule);
        let role = role_of(self.submodule);
        Plain::new(kind, visibility, role).changing_thread(true)
    }
}

impl<'a> Family<'a> for Outcome<'a> {
    fn submodule(&self) -> Option<&'a str> {
        self.submodule
    }

    fn call_id(&self) -> Option<&'a str> {
        Some(self.call_id)
    }

    fn is_failure(&self) -> bool {
        matches!(self.came, Came::Failed(_))
    }

    fn intent(&self) -> Option<Intent> {
        Intent::deserialize(self.intent?).ok()
    }

    fn byline(&self, _raw: Raw<'a>) -> Byline<'a> {
        let call = named("result ", self.tool, self.call_id);
        let failed = self.is_failure().then_some(Piece::Word(" failed"));
        call.into_iter()
            .chain(failed)
            .chain(made_by(self.submodule))
            .collect()
    }

    fn label(&self) -> Option<String> {
        Some(match self.submodule {
            Some(submodule) => format!("{submodule} → {}", self.tool),
            None => self.tool.to_owned(),
        })
    }
}

impl<'a> Family<'a> for Reply<'a> {
    fn call_id(&self) -> Option<&'a str> {
        Some(self.call_id)
    }

    fn byline(&self, _raw: Raw<'a>) -> Byline<'a> {
        vec![Piece::Word(if self.is_partial {
            "reply (cut off)"
        } else {
            "reply"
        })]
    }
}

/// `result send c7.0.0`.
pub(super) fn named<'a>(word: &'static str, tool: &'a str, call_id: &'a str) -> Byline<'a> {
    vec![
        Piece::Word(word),
        Piece::Name(tool.into()),
        Piece::Word(" "),
        Piece::Name(call_id.into()),
    ]
}

/// Returns the readers of an action of a submodule, or of the decision.
fn seen_of(submodule: Option<&str>) -> Visibility {
    if submodule.is_some() {
        Visibility::Submodule
    } else {
        Visibility::Heard
    }
}

fn role_of(submodule: Option<&str>) -> Role {
    if submodule.is_some() {
        Role::Submodule
    } else {
        Role::Decision
    }
}

fn made_by(submodule: Option<&str>) -> impl Iterator<Item = Piece<'_>> {
    let pieces = submodule.map(|name| {
        [
            Piece::Word(" (voice "),
            Piece::Name(name.into()),
            Piece::Word(")"),
        ]
    });
    pieces.into_iter().flatten()
}

/// The tool call that a result belongs to.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The turn it was made in.
    pub turn: u64,
    /// The caller.
    pub by: &'a Who,
    /// The tool.
    pub tool: &'a str,
    /// The call's id within the thread.
    pub call_id: &'a str,
}

impl<'a> Call<'a> {
    fn came(&self, came: Came<'a>, duration_ms: u64) -> Outcome<'a> {
        let submodule = match self.by {
            Who::Submodule(name) => Some(name.as_str()),
            _ => None,
        };
        Outcome {
            submodule,
            turn: self.turn,
            tool: self.tool,
            call_id: self.call_id,
            duration_ms,
            came,
            intent: None,
            sent: 0,
            approval: None,
            recalled: Vec::new(),
        }
    }
}

impl Draft {
    /// A tool call of the decision or a submodule, as it is about to run.
    pub fn action(
        thread: &ThreadId,
        turn: u64,
        by: &Who,
        tool: &str,
        call_id: &str,
        arguments: &Value,
    ) -> Self {
        Action {
            by: by.by(),
            turn,
            tool,
            call_id,
            arguments,
            written: None,
            is_from_text: false,
        }
        .encode(thread)
    }

    /// The result of a tool call with an output.
    pub fn result(thread: &ThreadId, call: &Call<'_>, output: Value, duration_ms: u64) -> Self {
        call.came(Came::Output(Cow::Owned(output)), duration_ms)
            .encode(thread)
    }

    /// The result of a tool call that failed, tagged as a failure.
    pub fn result_failed(
        thread: &ThreadId,
        call: &Call<'_>,
        failure: &Failure,
        duration_ms: u64,
    ) -> Self {
        call.came(Came::Failed(failure.into()), duration_ms)
            .encode(thread)
    }

    /// The same result, of a call that ran by this approval.
    #[must_use]
    pub fn of_approval(self, approval: &str) -> Self {
        self.payload("approval_id", approval)
    }

    /// A reply to the user: the result of the tool `reply`. `partial` when it was cut off.
    pub fn reply(thread: &ThreadId, turn: u64, call_id: &str, text: &str, partial: bool) -> Self {
        Reply {
            turn,
            tool: "reply",
            call_id,
            text,
            is_partial: partial,
        }
        .encode(thread)
    }

    /// The same; a reply is cut off.
    #[must_use]
    pub fn cut(self) -> Self {
        match self.fact() {
            Fact::Reply(Reply {
                is_partial: false, ..
            }) => self.tagged([tag::PARTIAL]),
            _ => self,
        }
    }

    /// The record of one model call: from it, the call can be rebuilt.
    pub fn call_record(thread: &ThreadId, turn: u64, module: &Who, record: Value) -> Self {
        let tags = tags([tag::DEBUG, &format!("call:{module}")]);
        Self::new(thread, Source::Internal, Modality::State, tags, record)
            .payload("text", format!("{module} asked the model"))
            .payload("turn", turn)
            .payload("module", module.to_string())
    }
}
