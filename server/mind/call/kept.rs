//! What a call is made of besides events (prompts, tools) is kept as blobs, each once, so that its record need only name it.

use std::collections::HashSet;
use std::sync::PoisonError;

use super::ModelClient;
use crate::log::blob::Blob;
use crate::log::error::StoreError;
use crate::words::id::Space;
use crate::words::text::Text;

/// Prompts whose blobs are known to be stored; more than so many and the set starts anew.
const KNOWN_MAX: usize = 4096;

impl ModelClient {
    /// Keeps a text as a blob, once, and returns its hash.
    pub(super) async fn keep(&self, space: &Space, text: &Text) -> Result<String, StoreError> {
        let key = (space.clone(), text.sha256().to_owned());
        if self.lock_known().contains(&key) {
            return Ok(key.1);
        }
        let bytes = bytes::Bytes::copy_from_slice(text.as_str().as_bytes());
        let hash = self
            .store
            .put_blob(
                space,
                Blob {
                    mime: "text/plain; charset=utf-8".into(),
                    bytes,
                },
            )
            .await?;
        let mut known = self.lock_known();
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(key);
        Ok(hash)
    }

    fn lock_known(&self) -> std::sync::MutexGuard<'_, HashSet<(Space, String)>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
