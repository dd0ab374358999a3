//! Replicas: services that are declared once and deployed in this process or another by configuration alone.

pub(crate) mod backend;
pub(crate) mod data;
pub(crate) mod error;
pub(crate) mod manager;
pub(crate) mod pool;
pub(crate) mod reader;
#[cfg(feature = "grpc")]
mod remote;
pub(crate) mod runtime;
#[cfg(feature = "grpc")]
pub(crate) mod server;
#[cfg(feature = "grpc")]
mod wire;

use std::any::Any;
use std::error::Error;
use std::future::Future;
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::flow::HERE;
use backend::{Instance, failed, guarded, packed};
use error::ReplicaError;
use manager::Config;
use pool::Pool;

/// A type declared by [`#[replica]`](crate::replica).
pub trait Replica: Instance + Sized {
    /// The arguments of its constructor: `()`, the one parameter, or a tuple of them.
    type Arguments: Serialize + DeserializeOwned + Send;

    /// The handle for callers: the methods of the type, each async and each returning a `Result`.
    type Proxy: From<Proxy<Self>>;

    /// The handle.
    fn pool() -> &'static Pool;

    /// Makes the instances from these arguments, and remembers them. If they are there already, nothing changes.
    fn deploy(arguments: Self::Arguments) -> impl Future<Output = Result<(), ReplicaError>> + Send {
        // Into data first, so that the future need not hold the arguments by reference.
        let data = packed(Self::pool().spec().name, "new", &arguments);
        async move { Self::pool().deploy_data(Some(data?)).await }
    }

    /// Remembers the arguments from which instances are built, for a later deployment.
    fn remember(arguments: Self::Arguments) -> Result<(), ReplicaError> {
        Self::pool().remember(&arguments)
    }

    /// Makes more instances, or ends the last ones. The others keep their state. One that is scaled
    /// away is handed out no more from then on, and ends when the last caller lets go of it.
    fn scale(n: usize) -> impl Future<Output = Result<(), ReplicaError>> + Send {
        Self::pool().scale(n)
    }

    /// Ends all instances; a later `get` makes new ones from the remembered arguments.
    fn shutdown() -> impl Future<Output = Result<(), ReplicaError>> + Send {
        Self::pool().shutdown()
    }

    /// Returns an instance, or its stand-in; deploys first, if there is none.
    fn get() -> impl Future<Output = Result<Self::Proxy, ReplicaError>> + Send {
        async { Ok(Proxy::of(Self::pool(), Self::pool().get().await?).into()) }
    }

    /// One instance for the caller alone, wherever `config` says: the pool does not know of it, and it ends with its last holder.
    /// For a program that holds several configurations at once, where a pool has one.
    fn alone(
        config: Config,
        arguments: Self::Arguments,
    ) -> impl Future<Output = Result<Self::Proxy, ReplicaError>> + Send {
        let spec = Self::pool().spec();
        let data = packed(spec.name, "new", &arguments);
        async move {
            let instances = config.open()?.scale(spec, &data?, Vec::new(), 1).await?;
            let instance = instances
                .into_iter()
                .next()
                .ok_or_else(|| ReplicaError::NotDeployed(spec.name.to_owned()))?;
            Ok(Proxy::of(Self::pool(), instance).into())
        }
    }
}

/// One instance in the hands of a caller.
pub struct Proxy<R> {
    pool: &'static Pool,
    reach: Reach<R>,
}

enum Reach<R> {
    /// In this process: a call is a call.
    Here(Arc<R>),
    There(Arc<dyn Instance>),
}

impl<R: Instance> Proxy<R> {
    fn of(pool: &'static Pool, instance: Arc<dyn Instance>) -> Self {
        let any: Arc<dyn Any + Send + Sync> = instance.clone();
        let reach = match any.downcast() {
            Ok(here) => Reach::Here(here),
            Err(_) => Reach::There(instance),
        };
        Proxy { pool, reach }
    }

    /// The instance itself, if it is in this process.
    pub fn local(&self) -> Option<&R> {
        match &self.reach {
            Reach::Here(instance) => Some(instance),
            Reach::There(_) => None,
        }
    }

    /// Calls a method by name, wherever the instance is. `arguments` is a tuple, or a list, of the method's parameters.
    pub async fn call<T: DeserializeOwned>(
        &self,
        method: &str,
        arguments: &impl Serialize,
    ) -> Result<T, ReplicaError> {
        if method.starts_with('_') {
            return Err(ReplicaError::Private(method.to_owned()));
        }
        let replica = self.pool.spec().name;
        let arguments = packed(replica, method, arguments)?;
        tell_hooks(self.pool, method);
        let answer = match &self.reach {
            Reach::Here(here) => {
                guarded(
                    here.clone().call(method.to_owned(), arguments),
                    replica,
                    method,
                )
                .await?
            }
            Reach::There(there) => there.clone().call(method.to_owned(), arguments).await?,
        };
        answer
            .read()
            .map_err(|error| ReplicaError::answer(replica, method, error))
    }

    /// The instance, if the call can be a plain one; the hooks of the run are told.
    #[doc(hidden)]
    pub fn begin(&self, method: &str) -> Option<&R> {
        let here = self.local()?;
        tell_hooks(self.pool, method);
        Some(here)
    }

    /// Calls a method, and turns a panic into a failure of the method here, too.
    #[doc(hidden)]
    pub fn guarded<T>(
        &self,
        method: &str,
        work: impl Future<Output = Result<T, ReplicaError>>,
    ) -> impl Future<Output = Result<T, ReplicaError>> {
        guarded(work, self.pool.spec().name, method)
    }

    /// A method's own error.
    #[doc(hidden)]
    pub fn failed(
        &self,
        method: &str,
        error: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> ReplicaError {
        failed(self.pool.spec().name, method, error)
    }
}

/// Tells the hooks of a call. No method of [`Proxy`], which is compiled where it is used and sees
/// less of this crate.
fn tell_hooks(pool: &Pool, method: &str) {
    let _ = HERE.try_with(|here| {
        let Some(scope) = &here.scope else { return };
        for hook in &scope.run.hooks {
            hook.replica_called(pool.spec().name, method, scope.node.as_deref());
        }
    });
}
