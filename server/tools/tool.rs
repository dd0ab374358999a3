//! What a tool is: a name, a schema, an effect. The tools themselves are in `tools/`, one file each.
//! Time limits and the events around a call are the turn's work (`mind/turn.rs`), done once for all tools.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::event::draft::Draft;
use crate::event::intent::Intent;
use crate::log::store::Store;
use crate::model::prompt::Prompts;
use crate::model::provider::{ToolSpec, ToolSpecs};
use crate::thread::quota::Purse;
use crate::words::budget::Budget;
use crate::words::decode;
use crate::words::failure::{Failure, FailureKind, Who};
use crate::words::id::{Name, Seq, Space, ThreadId};
use crate::words::text::Json;
use crate::words::time::Timestamp;

/// What running a tool does to the world, and so what may be done about it after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// Its whole effect are the events it returns: action, events and result are one commit.
    Events,
    /// It only looks: it may run again.
    Repeatable,
    /// It reaches outside: recorded before it runs, never repeated silently.
    Outside,
}

/// Where a tool call is made: all that a tool may know and use.
#[derive(Clone)]
pub struct Desk {
    /// The space.
    pub space: Space,
    /// The thread.
    pub thread: ThreadId,
    /// The turn.
    pub turn: u64,
    /// Who calls.
    pub by: Who,
    /// The call's id within the thread.
    pub call_id: String,
    /// The last seq of the turn's batch: what came later is not part of what is being thought about.
    pub upto: Seq,
    /// The id its event was promised under, where the call was streamed to readers.
    pub event_id: Option<Uuid>,
    /// The submodules attached to the thread.
    pub submodules: Arc<[Name]>,
    /// The time.
    pub now: Timestamp,
    /// What the turn intends so far.
    pub intents: Arc<[Intent]>,
    /// Messages and contacts take effect at once, not with the turn's end.
    pub immediate: bool,
    /// What may be used up.
    pub budget: Arc<Budget>,
    /// Most tags to ask the log for.
    pub filter_tags: usize,
    /// Most bytes of a text that the call makes part of other requests.
    pub text_bytes: usize,
    /// Most threads of the space that have not ended.
    pub threads: u64,
    /// What the turn draws on.
    pub purse: Purse,
    /// The log and its rows.
    pub store: Arc<dyn Store>,
}

/// What a tool call came to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Output {
    /// Events to append before the result.
    pub drafts: Vec<Draft>,
    /// What the caller is told; `None` where `drafts` say it all (no result event is made).
    pub value: Option<Value>,
    /// What failed of it, or all: the result is a failure then.
    pub failure: Option<Failure>,
    /// What the turn intends now.
    pub intent: Option<Intent>,
    /// Messages to other threads that this makes.
    pub sent: u64,
}

impl Output {
    /// Only a value.
    pub fn value(value: Value) -> Self {
        Self { value: Some(value), ..Self::default() }
    }

    /// Only events: they are the result.
    pub fn events(drafts: Vec<Draft>) -> Self {
        Self { drafts, ..Self::default() }
    }

    /// An intention, and what the caller is told.
    pub fn intent(intent: Intent, value: impl Into<Value>) -> Self {
        Self { intent: Some(intent), value: Some(value.into()), ..Self::default() }
    }

    /// A failure that leaves events besides its result.
    pub fn failed(drafts: Vec<Draft>, failure: Failure) -> Self {
        Self { drafts, failure: Some(failure), ..Self::default() }
    }
}

/// A tool as toolboxes have it. Implement `Typed` instead: it derives schema and decoding from one type.
#[async_trait]
pub trait Tool: Send + Sync + 'static {
    /// Its name.
    fn name(&self) -> &'static str;
    /// What models are told of it.
    fn spec(&self) -> ToolSpec;
    /// What it does to the world.
    fn effect(&self) -> Effect;
    /// Whether its result is something the decision should read before it goes on.
    fn brings_back(&self) -> bool;
    /// Whether a call leaves an action event (all but those that are one event themselves).
    fn leaves_action(&self) -> bool {
        true
    }
    /// Whether it goes by what earlier calls of the turn left in the thread's rows: those are stored first.
    fn counts(&self) -> bool {
        false
    }
    /// Runs it. `arguments` is whatever JSON the model wrote.
    async fn call(&self, arguments: Value, desk: &Desk) -> Result<Output, Failure>;
}

/// A tool whose arguments are a type.
#[async_trait]
pub trait Typed: Send + Sync + 'static {
    /// The arguments. `Option` fields are nullable in the schema; derive `Deserialize` with `deny_unknown_fields`.
    type Input: DeserializeOwned + JsonSchema + Send;
    /// See `Tool::name`.
    const NAME: &'static str;
    /// See `Tool::effect`.
    const EFFECT: Effect;
    /// See `Tool::brings_back`.
    const BRINGS_BACK: bool = true;
    /// See `Tool::leaves_action`.
    const LEAVES_ACTION: bool = true;
    /// See `Tool::counts`.
    const COUNTS: bool = false;
    /// Runs it.
    async fn run(input: Self::Input, desk: &Desk) -> Result<Output, Failure>;
}

/// A tool and what models are told it is for.
struct Described<T> {
    about: String,
    tool: PhantomData<T>,
}

/// The tool, described as in `prompts/`.
pub fn described<T: Typed>(prompts: &Prompts) -> Arc<dyn Tool> {
    Arc::new(Described::<T> { about: prompts.tool(T::NAME), tool: PhantomData })
}

#[async_trait]
impl<T: Typed> Tool for Described<T> {
    fn name(&self) -> &'static str {
        T::NAME
    }

    fn spec(&self) -> ToolSpec {
        let parameters = Json::of(&strict_schema::<T::Input>());
        ToolSpec { name: T::NAME.to_owned(), description: self.about.clone(), parameters }
    }

    fn effect(&self) -> Effect {
        T::EFFECT
    }

    fn brings_back(&self) -> bool {
        T::BRINGS_BACK
    }

    fn leaves_action(&self) -> bool {
        T::LEAVES_ACTION
    }

    fn counts(&self) -> bool {
        T::COUNTS
    }

    async fn call(&self, arguments: Value, desk: &Desk) -> Result<Output, Failure> {
        T::run(decoded(T::NAME, arguments)?, desk).await
    }
}

/// The arguments of a tool as its type, or what is wrong with them.
pub fn decoded<T: DeserializeOwned>(tool: &str, arguments: Value) -> Result<T, Failure> {
    decode::decode(arguments).map_err(|wrongs| {
        let wrongs = decode::sentence(&wrongs);
        Failure::new(FailureKind::Tool, format!("the arguments of {tool} are not valid: {wrongs}"))
            .with(json!({ "reason": "invalid_arguments" }))
    })
}

/// The schema of `T` as strict function calling wants it: every property required, nothing else allowed, no `$schema`,
/// no titles, no formats that providers refuse.
pub fn strict_schema<T: JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    make_strict(&mut schema);
    // What the whole is says the tool's own description.
    schema.as_object_mut().into_iter().for_each(|schema| drop(schema.remove("description")));
    schema
}

fn make_strict(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for key in ["title", "format", "minimum", "maximum", "default", "$schema"] {
                // A property may be called like a keyword: only keywords beside a `type` are dropped.
                if map.get(key).is_some_and(|v| !v.is_object()) {
                    map.remove(key);
                }
            }
            if map.get("type").is_some_and(|kind| kind == "object") {
                map.entry("properties").or_insert_with(|| json!({}));
            }
            if let Some(properties) = map.get("properties").and_then(Value::as_object) {
                let names: Vec<Value> = properties.keys().cloned().map(Value::from).collect();
                map.insert("required".into(), Value::from(names));
                map.insert("additionalProperties".into(), Value::from(false));
            }
            map.values_mut().for_each(make_strict);
        }
        Value::Array(items) => items.iter_mut().for_each(make_strict),
        _ => {}
    }
}

/// The tools of a kind of thread, by name.
#[derive(Clone)]
pub struct Toolbox {
    tools: Vec<Arc<dyn Tool>>,
    /// Of these models are told only when they are open; called they may be at any time.
    rare: Vec<&'static str>,
    specs: ToolSpecs,
}

impl Toolbox {
    /// A toolbox of these, in this order.
    pub fn new(tools: Vec<Arc<dyn Tool>>) -> Self {
        let specs = ToolSpecs::new(tools.iter().map(|tool| tool.spec()).collect());
        Self { tools, rare: Vec::new(), specs }
    }

    /// Those of these names are rare: models are told of them only where they are open.
    #[must_use]
    pub fn rarely(self, rare: Vec<&'static str>) -> Self {
        let offered = self.tools.iter().filter(|tool| !rare.contains(&tool.name()));
        let specs = ToolSpecs::new(offered.map(|tool| tool.spec()).collect());
        Self { rare, specs, ..self }
    }

    /// Those of these names alone, in the order they have here; `None`: all.
    #[must_use]
    pub fn only(self, names: Option<&[Name]>) -> Self {
        let Some(names) = names else { return self };
        let is_named = |tool: &Arc<dyn Tool>| names.iter().any(|name| name.as_str() == tool.name());
        Self::new(self.tools.into_iter().filter(is_named).collect())
    }

    /// All but those of these names.
    #[must_use]
    pub fn without(self, names: &[&str]) -> Self {
        Self::new(self.tools.into_iter().filter(|tool| !names.contains(&tool.name())).collect())
    }

    /// These, too.
    #[must_use]
    pub fn and(mut self, more: Vec<Arc<dyn Tool>>) -> Self {
        self.tools.extend(more);
        Self::new(self.tools)
    }

    /// The tool of that name.
    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| tool.name() == name)
    }

    /// The names of all of them.
    pub fn names(&self) -> Vec<&'static str> {
        self.tools.iter().map(|tool| tool.name()).collect()
    }

    /// Whether models are told of it only where it is open.
    pub fn is_rare(&self, name: &str) -> bool {
        self.rare.contains(&name)
    }

    /// What models are told, always the same bytes.
    pub fn specs(&self) -> &ToolSpecs {
        &self.specs
    }

    /// What a model is told where these are open: the same, and behind it those, in the order in which they were opened.
    pub fn offered(&self, open: &[String]) -> ToolSpecs {
        let opened = open.iter().filter(|name| self.is_rare(name)).filter_map(|name| Some(self.get(name)?.spec()));
        let opened: Vec<ToolSpec> = opened.collect();
        if opened.is_empty() {
            return self.specs.clone();
        }
        ToolSpecs::new(self.specs.list.iter().cloned().chain(opened).collect())
    }
}

/// Runs a tool, for at most `limit`; being late is a failure of the tool.
pub async fn run(tool: &dyn Tool, arguments: Value, desk: &Desk, limit: Duration) -> Result<Output, Failure> {
    match tokio::time::timeout(limit, tool.call(arguments, desk)).await {
        Ok(outcome) => outcome,
        Err(_) => {
            let text = format!("{} did not finish within {} ms", tool.name(), limit.as_millis());
            Err(Failure::new(FailureKind::Timeout, text).retryable())
        }
    }
}
