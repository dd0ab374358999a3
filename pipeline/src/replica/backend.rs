//! A backend is where instances live; pools reach instances through it.

use std::any::Any;
use std::error::Error;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Cause, panicked};
use crate::replica::data::Data;
use crate::replica::error::{OwnError, ReplicaError};

/// The coming answer of a replica.
pub type Eventually<T> = BoxFuture<'static, Result<T, ReplicaError>>;

/// One instance, in any place. `#[replica]` implements it for the struct itself; a backend for its
/// stand-ins.
pub trait Instance: Any + Send + Sync {
    /// Calls a method by name. The arguments are a list, in their order.
    fn call(self: Arc<Self>, method: String, arguments: Data) -> Eventually<Data>;
}

/// Declaration of a replica.
#[non_exhaustive]
pub struct Spec {
    /// The full path of the type.
    pub name: &'static str,
    /// Number of instances wanted.
    pub n: usize,
    /// Choice of the instance that a caller gets.
    pub pick: Pick,
    /// Methods that can be called.
    pub methods: &'static [&'static str],
    /// Builds an instance from the arguments of its constructor, as data, and calls its initialiser.
    pub construct: fn(Data) -> Eventually<Arc<dyn Instance>>,
}

/// Choice of the instance that a caller gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Pick {
    /// One after the other.
    RoundRobin,
    /// The one that the fewest callers hold; of these the first.
    LeastBusy,
}

impl Spec {
    #[doc(hidden)]
    pub const fn of(
        name: &'static str,
        n: usize,
        pick: Pick,
        methods: &'static [&'static str],
        construct: fn(Data) -> Eventually<Arc<dyn Instance>>,
    ) -> Self {
        Spec {
            name,
            n,
            pick,
            methods,
            construct,
        }
    }

    /// The type's own name, without the path.
    pub fn short_name(&self) -> &'static str {
        self.name.rsplit("::").next().unwrap_or(self.name)
    }
}

/// A place where instances can live.
///
/// A further one is registered by name with [`register_backend`](crate::register_backend), and chosen by configuration.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Brings a replica to `n` instances and returns all of them. Those in `existing` (made by this
    /// backend) keep their state: the first stay when there shall be fewer, and stay the first when
    /// there shall be more. Those that shall go are no longer handed out when this is called;
    /// holders may call one until it is dropped.
    async fn scale(
        &self,
        spec: &'static Spec,
        arguments: &Data,
        existing: Vec<Arc<dyn Instance>>,
        n: usize,
    ) -> Result<Vec<Arc<dyn Instance>>, ReplicaError>;

    /// Ends all instances of a replica. Also called when there are none.
    async fn shutdown(&self, spec: &'static Spec) -> Result<(), ReplicaError>;
}

/// A method's own error, with where it comes from.
#[doc(hidden)]
pub fn failed(
    replica: &str,
    method: &str,
    error: impl Into<Box<dyn Error + Send + Sync>>,
) -> ReplicaError {
    let error: Cause = Arc::from(error.into());
    let text = error.to_string();
    ReplicaError::Failed {
        replica: replica.to_owned(),
        method: method.to_owned(),
        text,
        source: Some(OwnError(error)),
    }
}

/// A panic is a failure of the method it happened in, and of nothing else.
pub(crate) async fn guarded<T>(
    work: impl Future<Output = Result<T, ReplicaError>>,
    replica: &str,
    method: &str,
) -> Result<T, ReplicaError> {
    let mut work = pin!(work);
    let step = |task: &mut Context<'_>| {
        let panicked = |panic: Box<dyn Any + Send>| {
            Poll::Ready(Err(failed(replica, method, panicked(&*panic))))
        };
        catch_unwind(AssertUnwindSafe(|| work.as_mut().poll(task))).unwrap_or_else(panicked)
    };
    poll_fn(step).await
}

/// Instances in this process: the default.
pub(crate) struct Local;

#[async_trait]
impl Backend for Local {
    async fn scale(
        &self,
        spec: &'static Spec,
        arguments: &Data,
        mut existing: Vec<Arc<dyn Instance>>,
        n: usize,
    ) -> Result<Vec<Arc<dyn Instance>>, ReplicaError> {
        existing.truncate(n);
        while existing.len() < n {
            existing.push(guarded((spec.construct)(arguments.clone()), spec.name, "new").await?);
        }
        Ok(existing)
    }

    async fn shutdown(&self, _: &'static Spec) -> Result<(), ReplicaError> {
        Ok(()) // the pool's references were the last
    }
}

/// Reads the arguments of a call.
#[doc(hidden)]
pub fn arguments<T: DeserializeOwned>(
    replica: &str,
    method: &str,
    data: &Data,
) -> Result<T, ReplicaError> {
    data.read()
        .map_err(|error| ReplicaError::arguments(replica, method, error))
}

/// Writes the arguments of a call.
pub(crate) fn packed(
    replica: &str,
    method: &str,
    values: &impl Serialize,
) -> Result<Data, ReplicaError> {
    Data::of(values).map_err(|error| ReplicaError::arguments(replica, method, error))
}

/// Writes the answer of a call.
#[doc(hidden)]
pub fn answer<T: Serialize>(replica: &str, method: &str, value: &T) -> Result<Data, ReplicaError> {
    Data::of(value).map_err(|error| ReplicaError::answer(replica, method, error))
}

/// There is no such method.
#[doc(hidden)]
pub fn unknown_method(spec: &Spec, method: String) -> ReplicaError {
    let known = spec
        .methods
        .iter()
        .map(|known| (*known).to_owned())
        .collect();
    ReplicaError::UnknownMethod {
        replica: spec.name.to_owned(),
        method,
        known,
    }
}
