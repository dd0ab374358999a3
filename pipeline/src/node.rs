//! A node is one computation: its parents, its body, its value once there is one.
//!
//! Nodes are untyped inside, so that the executor is compiled once; [`Context`](crate::Context) adds the type.

use std::any::Any;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, OnceLock};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use smallvec::SmallVec;
use tokio::task::futures::TaskLocalFuture;

use crate::data::{ArgumentError, Arguments, Gathering};
use crate::error::{Cause, NodeExecutionError};
use crate::executor::Attempt;
use crate::limits::Limits;
use crate::once::Once;
use crate::past::Past;
use crate::pieces::{self, Saying};
use crate::run::{self, Birth, Here};
use crate::{Value, executor};

/// The value of a node, shared by all who read it.
#[derive(Clone)]
pub struct Output(Arc<dyn Any + Send + Sync>);

/// What came of a node: its value, or why there is none.
pub type Outcome = Result<Output, Cause>;

/// As many as a node commonly has arguments take no memory block of their own.
pub(crate) type Few<T> = SmallVec<[T; 2]>;

/// What of a node's arguments were contexts, in the order of the arguments; a context given twice is here twice.
pub struct Parents(pub(crate) Few<Arc<Node>>);

/// A node's function, with the arguments it was called with.
pub(crate) trait Function: Send + Sync {
    /// Whether it reads its parents itself. Else they are run before.
    fn reads(&self) -> bool;

    /// Calls the function.
    fn run(&self, parents: &Parents) -> BoxFuture<'static, Outcome>;

    /// The arguments as data.
    fn gather(&self, parents: &Parents, into: &mut Gathering);
}

/// What came of a branch that was read.
pub(crate) type Branch = Result<Output, NodeExecutionError>;

/// Makes one value of what came of branches.
pub(crate) type Gather = fn(Vec<Branch>) -> Branch;

/// A fan-in that reads its branches itself: what it runs of them at once, and what a failure means, is its own affair.
#[derive(Clone, Copy)]
pub(crate) struct Branches {
    pub(crate) at_once: usize,
    /// Whether a branch that fails leaves the others running, and is a result like theirs.
    pub(crate) to_the_end: bool,
    /// The value, of the results of the branches: that of the parent `i` at `i`.
    pub(crate) gather: Gather,
}

impl Function for Branches {
    fn reads(&self) -> bool {
        true
    }

    fn run(&self, parents: &Parents) -> BoxFuture<'static, Outcome> {
        executor::gather(parents.0.to_vec(), *self).boxed()
    }

    fn gather(&self, _: &Parents, into: &mut Gathering) {
        into.add("contexts", None);
    }
}

impl Parents {
    /// The value of one of them, once they are done.
    pub(crate) fn value(&self, place: usize) -> Output {
        self.0[place]
            .once
            .get()
            .unwrap_or_else(|| unreachable!("a node is run after its parents"))
    }
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

    /// The value for one who keeps it: a copy, if others have it.
    pub(crate) fn value<T: Value>(self) -> T {
        Arc::unwrap_or_clone(self.shared())
    }

    pub(crate) fn shared<T: Send + Sync + 'static>(self) -> Arc<T> {
        // A context's type is its node's; an answer from a hook is checked before it becomes a value.
        self.0
            .downcast()
            .unwrap_or_else(|_| unreachable!("a node holds another type than its context says"))
    }
}

pub(crate) struct Node {
    /// Its name, and in the end what it was made of.
    pub(crate) past: Arc<Past>,
    /// Of a value that is computed.
    pub(crate) kind: Option<Kind>,
    pub(crate) once: Once<Arc<Recipe>, Output, TaskLocalFuture<Here, Attempt>>,
    /// Where in a run it was called, if inside of one.
    pub(crate) birth: Option<Birth>,
}

/// What makes a node's value. It is gone when the value is there: a done node lets go of what it was made of.
pub(crate) struct Recipe<F: ?Sized = dyn Function> {
    pub(crate) parents: Parents,
    /// What is said of the value while it is made, as soon as somebody says or looks.
    pub(crate) saying: OnceLock<Saying>,
    pub(crate) function: F,
}

/// What must be known of a value's type once the type is erased.
#[derive(Clone, Copy)]
pub struct Kind {
    pub(crate) is: fn(&Output) -> bool,
    pub(crate) codec: Option<Codec>,
    pub(crate) transient: bool,
    /// Of the body, as its author counts.
    pub(crate) version: u32,
    pub(crate) limits: Option<&'static Limits>,
}

/// How a value becomes data and returns.
#[derive(Clone, Copy)]
pub struct Codec {
    pub(crate) encode: fn(&Output) -> serde_json::Result<serde_json::Value>,
    pub(crate) decode: fn(serde_json::Value) -> serde_json::Result<Output>,
}

impl Kind {
    pub(crate) fn of<T: Send + Sync + 'static>(codec: Option<Codec>) -> Self {
        Kind {
            is: |output| output.get::<T>().is_some(),
            codec,
            transient: false,
            version: 1,
            limits: None,
        }
    }
}

impl Node {
    pub(crate) fn root(value: Output) -> Arc<Self> {
        Arc::new(Node {
            past: Past::of("value".into(), true),
            kind: None,
            once: Once::full(value),
            birth: run::home(),
        })
    }

    /// A given value that comes from another node's.
    pub(crate) fn taken(value: Output, from: &Arc<Node>) -> Arc<Self> {
        let past = Past::of("value".into(), true);
        past.remember(std::slice::from_ref(from));
        Arc::new(Node {
            past,
            kind: None,
            once: Once::full(value),
            birth: from.birth.clone(),
        })
    }

    pub(crate) fn is_pending(&self) -> bool {
        !self.once.is_full()
    }

    pub(crate) fn name(&self) -> &str {
        &self.past.name
    }

    /// Sees what must be done before this can be run. Whether this is pending at all.
    pub(crate) fn awaited(&self, see: impl FnMut(&Arc<Node>)) -> bool {
        let awaited = |recipe: &mut Arc<Recipe>| {
            if !recipe.function.reads() {
                recipe.parents.0.iter().for_each(see);
            }
        };
        self.once.recipe(awaited).is_some()
    }

    /// Like [`Self::awaited`], with the branches that it reads itself.
    pub(crate) fn parents(&self, see: impl FnMut(&Arc<Node>)) -> bool {
        self.once
            .recipe(|recipe| recipe.parents.0.iter().for_each(see))
            .is_some()
    }

    /// The computation. Nothing of it runs until it is polled.
    pub(crate) fn body(&self) -> BoxFuture<'static, Outcome> {
        let recipe = self
            .recipe()
            .unwrap_or_else(|| unreachable!("only what is pending is run"));
        if let Some(saying) = recipe.saying.get() {
            pieces::begin(saying);
        }
        recipe.function.run(&recipe.parents)
    }

    /// What it is made of, for those who do more with it than look. Never held across an await.
    fn recipe(&self) -> Option<Arc<Recipe>> {
        self.once.recipe(|recipe| recipe.clone())
    }

    /// Where its pieces are said, until the value is there.
    pub(crate) fn saying(&self) -> Option<Saying> {
        self.once
            .recipe(|recipe| recipe.saying.get_or_init(pieces::nothing).clone())
    }

    /// Says that there is no computation of it any more.
    pub(crate) fn end_saying(&self) {
        if let Some(Some(saying)) = self.once.recipe(|recipe| recipe.saying.get().cloned()) {
            pieces::end(&saying);
        }
    }

    /// What it is called with, as long as it is pending and once its parents are done.
    pub(crate) fn arguments(&self) -> Result<Arguments, ArgumentError> {
        let mut gathering = Gathering::new();
        match self.recipe() {
            Some(recipe) => recipe.function.gather(&recipe.parents, &mut gathering),
            None => gathering.add("contexts", None),
        }
        gathering.end()
    }

    /// Writes down what it was made of. To be done while that is still known.
    pub(crate) fn remember(&self) {
        self.once
            .recipe(|recipe| self.past.remember(&recipe.parents.0));
    }

    pub(crate) fn limits(&self) -> Option<&'static Limits> {
        self.kind?.limits
    }

    /// Whether this could be the node's value.
    pub(crate) fn accepts(&self, output: &Output) -> bool {
        self.kind.is_none_or(|kind| (kind.is)(output))
    }
}

/// Some of what is beneath others, and themselves: every parent before its children, arguments in their order.
pub(crate) struct Walk<N> {
    pub(crate) order: Vec<N>,
    /// Where in that order each is, by its [key](Walked::key).
    pub(crate) places: Places,
}

pub(crate) type Places = HashMap<usize, usize, BuildHasherDefault<Spread>>;

/// What a walk goes by.
pub(crate) trait Walked: Clone {
    /// The same for the same node.
    fn key(&self) -> usize;
}

/// Hashes an address: nobody chooses it, so nothing slower is needed.
#[derive(Default)]
pub(crate) struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        bytes
            .iter()
            .for_each(|byte| self.write_usize(usize::from(*byte)));
    }

    fn write_usize(&mut self, n: usize) {
        self.0 = (self.0 ^ n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
}

impl Walked for Arc<Node> {
    fn key(&self) -> usize {
        Arc::as_ptr(&self.past).addr()
    }
}

impl<N: Walked> Walk<N> {
    /// Goes back from the `targets`. `before` adds what comes before a node, and says whether the node is wanted.
    pub(crate) fn of(targets: &[N], before: impl Fn(&N, &mut Vec<N>) -> bool) -> Self {
        let mut walk = Walk {
            order: Vec::new(),
            places: HashMap::default(),
        };
        // By hand, for chains longer than a stack is deep: a node is met before its parents and once more after them.
        let mut stack = targets
            .iter()
            .rev()
            .map(|target| (target.clone(), false))
            .collect::<Vec<_>>();
        let mut parents = Vec::new();
        while let Some((node, parents_done)) = stack.pop() {
            if parents_done {
                walk.places.insert(node.key(), walk.order.len());
                walk.order.push(node);
            } else if let Entry::Vacant(new) = walk.places.entry(node.key())
                && before(&node, &mut parents)
            {
                new.insert(usize::MAX);
                stack.push((node, true));
                stack.extend(parents.drain(..).rev().map(|parent| (parent, false)));
            }
        }
        walk
    }
}

/// A chain of ten thousand nodes must not end in ten thousand nested drops.
impl Drop for Node {
    fn drop(&mut self) {
        let mut falling = self.let_go();
        while let Some(parent) = falling.pop() {
            if let Some(node) = Arc::into_inner(parent) {
                falling.append(&mut node.let_go());
            }
        }
    }
}

impl Node {
    fn let_go(&self) -> Few<Arc<Node>> {
        // Nobody else has the recipe: who has it has the node.
        let recipe = |recipe: &mut Arc<Recipe>| {
            Arc::get_mut(recipe).map(|recipe| std::mem::take(&mut recipe.parents.0))
        };
        self.once.recipe(recipe).flatten().unwrap_or_default()
    }
}
