//! What recall knows for the audit of a memory: which statements look alike, and how often minds recalled them.

use std::collections::HashMap;
use std::sync::Arc;

use tokio::time::timeout;

use super::alike::{Alike, Sought, look_at};
use super::finder::{Error, Recall, apart};
use super::meaning::{Meaning, Why};
use super::shelf::Slot;
use super::uses::Counted;
use crate::log::error::StoreError;
use crate::words::id::Space;

/// So many statements of a view are looked at at once.
const AT_ONCE: u32 = 4096;

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

    /// Which others look like each of these, at most so many of each. All vectors of the space are looked at once.
    pub async fn likenesses(
        &self,
        space: &Space,
        ids: Vec<String>,
        most: usize,
    ) -> Result<Likenesses, Error> {
        let _place = self.places.take(space).await;
        let slot = self.shelf.of(space);
        self.catch_up(space, &slot).await?;
        let without_vectors = match &self.meaning {
            Some(meaning) => meaning.without(&slot).await,
            None => None,
        };
        let (mut all, mut from) = (sought(&slot, &ids), Some(0));
        // Read anew for each part: what changes the view does not wait for all of them, and whoever has gone is not worked for.
        while let Some(at) = from {
            let slot = slot.clone();
            let look = move || {
                (
                    slot.read(|view| look_at(view, &mut all, (at, AT_ONCE), most)),
                    all,
                )
            };
            (from, all) = apart(look).await?;
        }
        let found = all
            .into_iter()
            .map(Sought::into_found)
            .filter(|(_, found)| !found.is_empty());
        Ok(Likenesses {
            of: found.collect(),
            without_vectors,
        })
    }
}

fn sought(slot: &Slot, ids: &[String]) -> Vec<Sought> {
    slot.read(|view| ids.iter().filter_map(|id| Sought::of(view, id)).collect())
}

impl Meaning {
    /// Why vectors of the statements say nothing, or not of all; none: all have one.
    pub async fn without(self: &Arc<Self>, slot: &Arc<Slot>) -> Option<Why> {
        let filled = timeout(self.options.wait, self.filled(slot)).await;
        let filled = filled.unwrap_or_else(|_| Err(self.late()));
        filled.err().map(|why| self.partly(slot, &why))
    }
}
