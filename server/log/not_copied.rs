//! Why a log was not copied, to a backup or from one.

use super::error::StoreError;

/// Why a log was not copied. For the person who asked for it: a request never does.
#[derive(Debug, thiserror::Error)]
pub enum NotCopied {
    /// It cannot be done as it was asked for: what is wrong, and what to do.
    #[error("{0}")]
    Refused(String),
    /// The database, or the disk, failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<sqlx::Error> for NotCopied {
    fn from(error: sqlx::Error) -> Self {
        StoreError::from(error).into()
    }
}

impl NotCopied {
    /// What is wrong, and what to do.
    pub(super) fn refused(why: impl Into<String>) -> Self {
        Self::Refused(why.into())
    }
}
