//! A node is one computation: its parents, its body, its value once there is one.
//!
//! Nodes are untyped inside, so that the executor is compiled once; [`Context`](crate::Context) adds the type.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::task::futures::TaskLocalFuture;

use crate::data::{ArgumentError, Arguments, Gathering};
use crate::error::{Cause, Refusal, panicked};
use crate::flow::{self, HERE, Here};
use crate::limits::{Held, Limits};
use crate::once::Once;
use crate::past::{Few, Past};
use crate::pieces::{self, Saying};
use crate::run::{Birth, Call, Called, Next, Parent, Scope};
use crate::value::{Kind, Outcome, Output};
use crate::walk::Walked;

/// The contexts among a node's arguments, in the order of the arguments; a context given twice is
/// here twice.
pub struct Parents(pub(crate) Few<Arc<Node>>);

/// A node's function, with the arguments it was called with.
pub(crate) trait Function: Send + Sync {
    /// Returns true if it reads its parents itself. Else they are run before.
    fn reads(&self) -> bool;

    /// Calls the function.
    fn run(&self, parents: &Parents) -> BoxFuture<'static, Outcome>;

    /// The arguments as data.
    fn gather(&self, parents: &Parents, into: &mut Gathering);
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

pub(crate) struct Node {
    /// Its name, and in the end its origin.
    pub(crate) past: Arc<Past>,
    /// Of a value that is computed.
    pub(crate) kind: Option<Kind>,
    pub(crate) once: Once<Arc<Recipe>, Output, TaskLocalFuture<Here, Attempt>>,
    /// Place in a run of its call, if inside of one.
    pub(crate) birth: Option<Birth>,
}

/// The recipe of a node's value: parents, pieces and function. It is gone when the value is there:
/// a done node lets go of its inputs.
pub(crate) struct Recipe<F: ?Sized = dyn Function> {
    pub(crate) parents: Parents,
    /// The pieces said of the value while it is made, from the first piece or look on.
    pub(crate) saying: OnceLock<Saying>,
    pub(crate) function: F,
}

impl Node {
    /// A given value.
    pub(crate) fn root(value: Output) -> Arc<Self> {
        Self::given(value, None, flow::home())
    }

    /// A given value that comes from another node's.
    pub(crate) fn taken(value: Output, from: &Arc<Node>) -> Arc<Self> {
        Self::given(value, Some(&from.past), from.birth.clone())
    }

    fn given(value: Output, from: Option<&Arc<Past>>, birth: Option<Birth>) -> Arc<Self> {
        let past = Past::of("value".into(), true);
        if let Some(from) = from {
            past.remember(std::iter::once(from));
        }
        Arc::new(Node {
            past,
            kind: None,
            once: Once::full(value),
            birth,
        })
    }

    pub(crate) fn is_pending(&self) -> bool {
        !self.once.is_full()
    }

    /// Visits the nodes that must be done before this can be run. Returns true if this is pending.
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

    /// Returns the recipe, for longer use than a look under the lock. Never held across an await.
    fn recipe(&self) -> Option<Arc<Recipe>> {
        self.once.recipe(|recipe| recipe.clone())
    }

    /// Returns the channel of its pieces, until the value is there.
    pub(crate) fn saying(&self) -> Option<Saying> {
        self.once
            .recipe(|recipe| recipe.saying.get_or_init(Saying::default).clone())
    }

    /// Says that there is no computation of it any more.
    pub(crate) fn end_saying(&self) {
        if let Some(Some(saying)) = self.once.recipe(|recipe| recipe.saying.get().cloned()) {
            pieces::end(&saying);
        }
    }

    /// Writes down its origin. To be done while the recipe is still there.
    pub(crate) fn remember(&self) {
        self.once.recipe(|recipe| {
            self.past
                .remember(recipe.parents.0.iter().map(|parent| &parent.past));
        });
    }

    pub(crate) fn limits(&self) -> Option<&'static Limits> {
        self.kind?.limits
    }
}

impl Called for Node {
    fn name(&self) -> &str {
        &self.past.name
    }

    fn kind(&self) -> Option<&Kind> {
        self.kind.as_ref()
    }

    fn birth(&self) -> Option<&Birth> {
        self.birth.as_ref()
    }

    fn arguments(&self) -> Result<Arguments, ArgumentError> {
        let mut gathering = Gathering::new();
        match self.recipe() {
            Some(recipe) => recipe.function.gather(&recipe.parents, &mut gathering),
            None => gathering.add("contexts", None),
        }
        gathering.end()
    }

    fn say(&self, piece: Output) {
        if let Some(saying) = self.saying() {
            pieces::add(&saying, piece);
        }
    }

    fn run(self: Arc<Self>) -> BoxFuture<'static, Outcome> {
        run_body(self).boxed()
    }
}

impl Walked for Arc<Node> {
    fn key(&self) -> usize {
        Arc::as_ptr(&self.past).addr()
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

/// One computation of a node, with the hooks of the run it was called in, else of the run it is read in.
pub(crate) struct Attempt {
    node: Arc<Node>,
    scope: Option<Arc<Scope>>,
    /// Made by the first poll: the making, a copy of an argument for one, may panic.
    work: Option<BoxFuture<'static, Outcome>>,
    is_done: bool,
}

/// Nothing of it runs until it is polled.
pub(crate) fn attempt(node: &Arc<Node>, reader: &Here) -> TaskLocalFuture<Here, Attempt> {
    let scope = node
        .birth
        .as_ref()
        .map(|birth| &birth.scope)
        .or(reader.scope.as_ref())
        .cloned();
    let here = Here {
        scope: None,
        depth: reader.depth + 1,
        held: reader.held.clone(),
        node: Some(node.clone()),
    };
    HERE.scope(
        here,
        Attempt {
            node: node.clone(),
            scope,
            work: None,
            is_done: false,
        },
    )
}

impl Future for Attempt {
    type Output = Outcome;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Outcome> {
        let Attempt {
            node, scope, work, ..
        } = &mut *self;
        let step = || {
            work.get_or_insert_with(|| begin(node, scope.take()))
                .as_mut()
                .poll(task)
        };
        // A panic is a failure of the node it happened in, and of nothing else.
        let outcome = match catch_unwind(AssertUnwindSafe(step)) {
            Ok(outcome) => ready!(outcome),
            Err(panic) => Err(Arc::new(panicked(&*panic)) as Cause),
        };
        if outcome.is_ok() {
            node.remember();
            self.is_done = true;
        }
        Poll::Ready(outcome)
    }
}

/// Tells readers of the node's pieces that no more come: it failed, or its readers are gone.
impl Drop for Attempt {
    fn drop(&mut self) {
        if !self.is_done {
            self.node.end_saying();
        }
    }
}

fn begin(node: &Arc<Node>, scope: Option<Arc<Scope>>) -> BoxFuture<'static, Outcome> {
    match scope {
        Some(scope) => in_run(node.clone(), scope).boxed(),
        None if node.limits().is_some() => run_body(node.clone()).boxed(),
        None => node.body(),
    }
}

async fn in_run(node: Arc<Node>, scope: Arc<Scope>) -> Outcome {
    let place = node.birth.as_ref().and_then(Birth::place);
    let body = scope.within(&*node, place.clone());
    let mut parents = Vec::new();
    node.parents(|parent| {
        parents.push(Parent {
            past: parent.past.clone(),
            birth: parent.birth.clone(),
        })
    });
    let call = Call {
        run: scope.run.id.clone(),
        node,
        parents,
        place,
    };
    flow::within(body, through_hooks(call, scope)).await
}

async fn through_hooks(call: Call, scope: Arc<Scope>) -> Outcome {
    let next = Next {
        hooks: &scope.run.hooks,
        call: &call,
    };
    let output = next.run().await?;
    match call.accepts(&output) {
        true => Ok(output),
        false => Err(Arc::new(Refusal::WrongAnswer)),
    }
}

/// Runs the body, within the limits of its node.
async fn run_body(node: Arc<Node>) -> Outcome {
    let held = Here::now().held;
    match node.limits() {
        None => try_body(&node, held).await,
        Some(limits) => limits.keep(held, |held| try_body(&node, held)).await,
    }
}

async fn try_body(node: &Node, held: Option<Arc<Held>>) -> Outcome {
    let here = Here::now();
    let scope = here.scope.as_ref().map(|scope| scope.again());
    HERE.scope(
        Here {
            scope,
            held,
            ..here
        },
        guarded(node),
    )
    .await
}

/// A body that panics has failed, and may be tried again.
async fn guarded(node: &Node) -> Outcome {
    let body = AssertUnwindSafe(async { node.body().await });
    body.catch_unwind()
        .await
        .unwrap_or_else(|panic| Err(Arc::new(panicked(&*panic))))
}
