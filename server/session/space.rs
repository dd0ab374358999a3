//! A session reads the state that modules keep, stores and reads blobs, and sees the spaces that
//! the server cannot serve.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::handle::{Acted, Session};
use super::right::Right;
use thinkd_log::blob::Blob;
use thinkd_log::presence::Server;
use thinkd_log::projections::entries::EntryRow;
use thinkd_log::upkeep::Checked;
use thinkd_words::id::Space;

/// A space that cannot be served as it should be.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = NotServed)]
pub struct Unserved {
    /// The space.
    #[schema(value_type = String, example = "default")]
    pub space: Space,
    /// The work that cannot be done for it: `opening`, `index`, `timers` or `threads`.
    #[schema(example = "index")]
    pub work: String,
    /// Why.
    pub reason: String,
}

impl Session {
    /// One entry of the state.
    pub async fn entry(&self, key: &str) -> Acted<Option<EntryRow>> {
        Ok(self.store(Right::Read)?.entry(self.space(), key).await?)
    }

    /// Entries of the state by key, those after `after`, at most `limit`.
    pub async fn entries(&self, after: Option<&str>, limit: u32) -> Acted<Vec<EntryRow>> {
        let (store, space) = self.reading()?;
        Ok(store.entries(space, after, limit).await?)
    }

    /// Entries of the state that have any of these words, the best first, at most `limit`.
    pub async fn search_entries(&self, words: &str, limit: u32) -> Acted<Vec<EntryRow>> {
        let (store, space) = self.reading()?;
        Ok(store.search_entries(space, words, limit).await?)
    }

    /// Stores a blob and returns the SHA-256 of its bytes.
    pub async fn put_blob(&self, blob: Blob) -> Acted<String> {
        let store = self.store(Right::Speak)?;
        Ok(store.put_blob(self.space(), blob).await?)
    }

    /// A blob by the SHA-256 of its bytes.
    pub async fn blob(&self, sha256: &str) -> Acted<Option<Blob>> {
        Ok(self.store(Right::Read)?.blob(self.space(), sha256).await?)
    }

    /// The spaces of the server that cannot be served as they should be.
    pub fn unserved(&self) -> Acted<Vec<Unserved>> {
        let all = self.store(Right::Oversee)?.unserved().all().into_iter();
        Ok(all
            .map(|(space, work, reason)| Unserved {
                space,
                work: work.to_string(),
                reason,
            })
            .collect())
    }

    /// The servers on the log by when they started, the one that is asked last.
    pub async fn servers(&self) -> Acted<Vec<Server>> {
        Ok(self.store(Right::Oversee)?.servers().await?)
    }

    /// Returns the result of the last look through the whole file of the log.
    pub fn checked(&self) -> Acted<Option<Checked>> {
        Ok(self.store(Right::Oversee)?.checked())
    }
}
