//! One computation that may be pending: its name, its parents, how to compute it, what came of it.
//!
//! Nodes are untyped inside; [`Context`](crate::Context) puts the type on. So the executor is compiled once.

use std::any::Any;
use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::error::{Cause, NodeExecutionError};
use crate::once::Once;
use crate::run::Birth;
use crate::{Value, executor};

/// The value of a node, shared by all who read it.
#[derive(Clone)]
pub struct Output(Arc<dyn Any + Send + Sync>);

/// What came of a node: its value, or why there is none.
pub type Outcome = Result<Output, Cause>;

/// How a node's value is computed.
pub(crate) enum Body {
    /// On the values of its parents, which are run before.
    Values(Box<dyn Fn(Vec<Output>) -> BoxFuture<'static, Outcome> + Send + Sync>),
    /// By reading its parents itself.
    Branches(Branches),
}

/// A fan-in that reads its branches itself: what it runs of them at once, and what a failure means, is its own affair.
#[derive(Clone, Copy)]
pub(crate) struct Branches {
    pub(crate) at_once: usize,
    /// Whether a branch that fails leaves the others running, and is a result like theirs.
    pub(crate) to_the_end: bool,
    /// The value, of the results of the branches: that of the parent `i` at `i`.
    pub(crate) gather: fn(Vec<Result<Output, NodeExecutionError>>) -> Result<Output, NodeExecutionError>,
}

impl Output {
    /// A value as nodes hand it on.
    pub fn new<T: Value>(value: T) -> Self {
        Output(Arc::new(value))
    }

    /// The value, if it is of this type.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }

    /// A copy of the value for one who keeps it.
    pub(crate) fn value<T: Value>(&self) -> T {
        Arc::unwrap_or_clone(self.shared())
    }

    pub(crate) fn shared<T: Send + Sync + 'static>(&self) -> Arc<T> {
        // A context's type is its node's; an answer from a hook is checked before it becomes a value.
        self.0.clone().downcast().unwrap_or_else(|_| unreachable!("a node holds another type than its context says"))
    }
}

pub(crate) struct Node {
    pub(crate) name: Cow<'static, str>,
    /// In the order of the arguments; a context given twice is here twice.
    pub(crate) parents: Vec<Arc<Node>>,
    pub(crate) work: Option<Work>,
    pub(crate) once: Once<Output, Cause>,
    /// Where in a run it was called, if inside of one.
    pub(crate) birth: Option<Birth>,
}

/// What makes a node's value.
pub(crate) struct Work {
    pub(crate) body: Body,
    pub(crate) kind: Kind,
}

/// What must be known of a value's type once the type is erased.
#[derive(Clone, Copy)]
pub struct Kind {
    pub(crate) is: fn(&Output) -> bool,
    pub(crate) codec: Option<Codec>,
    pub(crate) transient: bool,
}

/// How a value becomes data and returns.
#[derive(Clone, Copy)]
pub struct Codec {
    pub(crate) encode: fn(&Output) -> serde_json::Result<serde_json::Value>,
    pub(crate) decode: fn(serde_json::Value) -> serde_json::Result<Output>,
}

impl Kind {
    pub(crate) fn of<T: Send + Sync + 'static>(codec: Option<Codec>) -> Self {
        Kind { is: |output| output.get::<T>().is_some(), codec, transient: false }
    }
}

impl Node {
    pub(crate) fn root(value: Output) -> Arc<Self> {
        Arc::new(Node {
            name: Cow::Borrowed("value"),
            parents: Vec::new(),
            work: None,
            once: Once::full(value),
            birth: None,
        })
    }

    pub(crate) fn is_pending(&self) -> bool {
        !self.once.is_full()
    }

    /// What must be done before this can be run.
    pub(crate) fn awaits(&self) -> &[Arc<Node>] {
        match &self.work {
            Some(Work { body: Body::Branches(_), .. }) => &[],
            _ => &self.parents,
        }
    }

    /// The computation. Nothing of it runs until it is polled.
    pub(crate) fn body(&self) -> BoxFuture<'static, Outcome> {
        let inputs = || self.parents.iter().map(|parent| parent.once.get()).collect::<Option<Vec<_>>>();
        match self.work.as_ref().map(|work| &work.body) {
            Some(Body::Values(body)) if let Some(inputs) = inputs() => body(inputs),
            Some(Body::Branches(branches)) => executor::gather(self.parents.clone(), *branches).boxed(),
            _ => unreachable!("only what is pending is run, and after its parents"),
        }
    }

    /// Whether this could be the node's value.
    pub(crate) fn accepts(&self, output: &Output) -> bool {
        self.work.as_ref().is_none_or(|work| (work.kind.is)(output))
    }
}

/// Some of the nodes beneath others, and themselves: every parent before its children, arguments in their order.
pub(crate) struct Walk {
    pub(crate) order: Vec<Arc<Node>>,
    /// Where in that order each is.
    pub(crate) places: HashMap<*const Node, usize>,
}

impl Walk {
    /// Goes back from the `targets`, by what `before` says must come before a node, as far as nodes are `wanted`.
    pub(crate) fn of(
        targets: &[Arc<Node>],
        before: impl Fn(&Node) -> &[Arc<Node>],
        wanted: impl Fn(&Node) -> bool,
    ) -> Self {
        let mut walk = Walk { order: Vec::new(), places: HashMap::new() };
        // By hand, for chains longer than a stack is deep: a node is met before its parents and once more after them.
        let mut stack = targets.iter().rev().map(|target| (target, false)).collect::<Vec<_>>();
        while let Some((node, parents_done)) = stack.pop() {
            if parents_done {
                walk.places.insert(Arc::as_ptr(node), walk.order.len());
                walk.order.push(node.clone());
            } else if wanted(node)
                && let Entry::Vacant(new) = walk.places.entry(Arc::as_ptr(node))
            {
                new.insert(usize::MAX);
                stack.push((node, true));
                stack.extend(before(node).iter().rev().map(|parent| (parent, false)));
            }
        }
        walk
    }
}

/// A chain of ten thousand nodes must not end in ten thousand nested drops.
impl Drop for Node {
    fn drop(&mut self) {
        let mut falling = std::mem::take(&mut self.parents);
        while let Some(parent) = falling.pop() {
            if let Some(mut node) = Arc::into_inner(parent) {
                falling.append(&mut node.parents);
            }
        }
    }
}
