//! Pipelines by name: plain functions over `unhurried::Context` that the server runs on a JSON
//! input. This file has their list; `pipelines/host.rs` has the means of one, `pipelines/ledger.rs`
//! its events in the log. The runtime runs them.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use unhurried::Context;

use super::host::Host;
use thinkd_words::decode::{Wrong, decode};
use thinkd_words::defaults::with_defaults;
use thinkd_words::id::Name;

mod summary;
mod trial;

with_defaults! {
    /// The limits of a run. `[pipelines]` in thinkd.toml.
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    pub struct Limits {
    }
    fixed {
        /// Runs of pipelines that one server works on at a time.
        pub at_once: u32 = 8,
        /// Most nodes that one run may start.
        pub nodes: u64 = 1000,
        /// The time that one run may be worked on.
        pub time_ms: u64 = 600_000,
    }
}

/// The outcome of a pipeline.
pub type Worked = Result<Value, Box<dyn Error + Send + Sync>>;

type Check = dyn Fn(&Value) -> Vec<Wrong> + Send + Sync;
type Start = dyn Fn(Value, Host) -> BoxFuture<'static, Worked> + Send + Sync;

/// A registered pipeline.
pub struct Pipeline {
    /// Its name.
    pub name: Name,
    /// Its work, in a line.
    pub about: String,
    /// JSON Schema of its input.
    pub input: Value,
    check: Box<Check>,
    start: Box<Start>,
}

impl Pipeline {
    /// Returns the errors of an input, place by place.
    pub fn check(&self, input: &Value) -> Vec<Wrong> {
        (self.check)(input)
    }

    /// Builds and reads it. To be awaited inside of a `unhurried::Run`.
    pub fn start(&self, input: Value, host: Host) -> BoxFuture<'static, Worked> {
        (self.start)(input, host)
    }
}

/// The pipelines of a server: those that come with it, and yours.
///
/// ```no_run
#[doc = include_str!("../../examples/own_pipeline.rs")]
/// ```
#[derive(Clone, Default)]
pub struct Pipelines {
    all: BTreeMap<Name, Arc<Pipeline>>,
    wrong: Vec<String>,
}

/// The pipelines that come with the server.
pub fn built_in() -> Pipelines {
    let about = "Sums up a thread: its parts are digested at the same time by the ordinary model, the digests joined.";
    let tries = "Tries a prompt of a submodule over its last turns: what it says to the same views, beside what was said then.";
    Pipelines::default()
        .with("summary", about, summary::summary)
        .with("trial", tries, trial::trial)
}

impl Pipelines {
    /// Returns the same, with one more. Its input is any value from which its type can be read; its
    /// output becomes JSON. A name that is none, or is taken, is refused when the server starts.
    #[must_use]
    pub fn with<I, O, E, R>(
        mut self,
        name: &str,
        about: &str,
        pipeline: impl Fn(Context<I>, Host) -> R + Send + Sync + 'static,
    ) -> Self
    where
        I: unhurried::Value + DeserializeOwned + JsonSchema,
        O: unhurried::Value + Serialize,
        E: Into<Box<dyn Error + Send + Sync>>,
        R: Future<Output = Result<Context<O>, E>> + Send + 'static,
    {
        let name = match Name::parse(name) {
            Ok(name) => name,
            Err(error) => {
                self.wrong
                    .push(format!("a pipeline cannot be registered: {error}"));
                return self;
            }
        };
        let pipeline = Arc::new(pipeline);
        let start = move |input, host| {
            let pipeline = pipeline.clone();
            let work = async move {
                let input = Context::new(serde_json::from_value(input)?);
                let output: Context<O> = pipeline(input, host).await.map_err(Into::into)?;
                Ok(serde_json::to_value(output.data().await?)?)
            };
            work.boxed()
        };
        let registered = Pipeline {
            name: name.clone(),
            about: about.to_owned(),
            input: schemars::schema_for!(I).to_value(),
            check: Box::new(|input| decode::<I>(input.clone()).err().unwrap_or_default()),
            start: Box::new(start),
        };
        if self
            .all
            .insert(name.clone(), Arc::new(registered))
            .is_some()
        {
            self.wrong
                .push(format!("two pipelines are registered as {name}"));
        }
        self
    }

    /// Returns the first error of the registrations, if there is one.
    pub fn check(&self) -> Result<(), String> {
        self.wrong
            .first()
            .map_or(Ok(()), |wrong| Err(wrong.clone()))
    }

    /// The pipeline of that name.
    pub fn get(&self, name: &Name) -> Option<&Arc<Pipeline>> {
        self.all.get(name)
    }

    /// All, by name.
    pub fn all(&self) -> impl Iterator<Item = &Arc<Pipeline>> {
        self.all.values()
    }

    /// Their names, for people.
    pub fn names(&self) -> String {
        self.all
            .keys()
            .map(Name::as_str)
            .collect::<Vec<_>>()
            .join(", ")
    }
}

impl fmt::Debug for Pipelines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Pipelines({})", self.names())
    }
}
