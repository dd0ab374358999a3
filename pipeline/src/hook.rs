//! Hooks wrap every node of a run.
//!
//! The core runs nodes and calls hooks. Spans, statistics, the journal and the cache are hooks; you can write others.

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value as Json;

use crate::data::{ArgumentError, Arguments};
use crate::executor;
use crate::node::{Node, Outcome, Output};
use crate::past::Past;
use crate::run::Birth;

/// Stands around each node: sees its name, its start and its end, and may answer in its stead.
///
/// ```
/// use unhurried::{Call, Context, Hook, Next, Outcome, Output, Run, node};
///
/// #[node]
/// async fn ask_a_model(question: String) -> String {
///     unreachable!("not in a test: {question}")
/// }
///
/// struct Scripted;
///
/// #[unhurried::async_trait]
/// impl Hook for Scripted {
///     async fn around(&self, call: &Call, next: Next<'_>) -> Outcome {
///         match call.node() {
///             "ask_a_model" => Ok(Output::new("42".to_owned())),
///             _ => next.run().await,
///         }
///     }
/// }
///
/// let run = Run::new("test").hook(Scripted);
/// let answer = unhurried::block_on(run.scope(async { ask_a_model(Context::new("Why?".to_owned())).await }));
/// assert_eq!(answer.unwrap().unwrap(), "42");
/// ```
#[async_trait]
pub trait Hook: Send + Sync {
    /// Runs the node by `next.run()`, before, after or around what it does itself; or again, if it failed; or does not, and
    /// answers.
    async fn around(&self, call: &Call, next: Next<'_>) -> Outcome {
        let _ = call;
        next.run().await
    }

    /// A replica is about to be called, by the body of `node` or from outside of any.
    fn replica_called(&self, replica: &str, method: &str, node: Option<&str>) {
        let _ = (replica, method, node);
    }
}

/// A hook may be kept by who installs it.
#[async_trait]
impl<H: Hook + ?Sized> Hook for Arc<H> {
    async fn around(&self, call: &Call, next: Next<'_>) -> Outcome {
        (**self).around(call, next).await
    }

    fn replica_called(&self, replica: &str, method: &str, node: Option<&str>) {
        (**self).replica_called(replica, method, node);
    }
}

/// One execution of a node, as a hook sees it.
pub struct Call {
    pub(crate) node: Arc<Node>,
    pub(crate) parents: Vec<Parent>,
    pub(crate) run: Arc<str>,
    pub(crate) place: Option<String>,
}

/// What an argument of a call comes from.
pub(crate) struct Parent {
    pub(crate) past: Arc<Past>,
    pub(crate) birth: Option<Birth>,
}

impl Call {
    /// The node's name.
    pub fn node(&self) -> &str {
        self.node.name()
    }

    /// The id of the run.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Where in the run the node was called: `2` for the second call of the run, `2.1` for the first in its body,
    /// `/apples.1` for the first in the [branch](crate::Run::branch) `apples`. The same in every run that takes the same
    /// way, whatever the timing. None if it was called outside of the run.
    pub fn place(&self) -> Option<&str> {
        self.place.as_deref()
    }

    /// Where it was called, or one of its arguments was made, if in a run.
    pub(crate) fn birth(&self) -> Option<&Birth> {
        self.node.birth.as_ref()
    }

    /// The names of what its arguments come from.
    pub fn parents(&self) -> impl Iterator<Item = &str> {
        self.parents.iter().map(|parent| &*parent.past.name)
    }

    /// The [places](Self::place) of the calls whose values flow into this one, each once, in the order of the arguments. A value that
    /// was given has no place, unless it was [taken](crate::Context::taken) from one that has; nor has what another run computed.
    ///
    /// What the code around has read and went by is not known here: that is no argument.
    pub fn needs(&self) -> impl Iterator<Item = String> {
        let mut seen = HashSet::new();
        let births = self
            .parents
            .iter()
            .filter_map(|parent| parent.birth.as_ref());
        let places = births
            .filter(|birth| *birth.scope.run.id() == self.run)
            .filter_map(Birth::place);
        places.filter(move |place| seen.insert(place.clone()))
    }

    /// Whether the node asked not to be recorded, by `#[node(transient)]`.
    pub fn is_transient(&self) -> bool {
        self.node.kind.is_some_and(|kind| kind.transient)
    }

    /// Which version of the node's body this is, by `#[node(version = 2)]`; the first if not said.
    pub fn version(&self) -> u32 {
        self.node.kind.map_or(1, |kind| kind.version)
    }

    /// What it was called with, contexts by their values, as far as `#[node(ignore(…))]` does not leave it out. Known before
    /// the node has run.
    pub fn arguments(&self) -> Result<Arguments, ArgumentError> {
        self.node.arguments()
    }

    /// Whether its value has a form as data.
    pub fn is_data(&self) -> bool {
        self.codec().is_some()
    }

    /// The value as data, if its type is serializable.
    pub fn encode(&self, output: &Output) -> Option<serde_json::Result<Json>> {
        Some((self.codec()?.encode)(output))
    }

    /// A value of this node from data, if its type can be read.
    pub fn decode(&self, data: Json) -> Option<serde_json::Result<Output>> {
        Some((self.codec()?.decode)(data))
    }

    fn codec(&self) -> Option<crate::node::Codec> {
        self.node.kind?.codec
    }
}

/// The rest of the way to the node's body.
pub struct Next<'a> {
    pub(crate) hooks: &'a [Arc<dyn Hook>],
    pub(crate) call: &'a Call,
}

impl<'a> Next<'a> {
    /// Runs the node, or the hooks further in. Again, if it is called again.
    pub fn run(&self) -> BoxFuture<'a, Outcome> {
        match self.hooks.split_first() {
            Some((hook, hooks)) => hook.around(
                self.call,
                Next {
                    hooks,
                    call: self.call,
                },
            ),
            None => executor::run_body(self.call.node.clone()).boxed(),
        }
    }
}
