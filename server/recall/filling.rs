//! The filler of a view: it gives statements their vectors beside the recalls, as long as somebody keeps the view.

use std::sync::{Arc, Weak};

use super::meaning::{Meaning, Why, hash};
use super::shelf::Slot;
use super::view::View;
use crate::log::vectors::{Hash, PAGE};
use crate::model::embedding::TEXTS_MAX;
use crate::words::id::Space;

impl Meaning {
    /// Waits until all statements have a vector, or none will come for a while.
    pub(super) async fn filled(
        self: &Arc<Self>,
        slot: &Arc<Slot>,
        space: Option<&Space>,
    ) -> Result<(), Why> {
        loop {
            let more = slot.filled.notified();
            tokio::pin!(more);
            more.as_mut().enable();
            let is_stale = self.is_stale(slot);
            if slot.read(View::missing) == 0 && !is_stale {
                return Ok(());
            }
            self.is_quiet()?;
            if !is_stale && slot.read(View::scanned) >= self.options.exact {
                self.index_of(space, &self.scale().await?).await?;
            }
            // Where somebody fills it already, that one tells.
            if let Ok(alone) = slot.filler.clone().try_lock_owned() {
                let (this, slot, space) = (self.clone(), Arc::downgrade(slot), space.cloned());
                tokio::spawn(async move {
                    let filled = this.fill(&slot, space.as_ref()).await;
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

    /// Fills in vectors, a page at a time, as long as somebody keeps the view: into memory as many as have room there, the others into the index.
    async fn fill(self: &Arc<Self>, slot: &Weak<Slot>, space: Option<&Space>) -> Result<(), Why> {
        let scale = self.scale().await?;
        loop {
            let Some(slot) = slot.upgrade() else {
                return Ok(());
            };
            slot.write(|view| view.measure(&scale));
            let room = self.options.exact.saturating_sub(slot.read(View::scanned));
            if room == 0 {
                // Whoever waits is told why there is none.
                let Ok(of) = self.index_of(space, &scale).await else {
                    return Ok(());
                };
                if self.fill_index(&slot, &of, &scale).await? {
                    continue;
                }
                let this = self.clone();
                tokio::spawn(async move {
                    let measured = this.measure_index(slot, of).await;
                    measured.unwrap_or_else(|why| {
                        tracing::warn!(why, "the index of vectors was not measured")
                    });
                });
                return Ok(());
            }
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
