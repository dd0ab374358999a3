//! One computation that may be pending: its name, its parents, how to compute it, what came of it.
//!
//! Nodes are untyped inside; [`Context`](crate::Context) puts the type on. So the executor is compiled once.

use std::any::Any;
use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::Value;
use crate::error::Cause;
use crate::once::Once;
use crate::run::Birth;

/// The value of a node, shared by all who read it.
#[derive(Clone)]
pub struct Output(Arc<dyn Any + Send + Sync>);

/// What came of a node: its value, or why there is none.
pub type Outcome = Result<Output, Cause>;

pub(crate) type Body = Box<dyn Fn(Vec<Output>) -> BoxFuture<'static, Outcome> + Send + Sync>;

impl Output {
    /// A value as nodes hand it on.
    pub fn new<T: Value>(value: T) -> Self {
        Output(Arc::new(value))
    }

    /// The value, if it is of this type.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.0.downcast_ref()
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

    /// The computation, on the parents' values. Nothing of it runs until it is polled.
    pub(crate) fn body(&self) -> BoxFuture<'static, Outcome> {
        let inputs = self.parents.iter().map(|parent| parent.once.get()).collect::<Option<Vec<_>>>();
        match (&self.work, inputs) {
            (Some(work), Some(inputs)) => (work.body)(inputs),
            _ => unreachable!("only what is pending is run, and after its parents"),
        }
    }

    /// Whether this could be the node's value.
    pub(crate) fn accepts(&self, output: &Output) -> bool {
        self.work.as_ref().is_none_or(|work| (work.kind.is)(output))
    }
}

/// Some of the nodes beneath one, and itself: every parent before its children, arguments in their order.
pub(crate) struct Walk {
    pub(crate) order: Vec<Arc<Node>>,
    /// Where in that order each is.
    pub(crate) places: HashMap<*const Node, usize>,
}

impl Walk {
    /// Goes back from `target` as far as nodes are `wanted`.
    pub(crate) fn of(target: &Arc<Node>, wanted: impl Fn(&Node) -> bool) -> Self {
        let mut walk = Walk { order: Vec::new(), places: HashMap::new() };
        // By hand, for chains longer than a stack is deep: a node is met before its parents and once more after them.
        let mut stack = vec![(target, false)];
        while let Some((node, parents_done)) = stack.pop() {
            if parents_done {
                walk.places.insert(Arc::as_ptr(node), walk.order.len());
                walk.order.push(node.clone());
            } else if wanted(node)
                && let Entry::Vacant(new) = walk.places.entry(Arc::as_ptr(node))
            {
                new.insert(usize::MAX);
                stack.push((node, true));
                stack.extend(node.parents.iter().rev().map(|parent| (parent, false)));
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
