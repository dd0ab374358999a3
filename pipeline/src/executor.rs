//! The executor reads a value: it plans which pending nodes the value needs, and runs them.
//!
//! No scheduler lives on: a read plans, runs and is over. Two reads of the same node meet in the node's cell.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::task::futures::TaskLocalFuture;
use tokio::task::{JoinSet, coop};
use tracing::Instrument;

use crate::error::{Cause, NodeExecutionError, Refusal, panicked};
use crate::hook::{Call, Next, Parent};
use crate::node::{Branch, Branches, Node, Outcome, Output, Places, Walk, Walked};
use crate::past::Past;
use crate::run::{Birth, HERE, Here, Scope};

/// How many node bodies may read from within each other on one stack; the next read runs on a task, with a fresh one.
const DEPTH_MAX: usize = 8;

/// Runs what is pending, parents first, branches side by side, and returns the value.
///
/// When a node fails nothing further is started; what runs already may finish, and is kept.
pub(crate) async fn materialise(target: &Arc<Node>) -> Result<Output, NodeExecutionError> {
    match target.once.get() {
        Some(value) => Ok(value),
        None if Handle::try_current().is_err() => Err(refused(target, Refusal::NoRuntime)),
        None => {
            let here = Here::now();
            let _reading = here.reading();
            // In a box, for who reads in a recursion has the future of each read on the stack.
            let read = Read::of(here, std::slice::from_ref(target), usize::MAX, false);
            read.run().boxed().await?.result(target)
        }
    }
}

/// A fan-in that reads its branches itself: a read with all of them for targets.
pub(crate) async fn gather(parents: Vec<Arc<Node>>, branches: Branches) -> Outcome {
    let read = Read::of(Here::now(), &parents, branches.at_once, branches.to_the_end)
        .run()
        .await;
    let results = read.map(|read| parents.iter().map(|parent| read.result(parent)).collect());
    results
        .and_then(branches.gather)
        .map_err(|failure| Arc::new(failure) as Cause)
}

/// The pending nodes beneath and with `target`, every parent before its children, arguments in their order.
pub(crate) fn pending(target: &Arc<Node>) -> Walk<Arc<Node>> {
    Walk::of(std::slice::from_ref(target), |node, parents| {
        node.parents(|parent| parents.push(parent.clone()))
    })
}

/// One materialisation: a plan and how far it has come.
struct Read {
    here: Here,
    at_once: usize,
    /// Whether a failure is that of its branch alone.
    to_the_end: bool,
    /// What is to be run; nothing, where another reader was quicker.
    steps: Vec<Step>,
    edges: Vec<Edge>,
    /// Which step a node is, by its [key](Walked::key).
    places: Places,
    /// What could run now; the last is taken first. So a branch comes to its end before the next one begins.
    ready: Vec<usize>,
    completed: Vec<usize>,
    /// What cannot be run any more and why, when a failure is that of its branch alone.
    failed: HashMap<usize, NodeExecutionError>,
    /// Why the whole read failed.
    failure: Option<(usize, Cause)>,
}

/// A node of a plan.
struct Step {
    node: Planned,
    /// How many parents it still waits for.
    waiting: usize,
    /// The last of the edges to its children, if there is one.
    edge: Option<usize>,
}

/// From a step to one that waits for it. The edges of all steps are in one list.
#[derive(Clone, Copy)]
struct Edge {
    child: usize,
    /// The edge before this one from the same step.
    before: Option<usize>,
}

impl Read {
    fn of(here: Here, targets: &[Arc<Node>], at_once: usize, to_the_end: bool) -> Self {
        let Walk { order, places } = Walk::of(targets, |node, parents| {
            node.awaited(|parent| parents.push(parent.clone()))
        });
        let mut steps = Vec::<Step>::with_capacity(order.len());
        let mut edges = Vec::with_capacity(order.len());
        for (child, node) in order.into_iter().enumerate() {
            let mut waiting = 0;
            node.awaited(|parent| {
                // A parent without a place was done when the plan was made.
                let Some(parent) = places.get(&parent.key()) else {
                    return;
                };
                let before = steps[*parent].edge.replace(edges.len());
                edges.push(Edge { child, before });
                waiting += 1;
            });
            steps.push(Step {
                node: Planned::Pending(node),
                waiting,
                edge: None,
            });
        }
        let ready = (0..steps.len())
            .rev()
            .filter(|i| steps[*i].waiting == 0)
            .collect();
        let (completed, failed, failure) = (Vec::new(), HashMap::new(), None);
        Read {
            here,
            at_once,
            to_the_end,
            steps,
            edges,
            places,
            ready,
            completed,
            failed,
            failure,
        }
    }

    /// Runs the plan: this read as it is in the end, or why it failed.
    async fn run(mut self) -> Result<Self, NodeExecutionError> {
        let mut tasks = JoinSet::new();
        loop {
            while tasks.len() < self.at_once
                && let Some(i) = self.ready.pop()
            {
                let Planned::Pending(node) = &self.steps[i].node else {
                    continue;
                };
                if self.ready.is_empty() && tasks.is_empty() && self.here.depth < DEPTH_MAX {
                    coop::consume_budget().await; // a chain of ready values must let others run, too
                    let outcome = execute(node, &self.here).await;
                    self.note(i, outcome);
                } else {
                    let (node, here) = (
                        node.clone(),
                        Here {
                            depth: 0,
                            ..self.here.clone()
                        },
                    );
                    tasks.spawn(async move { (i, execute(&node, &here).await) }.in_current_span());
                }
            }
            match tasks.join_next().await {
                Some(Ok((i, outcome))) => self.note(i, outcome),
                Some(Err(ended)) => self.fail(self.steps.len() - 1, Arc::new(ended)), // the runtime is going away
                None => break,
            }
        }
        let Some((i, cause)) = self.failure else {
            return Ok(self);
        };
        let name = |i: usize| self.steps[i].node.name().to_owned();
        Err(NodeExecutionError::of(
            &name(i),
            self.completed.iter().map(|i| name(*i)).collect(),
            cause,
        ))
    }

    fn note(&mut self, i: usize, outcome: Outcome) {
        match outcome {
            Ok(_) => {
                self.completed.push(i);
                self.steps[i].node.let_go();
                if self.failure.is_none() {
                    self.release_children(i);
                }
            }
            Err(cause) if self.to_the_end => self.lose(
                i,
                NodeExecutionError::of(self.steps[i].node.name(), Vec::new(), cause),
            ),
            Err(cause) => self.fail(i, cause),
        }
    }

    fn fail(&mut self, i: usize, cause: Cause) {
        self.ready.clear();
        self.failure.get_or_insert((i, cause));
    }

    /// What needs this one will not be run, and fails as it did.
    fn lose(&mut self, i: usize, failure: NodeExecutionError) {
        let mut lost = vec![i];
        while let Some(i) = lost.pop() {
            self.failed.entry(i).or_insert_with(|| failure.clone());
            lost.extend(std::iter::from_fn(|| self.take_child(i)));
        }
    }

    fn release_children(&mut self, i: usize) {
        while let Some(child) = self.take_child(i) {
            self.steps[child].waiting -= 1;
            if self.steps[child].waiting == 0 {
                self.ready.push(child);
            }
        }
    }

    /// The last that waits for this one, and did not have the answer.
    fn take_child(&mut self, i: usize) -> Option<usize> {
        let Edge { child, before } = self.edges[self.steps[i].edge?];
        self.steps[i].edge = before;
        Some(child)
    }

    /// What became of a target, in the end.
    fn result(&self, target: &Arc<Node>) -> Branch {
        target.once.get().ok_or_else(|| {
            let failure = self
                .places
                .get(&target.key())
                .and_then(|i| self.failed.get(i))
                .cloned();
            failure.unwrap_or_else(|| unreachable!("all that was pending completed or failed"))
        })
    }
}

/// A read keeps no value that nobody needs any more: of a node that is done, its name.
enum Planned {
    Pending(Arc<Node>),
    Done(Arc<Past>),
}

impl Planned {
    fn name(&self) -> &str {
        match self {
            Planned::Pending(node) => node.name(),
            Planned::Done(past) => &past.name,
        }
    }

    fn let_go(&mut self) {
        if let Planned::Pending(node) = self {
            *self = Planned::Done(node.past.clone());
        }
    }
}

/// The node's value; computed here, or by whoever computes it already.
async fn execute(node: &Arc<Node>, reader: &Here) -> Outcome {
    node.once.get_or_compute(|| attempt(node, reader)).await
}

/// One computation of a node, with the hooks of the run it was called in, else of the run it is read in.
pub(crate) struct Attempt {
    node: Arc<Node>,
    scope: Option<Arc<Scope>>,
    /// Made by the first poll: what that takes, a copy of an argument for one, may panic.
    work: Option<BoxFuture<'static, Outcome>>,
    is_done: bool,
}

fn attempt(node: &Arc<Node>, reader: &Here) -> TaskLocalFuture<Here, Attempt> {
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

/// Says to whoever looks at the node's pieces that no more come: it failed, or nobody waits for it.
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
    let within = scope.within(&node, place.clone());
    let mut parents = Vec::new();
    node.parents(|parent| {
        parents.push(Parent {
            past: parent.past.clone(),
            birth: parent.birth.clone(),
        })
    });
    let call = Call {
        run: scope.run.id().clone(),
        node,
        parents,
        place,
    };
    HERE.scope(
        Here {
            scope: Some(within),
            ..Here::now()
        },
        through_hooks(call, scope),
    )
    .await
}

async fn through_hooks(call: Call, scope: Arc<Scope>) -> Outcome {
    let output = Next {
        hooks: scope.run.hooks(),
        call: &call,
    }
    .run()
    .await?;
    if call.node.accepts(&output) {
        Ok(output)
    } else {
        Err(Arc::new(Refusal::WrongAnswer))
    }
}

/// Runs the body, within the limits of its node.
pub(crate) async fn run_body(node: Arc<Node>) -> Outcome {
    match node.limits() {
        None => try_body(&node).await,
        Some(limits) => limits.keep(|| try_body(&node)).await,
    }
}

async fn try_body(node: &Node) -> Outcome {
    match HERE
        .try_with(|here| here.scope.as_ref().map(|scope| scope.again()))
        .ok()
        .flatten()
    {
        None => guarded(node).await,
        scope => {
            HERE.scope(
                Here {
                    scope,
                    ..Here::now()
                },
                guarded(node),
            )
            .await
        }
    }
}

/// A body that panics has failed, and may be tried again.
async fn guarded(node: &Node) -> Outcome {
    let body = AssertUnwindSafe(async { node.body().await });
    body.catch_unwind()
        .await
        .unwrap_or_else(|panic| Err(Arc::new(panicked(&*panic))))
}

fn refused(target: &Node, refusal: Refusal) -> NodeExecutionError {
    NodeExecutionError::of(target.name(), Vec::new(), Arc::new(refusal))
}
