//! A manager has one backend for all replicas registered with it; a configuration names the backend.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value as Json};

use crate::replica::backend::{Backend, Local};
use crate::replica::error::ReplicaError;
use crate::sync::Mutex;

/// A backend, and its options: `{"backend": "grpc", "url": "http://127.0.0.1:7433"}`.
///
/// | option of `grpc` | |
/// | --- | --- |
/// | `url` | `http://` or `https://`, with a port |
/// | `token` | the token that the server demands |
/// | `ca_file`, `domain` | the authority of its certificate, in PEM; the name in it, if it is not the one in `url` |
/// | `connect_ms`, `call_ms` | the longest time of a connection (5,000) and of a call (60,000) |
///
/// ```
/// let config: unhurried::Config = serde_json::from_str(r#"{"backend": "local"}"#).unwrap();
/// assert_eq!(config, unhurried::Config::default());
/// ```
#[derive(Clone, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct Config {
    /// `local`, `grpc`, or a registered name.
    #[serde(default = "local")]
    pub backend: String,
    /// Options of this backend.
    #[serde(flatten)]
    pub options: Map<String, Json>,
}

/// Names the options and keeps their values to itself: one may be a token.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let options = self.options.keys().collect::<Vec<_>>();
        f.debug_struct("Config")
            .field("backend", &self.backend)
            .field("options", &options)
            .finish()
    }
}

fn local() -> String {
    "local".to_owned()
}

impl Default for Config {
    fn default() -> Self {
        Config::new("local")
    }
}

impl Config {
    /// This backend, without options.
    pub fn new(backend: impl Into<String>) -> Self {
        Config {
            backend: backend.into(),
            options: Map::new(),
        }
    }

    /// One more option.
    pub fn option(mut self, name: impl Into<String>, value: impl Into<Json>) -> Self {
        self.options.insert(name.into(), value.into());
        self
    }

    /// Opens the backend itself, for use without a manager. An unknown name lists the known ones.
    pub fn open(self) -> Result<Arc<dyn Backend>, ReplicaError> {
        by_name(&self.backend, &Json::Object(self.options))
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
    known.insert("local".to_owned(), in_process);
    #[cfg(feature = "grpc")]
    known.insert("grpc".to_owned(), crate::replica::remote::backend);
    match known.get(name) {
        Some(factory) => factory(options),
        None => Err(ReplicaError::UnknownBackend {
            name: name.to_owned(),
            known: known.into_keys().collect(),
        }),
    }
}

fn in_process(options: &serde_json::Value) -> Result<Arc<dyn Backend>, ReplicaError> {
    let given = options.as_object().into_iter().flat_map(Map::keys);
    let given = given.cloned().collect::<Vec<_>>();
    if given.is_empty() {
        return Ok(Arc::new(Local));
    }
    Err(ReplicaError::Options {
        backend: "local".to_owned(),
        text: format!("it has none, and was given {}", given.join(", ")),
    })
}

/// A registry of replicas with one backend. There is a default one; an explicit one is a `static` of yours, named in
/// `#[replica(n = 2, manager = &MINE)]`.
pub struct Manager {
    pub(crate) state: Mutex<State>,
    instances_max: usize,
}

pub(crate) struct State {
    /// None is local.
    pub(crate) backend: Option<Arc<dyn Backend>>,
    pub(crate) block_is_open: bool,
}

static DEFAULT: Manager = Manager::new();

impl Manager {
    /// A manager with the local backend.
    #[allow(clippy::new_without_default)]
    pub const fn new() -> Self {
        Manager {
            state: Mutex::new(State {
                backend: None,
                block_is_open: false,
            }),
            instances_max: 1000,
        }
    }

    /// One of its replicas has at most this many instances, wherever they live; 1,000 if not said.
    pub const fn instances_max(mut self, limit: usize) -> Self {
        self.instances_max = limit;
        self
    }

    /// The manager of replicas that name none.
    pub fn standard() -> &'static Manager {
        &DEFAULT
    }

    /// Uses this backend for deployments from now on.
    pub fn configure(&self, config: Config) -> Result<(), ReplicaError> {
        let backend = config.open()?;
        self.state.with(|state| state.backend = Some(backend));
        Ok(())
    }

    pub(crate) fn backend(&self) -> Arc<dyn Backend> {
        self.state
            .with(|state| state.backend.clone())
            .unwrap_or_else(|| Arc::new(Local))
    }

    pub(crate) fn limit(&self) -> usize {
        self.instances_max
    }
}
