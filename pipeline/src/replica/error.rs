//! The errors of a replica. They are data, because they travel.

use std::error::Error;
use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use crate::error::Cause;

/// Why a replica could not be had, or a call of it failed.
#[derive(Debug, Clone, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReplicaError {
    /// No such name.
    #[error("no replica is named `{name}`; there are: {}", known.join(", "))]
    Unknown {
        /// The requested name.
        name: String,
        /// The known names.
        known: Vec<String>,
    },
    /// A short name that several replicas have.
    #[error("`{name}` could be any of {}: say which by its full path", candidates.join(", "))]
    Ambiguous {
        /// The requested name.
        name: String,
        /// The full paths that it could mean.
        candidates: Vec<String>,
    },
    /// Nothing to build it from.
    #[error(
        "`{0}` is built from arguments and none are known: call `deploy` or `remember` with them first"
    )]
    NoArguments(String),
    /// Arguments of another shape.
    #[error("the arguments of `{replica}::{method}` do not decode: {text}")]
    Arguments {
        /// The replica.
        replica: String,
        /// The method; `new` is the constructor.
        method: String,
        /// The fault in them.
        text: String,
    },
    /// An answer that is no data, or of another shape.
    #[error("the answer of `{replica}::{method}` does not decode: {text}")]
    Answer {
        /// The replica.
        replica: String,
        /// The method.
        method: String,
        /// The fault in it.
        text: String,
    },
    /// No such method.
    #[error("`{replica}` has no method `{method}`; it has: {}", known.join(", "))]
    UnknownMethod {
        /// The replica.
        replica: String,
        /// The called method.
        method: String,
        /// The known methods.
        known: Vec<String>,
    },
    /// A name with an underscore in front is not called from outside.
    #[error("`{0}` is private: a name that begins with an underscore is not called from outside")]
    Private(String),
    /// A call, or its answer, above the limit of one of the two sides.
    #[error("a message of `{replica}::{method}` is too large: {text}")]
    TooLarge {
        /// The replica.
        replica: String,
        /// The method; `new` is the constructor.
        method: String,
        /// The size and the limit.
        text: String,
    },
    /// The method itself failed, or panicked.
    #[error("`{replica}::{method}` failed: {text}")]
    Failed {
        /// The replica.
        replica: String,
        /// The method; `new` is the constructor.
        method: String,
        /// The text of its error.
        text: String,
        /// Its own error, if it was called in this process. An error from another one is a text.
        #[serde(skip)]
        source: Option<OwnError>,
    },
    /// The instance is gone: never deployed there, shut down, or scaled away.
    #[error("`{0}` is not deployed")]
    NotDeployed(String),
    /// A pool of nothing.
    #[error("`{0}` cannot have 0 instances: shut it down instead")]
    NoInstances(String),
    /// More than its manager, or the server, is willing to hold.
    #[error("`{replica}` cannot have {n} instances: the limit is {limit}, see `instances_max`")]
    TooMany {
        /// The replica.
        replica: String,
        /// The requested number.
        n: usize,
        /// Most instances: of one replica here, of all replicas and clients together with a server.
        limit: usize,
    },
    /// No such backend.
    #[error("there is no backend `{name}`; there are: {}", known.join(", "))]
    UnknownBackend {
        /// The configured name.
        name: String,
        /// The known backends.
        known: Vec<String>,
    },
    /// Options the backend does not understand.
    #[error("the options of backend `{backend}`: {text}")]
    Options {
        /// The backend.
        backend: String,
        /// The fault in them.
        text: String,
    },
    /// No server answered, or the connection broke.
    #[error("{address} cannot be reached: {text}")]
    Unreachable {
        /// The address.
        address: String,
        /// The text of the error.
        text: String,
    },
    /// No answer in time.
    #[error("{address} did not answer within {limit_ms} ms")]
    TimedOut {
        /// The address.
        address: String,
        /// The time it had.
        limit_ms: u64,
    },
    /// The wrong token, or none.
    #[error("{0} refuses the token")]
    Refused(String),
    /// One block at a time.
    #[error(
        "this manager is in a `runtime` block already: end it first, or use a manager of your own"
    )]
    BlockIsOpen,
}

impl ReplicaError {
    /// Arguments of this call that do not decode.
    pub(crate) fn arguments(replica: &str, method: &str, why: impl fmt::Display) -> Self {
        ReplicaError::Arguments {
            replica: replica.to_owned(),
            method: method.to_owned(),
            text: why.to_string(),
        }
    }

    /// An answer of this call that does not decode.
    pub(crate) fn answer(replica: &str, method: &str, why: impl fmt::Display) -> Self {
        ReplicaError::Answer {
            replica: replica.to_owned(),
            method: method.to_owned(),
            text: why.to_string(),
        }
    }
}

/// Two are equal that say the same: all they hold is in it, but for a method's own error, which may be of any type.
impl PartialEq for ReplicaError {
    fn eq(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
            && self.to_string() == other.to_string()
    }
}

impl Eq for ReplicaError {}

/// The error that a method returned, of the type it has: [`source`](Error::source) of the [`ReplicaError`] gives it to be
/// downcast.
#[derive(Clone)]
pub struct OwnError(pub(crate) Cause);

impl Deref for OwnError {
    type Target = dyn Error + Send + Sync;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for OwnError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
