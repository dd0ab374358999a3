//! Why a log was not copied, to a backup or from one.

use super::error::StoreError;

/// The reason why a log was not copied. For the person that asked for it: a request never does.
#[derive(Debug, thiserror::Error)]
pub enum NotCopied {
    /// The copy cannot be done as it was asked for: the text has the reason, and the remedy.
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
    /// Returns a refusal with its reason, and the remedy.
    pub(super) fn refused(why: impl Into<String>) -> Self {
        Self::Refused(why.into())
    }
}
