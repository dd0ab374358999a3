//! What recall knows for the audit of a memory: which statements look alike, and how often minds recalled them.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::time::timeout;

use super::alike::{Alike, alike};
use super::finder::{Error, Recall, apart};
use super::meaning::{Meaning, Why};
use super::shelf::Slot;
use super::uses::Counted;
use crate::log::error::StoreError;
use crate::words::id::Space;

/// Statements that look alike.
#[derive(Debug, Default)]
pub struct Likenesses {
    /// By the id of each that was asked for and has any: the nearest first.
    pub of: HashMap<String, Vec<Alike>>,
    /// Why vectors said nothing, or not of all statements.
    pub without_vectors: Option<String>,
}

impl Recall {
    /// How often minds recalled what, of late.
    pub async fn uses(&self, space: &Space) -> Result<Arc<Counted>, StoreError> {
        self.uses.counted(&*self.store, space).await
    }

    /// Which others look like each of these, at most so many of each. All vectors of the space are looked at for each.
    pub async fn likenesses(&self, space: &Space, ids: Vec<String>, most: usize) -> Result<Likenesses, Error> {
        let _place = self.places.take(space).await;
        let slot = self.shelf.of(space);
        self.catch_up(space, &slot).await?;
        let without_vectors = match &self.meaning {
            Some(meaning) => meaning.without(&slot).await,
            None => None,
        };
        let of = apart(move || {
            // Read anew for each: what changes the view does not wait for all of them.
            let of_one =
                |id: String| Some((slot.read(|view| alike(view, &id, most)), id)).filter(|it| !it.0.is_empty());
            ids.into_iter().filter_map(of_one).map(|(found, id)| (id, found)).collect()
        });
        Ok(Likenesses { of: of.await?, without_vectors })
    }
}

impl Meaning {
    /// Why vectors of the statements say nothing, or not of all; none: all have one.
    pub async fn without(self: &Arc<Self>, slot: &Arc<Slot>) -> Option<Why> {
        let filled = timeout(self.options.wait, self.filled(slot)).await;
        filled.unwrap_or_else(|_| Err(self.late())).err().map(|why| self.partly(slot, &why))
    }
}
