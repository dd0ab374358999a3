//! Vectors of a space that has more than are scanned in memory (`memory.exact_vectors`): on Postgres they lie in an index of pgvector, which names the
//! nearest. These, and the best by their words, are then compared by their stored vectors, so that a score means the same as of an exact scan. How many of
//! the ten nearest the index finds is measured after it has grown.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::finder::apart;
use super::indexes::{GOAL, NEIGHBOURS};
use super::meaning::{Meaning, Why, hash};
use super::shelf::Slot;
use super::vectors::{Scale, Vector};
use super::view::{Lacking, NEAREST, View};
use crate::log::error::StoreError;
use crate::log::vectors::{Entry, Hash, IndexOf, PAGE, Search};
use crate::model::embedding::TEXTS_MAX;
use crate::words::id::Space;

/// Neighbours that the index is asked for: most of the best by words are among them, too.
const ASKED: u32 = 2 * NEAREST as u32;
/// Questions by which it is measured: vectors of statements.
const QUESTIONS: usize = 20;
/// What differs by less is equally near.
const SAME: f64 = 1e-6;

impl Meaning {
    /// The index of a space; else why there is none. Without a space: of texts that are no statements.
    pub(super) async fn index_of(
        &self,
        space: Option<&Space>,
        scale: &Scale,
    ) -> Result<IndexOf, Why> {
        let more = |why: &str| {
            let exact = self.options.exact;
            format!(
                "there are more statements than memory.exact_vectors ({exact}), and no index for the others: {why}"
            )
        };
        let space = space.ok_or_else(|| more("only statements have one"))?;
        let of = IndexOf {
            space: space.clone(),
            maker: self.maker(scale),
        };
        if let Some(known) = self.indexes.opened(&of) {
            return known.map(|()| of).map_err(|why| more(&why));
        }
        let software = self
            .store
            .open_index(&of)
            .await
            .map_err(|error| error.to_string())?;
        if let Err(why) = &software {
            tracing::warn!(%space, why, "vectors beyond memory.exact_vectors have no index: recall goes on by words and names");
        }
        let opened = software
            .as_ref()
            .map(|_| of.clone())
            .map_err(|why| more(why));
        self.indexes.put(of, software);
        opened
    }

    /// Sees to it that some statements are in the index, and tells the view. False: none was left without.
    pub(super) async fn fill_index(
        &self,
        slot: &Arc<Slot>,
        of: &IndexOf,
        scale: &Scale,
    ) -> Result<bool, Why> {
        let lacking = slot.read(|view| view.some_missing(PAGE));
        if lacking.is_empty() {
            return Ok(false);
        }
        let there = self
            .store
            .indexed(of, &self.hashed(&lacking))
            .await
            .map_err(|error| error.to_string())?;
        let there: HashSet<String> = there.into_iter().collect();
        let (there, others): (Vec<Lacking>, Vec<Lacking>) =
            lacking.into_iter().partition(|it| there.contains(&it.id));
        slot.write(|view| there.iter().for_each(|it| view.point(it)));
        for some in others.chunks(TEXTS_MAX) {
            let vectors = self
                .index(of, scale, some.iter().map(|it| (&*it.id, &*it.text)))
                .await?;
            slot.write(|view| {
                for (it, has_one) in some.iter().zip(vectors) {
                    if has_one {
                        view.point(it)
                    } else {
                        view.give(it, None)
                    }
                }
            });
            slot.filled.notify_waiters();
        }
        Ok(true)
    }

    /// Puts statements into an index, by their ids and texts; which of them have a vector.
    pub(super) async fn index(
        &self,
        of: &IndexOf,
        scale: &Scale,
        statements: impl Iterator<Item = (&str, &str)>,
    ) -> Result<Vec<bool>, Why> {
        let (ids, texts): (Vec<&str>, Vec<String>) = statements
            .map(|(id, text)| (id, self.as_statement(text)))
            .unzip();
        let vectors = self.vectors(scale, &texts).await?;
        let entry = |((id, text), vector): ((&&str, &String), &Option<Vector>)| {
            let parts = vector.as_ref()?.parts().to_vec();
            Some(Entry {
                statement: (*id).to_owned(),
                hash: hash(text),
                parts,
            })
        };
        let entries = ids
            .iter()
            .zip(&texts)
            .zip(&vectors)
            .filter_map(entry)
            .collect();
        self.store
            .index_vectors(of, entries)
            .await
            .map_err(|error| error.to_string())?;
        Ok(vectors.iter().map(Option::is_some).collect())
    }

    /// Vectors of the statements in the index that a question is to be compared with, by their ids.
    pub(super) async fn nearest(
        &self,
        slot: &Arc<Slot>,
        space: &Space,
        (question, vector): (&str, &Vector),
    ) -> Result<HashMap<String, Vector>, Why> {
        let scale = self.scale().await?;
        let of = self.index_of(Some(space), &scale).await?;
        let found = self
            .store
            .nearest(&of, vector.parts(), ASKED, Search::Indexed)
            .await;
        let nearest: Vec<String> = found
            .map_err(|error| self.lost(slot, &error))?
            .into_iter()
            .map(|it| it.0)
            .collect();
        let (view, question) = (slot.clone(), question.to_owned());
        let compared = move || view.read(|view| view.compared(&question, &nearest));
        let compared = apart(compared).await.map_err(|error| error.to_string())?;
        let mut vectors = HashMap::new();
        for page in compared.chunks(PAGE) {
            let stored = self
                .stored(
                    &scale,
                    &self.hashed(page).iter().map(|it| it.1).collect::<Vec<_>>(),
                )
                .await?;
            let vector = |it: &Lacking| stored.get(&hash(&self.as_statement(&it.text))).cloned();
            vectors.extend(
                page.iter()
                    .filter_map(|it| Some((it.id.clone(), vector(it)?))),
            );
        }
        Ok(vectors)
    }

    fn hashed(&self, statements: &[Lacking]) -> Vec<(String, Hash)> {
        statements
            .iter()
            .map(|it| (it.id.clone(), hash(&self.as_statement(&it.text))))
            .collect()
    }

    /// An index that did not answer may be gone: what it has is asked for anew.
    fn lost(&self, slot: &Slot, error: &StoreError) -> Why {
        self.indexes.clear();
        slot.write(View::unpoint);
        error.to_string()
    }

    /// Measures an index that has grown, beside whatever else goes on.
    pub(super) async fn measure_index(
        self: Arc<Self>,
        slot: Arc<Slot>,
        of: IndexOf,
    ) -> Result<(), Why> {
        let vectors = slot.read(View::indexed);
        if !self.indexes.has_grown(&of, vectors) {
            return Ok(());
        }
        let questions = self.hashed(&slot.read(|view| view.some_indexed(QUESTIONS)));
        let hashes: Vec<Hash> = questions.iter().map(|it| it.1).collect();
        let scale = self.scale().await?;
        let (mut nearest, mut found) = (0_usize, 0_usize);
        for vector in self.stored(&scale, &hashes).await?.into_values() {
            let look = async |search| {
                let near = self
                    .store
                    .nearest(&of, vector.parts(), NEIGHBOURS, search)
                    .await;
                near.map_err(|error| error.to_string())
            };
            let (exact, indexed) = (look(Search::Exact).await?, look(Search::Indexed).await?);
            let farthest = exact.last().map_or(0.0, |it| it.1) + SAME;
            nearest += exact.len();
            found += indexed.iter().filter(|it| it.1 <= farthest).count();
        }
        #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
        let found = found as f64 / nearest.max(1) as f64;
        if found < GOAL {
            tracing::warn!(space = %of.space, found, "the index of vectors misses more of the nearest than it should");
        }
        self.indexes.measured(&of, vectors, found);
        Ok(())
    }
}
