//! A cache over runs: a hook that answers a call with the value of an earlier one.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use async_trait::async_trait;

use crate::data::Arguments;
use crate::error::Cause;
use crate::run::{Call, Hook, Next};
use crate::sync::Mutex;
use crate::value::{Outcome, Output};

/// Default size of a cache, in values.
const AT_MOST: usize = 10_000;

/// A cache returns the earlier value of the same node for the same arguments, from any run. Clones
/// share the values.
///
/// Only the named nodes are cached: the library cannot know for which an earlier value will do.
/// Nodes of one name in two modules are two. Their arguments must be data (`Serialize`);
/// `#[node(ignore(it))]` leaves out an argument that does not matter to the value. Values stay in
/// memory, as they are; failures are not kept. A journal belongs around a cache:
/// `run.hook(journal).hook(cache)`.
///
/// ```
/// use unhurried::{Cache, Context, Run, Stats, node};
///
/// #[node]
/// async fn embed(text: String) -> Vec<f32> {
///     text.bytes().map(f32::from).collect() // a model would think
/// }
///
/// let cache = Cache::of(["embed"]);
/// let ran = Stats::default();
/// for run in ["monday", "tuesday"] {
///     let run = Run::new(run).hook(cache.clone()).hook(ran.clone());
///     let vector = unhurried::block_on(run.scope(async { embed(Context::new("hi".to_owned())).await }));
///     assert_eq!(vector.unwrap().unwrap(), [104.0, 105.0]);
/// }
/// assert_eq!(ran.node("embed").executions, 1);
/// ```
#[derive(Clone)]
pub struct Cache {
    nodes: Arc<HashSet<String>>,
    at_most: usize,
    kept: Arc<Mutex<Kept>>,
}

/// By name, version and arguments, which have the module.
type Key = (String, u32, Arguments);

#[derive(Default)]
struct Kept {
    values: HashMap<Key, Output>,
    /// The oldest first.
    order: VecDeque<Key>,
}

impl Cache {
    /// A cache of the values of these nodes. It keeps ten thousand; the oldest goes first.
    pub fn of<N: Into<String>>(nodes: impl IntoIterator<Item = N>) -> Self {
        let nodes = nodes.into_iter().map(Into::into).collect();
        Cache {
            nodes: Arc::new(nodes),
            at_most: AT_MOST,
            kept: Arc::default(),
        }
    }

    /// Keeps this many values instead.
    pub fn at_most(self, values: usize) -> Self {
        Cache {
            at_most: values,
            ..self
        }
    }

    fn keep(&self, key: Key, output: &Output) {
        // What goes is dropped outside of the lock.
        let _gone = self.kept.with(|kept| {
            if kept.values.insert(key.clone(), output.clone()).is_none() {
                kept.order.push_back(key);
            }
            let too_many = kept.order.len().saturating_sub(self.at_most);
            let gone = kept.order.drain(..too_many).collect::<Vec<_>>();
            gone.iter()
                .filter_map(|key| kept.values.remove(key))
                .collect::<Vec<_>>()
        });
    }
}

#[async_trait]
impl Hook for Cache {
    async fn around(&self, call: &Call, next: Next<'_>) -> Outcome {
        if !self.nodes.contains(call.node()) {
            return next.run().await;
        }
        let arguments = call.arguments().map_err(|error| Arc::new(error) as Cause)?;
        let key = (call.node().to_owned(), call.version(), arguments);
        let known = self.kept.with(|kept| kept.values.get(&key).cloned());
        // Another node of the module may have the same name.
        if let Some(output) = known.filter(|output| call.accepts(output)) {
            return Ok(output);
        }
        let output = next.run().await?;
        self.keep(key, &output);
        Ok(output)
    }
}
