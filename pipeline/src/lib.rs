//! Lazy values and plain async functions: pipelines without a workflow engine.
//!
//! Mark an async function with [`#[node]`](node) and call it with a [`Context`]. You get a pending
//! `Context` back at once; nothing runs until it is read. Then everything it depends on runs,
//! parents first, independent branches at the same time, each node once.
//!
//! ```
//! use unhurried::{Context, node};
//!
//! #[node]
//! async fn retrieve(query: String) -> Vec<String> {
//!     vec![format!("{query} in theory"), format!("{query} in practice")]
//! }
//!
//! #[node]
//! async fn shorten(documents: Vec<String>, limit: usize) -> Vec<String> {
//!     documents.into_iter().take(limit).collect()
//! }
//!
//! #[node]
//! async fn answer(documents: &[String]) -> Result<String, String> {
//!     documents.first().cloned().ok_or("there is nothing to answer from".to_owned())
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), unhurried::NodeExecutionError> {
//! let documents = retrieve(Context::new("laziness".to_owned())); // pending
//! let short = match documents.data().await?.len() {              // runs `retrieve`
//!     0 | 1 => documents,
//!     _ => shorten(documents, 1),                                // pending
//! };
//! assert_eq!(answer(short).await?, "laziness in theory");        // runs the rest
//! # Ok(())
//! # }
//! ```
//!
//! # The map
//!
//! - *Values.* [`Context`] is the lazy value; [`Argument`] is the argument of a node in its place;
//!   [`Graph`] shows the origin of a context.
//! - *Functions.* [`node`] makes a node of a function or of a struct with settings; [`wrap`] of a closure. A pipeline is
//!   a function over contexts, with `if`, `while`, helpers and recursion; [`repeat_until`] is such a function.
//! - *Fan-in.* A node with a `Vec<T>` takes a `Vec<Context<T>>`; [`all`] and [`outcomes`] make one context of many, and
//!   [`at_once`] limits how many of them run at the same time.
//! - *Looking.* A body [says](say) pieces of its value, tokens for one, to readers of
//!   [`Context::pieces`] meanwhile.
//! - *Reading.* [`Context::data`], [`Context::run`] and `.await`; [`block_on`] and the blocking forms from sync code.
//!   A failure is a [`NodeExecutionError`].
//! - *Runs.* A [`Run`] is a region of code with a name; every node called in it is seen by the run's [hooks](Hook).
//!   [`Run::branch`] and [`Run::spawn`] give flows side by side names of their own.
//!   [`Spans`], [`Stats`], the [`Cache`] and the [`Journal`] are hooks. By the journal a run that was cut off goes on where it was.
//! - *Replicas.* [`macro@replica`] declares a service. [`Replica::get`] hands out its instances in
//!   turn; [`runtime`] has all of them ready for a block of code. [`Config`] chooses their place:
//!   in this process, or (feature `grpc`) with a `ReplicaServer` in another. Pipelines do not
//!   notice.
//!
//! # What a read promises
//!
//! - *Parents before children, each node once*, from however many tasks its descendants are read at
//!   the same time: the second reader joins the computation of the first.
//! - *Independent branches at the same time*, each on a task of its own. A chain alone stays on the reader's.
//! - *A failure names its node*, and is not wrapped again on its way out of pipelines within
//!   pipelines. Nothing further is started after it; running nodes may finish, and their values are
//!   kept. The next read runs the failed node again, and the nodes that depend on it. A panic is a
//!   failure.
//! - *Dropping a read cancels it.* Nodes without another reader stop; a later read begins those
//!   anew and no more.
//! - *No depth is too deep*: chains of ten thousand nodes, nodes that read within nodes a thousand deep.
//!
//! A value is kept as long as a context of it is there, or a node that is still to be run on it: a
//! done node lets go of its arguments. A node takes its own copy: wrap large values in an
//! [`Arc`](std::sync::Arc), or let the node borrow (`documents: &[String]`).
//!
//! # What is absent
//!
//! No graph builder, no scheduler that lives on, no global state for pipelines. A context is a cell with parents; a
//! read walks back from it. A cycle cannot be written: a context exists only after those it is made from.

mod abandoned;
mod blocking;
mod cache;
mod call;
mod context;
mod control;
mod data;
mod error;
mod executor;
mod fan_in;
mod flow;
mod graph;
mod journal;
mod limits;
mod node;
mod once;
mod past;
mod pieces;
mod probe;
mod record;
mod replica;
mod run;
mod spans;
mod stats;
mod sync;
mod value;
mod walk;

pub use async_trait::async_trait;
pub use blocking::block_on;
pub use cache::Cache;
pub use call::{Wrapped, describe, wrap};
pub use context::{Argument, Context, HasContext, Pending, Plain};
pub use control::repeat_until;
pub use data::{ArgumentError, Arguments};
pub use error::{Cause, NodeExecutionError, Refusal};
pub use fan_in::{AtOnce, all, at_once, outcomes};
pub use flow::{Branch, Task};
pub use graph::{Graph, GraphNode, NodeState};
pub use journal::file::FileStore;
pub use journal::{Journal, JournalStore, MemoryStore};
pub use pieces::{Piece, Pieces, say};
pub use record::{JournalError, Record};
pub use replica::backend::{Backend, Eventually, Instance, Pick, Spec};
pub use replica::data::Data;
pub use replica::error::{OwnError, ReplicaError};
pub use replica::manager::{Config, Factory, Manager, register_backend};
pub use replica::pool::Pool;
pub use replica::reader::DataError;
pub use replica::runtime::runtime;
#[cfg(feature = "grpc")]
pub use replica::server::{BoundServer, ReplicaServer};
pub use replica::{Proxy, Replica};
pub use run::{Call, Hook, Next, Run};
pub use spans::Spans;
pub use stats::{NodeStats, Stats};
/// Makes an async function a node: called with contexts, it returns a pending `Context` at once.
///
/// The body is an ordinary async function over plain values. A parameter `T` takes a `T`, a
/// `Context<T>` or a `&Context<T>`; at least one argument is a context. A parameter `&T` reads the
/// parent's value without a copy. A body that returns a `Result`, under any name, may fail.
///
/// - `#[node]` names the node as the function, `#[node(name = "…")]` as you say.
/// - `#[node(transient)]` keeps its value out of journals.
/// - `#[node(retry = 3)]` runs a body that fails up to three more times. `time_ms = 30_000` ends a try that takes longer, as
///   a failure. `at_once = 8` has at most eight of its bodies run at the same time, of all its calls in the process; a body
///   that reads its own node needs no second place. Hooks stand around all tries together, and may add tries of their own.
/// - `#[node(ignore(connection))]` leaves an argument out of a journal's comparison: one that is
///   not data, or does not matter. `ignore(self)` leaves out the settings of a struct.
/// - `#[node(version = 2)]` says that the body means something else now: a value that a journal has of another version
///   is refused.
///
/// - `#[node(crate = lazy)]`, for `#[replica]` too: in a program that knows this library as `lazy`.
///
/// On an `impl` block with one async method, the struct's settings configure the node; its name is
/// the struct's:
///
/// ```
/// use unhurried::{Context, node};
///
/// #[derive(Clone, PartialEq, Eq, Hash)]
/// struct Add {
///     amount: i64,
/// }
///
/// #[node]
/// impl Add {
///     async fn to(&self, n: i64) -> i64 {
///         n + self.amount
///     }
/// }
///
/// let add = Add { amount: 5 };
/// let sum = add.to(add.to(Context::new(1)));
/// assert_eq!(sum.pending(), ["Add", "Add"]);
/// assert_eq!(sum.blocking_data().unwrap(), 11);
/// ```
///
/// The compiler refuses a function or call that is no node: plain values only,
///
/// ```compile_fail
/// # use unhurried::{Context, node};
/// #[node]
/// async fn double(n: i64) -> i64 { n * 2 }
///
/// let _ = double(5); // a node needs at least one `Context` among its arguments
/// ```
///
/// an argument of another type,
///
/// ```compile_fail
/// # use unhurried::{Context, node};
/// # #[node]
/// # async fn double(n: i64) -> i64 { n * 2 }
/// let _ = double(Context::new("five".to_owned()));
/// ```
///
/// a pending context returned,
///
/// ```compile_fail
/// # use unhurried::{Context, node};
/// # #[node]
/// # async fn double(n: i64) -> i64 { n * 2 }
/// #[node]
/// async fn forgets(n: i64) -> Context<i64> { double(Context::new(n)) }
/// ```
///
/// or one behind a pointer, as far as the signature shows (in a field of a struct of yours the
/// compiler cannot see it),
///
/// ```compile_fail,E0277
/// # use unhurried::{Context, node};
/// # #[node]
/// # async fn double(n: i64) -> i64 { n * 2 }
/// #[node]
/// async fn forgets(n: i64) -> std::sync::Arc<Context<i64>> { std::sync::Arc::new(double(Context::new(n))) }
/// ```
///
/// a node without parameters, and a function that is not async.
///
/// ```compile_fail
/// # use unhurried::node;
/// #[node]
/// async fn nothing() -> i64 { 1 }
/// ```
pub use unhurried_macros::node;
/// Declares a service: a struct with shared instances, in this process or another.
///
/// The public methods with `&self` are for callers; `new` builds an instance, and a method marked
/// `#[init]`, with `&mut self`, prepares it where it lives. Nothing is built by the declaration,
/// only by [`get`](Replica::get), [`deploy`](Replica::deploy), [`Manager::deploy_all`] or a
/// [`runtime`] block. Arguments and answers are data (`Serialize` and `Deserialize`), so that an
/// instance may live elsewhere.
///
/// A method that returns a `Result`, under any name, fails with a [`ReplicaError`]; the error it
/// was is its [`source`](std::error::Error::source), if the instance is in this process. A panic is
/// such a failure, too.
///
/// A pool that is scaled down hands out the others from then on. Holders of an instance that had to
/// go call it as before, and it ends when the last one lets go of it. A manager, and a server, have
/// a limit of instances (`instances_max`).
///
/// - `n = 2`: how many instances; one if not said.
/// - `least_busy`: callers get the instance that the fewest hold, instead of one after the other.
/// - `manager = &MINE`: registers with an explicit manager instead of the standard one.
/// - `name = "calculator"`: the name by which clients and servers know it, instead of its path.
///
/// ```
/// use unhurried::{Replica, replica};
///
/// struct Calculator {
///     multiplier: i64,
/// }
///
/// #[replica(n = 2)]
/// impl Calculator {
///     pub fn new(multiplier: i64) -> Self {
///         Calculator { multiplier }
///     }
///
///     pub async fn multiply(&self, n: i64) -> i64 {
///         n * self.multiplier
///     }
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), unhurried::ReplicaError> {
/// Calculator::deploy(3).await?;
/// assert_eq!(Calculator::get().await?.multiply(10).await?, 30);
/// Calculator::shutdown().await?;
/// # Ok(())
/// # }
/// ```
///
/// None is not a number of instances, and callers cannot borrow a shared instance for themselves:
///
/// ```compile_fail
/// # struct Nothing;
/// #[unhurried::replica(n = 0)]
/// impl Nothing {
///     pub fn new() -> Self { Nothing }
/// }
/// ```
///
/// ```compile_fail
/// # struct Counter(u64);
/// #[unhurried::replica]
/// impl Counter {
///     pub fn new() -> Self { Counter(0) }
///     pub fn count(&mut self) -> u64 { self.0 += 1; self.0 }
/// }
/// ```
///
/// A method that does not exist is the compiler's business, too; by [name](Proxy::call) it is an
/// error that lists the methods.
pub use unhurried_macros::replica;
pub use value::{Outcome, Output, Value};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// Support for the code that the attributes write; not for people.
#[doc(hidden)]
pub mod support {
    pub use crate::call::outcome;
    pub use crate::context::{Call, Given};
    pub use crate::limits::Limits;
    pub use crate::probe::{
        Immovable, Infallibly, Movable, NoContext, NotPending, Probe, Recordable, Returned,
        Unrecordable, Unwritten, Written, written_out,
    };
    pub use crate::replica::backend::{answer, arguments, failed, unknown_method};
    pub use crate::replica::pool::Declared;
    pub use crate::value::{Kind, Output};
    pub use inventory;
    pub use serde::Serialize;
    pub use serde::de::DeserializeOwned;
}
