//! The errors of a store.

use std::future::Future;
use std::time::Duration;

use tokio::time::timeout;
use uuid::Uuid;

use thinkd_event::condition::Condition;
use thinkd_words::failure::{Failure, FailureKind};

/// The result of reading a store, or of writing to it.
pub type Stored<T> = Result<T, StoreError>;

/// The reason why a store refused or failed a request.
#[derive(Debug, Clone, thiserror::Error)]
pub enum StoreError {
    /// An event with this id is stored already, with other content. The caller can act.
    #[error("event {0} is stored already, with other content")]
    Conflict(Uuid),
    /// A condition that has to hold when an event is stored does not hold; nothing was stored. The
    /// caller can act.
    #[error("{0}")]
    Unmet(Condition),
    /// The database is away, full or busy; nothing was stored. The caller may try again.
    #[error("the database is unavailable: {0}")]
    Unavailable(String),
    /// A search took longer than it may. The caller can act.
    #[error(
        "this search takes longer than it may; ask for less: one thread, a shorter range, rarer words"
    )]
    TooDear,
    /// A stored value cannot be read, or the database refuses a value it should take. A person must
    /// look.
    #[error("the database failed: {0}")]
    Broken(String),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let text = format!("the log could not be read: {error}");
        Self::new(FailureKind::Store, text).retryable()
    }
}

impl StoreError {
    /// Nothing more is done.
    pub(super) fn closed() -> Self {
        Self::Unavailable("the store is closed".into())
    }

    /// The error in other words, if the database is away, or failed.
    pub(super) fn reworded(self, words: impl FnOnce(&str) -> String) -> Self {
        match self {
            Self::Unavailable(why) => Self::Unavailable(words(&why)),
            Self::Broken(why) => Self::Broken(words(&why)),
            other => other,
        }
    }

    /// There is no connection for another question.
    pub(super) fn busy() -> Self {
        Self::Unavailable("all connections are busy".into())
    }

    /// A limit of time has passed.
    pub(super) fn no_answer() -> Self {
        Self::Unavailable("the database does not answer".into())
    }
}

/// Returns the result of work, or an error when a limit of time has passed.
pub(super) async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let result = timeout(limit, work).await;
    result.unwrap_or_else(|_| Err(StoreError::no_answer()))
}
