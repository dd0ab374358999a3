//! The filler of a view: it gives statements their vectors beside the recalls, as long as somebody keeps the view.

use std::sync::{Arc, Weak};

use super::meaning::{Meaning, Why, hash};
use super::shelf::Slot;
use super::view::View;
use crate::log::vectors::{Hash, PAGE};
use crate::model::embedding::TEXTS_MAX;

impl Meaning {
    /// Waits until all statements have a vector, or none will come for a while.
    pub(super) async fn filled(self: &Arc<Self>, slot: &Arc<Slot>) -> Result<(), Why> {
        loop {
            let more = slot.filled.notified();
            tokio::pin!(more);
            more.as_mut().enable();
            let is_stale = self.is_stale(slot);
            if slot.read(View::missing) == 0 && !is_stale {
                return Ok(());
            }
            self.is_quiet()?;
            if !is_stale && self.is_full(slot) {
                return Err(self.too_many());
            }
            // Where somebody fills it already, that one tells.
            if let Ok(alone) = slot.filler.clone().try_lock_owned() {
                let (this, slot) = (self.clone(), Arc::downgrade(slot));
                tokio::spawn(async move {
                    let filled = this.fill(&slot).await;
                    filled.unwrap_or_else(|why| drop(this.failed(why)));
                    drop(alone);
                    slot.upgrade()
                        .iter()
                        .for_each(|slot| slot.filled.notify_waiters());
                });
            }
            more.await;
        }
    }

    /// Fills in vectors, some at a time, while the view is kept: as many as may be scanned.
    async fn fill(&self, slot: &Weak<Slot>) -> Result<(), Why> {
        let scale = self.scale().await?;
        loop {
            let Some(slot) = slot.upgrade() else {
                return Ok(());
            };
            slot.write(|view| view.measure(&scale));
            let room = self.options.exact.saturating_sub(slot.read(View::scanned));
            let missing = slot.read(|view| view.some_missing(TEXTS_MAX.min(room)));
            if missing.is_empty() {
                return Ok(());
            }
            let texts: Vec<String> = missing
                .iter()
                .map(|it| self.as_statement(&it.text))
                .collect();
            let vectors = self.vectors(&scale, &texts).await?;
            slot.write(|view| {
                missing
                    .iter()
                    .zip(vectors)
                    .for_each(|(it, vector)| view.give(it, vector.as_ref()))
            });
            slot.filled.notify_waiters();
        }
    }

    /// Returns whether a view has as many vectors as are scanned at most.
    pub(super) fn is_full(&self, slot: &Slot) -> bool {
        slot.read(View::scanned) >= self.options.exact
    }

    /// Why statements have no vector where there are more than may have one.
    pub(super) fn too_many(&self) -> Why {
        let most = self.options.exact;
        format!(
            "there are more than memory.exact_vectors ({most}), and the others are found by words and names alone"
        )
    }

    /// Fills in the vectors that are stored.
    pub(super) async fn fill_stored(&self, view: &mut View) -> Result<(), Why> {
        let scale = self.scale().await?;
        view.measure(&scale);
        for page in view.some_missing(usize::MAX).chunks(PAGE) {
            let hashes: Vec<Hash> = page
                .iter()
                .map(|it| hash(&self.as_statement(&it.text)))
                .collect();
            let stored = self.stored(&scale, &hashes).await?;
            for (it, hash) in page.iter().zip(&hashes) {
                if let Some(vector) = stored.get(hash) {
                    view.give(it, Some(vector));
                }
            }
        }
        Ok(())
    }
}
