//! A run of a pipeline: its id, its hooks, and the place of each call in it.
//!
//! A run is a scope of code. Every node that is called in it belongs to it, wherever and whenever it is read. Hooks wrap every
//! node of a run: spans, statistics, the journal and the cache are hooks; you can write others.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use serde_json::Value as Json;

use crate::abandoned::Abandoned;
use crate::data::{ArgumentError, Arguments};
use crate::past::Past;
use crate::record::JournalError;
use crate::sync::Mutex;
use crate::value::{Codec, Kind, Outcome, Output};

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
    pub(crate) id: Arc<str>,
    pub(crate) hooks: Vec<Arc<dyn Hook>>,
    /// Why no record can be trusted to be of its call any more.
    pub(crate) astray: OnceLock<Arc<JournalError>>,
}

impl Run {
    /// Returns a run under this id. A journal finds its records by it.
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
}

/// Stands around each node: sees its name, its start and its end, and may answer in its stead.
///
/// ```
/// use unhurried::{Call, Context, Hook, Next, Outcome, Output, Run, node};
///
/// #[node]
/// async fn ask_a_model(question: String) -> String {
///     unreachable!("not in a test: {question}")
/// }
///
/// struct Scripted;
///
/// #[unhurried::async_trait]
/// impl Hook for Scripted {
///     async fn around(&self, call: &Call, next: Next<'_>) -> Outcome {
///         match call.node() {
///             "ask_a_model" => Ok(Output::new("42".to_owned())),
///             _ => next.run().await,
///         }
///     }
/// }
///
/// let run = Run::new("test").hook(Scripted);
/// let answer = unhurried::block_on(run.scope(async { ask_a_model(Context::new("Why?".to_owned())).await }));
/// assert_eq!(answer.unwrap().unwrap(), "42");
/// ```
#[async_trait]
pub trait Hook: Send + Sync {
    /// Runs the node by `next.run()`, before, after or around its own work; or again, if it failed;
    /// or does not, and answers.
    async fn around(&self, call: &Call, next: Next<'_>) -> Outcome {
        let _ = call;
        next.run().await
    }

    /// A replica is about to be called, by the body of `node` or from outside of any.
    fn replica_called(&self, replica: &str, method: &str, node: Option<&str>) {
        let _ = (replica, method, node);
    }
}

/// A hook may be shared with its installer.
#[async_trait]
impl<H: Hook + ?Sized> Hook for Arc<H> {
    async fn around(&self, call: &Call, next: Next<'_>) -> Outcome {
        (**self).around(call, next).await
    }

    fn replica_called(&self, replica: &str, method: &str, node: Option<&str>) {
        (**self).replica_called(replica, method, node);
    }
}

/// One execution of a node, as a hook sees it.
pub struct Call {
    pub(crate) node: Arc<dyn Called>,
    pub(crate) parents: Vec<Parent>,
    pub(crate) run: Arc<str>,
    pub(crate) place: Option<String>,
}

/// A node, as runs and hooks know it.
pub(crate) trait Called: Send + Sync {
    fn name(&self) -> &str;

    /// Of a value that is computed.
    fn kind(&self) -> Option<&Kind>;

    /// Its place in the run, if it was called inside of one.
    fn birth(&self) -> Option<&Birth>;

    /// Arguments of the call, while it is pending and once its parents are done.
    fn arguments(&self) -> Result<Arguments, ArgumentError>;

    /// Says a piece of its value, as long as it is pending.
    fn say(&self, piece: Output);

    /// Runs the body, within its limits.
    fn run(self: Arc<Self>) -> BoxFuture<'static, Outcome>;
}

/// Origin of an argument of a call.
pub(crate) struct Parent {
    pub(crate) past: Arc<Past>,
    pub(crate) birth: Option<Birth>,
}

impl Call {
    /// The node's name.
    pub fn node(&self) -> &str {
        self.node.name()
    }

    /// The id of the run.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Returns the place in the run of the call: `2` for the second call of the run, `2.1` for the
    /// first in its body. In the [branch](crate::Run::branch) `apples` the first is `/apples.1`. The
    /// place is the same in every run that takes the same way, in any timing. None if it was called outside
    /// of the run.
    pub fn place(&self) -> Option<&str> {
        self.place.as_deref()
    }

    /// Place of the call, or of one of its arguments, if in a run.
    pub(crate) fn birth(&self) -> Option<&Birth> {
        self.node.birth()
    }

    /// Returns the names of the nodes that its arguments come from.
    pub fn parents(&self) -> impl Iterator<Item = &str> {
        self.parents.iter().map(|parent| &*parent.past.name)
    }

    /// Returns the [places](Self::place) of the calls with values that flow into this one, each
    /// once, in the order of the arguments. A given value has no place, unless it was
    /// [taken](crate::Context::taken) from one that has; nor has a value of another run.
    ///
    /// Values that the code around has read are unknown here: they are no arguments.
    pub fn needs(&self) -> impl Iterator<Item = String> {
        let mut seen = HashSet::new();
        let births = self
            .parents
            .iter()
            .filter_map(|parent| parent.birth.as_ref());
        let places = births
            .filter(|birth| birth.scope.run.id == self.run)
            .filter_map(Birth::place);
        places.filter(move |place| seen.insert(place.clone()))
    }

    /// True if the node is not to be recorded, by `#[node(transient)]`.
    pub fn is_transient(&self) -> bool {
        self.node.kind().is_some_and(|kind| kind.transient)
    }

    /// Version of the node's body, by `#[node(version = 2)]`; the first if not said.
    pub fn version(&self) -> u32 {
        self.node.kind().map_or(1, |kind| kind.version)
    }

    /// Arguments of the call, contexts by their values, as far as `#[node(ignore(…))]` does not leave it out. Known before
    /// the node has run.
    pub fn arguments(&self) -> Result<Arguments, ArgumentError> {
        self.node.arguments()
    }

    /// Returns true if its value has a form as data.
    pub fn is_data(&self) -> bool {
        self.codec().is_some()
    }

    /// The value as data, if its type is serializable.
    pub fn encode(&self, output: &Output) -> Option<serde_json::Result<Json>> {
        Some((self.codec()?.encode)(output))
    }

    /// A value of this node from data, if its type can be read.
    pub fn decode(&self, data: Json) -> Option<serde_json::Result<Output>> {
        Some((self.codec()?.decode)(data))
    }

    /// Returns true if this could be the node's value.
    pub(crate) fn accepts(&self, output: &Output) -> bool {
        self.node.kind().is_none_or(|kind| (kind.is)(output))
    }

    fn codec(&self) -> Option<Codec> {
        self.node.kind()?.codec
    }
}

/// The rest of the way to the node's body.
pub struct Next<'a> {
    pub(crate) hooks: &'a [Arc<dyn Hook>],
    pub(crate) call: &'a Call,
}

impl<'a> Next<'a> {
    /// Runs the node, or the hooks further in. Again, if it is called again.
    pub fn run(&self) -> BoxFuture<'a, Outcome> {
        match self.hooks.split_first() {
            Some((hook, hooks)) => hook.around(
                self.call,
                Next {
                    hooks,
                    call: self.call,
                },
            ),
            None => self.call.node.clone().run(),
        }
    }
}

/// One flow of control in which nodes are called: a run, a branch of one, or the body of one of its nodes.
pub(crate) struct Scope {
    pub(crate) run: Arc<Run>,
    /// The node of this body, or of the body around.
    pub(crate) node: Option<Arc<str>>,
    /// None beneath a node that was called outside of the run.
    place: Option<String>,
    /// True if the place itself is a matter of timing.
    raced: bool,
    next: AtomicUsize,
    /// Reads under way by the code of this scope.
    pub(crate) reading: AtomicUsize,
    branches: Mutex<BTreeMap<String, Uses>>,
    pub(crate) abandoned: Abandoned,
}

/// The uses of a name.
#[derive(Default)]
struct Uses {
    ever: usize,
    now: usize,
}

/// The scope of a node's call, and the number of the call in it.
#[derive(Clone)]
pub(crate) struct Birth {
    pub(crate) scope: Arc<Scope>,
    /// None: it belongs to the run, but was not called in it.
    pub(crate) number: Option<usize>,
    /// True if it was called while another flow of this scope was reading.
    pub(crate) raced: bool,
}

impl Birth {
    /// The birth of a node that belongs to the run of this scope, and was not called there.
    pub(crate) fn astray(scope: Arc<Scope>) -> Self {
        Birth {
            scope,
            number: None,
            raced: false,
        }
    }

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
    pub(crate) fn new(
        run: Arc<Run>,
        node: Option<Arc<str>>,
        place: Option<String>,
        raced: bool,
    ) -> Arc<Self> {
        Arc::new(Scope {
            run,
            node,
            place,
            raced,
            next: AtomicUsize::new(1),
            reading: AtomicUsize::new(0),
            branches: Mutex::default(),
            abandoned: Abandoned::default(),
        })
    }

    /// The same body, run again: its calls have the same places.
    pub(crate) fn again(&self) -> Arc<Scope> {
        Scope::new(
            self.run.clone(),
            self.node.clone(),
            self.place.clone(),
            self.raced,
        )
    }

    /// The body of a node in this scope's run.
    pub(crate) fn within(&self, node: &dyn Called, place: Option<String>) -> Arc<Scope> {
        let raced = node.birth().is_some_and(|birth| birth.raced);
        Scope::new(self.run.clone(), Some(node.name().into()), place, raced)
    }

    pub(crate) fn branch(self: Arc<Self>, name: &str) -> (Arc<Scope>, Taken) {
        let name = written(name);
        let (ever, now) = self.branches.with(|branches| {
            let uses = branches.entry(name.clone()).or_default();
            uses.ever += 1;
            uses.now += 1;
            (uses.ever, uses.now)
        });
        // Which of two is the first of their name would be timing's to say.
        let raced = self.raced || now > 1 || (ever > 1 && self.is_reading());
        let place = self.place.as_ref().map(|place| match ever {
            1 => format!("{place}/{name}"),
            _ => format!("{place}/{name}~{ever}"),
        });
        let scope = Scope::new(self.run.clone(), self.node.clone(), place, raced);
        (scope, Taken { scope: self, name })
    }

    /// The number of the call that is made next.
    pub(crate) fn next_number(&self) -> usize {
        self.next.load(Ordering::Relaxed)
    }

    /// The place of a call that is made now.
    pub(crate) fn call(self: Arc<Self>) -> Birth {
        Birth {
            number: Some(self.next.fetch_add(1, Ordering::Relaxed)),
            raced: self.raced || self.is_reading(),
            scope: self,
        }
    }

    fn is_reading(&self) -> bool {
        self.reading.load(Ordering::Relaxed) > 0
    }
}

/// Returns a name as it stands in places: the characters of their syntax do not occur in it.
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
pub(crate) struct Taken {
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
