//! The executor reads a value: it plans which pending nodes the value needs, and runs them.
//!
//! No scheduler lives on: a read plans, runs and is over. Two reads of the same node meet in the node's cell.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::task::{JoinSet, coop};
use tracing::Instrument;

use crate::data::Gathering;
use crate::error::{Cause, NodeExecutionError, Refusal};
use crate::flow::Here;
use crate::node::{Function, Node, Parents, attempt};
use crate::past::Past;
use crate::run::Called;
use crate::value::{Outcome, Output};
use crate::walk::{Places, Walk, Walked};

/// Most node bodies that read from within each other on one stack; the next read runs on a task,
/// with a fresh one.
const DEPTH_MAX: usize = 8;

/// Runs the pending nodes, parents first, branches side by side, and returns the value.
///
/// When a node fails nothing further is started; bodies that run already may finish, and their
/// values are kept.
pub(crate) async fn materialise(target: &Arc<Node>) -> Result<Output, NodeExecutionError> {
    match target.once.get() {
        Some(value) => Ok(value),
        None if Handle::try_current().is_err() => Err(NodeExecutionError::refused(
            target.name(),
            Refusal::NoRuntime,
        )),
        None => {
            let here = Here::now();
            let _reading = here.reading();
            // In a box, for who reads in a recursion has the future of each read on the stack.
            let read = Read::of(here, std::slice::from_ref(target), usize::MAX, false);
            read.run().boxed().await?.result(target)
        }
    }
}

/// Outcome of a branch that was read.
pub(crate) type Branch = Result<Output, NodeExecutionError>;

/// Makes one value of the outcomes of branches.
pub(crate) type Gather = fn(Vec<Branch>) -> Branch;

/// A fan-in that reads its branches itself: their number at once, and the meaning of a failure, are
/// its own affair.
#[derive(Clone, Copy)]
pub(crate) struct Branches {
    pub(crate) at_once: usize,
    /// True if a branch that fails leaves the others running, and is a result like theirs.
    pub(crate) to_the_end: bool,
    /// The value, of the results of the branches: that of the parent `i` at `i`.
    pub(crate) gather: Gather,
}

impl Function for Branches {
    fn reads(&self) -> bool {
        true
    }

    fn run(&self, parents: &Parents) -> BoxFuture<'static, Outcome> {
        gather(parents.0.to_vec(), *self).boxed()
    }

    fn gather(&self, _: &Parents, into: &mut Gathering) {
        into.add("contexts", None);
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
    /// True if a failure is that of its branch alone.
    to_the_end: bool,
    /// The nodes to be run; none, where another reader was quicker.
    steps: Vec<Step>,
    edges: Vec<Edge>,
    /// Step of each node, by its [key](Walked::key).
    places: Places,
    /// Steps that could run now; the last is taken first. So a branch comes to its end before the
    /// next one begins.
    ready: Vec<usize>,
    completed: Vec<usize>,
    /// Steps that cannot be run any more and the failures, when a failure is that of its branch
    /// alone.
    failed: HashMap<usize, NodeExecutionError>,
    /// Why the whole read failed.
    failure: Option<(usize, Cause)>,
}

/// A node of a plan.
struct Step {
    node: Planned,
    /// Number of parents it still waits for.
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
        Read {
            here,
            at_once,
            to_the_end,
            steps,
            edges,
            places,
            ready,
            completed: Vec::new(),
            failed: HashMap::new(),
            failure: None,
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
                    let node = node.clone();
                    let here = Here {
                        depth: 0,
                        ..self.here.clone()
                    };
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

    /// Marks this step and all that need it as failed, with the same failure: they will not be run.
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

    /// Returns the value or the failure of a target, in the end.
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

/// The node of a step. A read lets go of values that are no longer needed: of a node that is done
/// it keeps the name.
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

/// Returns the node's value; computed here, or by the reader that computes it already.
async fn execute(node: &Arc<Node>, reader: &Here) -> Outcome {
    node.once.get_or_compute(|| attempt(node, reader)).await
}
