//! A value of a node: which types it may have, and how it is kept once its type is erased.

use std::any::Any;
use std::sync::Arc;

use crate::error::Cause;
use crate::limits::Limits;

/// Arguments and results of nodes: any plain value that can be cloned and sent between threads.
///
/// `Unpin` keeps a pending [`Context`](crate::Context) out: every plain value is, a context is not,
/// and neither is a struct with a context in it. A node that forgets to await is therefore refused
/// by the compiler.
///
/// ```compile_fail
/// use unhurried::{Context, node};
///
/// type Later = Context<i64>; // the attribute would see a `Context` by name; the type sees through an alias, too
///
/// #[node]
/// async fn forgets(n: i64) -> Later {
///     Context::new(n)
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the value of a node",
    note = "a value is a plain one: `Clone + Send + Sync + 'static`, and no pending `Context`: await it first"
)]
pub trait Value: Clone + Send + Sync + Unpin + 'static {}

impl<T: Clone + Send + Sync + Unpin + 'static> Value for T {}

/// The value of a node, shared by all its readers.
#[derive(Clone)]
pub struct Output(Arc<dyn Any + Send + Sync>);

/// Outcome of a node: its value, or the reason why there is none.
pub type Outcome = Result<Output, Cause>;

impl Output {
    /// A value as nodes hand it on.
    pub fn new<T: Value>(value: T) -> Self {
        Output(Arc::new(value))
    }

    /// The value, if it is of this type.
    pub fn get<T: Send + Sync + 'static>(&self) -> Option<&T> {
        self.0.downcast_ref()
    }

    /// Returns the value to keep: a copy, if others have it.
    pub(crate) fn value<T: Value>(self) -> T {
        Arc::unwrap_or_clone(self.shared())
    }

    pub(crate) fn shared<T: Send + Sync + 'static>(self) -> Arc<T> {
        // A context's type is its node's; an answer from a hook is checked before it becomes a value.
        self.0
            .downcast()
            .unwrap_or_else(|_| unreachable!("a node holds another type than its context says"))
    }
}

/// Operations of a value's type once the type is erased.
#[derive(Clone, Copy)]
pub struct Kind {
    pub(crate) is: fn(&Output) -> bool,
    pub(crate) codec: Option<Codec>,
    pub(crate) transient: bool,
    /// Of the body, as its author counts.
    pub(crate) version: u32,
    pub(crate) limits: Option<&'static Limits>,
}

/// Conversion of a value to data and back.
#[derive(Clone, Copy)]
pub struct Codec {
    pub(crate) encode: fn(&Output) -> serde_json::Result<serde_json::Value>,
    pub(crate) decode: fn(serde_json::Value) -> serde_json::Result<Output>,
}

impl Kind {
    pub(crate) fn of<T: Send + Sync + 'static>(codec: Option<Codec>) -> Self {
        Kind {
            is: |output| output.get::<T>().is_some(),
            codec,
            transient: false,
            version: 1,
            limits: None,
        }
    }

    /// Not to be recorded, though perhaps it could.
    pub fn transient(mut self) -> Self {
        self.transient = true;
        self
    }

    /// Of this version of the node's body.
    pub fn version(self, version: u32) -> Self {
        Kind { version, ..self }
    }

    /// Its body runs within these limits.
    pub fn limited(mut self, limits: &'static Limits) -> Self {
        self.limits = Some(limits);
        self
    }
}
