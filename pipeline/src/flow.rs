//! Flows of control in which nodes are called: the run itself, its branches, and where the code that is running is.

use std::fmt::Display;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};

use tokio::task::futures::TaskLocalFuture;
use tokio::task::{JoinError, JoinHandle};
use tracing::Instrument;

use crate::limits::Held;
use crate::run::{Birth, Called, Run, Scope, Taken};

impl Run {
    /// Runs `pipeline` in this run.
    pub async fn scope<F: Future>(self, pipeline: F) -> F::Output {
        let scope = Scope::new(Arc::new(self), None, Some(String::new()), false);
        within(scope, pipeline).await
    }

    /// Returns a flow of the current run, under a name of its own. Its calls are numbered by
    /// themselves, so that flows side by side do not change each other's
    /// [places](crate::Call::place), in any timing.
    ///
    /// Two flows at the same time have two names; a name is free again when its flow has ended. Outside of any run this is
    /// `flow` and no more.
    ///
    /// ```
    /// use unhurried::{Context, Journal, MemoryStore, NodeExecutionError, Run, node};
    ///
    /// #[node]
    /// async fn think(about: String) -> String {
    ///     format!("thoughts on {about}")
    /// }
    ///
    /// async fn twice(about: &str) -> Result<String, NodeExecutionError> {
    ///     let first = think(Context::new(about.to_owned())).await?;
    ///     think(Context::new(first)).await
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() {
    /// let run = Run::new("fruit").hook(Journal::new(MemoryStore::default()));
    /// let both = run.scope(async {
    ///     tokio::join!(Run::branch("apples", twice("apples")), Run::branch("pears", twice("pears")))
    /// });
    /// assert_eq!(both.await.1.unwrap(), "thoughts on thoughts on pears");
    /// # }
    /// ```
    pub fn branch<F: Future>(name: impl Display, flow: F) -> Branch<F> {
        let here = Here::now();
        let scope = here.scope.clone();
        let (scope, taken) = scope.map(|scope| scope.branch(&name.to_string())).unzip();
        Branch {
            flow: Box::pin(HERE.scope(Here { scope, ..here }, flow)),
            taken,
        }
    }

    /// Returns a [branch](Self::branch) on a task of its own: like `tokio::spawn`, inside of the
    /// run. A task without a reader stops, as everywhere here: it ends when the returned [`Task`]
    /// is dropped.
    pub fn spawn<F>(name: impl Display, flow: F) -> Task<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Task(tokio::spawn(Self::branch(name, flow).in_current_span()))
    }
}

/// A flow of a run with a name of its own, see [`Run::branch`].
#[must_use = "a branch does nothing until it is awaited"]
pub struct Branch<F> {
    flow: Pin<Box<TaskLocalFuture<Here, F>>>,
    taken: Option<Taken>,
}

impl<F: Future> Future for Branch<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<F::Output> {
        let polled = self.flow.as_mut().poll(task);
        if polled.is_ready() {
            self.taken = None;
        }
        polled
    }
}

/// A branch on a task of its own, see [`Run::spawn`]. An error is a panic of it.
#[must_use = "a task ends when nobody waits for it"]
pub struct Task<T>(JoinHandle<T>);

impl<T> Future for Task<T> {
    type Output = Result<T, JoinError>;

    fn poll(mut self: Pin<&mut Self>, task: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(task)
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Place of the running code.
#[derive(Clone, Default)]
pub(crate) struct Here {
    pub(crate) scope: Option<Arc<Scope>>,
    /// Number of node bodies beneath on this stack.
    pub(crate) depth: usize,
    /// Limited places that the bodies around hold.
    pub(crate) held: Option<Arc<Held>>,
    /// The node of the running body.
    pub(crate) node: Option<Arc<dyn Called>>,
}

tokio::task_local! {
    pub(crate) static HERE: Here;
}

impl Here {
    pub(crate) fn now() -> Here {
        HERE.try_with(Here::clone).unwrap_or_default()
    }

    /// Marks this scope's code as reading, as long as the returned value lives.
    pub(crate) fn reading(&self) -> Option<Reading> {
        let scope = self.scope.clone()?;
        scope.reading.fetch_add(1, Ordering::Relaxed);
        Some(Reading(scope))
    }
}

/// A read under way.
pub(crate) struct Reading(Arc<Scope>);

impl Drop for Reading {
    fn drop(&mut self) {
        self.0.reading.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Code that runs in this scope.
pub(crate) fn within<F: Future>(scope: Arc<Scope>, code: F) -> TaskLocalFuture<Here, F> {
    let here = Here {
        scope: Some(scope),
        ..Here::now()
    };
    HERE.scope(here, code)
}

/// The scope of the code that is running, if it is in one.
fn scope() -> Option<Arc<Scope>> {
    HERE.try_with(|here| here.scope.clone()).ok().flatten()
}

/// Returns the next place in the current scope; outside of any, a birth in the run of the first
/// parent that has one.
pub(crate) fn birth<'a>(mut parents: impl Iterator<Item = &'a Birth>) -> Option<Birth> {
    match scope() {
        Some(scope) => Some(scope.call()),
        None => parents
            .next()
            .map(|birth| Birth::astray(birth.scope.clone())),
    }
}

/// The run that a given value belongs to, if it was given in one.
pub(crate) fn home() -> Option<Birth> {
    scope().map(Birth::astray)
}
