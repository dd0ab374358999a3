//! The texts of a call besides its events (prompts, tools) are kept as blobs, each once, so that
//! its record need only name them.

use super::ModelClient;
use thinkd_log::blob::Blob;
use thinkd_log::error::StoreError;
use thinkd_model::cache::Cache;
use thinkd_words::id::Space;
use thinkd_words::text::Text;

/// Most prompts with blobs known to be stored; with more the set starts anew.
const KNOWN_MAX: usize = 4096;

/// Hashes of blobs that are known to be stored, by space.
pub(super) type StoredBlobs = Cache<(Space, String), (), KNOWN_MAX>;

impl ModelClient {
    /// Keeps a text as a blob, once, and returns its hash.
    pub(super) async fn keep(&self, space: &Space, text: &Text) -> Result<String, StoreError> {
        let key = (space.clone(), text.sha256().to_owned());
        if self.known.get(&key).is_some() {
            return Ok(key.1);
        }
        let blob = Blob {
            mime: "text/plain; charset=utf-8".into(),
            bytes: bytes::Bytes::copy_from_slice(text.as_str().as_bytes()),
        };
        let hash = self.store.put_blob(space, blob).await?;
        self.known.insert(key, ());
        Ok(hash)
    }
}
