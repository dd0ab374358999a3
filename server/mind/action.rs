//! An action runs one tool call, from the model's words to the events that it leaves, in one place
//! for all tools. Any words of a model end in an action with a result, or in the one event that is
//! both.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tokio::time::Instant;

use thinkd_event::draft::{DEPTH_MAX, Draft, is_within_depth};
use thinkd_event::fact::Fact;
use thinkd_event::fact::calls::{Action, Call};
use thinkd_model::provider::ToolCall;
use thinkd_thread::settings::Commit;
use thinkd_tools::arguments;
use thinkd_tools::tool::{CallSite, Effect, Output, Spec, fitted, is_name};
use thinkd_tools::toolbox::Toolbox;
use thinkd_words::digits;
use thinkd_words::failure::{Failure, FailureKind, Who};
use thinkd_words::lenient_json::ROUNDED;
use thinkd_words::tool_name;

/// Stands for a tool with an invalid name: a name is part of tags and of prompts.
pub const INVALID_NAME: &str = "invalid_name";

/// Most characters that are kept of a model's words in the place of a name.
const WRITTEN_MAX: usize = 200;

/// A tool call as the turn knows it: every field present and bounded.
#[derive(Debug, Clone, PartialEq)]
pub struct Asked {
    /// Its id, unique within the thread.
    pub call_id: String,
    /// The tool, or `INVALID_NAME`.
    pub tool: String,
    /// The model's words in the place of a name, as far as they are kept.
    pub written: Option<String>,
    /// The arguments, or the text that should have been JSON.
    pub arguments: Result<Value, String>,
    /// The call was read from the words of an answer.
    pub is_from_text: bool,
    /// The answer was cut off: a reply ends in the middle.
    pub is_cut: bool,
    /// Names of the mends in the arguments as the model wrote them.
    pub mends: BTreeSet<&'static str>,
}

impl Asked {
    /// A call that was read as it stands.
    pub fn new(call_id: String, tool: String, arguments: Result<Value, String>) -> Self {
        Self {
            call_id,
            tool,
            written: None,
            arguments,
            is_from_text: false,
            is_cut: false,
            mends: BTreeSet::new(),
        }
    }

    /// The call that a model made, under an id of ours: providers repeat theirs, or give none.
    pub fn read(call: &ToolCall, call_id: String, tools: &Toolbox) -> Self {
        let name = tool_name::meant(&call.name, &tools.names()).unwrap_or(&call.name);
        let spec = tools.get(name).map(|tool| tool.spec());
        let text = call.arguments.trim();
        // A person would be shown a number, and it would run, which the model did not write.
        let waits = spec.is_some_and(|spec| spec.gated.is_some());
        let read = arguments::read(text, spec.map(|spec| &spec.told)).filter(|read| {
            is_within_depth(&read.value, DEPTH_MAX) && !(waits && read.mends.contains(ROUNDED))
        });
        let (arguments, mends) = match read {
            Some(read) => (Ok(read.value), read.mends),
            None => (Err(text.to_owned()), BTreeSet::new()),
        };
        let is_name = is_name(name);
        let tool = if is_name { name } else { INVALID_NAME };
        let written = (!is_name).then(|| call.name.chars().take(WRITTEN_MAX).collect());
        Self {
            written,
            mends,
            ..Self::new(call_id, tool.to_owned(), arguments)
        }
    }

    /// The same call, read from the words of an answer, or not.
    #[must_use]
    pub fn from_text(self, is_from_text: bool) -> Self {
        Self {
            is_from_text,
            ..self
        }
    }

    /// The arguments as an action event shows them.
    pub fn shown_arguments(&self) -> Value {
        self.arguments.clone().unwrap_or_else(Value::from)
    }

    /// The event that says it is about to run; none for tools that are one event themselves.
    pub fn action(&self, tools: &Toolbox, site: &CallSite) -> Option<Draft> {
        let leaves = self.spec(tools).is_none_or(|spec| spec.leaves_action);
        let action = || {
            let action = Action {
                by: site.by.by(),
                turn: site.turn,
                tool: &self.tool,
                call_id: &self.call_id,
                arguments: &self.shown_arguments(),
                written: self.written.as_deref(),
                is_from_text: self.is_from_text,
            };
            Fact::Action(action).encode(&site.thread)
        };
        leaves.then(action)
    }

    /// The call that its results are of.
    fn call<'a>(&'a self, site: &'a CallSite) -> Call<'a> {
        Call {
            turn: site.turn,
            by: &site.by,
            tool: &self.tool,
            call_id: &self.call_id,
        }
    }

    /// Returns its effect on the world; a call that cannot run has none.
    pub fn effect(&self, tools: &Toolbox) -> Effect {
        self.spec(tools).map_or(Effect::Events, |spec| spec.effect)
    }

    /// Returns its effect on the world once a person lets it run.
    pub fn effect_granted(&self, tools: &Toolbox) -> Effect {
        let effect = |spec: &Spec| spec.gated.unwrap_or(spec.effect);
        self.spec(tools).map_or(Effect::Events, effect)
    }

    /// Returns true if the decision is asked again, to read the result. Failures should always be read.
    pub fn asks_again(&self, tools: &Toolbox) -> bool {
        self.spec(tools).is_none_or(|spec| spec.asks_again)
    }

    /// Returns true if it reads rows that earlier calls of its kind change.
    pub fn reads_rows(&self, tools: &Toolbox) -> bool {
        self.spec(tools).is_some_and(|spec| spec.reads_rows)
    }

    fn spec<'a>(&self, tools: &'a Toolbox) -> Option<&'a Spec> {
        tools.get(&self.tool).map(|tool| tool.spec())
    }

    /// Runs it and returns the events it leaves after its action. With immediate commit, its
    /// intention is among them.
    pub async fn run(&self, tools: &Toolbox, site: &CallSite, commit: Commit) -> Vec<Draft> {
        let begin = Instant::now();
        let outcome = self.outcome(tools, site).await;
        let ms = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
        let thread = &site.thread;
        let call = self.call(site);
        let failed = |failure: &Failure| Draft::result_failed(thread, &call, failure, ms);
        let Output {
            mut drafts,
            value,
            failure,
            intent,
            sent,
            recalled,
        } = match outcome {
            Ok(output) => output,
            Err(failure) => return vec![failed(&failure)],
        };
        if commit == Commit::Immediate {
            let intent = intent.iter();
            drafts.extend(intent.flat_map(|intent| intent.carried_out(thread)));
        }
        if self.is_cut {
            drafts = drafts.into_iter().map(Draft::cut).collect();
        }
        let done = |value: Value| Draft::result(thread, &call, value, ms).returning(&recalled);
        let result = match failure {
            Some(failure) => Some(failed(&failure)),
            None => value.map(done),
        };
        let intent = intent.map(|intent| intent.to_value());
        drafts.extend(result.map(|result| result.intending(intent, sent)));
        drafts
    }

    /// Returns the result of a reply with a text that its reader has read.
    pub fn repeated(&self, site: &CallSite) -> Draft {
        let told = "not sent again: the user has read this text";
        Draft::result(&site.thread, &self.call(site), told.into(), 0)
    }

    /// The result of a call that is not run at all.
    pub fn refused(&self, site: &CallSite, failure: &Failure) -> Draft {
        Draft::result_failed(&site.thread, &self.call(site), failure, 0)
    }

    /// A tool that is not there fails, whether it never was or has gone since the model was told of it.
    async fn outcome(&self, tools: &Toolbox, site: &CallSite) -> Result<Output, Failure> {
        let Some(tool) = tools.get(&self.tool) else {
            let asked = self.written.as_ref().unwrap_or(&self.tool);
            let names = tools.names().join(", ");
            let text = format!("there is no tool {asked:?}; there are: {names}");
            let failure = Failure::new(FailureKind::Tool, text);
            return Err(failure.with(json!({ "reason": "unknown_tool" })));
        };
        let arguments = self.arguments.clone();
        let arguments = arguments.map_err(|written| unreadable(tool.spec(), &written))?;
        let schema = serde_json::from_str(tool.spec().told.parameters.as_str());
        let arguments = fitted(&schema.unwrap_or_default(), arguments);
        tool.call(arguments, site).await
    }
}

/// Returns the failure of arguments that stayed the text of the model, with advice about a number in them.
fn unreadable(spec: &Spec, written: &str) -> Failure {
    let read = arguments::read(written, Some(&spec.told));
    let is_rounded = read.is_some_and(|read| read.mends.contains(ROUNDED));
    // Also of a number in JSON that is the text of JSON.
    let bare = written.replace(['"', '\'', '\\'], " ");
    let number = digits::unkept(&bare).filter(|it| is_rounded || digits::is_beyond(it));
    let name = spec.name();
    let text = match number {
        Some(number) => format!("{name} was not called: {}", digits::wrong(number)),
        None => format!("the arguments of {name} are not JSON, or nested deeper than {DEPTH_MAX}"),
    };
    Failure::new(FailureKind::Tool, text).with(json!({ "reason": "invalid_arguments" }))
}

/// The effect that a call may have had which was begun and has no result: events alone have both in one append, so that a call of a
/// tool that is not there any more had another one.
pub fn effect_begun(tool: &str, tools: &Toolbox) -> Effect {
    // One that was marked since was not parked: that would be its result.
    let spec = tools.get(tool).map(|tool| tool.spec());
    spec.map_or(Effect::Outside, |spec| spec.gated.unwrap_or(spec.effect))
}

/// Returns the beginning of the ids of a decision's calls: its turn makes them unique in the
/// thread.
pub fn decision(turn: u64) -> String {
    format!("c{turn}")
}

/// The id of the `index`-th call of a round.
pub fn call_id(who: &str, round: u64, index: usize) -> String {
    format!("{who}.{round}.{index}")
}

/// Returns the number of an answer's calls that are taken, where `left` more may run: those, and
/// the first beyond, with a result that refuses it. The rest leaves no event of its own, for a
/// model may make tens of thousands at once.
pub fn taken(made: usize, left: u64) -> usize {
    let left = usize::try_from(left).unwrap_or(usize::MAX);
    made.min(left.saturating_add(1))
}

/// Returns the failure that tells of calls that were not taken; none where all were. The caller
/// itself has not failed: it goes on.
pub fn left_out(who: &Who, made: usize, taken: usize, limit: u64) -> Option<Failure> {
    let left_out = made.checked_sub(taken).filter(|count| *count > 0)?;
    let text = format!(
        "{who} made {made} tool calls in one answer, and {left_out} of them were left out, neither run nor stored: it may make \
         {limit} (turn.max_tool_calls)"
    );
    let detail = json!({ "module": who.to_string(), "left_out": left_out, "limit": limit, "key": "turn.max_tool_calls" });
    Some(Failure::new(FailureKind::Budget, text).with(detail))
}
