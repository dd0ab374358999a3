//! Vectors of statements. The filler of a view gives statements their vectors beside the recalls,
//! as long as the view is kept.
//!
//! After a change of the model the vectors of all held statements, in all spaces, are made with the
//! model that is configured now. Vectors of other models are let go. A vector that is stored
//! already is not made again, so that work that was cut off goes on from there.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use sha2::{Digest as _, Sha256};

use super::meaning::{Meaning, Why, told};
use super::shelf::Slot;
use super::vectors::{Scale, Vector};
use super::view::View;
use thinkd_event::statement::Status;
use thinkd_log::projections::statements::{Asked, StatementRow};
use thinkd_log::vectors::{Hash, Maker, PAGE, VectorChange};
use thinkd_model::embedding::TEXTS_MAX;
use thinkd_words::id::Space;

/// Vectors that were made anew in a space.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Made {
    /// Statements that were looked at.
    pub statements: u64,
    /// Vectors that were made for them.
    pub made: u64,
    /// Statements that the model has no vector for, or that are more than may have one.
    pub without: u64,
    /// Why some have none, if there are more than may have one.
    pub why: Option<Why>,
}

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
                let this = self.clone();
                let slot = Arc::downgrade(slot);
                tokio::spawn(async move {
                    let filled = this.fill(&slot).await;
                    filled.unwrap_or_else(|why| drop(this.failed(why)));
                    drop(alone);
                    if let Some(slot) = slot.upgrade() {
                        slot.filled.notify_waiters();
                    }
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
            let scanned = slot.read(|view| view.vectors.count());
            let room = self.options.exact.saturating_sub(scanned);
            let missing = slot.read(|view| view.some_missing(TEXTS_MAX.min(room)));
            if missing.is_empty() {
                return Ok(());
            }
            let texts = missing.iter().map(|(_, text)| self.as_statement(text));
            let vectors = self.vectors(&scale, &texts.collect::<Vec<_>>()).await?;
            let given = missing.iter().zip(&vectors);
            slot.write(|view| given.for_each(|(it, vector)| view.give(it, vector.as_ref())));
            slot.filled.notify_waiters();
        }
    }

    /// Returns whether a view has as many vectors as are scanned at most.
    pub(super) fn is_full(&self, slot: &Slot) -> bool {
        slot.read(|view| view.vectors.count()) >= self.options.exact
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
            let hashes = page.iter().map(|(_, text)| hash(&self.as_statement(text)));
            let hashes: Vec<Hash> = hashes.collect();
            let stored = self.stored(&scale, &hashes).await?;
            for (it, hash) in page.iter().zip(&hashes) {
                if let Some(vector) = stored.get(hash) {
                    view.give(it, Some(vector));
                }
            }
        }
        Ok(())
    }

    /// Makes the vectors of all spaces anew. `tell` hears of each step. Returns the maker of the
    /// vectors that there are now.
    pub async fn reembed(&self, mut tell: impl FnMut(&Space, &Made, bool)) -> Result<Maker, Why> {
        // Those of the same model with other dimensions are what this is to cure.
        let scale = self.measured(false).await?;
        for space in self.store.spaces_with_statements().await.map_err(told)? {
            let mut made = Made::default();
            for status in Status::HELD {
                let mut asked = Asked {
                    limit: PAGE as u32,
                    ..Asked::of(status)
                };
                loop {
                    let rows = self.store.statements(&space, &asked).await.map_err(told)?;
                    let Some(last) = rows.last() else { break };
                    asked.after = last.number;
                    self.make_anew(&scale, &rows, &mut made).await?;
                    tell(&space, &made, false);
                }
            }
            tell(&space, &made, true);
        }
        let maker = self.maker(&scale);
        let others = VectorChange::KeepOnly(maker.clone());
        self.store.change_vectors(others).await.map_err(told)?;
        Ok(maker)
    }

    /// Makes the vectors of a page of statements, as far as there may be more.
    async fn make_anew(
        &self,
        scale: &Scale,
        rows: &[StatementRow],
        made: &mut Made,
    ) -> Result<(), Why> {
        let count = rows.len() as u64;
        made.statements += count;
        let wanted = usize::try_from(made.statements - made.without).unwrap_or(usize::MAX);
        let beyond = wanted.saturating_sub(self.options.exact).min(rows.len());
        if beyond > 0 {
            made.why = Some(self.too_many());
        }
        let rows = &rows[..rows.len() - beyond];
        let texts = rows.iter().map(|row| self.as_statement(&row.text));
        let texts: Vec<String> = texts.collect();
        let hashes: Vec<Hash> = texts.iter().map(|text| hash(text)).collect();
        let known = self.stored(scale, &hashes).await?.len() as u64;
        let vectors = self.vectors(scale, &texts).await?;
        let vectors = vectors.iter().flatten().count() as u64;
        made.made += vectors.saturating_sub(known);
        made.without += count - vectors;
        Ok(())
    }

    pub(super) fn maker(&self, scale: &Scale) -> Maker {
        let dimensions = u32::try_from(scale.dimensions).unwrap_or(u32::MAX);
        Maker {
            model: self.embedder.model().to_owned(),
            dimensions,
        }
    }

    /// Returns the vectors that are stored, by their hashes, as they are compared: at most a page.
    async fn stored(&self, scale: &Scale, hashes: &[Hash]) -> Result<HashMap<Hash, Vector>, Why> {
        let stored = self.store.vectors(&self.maker(scale), hashes).await;
        let vector = |bytes: &[u8]| scale.statement(Vector::from_bytes(bytes)?);
        let stored = stored.map_err(told)?.into_iter();
        Ok(stored
            .filter_map(|(hash, bytes)| Some((hash, vector(&bytes)?)))
            .collect())
    }

    /// The vectors of some texts, in their order: those that are stored, and the others made and stored. None where the model has none for a text.
    pub(super) async fn vectors(
        &self,
        scale: &Scale,
        texts: &[String],
    ) -> Result<Vec<Option<Vector>>, Why> {
        let hashes: Vec<Hash> = texts.iter().map(|text| hash(text)).collect();
        let mut known = self.stored(scale, &hashes).await?;
        let mut unknown: Vec<(&Hash, &String)> = hashes.iter().zip(texts).collect();
        unknown.retain(|(hash, _)| !known.contains_key(*hash));
        for some in unknown.chunks(TEXTS_MAX) {
            let sent: Vec<String> = some.iter().map(|(_, text)| (*text).clone()).collect();
            let made = some.iter().zip(self.embedded(&sent).await?);
            let made = made.filter_map(|((hash, _), vector)| Some((**hash, vector?)));
            let made = made.filter(|(_, it)| it.dimensions() == scale.dimensions);
            let made: Vec<(Hash, Vector)> = made.collect();
            let rows = made.iter().map(|(hash, it)| (*hash, it.to_bytes()));
            let put = VectorChange::Put(self.maker(scale), rows.collect());
            self.store.change_vectors(put).await.map_err(told)?;
            let made = made.into_iter();
            known.extend(made.filter_map(|(hash, it)| Some((hash, scale.statement(it)?))));
        }
        Ok(hashes.iter().map(|hash| known.get(hash).cloned()).collect())
    }
}

fn hash(text: &str) -> Hash {
    Sha256::digest(text).into()
}
