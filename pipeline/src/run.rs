//! One run of a pipeline: its id, its hooks, and where in it each node was called.
//!
//! A run is a region of code. Every node called in it belongs to it, wherever and whenever it is read.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::hook::Hook;
use crate::limits::Held;
use crate::node::Node;

/// A named run with hooks around every node.
///
/// ```
/// use pipeline::{Context, Run, Stats, node};
///
/// #[node]
/// async fn double(n: i64) -> i64 {
///     n * 2
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), pipeline::NodeExecutionError> {
/// let stats = Stats::default();
/// let run = Run::new("order-17").hook(stats.clone());
/// let twelve = run.scope(async { double(double(Context::new(3))).await }).await?;
/// assert_eq!(twelve, 12);
/// assert_eq!(stats.node("double").executions, 2);
/// # Ok(())
/// # }
/// ```
pub struct Run {
    id: Arc<str>,
    hooks: Vec<Arc<dyn Hook>>,
}

impl Run {
    /// A run under this id. A journal finds what it recorded by it.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Run { id: id.into(), hooks: Vec::new() }
    }

    /// One more hook, inside of those that are there.
    pub fn hook(mut self, hook: impl Hook + 'static) -> Self {
        self.hooks.push(Arc::new(hook));
        self
    }

    /// Runs `pipeline` in this run.
    pub async fn scope<F: Future>(self, pipeline: F) -> F::Output {
        let scope =
            Arc::new(Scope { run: Arc::new(self), node: None, place: Some(String::new()), next: AtomicUsize::new(1) });
        HERE.scope(Here { scope: Some(scope), ..Here::now() }, pipeline).await
    }

    pub(crate) fn id(&self) -> &Arc<str> {
        &self.id
    }

    pub(crate) fn hooks(&self) -> &[Arc<dyn Hook>] {
        &self.hooks
    }
}

/// The region nodes are called in: a run, or the body of one of its nodes.
pub(crate) struct Scope {
    pub(crate) run: Arc<Run>,
    /// Whose body this is, if it is one.
    pub(crate) node: Option<Arc<str>>,
    /// None beneath a node that was called outside of the run.
    place: Option<String>,
    next: AtomicUsize,
}

/// Which scope a node was called in, and as the how-manieth.
#[derive(Clone)]
pub(crate) struct Birth {
    pub(crate) scope: Arc<Scope>,
    number: usize,
}

impl Birth {
    /// `2` is the second call of the run, `2.1` the first one in the body of that.
    pub(crate) fn place(&self) -> Option<String> {
        match self.scope.place.as_deref()? {
            "" => Some(self.number.to_string()),
            place => Some(format!("{place}.{}", self.number)),
        }
    }
}

impl Scope {
    /// The same body, run again: its calls have the same places.
    pub(crate) fn again(&self) -> Arc<Scope> {
        let (run, node, place) = (self.run.clone(), self.node.clone(), self.place.clone());
        Arc::new(Scope { run, node, place, next: AtomicUsize::new(1) })
    }

    /// The body of a node in this scope's run.
    pub(crate) fn within(&self, node: &str, place: Option<String>) -> Arc<Scope> {
        Arc::new(Scope { run: self.run.clone(), node: Some(node.into()), place, next: AtomicUsize::new(1) })
    }
}

/// Where the code that is running is.
#[derive(Clone, Default)]
pub(crate) struct Here {
    pub(crate) scope: Option<Arc<Scope>>,
    /// How many node bodies lie beneath on this stack.
    pub(crate) depth: usize,
    /// What the bodies around hold of what there is a limited number of.
    pub(crate) held: Option<Arc<Held>>,
    /// Whose body runs.
    pub(crate) node: Option<Arc<Node>>,
}

tokio::task_local! {
    pub(crate) static HERE: Here;
}

impl Here {
    pub(crate) fn now() -> Here {
        HERE.try_with(Here::clone).unwrap_or_default()
    }
}

/// The next place in the current scope, if there is a run.
pub(crate) fn birth() -> Option<Birth> {
    HERE.try_with(|here| {
        let scope = here.scope.clone()?;
        let number = scope.next.fetch_add(1, Ordering::Relaxed);
        Some(Birth { scope, number })
    })
    .ok()
    .flatten()
}
