//! Reading a value: what is pending beneath it, and how that is run.
//!
//! There is no scheduler that lives on: a read plans, runs and is over. Two reads that meet do so in the nodes' cells.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::runtime::Handle;
use tokio::task::{JoinSet, coop};
use tracing::Instrument;

use crate::error::{Cause, NodeExecutionError, Refusal, panicked};
use crate::hook::{Call, Next};
use crate::node::{Branch, Branches, Node, Outcome, Output, Walk, Walked};
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
            let _reading = Here::now().reading();
            // In a box, for who reads in a recursion has the future of each read on the stack.
            let mut results = Read::of(vec![target.clone()], usize::MAX, false).run().boxed().await?;
            results.pop().unwrap_or_else(|| unreachable!("one target has one result"))
        }
    }
}

/// A fan-in that reads its branches itself: a read with all of them for targets.
pub(crate) async fn gather(parents: Vec<Arc<Node>>, branches: Branches) -> Outcome {
    let results = Read::of(parents, branches.at_once, branches.to_the_end).run().await;
    results.and_then(branches.gather).map_err(|failure| Arc::new(failure) as Cause)
}

/// The pending nodes beneath and with `target`, every parent before its children, arguments in their order.
pub(crate) fn pending(target: &Arc<Node>) -> Walk<Arc<Node>> {
    Walk::of(std::slice::from_ref(target), |node, parents| node.parents(parents))
}

/// One materialisation: a plan and how far it has come.
struct Read {
    here: Here,
    /// What is asked for, and where it is in the order; the result of each is known by its index.
    targets: Vec<(Arc<Node>, Option<usize>)>,
    at_once: usize,
    /// Whether a failure is that of its branch alone.
    to_the_end: bool,
    /// What is to be run; nothing, where another reader was quicker.
    order: Vec<Planned>,
    /// How many parents each still waits for.
    waiting: Vec<usize>,
    children: Vec<Vec<usize>>,
    /// What could run now; the last is taken first. So a branch comes to its end before the next one begins.
    ready: Vec<usize>,
    completed: Vec<usize>,
    /// What cannot be run any more and why, when a failure is that of its branch alone.
    failed: HashMap<usize, NodeExecutionError>,
    /// Why the whole read failed.
    failure: Option<(usize, Cause)>,
}

impl Read {
    fn of(targets: Vec<Arc<Node>>, at_once: usize, to_the_end: bool) -> Self {
        let Walk { order, places } = Walk::of(&targets, |node, parents| node.awaited(parents));
        let mut waiting = vec![0; order.len()];
        let mut children = vec![Vec::new(); order.len()];
        let mut awaited = Vec::new();
        for (child, node) in order.iter().enumerate() {
            node.awaited(&mut awaited);
            // A parent without a place was done when the plan was made.
            for parent in awaited.drain(..).filter_map(|parent| places.get(&parent.key())) {
                waiting[child] += 1;
                children[*parent].push(child);
            }
        }
        let ready = (0..order.len()).rev().filter(|i| waiting[*i] == 0).collect();
        let (completed, failed, failure) = (Vec::new(), HashMap::new(), None);
        let order = order.into_iter().map(Planned::Pending).collect();
        let place = |target: Arc<Node>| (target.clone(), places.get(&target.key()).copied());
        let (here, targets) = (Here::now(), targets.into_iter().map(place).collect());
        Read { here, targets, at_once, to_the_end, order, waiting, children, ready, completed, failed, failure }
    }

    async fn run(mut self) -> Result<Vec<Branch>, NodeExecutionError> {
        let mut tasks = JoinSet::new();
        loop {
            while tasks.len() < self.at_once
                && let Some(i) = self.ready.pop()
            {
                let Planned::Pending(node) = &self.order[i] else { continue };
                if self.ready.is_empty() && tasks.is_empty() && self.here.depth < DEPTH_MAX {
                    coop::consume_budget().await; // a chain of ready values must let others run, too
                    let outcome = execute(node.clone(), self.here.clone()).await;
                    self.note(i, outcome);
                } else {
                    let node = execute(node.clone(), Here { depth: 0, ..self.here.clone() });
                    tasks.spawn(async move { (i, node.await) }.in_current_span());
                }
            }
            match tasks.join_next().await {
                Some(Ok((i, outcome))) => self.note(i, outcome),
                Some(Err(ended)) => self.fail(self.order.len() - 1, Arc::new(ended)), // the runtime is going away
                None => return self.end(),
            }
        }
    }

    fn note(&mut self, i: usize, outcome: Outcome) {
        match outcome {
            Ok(_) => {
                self.completed.push(i);
                self.order[i].let_go();
                if self.failure.is_none() {
                    self.release_children(i);
                }
            }
            Err(cause) if self.to_the_end => {
                self.lose(i, NodeExecutionError::of(self.order[i].name(), Vec::new(), cause))
            }
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
            lost.append(&mut self.children[i]);
        }
    }

    fn release_children(&mut self, i: usize) {
        for child in std::mem::take(&mut self.children[i]).into_iter().rev() {
            self.waiting[child] -= 1;
            if self.waiting[child] == 0 {
                self.ready.push(child);
            }
        }
    }

    /// The result of every target, by index.
    fn end(self) -> Result<Vec<Branch>, NodeExecutionError> {
        if let Some((i, cause)) = self.failure {
            let name = |i: usize| self.order[i].name().to_owned();
            return Err(NodeExecutionError::of(&name(i), self.completed.iter().map(|i| name(*i)).collect(), cause));
        }
        let result = |(target, place): &(Arc<Node>, Option<usize>)| match target.once.get() {
            Some(value) => Ok(value),
            None => {
                let failure = place.and_then(|i| self.failed.get(&i)).cloned();
                Err(failure.unwrap_or_else(|| unreachable!("all that was pending completed or failed")))
            }
        };
        Ok(self.targets.iter().map(result).collect())
    }
}

/// A node of a plan. A read keeps no value that nobody needs any more: of a node that is done, its name.
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
async fn execute(node: Arc<Node>, reader: Here) -> Outcome {
    node.once.get_or_compute(|| attempt(node.clone(), reader)).await
}

/// One computation of a node, with the hooks of the run it was called in, else of the run it is read in.
async fn attempt(node: Arc<Node>, reader: Here) -> Outcome {
    let scope = node.birth.as_ref().map(|birth| birth.scope.clone()).or(reader.scope);
    let here = Here { scope: None, depth: reader.depth + 1, held: reader.held, node: Some(node.clone()) };
    let given_up = GivenUp(&node);
    let outcome = match scope {
        None => HERE.scope(here, run_body(&node)).await,
        Some(scope) => {
            let place = node.birth.as_ref().and_then(Birth::place);
            let within = scope.within(&node, place.clone());
            let mut parents = Vec::new();
            node.parents(&mut parents);
            let parents = parents.into_iter().map(|parent| parent.past.clone()).collect();
            let call = Call { run: scope.run.id().clone(), node: node.clone(), parents, place };
            HERE.scope(Here { scope: Some(within), ..here }, through_hooks(call, scope)).await
        }
    };
    if outcome.is_ok() {
        node.remember();
        std::mem::forget(given_up);
    }
    outcome
}

/// Says to whoever looks at a node's pieces that no more come: it failed, or nobody waits for it.
struct GivenUp<'a>(&'a Node);

impl Drop for GivenUp<'_> {
    fn drop(&mut self) {
        self.0.end_saying();
    }
}

async fn through_hooks(call: Call, scope: Arc<Scope>) -> Outcome {
    let output = guarded(Next { hooks: scope.run.hooks(), call: &call }.run()).await?;
    if call.node.accepts(&output) { Ok(output) } else { Err(Arc::new(Refusal::WrongAnswer)) }
}

/// Runs the body, within the limits of its node.
pub(crate) async fn run_body(node: &Node) -> Outcome {
    match node.kind.and_then(|kind| kind.limits) {
        None => try_body(node).await,
        Some(limits) => limits.keep(|| try_body(node)).await,
    }
}

async fn try_body(node: &Node) -> Outcome {
    match HERE.try_with(|here| here.scope.as_ref().map(|scope| scope.again())).ok().flatten() {
        None => guarded(node.body()).await,
        scope => HERE.scope(Here { scope, ..Here::now() }, guarded(node.body())).await,
    }
}

/// A panic is a failure of the node it happened in, and of nothing else.
async fn guarded(work: impl Future<Output = Outcome>) -> Outcome {
    AssertUnwindSafe(work).catch_unwind().await.unwrap_or_else(|panic| Err(Arc::new(panicked(&*panic))))
}

fn refused(target: &Node, refusal: Refusal) -> NodeExecutionError {
    NodeExecutionError::of(target.name(), Vec::new(), Arc::new(refusal))
}
