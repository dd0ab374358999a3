//! The errors of a read, written for people.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// The cause of a node's failure: any error, shared by all readers of the node.
pub type Cause = Arc<dyn Error + Send + Sync>;

/// A node failed. Reading again runs the failed node again, and none of those that completed.
///
/// A failure that comes out of a pipeline inside a node is handed on as it is: it names the innermost node, once.
///
/// ```
/// use unhurried::{Context, node};
///
/// #[node]
/// async fn parse(text: String) -> Result<i64, std::num::ParseIntError> {
///     text.parse()
/// }
///
/// let failure = parse(Context::new("seven".to_owned())).blocking_data().unwrap_err();
/// assert_eq!(failure.node(), "parse");
/// assert_eq!(failure.to_string(), "node `parse` failed: invalid digit found in string");
/// ```
#[derive(Clone)]
pub struct NodeExecutionError(Arc<Parts>);

struct Parts {
    node: String,
    completed: Vec<String>,
    cause: Cause,
}

impl NodeExecutionError {
    /// The failure of `node`; or the cause itself, if it is already the failure of a node.
    pub(crate) fn of(node: &str, completed: Vec<String>, cause: Cause) -> Self {
        match cause.downcast_ref::<Self>() {
            Some(inner) => inner.clone(),
            None => NodeExecutionError(Arc::new(Parts {
                node: node.to_owned(),
                completed,
                cause,
            })),
        }
    }

    /// The failure of a node that was not run, for this reason.
    pub(crate) fn refused(node: &str, refusal: Refusal) -> Self {
        Self::of(node, Vec::new(), Arc::new(refusal))
    }

    /// The name of the node that failed.
    pub fn node(&self) -> &str {
        &self.0.node
    }

    /// The names of the nodes that completed in this materialisation, in the order in which they did.
    pub fn completed(&self) -> &[String] {
        &self.0.completed
    }

    /// Error of the node itself.
    pub fn cause(&self) -> &(dyn Error + Send + Sync + 'static) {
        &*self.0.cause
    }
}

impl fmt::Display for NodeExecutionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node `{}` failed", self.0.node)?;
        if !self.0.completed.is_empty() {
            write!(f, " (completed: {})", self.0.completed.join(", "))?;
        }
        write!(f, ": {}", self.0.cause)
    }
}

impl fmt::Debug for NodeExecutionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeExecutionError")
            .field("node", &self.0.node)
            .field("completed", &self.0.completed)
            .field("cause", &self.0.cause)
            .finish()
    }
}

impl Error for NodeExecutionError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.0.cause)
    }
}

/// An error of this library itself about a node.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The body panicked; the text is the panic's.
    #[error("panicked: {0}")]
    Panicked(String),
    /// A blocking read where the thread it would block is the one that has the work to do.
    #[error(
        "a blocking read on the only thread of an async runtime would wait for itself: \
         use the async form, `.data().await` or `.await`"
    )]
    WouldDeadlock,
    /// A blocking read on a worker of a runtime that has no thread left to do the rest of its work.
    #[error(
        "as many threads of this async runtime are blocked as it may have, and nothing on it moves any more: \
         read with the async form, `.data().await` or `.await`, or raise its `max_blocking_threads`"
    )]
    NoThread,
    /// No runtime to run on.
    #[error(
        "there is no tokio runtime here: read with `blocking_data()`, or start one with `#[tokio::main]`"
    )]
    NoRuntime,
    /// A body took longer than its node says it may.
    #[error("it took longer than the {} ms that `time_ms` gives it", .0.as_millis())]
    OutOfTime(std::time::Duration),
    /// A hook answered with a value of another type than the node's.
    #[error("a hook answered with a value of another type than this node's")]
    WrongAnswer,
    /// A loop came to its limit before its condition held.
    #[error("the condition did not hold after {0} times")]
    LimitReached(usize),
}

/// The text of a panic.
pub(crate) fn panicked(panic: &(dyn std::any::Any + Send)) -> Refusal {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or(panic.downcast_ref::<&str>().copied());
    Refusal::Panicked(text.unwrap_or("no text").to_owned())
}
