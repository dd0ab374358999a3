//! A backend is where instances live; pools reach instances through it.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::replica::data::Data;
use crate::replica::error::ReplicaError;
use crate::replica::guarded;
use crate::replica::pool::Spec;
use crate::sync::Mutex;

/// What a replica will have answered.
pub type Eventually<T> = BoxFuture<'static, Result<T, ReplicaError>>;

/// One instance, wherever it is. `#[replica]` implements it for the struct itself; a backend for what stands in for one.
pub trait Instance: Any + Send + Sync {
    /// Calls a method by name. The arguments are a list, in their order.
    fn call(self: Arc<Self>, method: String, arguments: Data) -> Eventually<Data>;
}

/// A place where instances can live.
///
/// A further one is registered by name with [`register_backend`], and chosen by configuration.
#[async_trait]
pub trait Backend: Send + Sync {
    /// Brings a replica to `n` instances and returns all of them. Those in `existing` (made by this backend) keep their
    /// state: the first stay when there shall be fewer, and stay the first when there shall be more. Nobody is handed one of
    /// those that shall go any more when this is called; who holds one already may call it until it is dropped.
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

/// Makes a backend from its options.
pub type Factory = fn(&serde_json::Value) -> Result<Arc<dyn Backend>, ReplicaError>;

static FURTHER: Mutex<BTreeMap<String, Factory>> = Mutex::new(BTreeMap::new());

/// Makes a further backend known, to be chosen by this name. `local` and, with the feature, `grpc` are known.
pub fn register_backend(name: impl Into<String>, factory: Factory) {
    FURTHER.with(|further| further.insert(name.into(), factory));
}

pub(crate) fn by_name(
    name: &str,
    options: &serde_json::Value,
) -> Result<Arc<dyn Backend>, ReplicaError> {
    let mut known = FURTHER.with(|further| further.clone());
    known.insert("local".to_owned(), local);
    #[cfg(feature = "grpc")]
    known.insert("grpc".to_owned(), crate::grpc::client::backend);
    match known.get(name) {
        Some(factory) => factory(options),
        None => Err(ReplicaError::UnknownBackend {
            name: name.to_owned(),
            known: known.into_keys().collect(),
        }),
    }
}

fn local(options: &serde_json::Value) -> Result<Arc<dyn Backend>, ReplicaError> {
    match options.as_object() {
        Some(options) if !options.is_empty() => {
            let text = format!(
                "it has none, and was given {}",
                options.keys().cloned().collect::<Vec<_>>().join(", ")
            );
            Err(ReplicaError::Options {
                backend: "local".to_owned(),
                text,
            })
        }
        _ => Ok(Arc::new(Local)),
    }
}

/// Reads the arguments of a call.
#[doc(hidden)]
pub fn arguments<T: DeserializeOwned>(
    replica: &str,
    method: &str,
    data: &Data,
) -> Result<T, ReplicaError> {
    data.read().map_err(|error| ReplicaError::Arguments {
        replica: replica.to_owned(),
        method: method.to_owned(),
        text: error.to_string(),
    })
}

/// Writes the arguments of a call.
pub(crate) fn packed(
    replica: &str,
    method: &str,
    values: &impl Serialize,
) -> Result<Data, ReplicaError> {
    Data::of(values).map_err(|error| ReplicaError::Arguments {
        replica: replica.to_owned(),
        method: method.to_owned(),
        text: error.to_string(),
    })
}

/// Writes the answer of a call.
#[doc(hidden)]
pub fn answer<T: Serialize>(replica: &str, method: &str, value: &T) -> Result<Data, ReplicaError> {
    Data::of(value).map_err(|error| ReplicaError::Answer {
        replica: replica.to_owned(),
        method: method.to_owned(),
        text: error.to_string(),
    })
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
