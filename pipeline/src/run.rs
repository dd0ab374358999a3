//! A run of a pipeline: its id, its hooks, and the place of each call in it.
//!
//! A run is a scope of code. Every node that is called in it belongs to it, wherever and whenever it is read.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use tokio::task::futures::TaskLocalFuture;
use tokio::task::{JoinError, JoinHandle};
use tracing::Instrument;

use crate::hook::Hook;
use crate::journal::JournalError;
use crate::journal::abandoned::Abandoned;
use crate::limits::Held;
use crate::node::Node;
use crate::sync::Mutex;

/// A named run with hooks around every node.
///
/// ```
/// use unhurried::{Context, Run, Stats, node};
///
/// #[node]
/// async fn double(n: i64) -> i64 {
///     n * 2
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), unhurried::NodeExecutionError> {
/// let stats = Stats::default();
/// let run = Run::new("order-17").hook(stats.clone());
/// let twelve = run.scope(async { double(double(Context::new(3))).await }).await?;
/// assert_eq!(twelve, 12);
/// assert_eq!(stats.node("double").executions, 2);
/// # Ok(())
/// # }
/// ```
///
/// A node belongs to the run that it is called in, in the body of another node, too; called in no run, as in a task of
/// `tokio::spawn`, to the run in which one of its arguments was made, though it has no [place](crate::Call::place) there.
/// One that has no such argument either is outside of every run: no hook sees it, unless a run reads it.
pub struct Run {
    id: Arc<str>,
    hooks: Vec<Arc<dyn Hook>>,
    /// Why no record can be trusted to be of its call any more.
    pub(crate) astray: OnceLock<Arc<JournalError>>,
}

impl Run {
    /// A run under this id. A journal finds what it recorded by it.
    pub fn new(id: impl Into<Arc<str>>) -> Self {
        Run {
            id: id.into(),
            hooks: Vec::new(),
            astray: OnceLock::new(),
        }
    }

    /// One more hook, inside of those that are there.
    pub fn hook(mut self, hook: impl Hook + 'static) -> Self {
        self.hooks.push(Arc::new(hook));
        self
    }

    /// Runs `pipeline` in this run.
    pub async fn scope<F: Future>(self, pipeline: F) -> F::Output {
        let scope = Scope::new(Arc::new(self), None, Some(String::new()), false);
        HERE.scope(
            Here {
                scope: Some(Arc::new(scope)),
                ..Here::now()
            },
            pipeline,
        )
        .await
    }

    /// A flow of the run that is here, under a name of its own: what it calls is numbered by itself, so that flows side
    /// by side do not change each other's [places](crate::Call::place), whichever of them is faster.
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
        let (scope, taken) = match here
            .scope
            .clone()
            .map(|scope| scope.branch(&name.to_string()))
        {
            Some((scope, taken)) => (Some(Arc::new(scope)), Some(taken)),
            None => (None, None),
        };
        Branch {
            flow: Box::pin(HERE.scope(Here { scope, ..here }, flow)),
            taken,
        }
    }

    /// A [branch](Self::branch) on a task of its own: what `tokio::spawn` does, inside of the run. What nobody waits for
    /// stops, as everywhere here: the task ends when what is returned is dropped.
    pub fn spawn<F>(name: impl Display, flow: F) -> Task<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Task(tokio::spawn(Self::branch(name, flow).in_current_span()))
    }

    pub(crate) fn id(&self) -> &Arc<str> {
        &self.id
    }

    pub(crate) fn hooks(&self) -> &[Arc<dyn Hook>] {
        &self.hooks
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

/// One flow of control in which nodes are called: a run, a branch of one, or the body of one of its nodes.
pub(crate) struct Scope {
    pub(crate) run: Arc<Run>,
    /// Whose body this is, or is part of.
    pub(crate) node: Option<Arc<str>>,
    /// None beneath a node that was called outside of the run.
    place: Option<String>,
    /// Whether the place itself is a matter of timing.
    raced: bool,
    next: AtomicUsize,
    /// How many reads are under way by the code of this scope.
    reading: AtomicUsize,
    branches: Mutex<BTreeMap<String, Uses>>,
    pub(crate) abandoned: Abandoned,
}

/// What became of a name.
#[derive(Default)]
struct Uses {
    ever: usize,
    now: usize,
}

/// Which scope a node was called in, and as the how-manieth.
#[derive(Clone)]
pub(crate) struct Birth {
    pub(crate) scope: Arc<Scope>,
    /// None: it belongs to the run, but was not called in it.
    pub(crate) number: Option<usize>,
    /// It was called while another flow of this scope was reading.
    pub(crate) raced: bool,
}

impl Birth {
    /// `2` is the second call of the run, `2.1` the first one in the body of that, `/a.1` that of the branch `a`.
    pub(crate) fn place(&self) -> Option<String> {
        let number = self.number?;
        match self.scope.place.as_deref()? {
            "" => Some(number.to_string()),
            place => Some(format!("{place}.{number}")),
        }
    }
}

impl Scope {
    fn new(run: Arc<Run>, node: Option<Arc<str>>, place: Option<String>, raced: bool) -> Self {
        let (next, reading, branches) = (
            AtomicUsize::new(1),
            AtomicUsize::new(0),
            Mutex::new(BTreeMap::new()),
        );
        Scope {
            run,
            node,
            place,
            raced,
            next,
            reading,
            branches,
            abandoned: Abandoned::default(),
        }
    }

    /// The same body, run again: its calls have the same places.
    pub(crate) fn again(&self) -> Arc<Scope> {
        Arc::new(Scope::new(
            self.run.clone(),
            self.node.clone(),
            self.place.clone(),
            self.raced,
        ))
    }

    /// The body of a node in this scope's run.
    pub(crate) fn within(&self, node: &Node, place: Option<String>) -> Arc<Scope> {
        let raced = node.birth.as_ref().is_some_and(|birth| birth.raced);
        Arc::new(Scope::new(
            self.run.clone(),
            Some(node.name().into()),
            place,
            raced,
        ))
    }

    fn branch(self: Arc<Self>, name: &str) -> (Scope, Taken) {
        let name = written(name);
        let (ever, now) = self.branches.with(|branches| {
            let uses = branches.entry(name.clone()).or_default();
            *uses = Uses {
                ever: uses.ever + 1,
                now: uses.now + 1,
            };
            (uses.ever, uses.now)
        });
        // Which of two is the first of their name would be timing's to say.
        let raced = self.raced || now > 1 || (ever > 1 && self.is_reading());
        let again = if ever > 1 {
            format!("~{ever}")
        } else {
            String::new()
        };
        let place = self
            .place
            .as_ref()
            .map(|place| format!("{place}/{name}{again}"));
        (
            Scope::new(self.run.clone(), self.node.clone(), place, raced),
            Taken { scope: self, name },
        )
    }

    /// The number of the call that is made next.
    pub(crate) fn next_number(&self) -> usize {
        self.next.load(Ordering::Relaxed)
    }

    fn is_reading(&self) -> bool {
        self.reading.load(Ordering::Relaxed) > 0
    }
}

/// A name as it stands in places: what they are written with does not occur in it.
fn written(name: &str) -> String {
    let mut written = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '/' | '.' | '~' | '%' | '\0'..='\x1f' => {
                let _ = write!(written, "%{:02X}", letter as u32); // writing to a String cannot fail
            }
            letter => written.push(letter),
        }
    }
    written
}

/// A branch's name is taken until this is dropped.
struct Taken {
    scope: Arc<Scope>,
    name: String,
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.scope.branches.with(|branches| {
            if let Some(uses) = branches.get_mut(&self.name) {
                uses.now -= 1;
            }
        });
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

    /// Says that this scope's code reads, as long as what is returned lives.
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

/// The next place in the current scope; outside of any, the run of one of the parents.
pub(crate) fn birth(parents: &[Arc<Node>]) -> Option<Birth> {
    let here = HERE.try_with(|here| {
        let scope = here.scope.clone()?;
        let number = Some(scope.next.fetch_add(1, Ordering::Relaxed));
        let raced = scope.raced || scope.is_reading();
        Some(Birth {
            scope,
            number,
            raced,
        })
    });
    let theirs = || {
        parents
            .iter()
            .find_map(|parent| parent.birth.as_ref())
            .map(|birth| birth.scope.clone())
    };
    here.ok().flatten().or_else(|| theirs().map(Birth::astray))
}

/// The run that a given value belongs to, if it was given in one.
pub(crate) fn home() -> Option<Birth> {
    HERE.try_with(|here| here.scope.clone())
        .ok()
        .flatten()
        .map(Birth::astray)
}

impl Birth {
    fn astray(scope: Arc<Scope>) -> Self {
        Birth {
            scope,
            number: None,
            raced: false,
        }
    }
}
