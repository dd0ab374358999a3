//! A tool is an object with a spec and a call. It owns its supplies (`tools/supplies.rs`); a call
//! is told only its caller, place and time. Limits are layers around it (`tools/layers.rs`); the
//! events around a call are made in one place (`mind/action.rs`).

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::approval::Grant;
use super::schema;
use thinkd_event::draft::Draft;
use thinkd_event::intent::Intent;
use thinkd_model::prompt::{Error, Prompts, ToolWords};
use thinkd_model::provider::ToolSpec;
use thinkd_thread::quota::Purse;
use thinkd_words::decode;
use thinkd_words::failure::{Failure, FailureKind, Who};
use thinkd_words::id::{Name, Space, ThreadId};
use thinkd_words::text::Json;
use thinkd_words::time::Timestamp;

pub use super::fitting::fitted;

/// The effect of a tool on the world.
// And so what may be done about it after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = ToolEffect)]
pub enum Effect {
    /// Its whole effect are the events it returns: action, events and result are one commit.
    Events,
    /// The tool only looks: it may run again.
    Repeatable,
    /// The tool reaches outside: recorded before it runs, never repeated silently.
    Outside,
}

/// The caller of a tool, the place and the time: all that a call is told besides its arguments.
#[derive(Debug, Clone)]
pub struct CallSite {
    /// The space.
    pub space: Space,
    /// The thread.
    pub thread: ThreadId,
    /// The turn.
    pub turn: u64,
    /// The caller.
    pub by: Who,
    /// The call's id within the thread.
    pub call_id: String,
    /// The time.
    pub now: Timestamp,
    /// The state of the turn before this call.
    pub so_far: SoFar,
    /// By which a person lets it run, where one has to.
    pub grant: Option<Grant>,
}

/// The state of a turn before a call, as far as no row says it yet.
#[derive(Debug, Clone, Default)]
pub struct SoFar {
    /// Its intentions: all of them are carried out at its end.
    pub intents: Arc<[Intent]>,
    /// The submodules that listen to it.
    pub submodules: Arc<[Name]>,
    /// The purse that it draws on.
    pub purse: Purse,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Output {
    /// Events to append before the result.
    pub drafts: Vec<Draft>,
    /// The value that the caller is told; `None` where `drafts` say it all (no result event is
    /// made).
    pub value: Option<Value>,
    /// The failure of a part of it, or of all: the result is a failure then.
    pub failure: Option<Failure>,
    /// The new intention of the turn.
    pub intent: Option<Intent>,
    /// Messages to other threads that this makes.
    pub sent: u64,
    /// The statements that it returned, of a recall.
    pub recalled: Vec<String>,
}

impl Output {
    /// Only a value.
    pub fn value(value: Value) -> Self {
        Self {
            value: Some(value),
            ..Self::default()
        }
    }

    /// Only events: they are the result.
    pub fn events(drafts: Vec<Draft>) -> Self {
        Self {
            drafts,
            ..Self::default()
        }
    }

    /// Returns an output of events, and of the value that the caller is told of them.
    pub fn done(drafts: Vec<Draft>, value: impl Into<Value>) -> Self {
        Self {
            drafts,
            value: Some(value.into()),
            ..Self::default()
        }
    }

    /// Returns an output of an intention, and of the value that the caller is told.
    pub fn intent(intent: Intent, value: impl Into<Value>) -> Self {
        Self {
            intent: Some(intent),
            value: Some(value.into()),
            ..Self::default()
        }
    }

    /// A failure that leaves events besides its result.
    pub fn failed(drafts: Vec<Draft>, failure: Failure) -> Self {
        Self {
            drafts,
            failure: Some(failure),
            ..Self::default()
        }
    }
}

/// The description of a tool: the text that models are told of it, and the meaning of its calls to
/// a turn.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Its name, its purpose, and the schema of its arguments.
    pub told: ToolSpec,
    /// Its effect on the world.
    pub effect: Effect,
    /// A call waits for a person: its effect once one has said yes (`effect` is that of waiting).
    pub gated: Option<Effect>,
    /// Calls wait for a person, for any value of `tools.approval`.
    pub always_gated: bool,
    /// Another name that `tools.approval` marks it by: that which its server gives it.
    pub alias: Option<String>,
    /// The decision is asked again after a call, to read its result.
    pub asks_again: bool,
    /// A call leaves an action event (all but those that are one event themselves).
    pub leaves_action: bool,
    /// The longest that a call may take, where it sees to that itself; else the limit of all tools
    /// counts.
    pub time: Option<Duration>,
    /// A call changes nothing, wherever that would be: missions do tasks with such tools.
    pub only_reads: bool,
    /// A call reads rows that calls of such tools change: the events of earlier ones of the turn
    /// are stored before it runs.
    pub reads_rows: bool,
}

impl Spec {
    /// A tool of which nothing more is known: every call is recorded, and its result read.
    pub fn new(told: ToolSpec, effect: Effect) -> Self {
        Self {
            told,
            effect,
            gated: None,
            always_gated: false,
            alias: None,
            asks_again: true,
            leaves_action: true,
            time: None,
            only_reads: false,
            reads_rows: false,
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.told.name
    }
}

/// The refusal of a call, with a word for the reason.
pub fn refused(text: impl Into<String>, reason: &str) -> Failure {
    Failure::new(FailureKind::Tool, text).with(json!({ "reason": reason }))
}

/// The refusal of a call for its arguments.
pub fn invalid(text: impl Into<String>) -> Failure {
    refused(text, "invalid_arguments")
}

/// A tool as toolboxes have it; a layer around another one is a tool, too. Implement `Typed` where
/// the arguments are a type: schema and decoding come from there.
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// Returns its spec. Always the same.
    fn spec(&self) -> &Spec;
    /// Checks arguments, without running it: those with which a person lets it run instead are
    /// checked so. The error says the fault.
    fn check(&self, arguments: &Value) -> Result<(), Failure> {
        let told = &self.spec().told;
        let schema = serde_json::from_str(told.parameters.as_str()).unwrap_or_else(|_| json!({}));
        schema::fits(&schema, arguments).map_err(|wrong| {
            invalid(format!(
                "the arguments of {} are not valid: {wrong}",
                told.name
            ))
        })
    }
    /// Returns the change that a call would make, as a unified diff, where it can say that: a
    /// person that is to approve it is shown this.
    async fn preview(
        &self,
        _arguments: &Value,
        _site: &CallSite,
    ) -> Result<Option<String>, Failure> {
        Ok(None)
    }
    /// Runs it. `arguments` is any JSON that the model wrote.
    async fn call(&self, arguments: Value, site: &CallSite) -> Result<Output, Failure>;
}

/// A tool with arguments that are a type.
pub trait Typed: Send + Sync + 'static {
    /// The arguments. `Option` fields are nullable in the schema; derive `Deserialize` with `deny_unknown_fields`.
    type Input: DeserializeOwned + JsonSchema + Send;
    /// Its name: `a-z`, `0-9` and `_`.
    const NAME: &'static str;
    /// The text for models: its purpose, then a section `## name` for each argument, which may be
    /// empty where the name says all. A file `tools/NAME.md` in the folder of prompts replaces it.
    const PROMPT: &'static str;
    /// See `Spec::effect`.
    const EFFECT: Effect;
    /// See `Spec::asks_again`.
    const ASKS_AGAIN: bool = true;
    /// See `Spec::leaves_action`.
    const LEAVES_ACTION: bool = true;
    /// See `Spec::reads_rows`.
    const READS_ROWS: bool = false;
    /// See `Spec::always_gated`.
    const ALWAYS_GATED: bool = false;
    /// See `Tool::preview`.
    fn preview(
        &self,
        _input: Self::Input,
        _site: &CallSite,
    ) -> impl Future<Output = Result<Option<String>, Failure>> + Send {
        async { Ok(None) }
    }
    /// Runs it.
    fn call(
        &self,
        input: Self::Input,
        site: &CallSite,
    ) -> impl Future<Output = Result<Output, Failure>> + Send;
}

/// Returns the spec of a typed tool, in the words of its prompt.
pub fn spec_of<T: Typed>(prompts: &Prompts) -> Result<Spec, Error> {
    let words = prompts.tool(T::NAME, T::PROMPT)?;
    let told = described(T::NAME, words, schema::strict::<T::Input>())?;
    Ok(Spec {
        asks_again: T::ASKS_AGAIN,
        leaves_action: T::LEAVES_ACTION,
        reads_rows: T::READS_ROWS,
        always_gated: T::ALWAYS_GATED,
        ..Spec::new(told, T::EFFECT)
    })
}

/// A tool in the words of its prompt; its schema is that of its arguments.
pub(super) fn described(name: &str, words: ToolWords, schema: Value) -> Result<ToolSpec, Error> {
    let parameters = Json::of(&schema::explained(schema, name, &words)?);
    Ok(ToolSpec {
        name: name.to_owned(),
        description: words.about,
        parameters,
        is_strict: true,
    })
}

/// A typed tool as toolboxes have it.
pub fn boxed<T: Typed>(spec: Spec, tool: T) -> Arc<dyn Tool> {
    Arc::new(Boxed { spec, tool })
}

struct Boxed<T> {
    spec: Spec,
    tool: T,
}

#[async_trait]
impl<T: Typed> Tool for Boxed<T> {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn check(&self, arguments: &Value) -> Result<(), Failure> {
        decoded::<T::Input>(self.spec.name(), arguments.clone()).map(drop)
    }

    async fn preview(&self, arguments: &Value, site: &CallSite) -> Result<Option<String>, Failure> {
        self.tool
            .preview(decoded(self.spec.name(), arguments.clone())?, site)
            .await
    }

    async fn call(&self, arguments: Value, site: &CallSite) -> Result<Output, Failure> {
        self.tool
            .call(decoded(self.spec.name(), arguments)?, site)
            .await
    }
}

/// Returns true if a text can be a tool's name, by the rule of model providers.
pub fn is_name(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

/// Returns the arguments of a tool as its type, or the failure that says their faults.
pub fn decoded<T: DeserializeOwned>(tool: &str, arguments: Value) -> Result<T, Failure> {
    decode::decode(arguments).map_err(|wrongs| {
        let wrongs = decode::sentence(&wrongs);
        invalid(format!("the arguments of {tool} are not valid: {wrongs}"))
    })
}
