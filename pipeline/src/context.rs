//! The lazy value, and the arguments that a node accepts in its place.

use std::borrow::Cow;
use std::fmt;
use std::future::IntoFuture;
use std::marker::{PhantomData, PhantomPinned};
use std::ops::Range;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::blocking;
use crate::error::NodeExecutionError;
use crate::executor;
use crate::graph::Graph;
use crate::node::{Node, Parents};
use crate::past::Few;
use crate::pieces::Pieces;
use crate::run::Called;
use crate::value::{Output, Value};

/// A value that may still be pending.
///
/// Calling a node returns one at once; nothing runs until the value is read, by
/// [`data`](Self::data), [`run`](Self::run), `.await` or their blocking forms. A computed value
/// stays; clones share it.
///
/// ```
/// use unhurried::{Context, node};
///
/// #[node]
/// async fn add_one(n: i64) -> i64 {
///     n + 1
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), unhurried::NodeExecutionError> {
/// let six = add_one(Context::new(5));
/// assert!(six.is_pending());
/// assert_eq!(six.data().await?, 6);
/// assert!(!six.is_pending());
/// # Ok(())
/// # }
/// ```
pub struct Context<T> {
    pub(crate) node: Arc<Node>,
    value: PhantomData<fn() -> T>,
    _await_it_before_returning: AwaitItBeforeReturning,
}

/// Makes a context the one type that is not [`Unpin`]; its name appears in the compiler's error
/// about a node that returns one.
#[derive(Clone, Copy)]
struct AwaitItBeforeReturning(#[allow(dead_code)] PhantomPinned);

impl<T: Value> Context<T> {
    /// A context of a value that is there already.
    #[must_use = "a context does nothing until it is read"]
    pub fn new(value: T) -> Self {
        Context::of(Node::root(Output::new(value)))
    }

    /// Returns a context of a value that is there already and comes from this one's: a part of it,
    /// for one. The [graph](Self::graph) and the [calls](crate::Call::needs) of a run show its
    /// origin.
    ///
    /// ```
    /// use unhurried::{Context, node};
    ///
    /// #[node]
    /// async fn split(text: String) -> Vec<String> {
    ///     text.split(' ').map(str::to_owned).collect()
    /// }
    ///
    /// #[node]
    /// async fn length(word: String) -> usize {
    ///     word.len()
    /// }
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), unhurried::NodeExecutionError> {
    /// let words = split(Context::new("plain values".to_owned()));
    /// let lengths: Vec<_> = words.data().await?.into_iter().map(|word| length(words.taken(word))).collect();
    /// assert_eq!(unhurried::all(lengths.clone()).await?, [5, 6]);
    /// assert_eq!(lengths[0].graph().nodes[1].name, "split");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use = "a context does nothing until it is read"]
    pub fn taken<U: Value>(&self, value: U) -> Context<U> {
        Context::of(Node::taken(Output::new(value), &self.node))
    }

    pub(crate) fn of(node: Arc<Node>) -> Self {
        Context {
            node,
            value: PhantomData,
            _await_it_before_returning: AwaitItBeforeReturning(PhantomPinned),
        }
    }

    /// Runs the pending nodes, and returns this context, which then has its value.
    pub async fn run(&self) -> Result<Self, NodeExecutionError> {
        executor::materialise(&self.node).await?;
        Ok(self.clone())
    }

    /// Runs the pending nodes, and returns the value.
    pub async fn data(&self) -> Result<T, NodeExecutionError> {
        Ok(executor::materialise(&self.node).await?.value())
    }

    /// [`run`](Self::run) for callers that are not async; see [`block_on`](crate::block_on) for where it works.
    pub fn blocking_run(&self) -> Result<Self, NodeExecutionError> {
        self.blocking(self.run())
    }

    /// [`data`](Self::data) for callers that are not async; see [`block_on`](crate::block_on) for where it works.
    pub fn blocking_data(&self) -> Result<T, NodeExecutionError> {
        self.blocking(self.data())
    }

    fn blocking<R>(
        &self,
        read: impl Future<Output = Result<R, NodeExecutionError>>,
    ) -> Result<R, NodeExecutionError> {
        blocking::block_on(read)
            .unwrap_or_else(|refusal| Err(NodeExecutionError::refused(self.name(), refusal)))
    }
}

impl<T> Context<T> {
    /// The pieces of this value that its node [says](crate::say) while it is computed. Runs nothing.
    pub fn pieces<P: Value>(&self) -> Pieces<P> {
        Pieces::of(self.node.saying())
    }

    /// The name of the node this is the value of; `value` for one that was given.
    pub fn name(&self) -> &str {
        self.node.name()
    }

    /// Returns true if reading it would run something.
    pub fn is_pending(&self) -> bool {
        self.node.is_pending()
    }

    /// Returns the names of the nodes that reading it would run, parents first. Runs nothing.
    pub fn pending(&self) -> Vec<String> {
        executor::pending(&self.node)
            .order
            .iter()
            .map(|node| node.name().to_owned())
            .collect()
    }

    /// Returns the number of nodes that reading it would run. Runs nothing.
    pub fn pending_count(&self) -> usize {
        executor::pending(&self.node).order.len()
    }

    /// All it was made of, as it stands. Runs nothing.
    pub fn graph(&self) -> Graph {
        Graph::of(&self.node)
    }
}

impl<T> Clone for Context<T> {
    fn clone(&self) -> Self {
        Context {
            node: self.node.clone(),
            ..*self
        }
    }
}

/// Prints its type and state, and runs nothing: a log line must not start work.
impl<T> fmt::Debug for Context<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("node", &self.node.name())
            .field("pending", &self.pending())
            .finish()
    }
}

impl<T: Value> IntoFuture for Context<T> {
    type Output = Result<T, NodeExecutionError>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.data().await })
    }
}

impl<'a, T: Value> IntoFuture for &'a Context<T> {
    type Output = Result<T, NodeExecutionError>;
    type IntoFuture = BoxFuture<'a, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(self.data())
    }
}

/// An argument for a node that takes a `T` or a `&T`: a `T`, a [`Context`] of one, or a reference
/// to either. For a `Vec<T>`, a `Vec`, an array or a slice of contexts, too.
#[diagnostic::on_unimplemented(
    message = "this node takes a `{T}` here, or a `Context` of one; `{Self}` is neither",
    label = "neither `{T}` nor `Context<{T}>`"
)]
pub trait Argument<T> {
    /// [`Pending`] or [`Plain`].
    type Kind;

    #[doc(hidden)]
    fn give(self, call: &mut Call) -> Given<T>;
}

/// The kind of an argument that is a context.
pub enum Pending {}

/// The kind of an argument that is a plain value.
pub enum Plain {}

impl<T: Value> Argument<T> for T {
    type Kind = Plain;

    fn give(self, _: &mut Call) -> Given<T> {
        Given::Plain(Arc::new(self))
    }
}

/// Lent arguments are copied: for `&str` or `&[T]` in a signature, owned values are kept.
impl<T: Value> Argument<T> for &T {
    type Kind = Plain;

    fn give(self, _: &mut Call) -> Given<T> {
        Given::Plain(Arc::new(self.clone()))
    }
}

impl<T: Value> Argument<Vec<T>> for &[T] {
    type Kind = Plain;

    fn give(self, _: &mut Call) -> Given<Vec<T>> {
        Given::Plain(Arc::new(self.to_vec()))
    }
}

impl Argument<String> for &str {
    type Kind = Plain;

    fn give(self, _: &mut Call) -> Given<String> {
        Given::Plain(Arc::new(self.to_owned()))
    }
}

impl<T: Value> Argument<T> for Context<T> {
    type Kind = Pending;

    fn give(self, call: &mut Call) -> Given<T> {
        call.parents.push(self.node);
        Given::Parent(call.parents.len() - 1)
    }
}

impl<T: Value> Argument<T> for &Context<T> {
    type Kind = Pending;

    fn give(self, call: &mut Call) -> Given<T> {
        self.clone().give(call)
    }
}

/// The kind of no argument. With it the compiler cannot conclude that an argument "must be"
/// pending, and its error names the fault.
#[doc(hidden)]
pub enum NoKind {}

/// At least one argument is a context: every call of a node must have one. There is no graph
/// without one.
#[diagnostic::on_unimplemented(
    message = "a node needs at least one `Context` among its arguments",
    label = "only plain values are given here",
    note = "wrap a value: `Context::new(value)`"
)]
pub trait HasContext {}

impl<Rest> HasContext for (Pending, Rest) {}
impl<Rest> HasContext for (NoKind, Rest) {}
impl<Rest: HasContext> HasContext for (Plain, Rest) {}

/// A call of a node while its arguments are gathered.
#[doc(hidden)]
pub struct Call {
    pub(crate) name: Cow<'static, str>,
    pub(crate) parents: Few<Arc<Node>>,
}

/// An argument as the node keeps it: the value, or which of the parents will have it.
#[doc(hidden)]
pub enum Given<T> {
    Plain(Arc<T>),
    Parent(usize),
    Parents(Range<usize>, fn(&Parents, Range<usize>) -> T),
}

impl<T: Value> Given<T> {
    /// The value, once the parents have theirs.
    pub fn value(&self, parents: &Parents) -> Arc<T> {
        match self {
            Given::Plain(value) => value.clone(),
            Given::Parent(place) => parents.value(*place).shared(),
            Given::Parents(places, gather) => Arc::new(gather(parents, places.clone())),
        }
    }
}
