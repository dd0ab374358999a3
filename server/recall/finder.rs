//! A recall: brings the view of the space up to date by the rows that changed, finds relevant
//! statements, and looks at the row of each hit. So a statement that is not held any more is never
//! found. A question about another time is answered from a view that is made for it and not kept.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::try_join_all;
use serde::Serialize;
use uuid::Uuid;

use super::choices::Choices;
use super::fusion::{keep_fitting, tokens};
use super::graph::Doc;
use super::held::Held;
use super::meaning::{Meaning, Meant};
use super::options::Options;
use super::shelf::{Shelf, Slot, TooLarge};
use super::uses::Uses;
use super::vectors::BUILT_IN;
use super::view::View;
use super::view::finding::Hit;
use thinkd_event::statement::Source;
use thinkd_event::trial::News;
use thinkd_log::error::{StoreError, Stored};
use thinkd_log::kernel::Store;
use thinkd_log::shown_to_models::is_taken_back;
use thinkd_model::embedding::Embedder;
use thinkd_tasks::share::{Places, cores};
use thinkd_words::id::{Seq, Space};
use thinkd_words::time::Timestamp;

/// Most characters of a question.
pub const QUESTION_MAX: usize = 1024;
/// Most hits.
pub const HITS_MAX: u32 = 50;
/// Most tokens of all hits together.
pub const TOKENS_MAX: u32 = 100_000;
/// Most steps of a look at the graph, and most statements of it.
pub const DEPTH_MAX: u32 = 4;
/// See `DEPTH_MAX`.
pub const EDGES_MAX: u32 = 500;
/// Rows that are read at once.
pub(super) const PAGE: u32 = 2000;
/// Most statements of a view that is made for one question.
pub(super) const PAST_MAX: usize = 100_000;
/// Questions about another time that are answered at once, of all spaces: the statements of each
/// are in memory meanwhile.
const PAST_AT_ONCE: u32 = 2;
/// Longest time that such a question waits for its turn.
pub(super) const PAST_WAIT: Duration = Duration::from_secs(5);
/// Frameworks have the memory of statements divided by this, besides that of statements.
const FRAMEWORKS: usize = 16;
/// So often is a recall begun again that something changed under.
const TRIES: usize = 3;

/// A question to recall.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// The question.
    pub text: String,
    /// At most so many hits.
    pub limit: usize,
    /// At most so many tokens of all hits; none: as configured.
    pub tokens: Option<u32>,
    /// Statements that held at this time.
    pub at: Option<Timestamp>,
    /// As it was when this event was the last one.
    pub as_of: Option<Seq>,
}

/// The result of a recall.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// Hits that had no room.
    pub left_out: usize,
    /// Why vectors said nothing, or not of all statements; none: they did, or the built-in ones are in use.
    pub without_vectors: Option<String>,
    /// The space has nothing that could be found.
    pub is_bare: bool,
}

/// A question to the graph.
#[derive(Debug, Clone)]
pub struct Look {
    /// From this name.
    pub from: String,
    /// The ways to this one; none: the statements around `from`.
    pub to: Option<String>,
    /// So many steps.
    pub depth: usize,
    /// At most so many statements.
    pub limit: usize,
}

/// A part of the graph: each statement is an edge from its subject to its object.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct GraphPart {
    /// The edges: the nearest first, or those along the way.
    pub items: Vec<Held>,
    /// Nothing was left out.
    pub complete: bool,
}

/// Why nothing can be recalled.
#[derive(Debug, Clone, thiserror::Error)]
pub enum Error {
    /// The space has more than fits.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
    /// There is too much to look at for a question about another time.
    #[error(
        "a question about another time looks at {PAST_MAX} statements at most, and this space has more"
    )]
    TooMuchPast,
    /// Too many look at another time already.
    #[error(
        "questions about another time are answered {PAST_AT_ONCE} at a time, and this one waited {} s for its turn: ask again",
        PAST_WAIT.as_secs()
    )]
    Busy,
    /// The work was cut off.
    #[error("the recall was cut off")]
    CutOff,
    /// The store said no.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// See the module.
pub struct Recall {
    pub(super) store: Arc<dyn Store>,
    pub(super) shelf: Shelf,
    /// The frameworks of spaces, by which tasks are compared.
    pub(super) frameworks: Shelf,
    /// The like tasks that are under way.
    pub choices: Choices,
    pub(super) places: Places,
    /// Places for questions about another time.
    pub(super) pasts: Places,
    options: Options,
    pub(super) uses: Uses,
    /// The model that makes vectors; none: they are the built-in ones.
    pub(super) meaning: Option<Arc<Meaning>>,
}

impl Found {
    /// Returns as many of these hits as there is room for.
    pub(super) fn cut(mut hits: Vec<Hit>, room: usize, without_vectors: Option<String>) -> Self {
        let takes = |hit: &Hit| hit.shown().map(|held| tokens(&held.text)).sum();
        let left_out = keep_fitting(&mut hits, room, takes);
        Self {
            hits,
            left_out,
            without_vectors,
            is_bare: false,
        }
    }

    /// All statements that it shows, each once, as they were seen.
    pub fn seen(&self) -> BTreeMap<String, Seq> {
        looked_at(self.hits.iter().flat_map(Hit::shown))
    }

    /// The ids of these.
    pub fn statements(&self) -> Vec<String> {
        self.seen().into_keys().collect()
    }
}

impl Recall {
    /// Recalls from a store. Of the places for it a space has at most `share`.
    pub fn new(store: Arc<dyn Store>, options: Options, share: f64) -> Self {
        let places = Places::new("recalls", cores(), share);
        let pasts = Places::new("past_recalls", PAST_AT_ONCE, share);
        let (shelf, frameworks) = shelves(&options, View::default);
        Self {
            store,
            shelf,
            frameworks,
            choices: Choices::default(),
            places,
            pasts,
            options,
            uses: Uses::default(),
            meaning: None,
        }
    }

    /// The same, with vectors that a model makes.
    pub fn with_model(mut self, embedder: Arc<dyn Embedder>) -> Self {
        (self.shelf, self.frameworks) = shelves(&self.options, View::by_model);
        let store = self.store.clone();
        let options = self.options.clone();
        self.meaning = Some(Meaning::new(store, embedder, options));
        self
    }

    /// Returns the vectors that are in force in a space, for people.
    pub fn vectors(&self, space: &Space) -> String {
        match &self.meaning {
            Some(meaning) => meaning.in_force(self.shelf.kept_of(space).as_deref()),
            None => BUILT_IN.to_owned(),
        }
    }

    /// Returns the held statements that are relevant to a question.
    pub async fn recall(&self, space: &Space, question: &Question) -> Result<Found, Error> {
        if question.at.is_some() || question.as_of.is_some() {
            return self.recall_past(space, question).await;
        }
        let _place = self.places.take(space).await;
        let text = question.text.clone();
        let limit = question.limit;
        let slot = self.shelf.of(space);
        let room = self.room_of(question);
        self.catch_up(space, &slot).await?;
        if slot.read(View::is_empty) {
            return Ok(Found {
                is_bare: true,
                ..Found::default()
            });
        }
        let meant = Arc::new(self.meant(&slot, &text).await);
        let find = move |view: &View| {
            let hits = view.find_meant(&text, meant.vector.as_ref(), limit);
            Found::cut(hits, room, meant.without.clone())
        };
        // Only what is shown is looked at.
        self.believed(space, &slot, find, Found::seen).await
    }

    /// Returns the meaning of a question, where a model makes vectors.
    pub(super) async fn meant(&self, slot: &Arc<Slot>, text: &str) -> Meant {
        match &self.meaning {
            Some(meaning) => meaning.of(slot, text).await,
            None => Meant::default(),
        }
    }

    /// The same as models may see it: without statements of turns that were taken back.
    pub async fn recall_for_models(
        &self,
        space: &Space,
        question: &Question,
    ) -> Result<Found, Error> {
        let mut found = self.recall(space, question).await?;
        let all = found.hits.iter().flat_map(Hit::shown);
        let back = try_join_all(all.map(|held| self.back(space, held))).await?;
        let back: BTreeSet<String> = back.into_iter().flatten().collect();
        found.hits.retain(|hit| !back.contains(&hit.held.id));
        for hit in &mut found.hits {
            let count = hit.contested_by.len();
            hit.contested_by.retain(|held| !back.contains(&held.id));
            hit.contested_by_count -= count - hit.contested_by.len();
        }
        Ok(found)
    }

    /// Returns the id of a statement that was taken back with the turn that claimed it. A statement
    /// that was said in another message is not taken back.
    async fn back(&self, space: &Space, held: &Held) -> Stored<Option<String>> {
        if !is_taken_back(&*self.store, space, held.number).await? {
            return Ok(None);
        }
        let row = self.store.statement(space, &held.id).await?;
        let sources = row.map(|row| row.sources).unwrap_or_default();
        let claimed = self.claimed_by(space, &held.id).await?;
        for source in sources.iter().filter(|it| claimed.as_ref() != Some(it)) {
            let seqs = source.seqs.iter();
            let back = seqs.map(|seq| is_taken_back(&*self.store, space, *seq));
            let back = try_join_all(back).await?;
            if back.is_empty() || back.contains(&false) {
                return Ok(None);
            }
        }
        Ok(Some(held.id.clone()))
    }

    /// Returns the source of the claim of a statement.
    async fn claimed_by(&self, space: &Space, id: &str) -> Stored<Option<Source>> {
        let Ok(id) = Uuid::try_parse(id) else {
            return Ok(None);
        };
        let event = self.store.event(space, id).await?;
        Ok(event.and_then(|event| match event.fact().news()? {
            (_, News::Claimed(claim)) => Some(claim.source.clone()),
            _ => None,
        }))
    }

    /// Returns true if a space has nothing that could be found. At most one row is read.
    pub async fn is_bare(&self, space: &Space) -> Stored<bool> {
        let kept = self.shelf.kept_of(space);
        let known = kept.map(|slot| slot.read(|view| (view.changed, view.is_empty())));
        let (after, is_empty) = known.unwrap_or((0, true));
        let news = self.store.statements_changed(space, after, 1).await?;
        Ok(is_empty && news.is_empty())
    }

    /// Returns the graph around a name, or between two.
    pub async fn look(&self, space: &Space, look: &Look) -> Result<Option<GraphPart>, Error> {
        let _place = self.places.take(space).await;
        let slot = self.shelf.of(space);
        let look = look.clone();
        let find = move |view: &View| looked(view, &look);
        let shown = |part: &Option<GraphPart>| looked_at(part.iter().flat_map(|it| &it.items));
        self.believed(space, &slot, find, shown).await
    }

    /// Returns the findings of `find` in a view, once the rows of all statements that it shows say
    /// the same.
    async fn believed<T: Send + 'static>(
        &self,
        space: &Space,
        slot: &Arc<Slot>,
        find: impl FnOnce(&View) -> T + Clone + Send + 'static,
        shown: impl Fn(&T) -> BTreeMap<String, Seq>,
    ) -> Result<T, Error> {
        for _ in 0..TRIES {
            self.catch_up(space, slot).await?;
            let of = slot.clone();
            let find = find.clone();
            let found = apart(move || of.read(find)).await?;
            if self.still(space, slot, shown(&found)).await? {
                return Ok(found);
            }
        }
        Err(Error::CutOff)
    }

    /// Brings a view up to date by the merges of names and the rows that changed since.
    pub(super) async fn catch_up(&self, space: &Space, slot: &Arc<Slot>) -> Result<(), Error> {
        let _turn = slot.turn.lock().await;
        self.shelf.check(space, slot)?;
        loop {
            let (merged, after) = slot.read(|view| (view.merged, view.changed));
            let merges = self.store.merges_changed(space, merged, PAGE).await?;
            let rows = self.store.statements_changed(space, after, PAGE).await?;
            let is_full = merges.len().max(rows.len()) == PAGE as usize;
            if after == 0 && !rows.is_empty() {
                metrics::counter!("thinkd_recall_loads_total").increment(1);
            }
            if !merges.is_empty() || !rows.is_empty() {
                let of = slot.clone();
                apart(move || of.write(|view| view.take_all(merges, rows))).await?;
            }
            self.shelf.hold(space, slot)?;
            if !is_full {
                return Ok(());
            }
        }
    }

    /// Returns true if the rows of all of these are as in the view. A statement that is gone from
    /// its table leaves the view: no later change of its row tells of that.
    async fn still(
        &self,
        space: &Space,
        slot: &Slot,
        shown: BTreeMap<String, Seq>,
    ) -> Result<bool, Error> {
        let rows = try_join_all(shown.keys().map(|id| self.store.statement(space, id))).await?;
        let mut is_still = true;
        for ((id, changed), row) in shown.iter().zip(rows) {
            is_still &= row.as_ref().is_some_and(|row| row.changed == *changed);
            if row.is_none() {
                slot.write(|view| view.remove(id));
            }
        }
        Ok(is_still)
    }

    /// Returns the most tokens that the hits of a question may have.
    pub(super) fn room_of(&self, question: &Question) -> usize {
        question.tokens.unwrap_or(self.options.tokens) as usize
    }
}

/// The shelves of statements and of frameworks.
fn shelves(options: &Options, empty: fn() -> View) -> (Shelf, Shelf) {
    let shelf = |bytes, metric| Shelf::new(bytes, options.idle, empty, metric);
    (
        shelf(options.bytes, "thinkd_recall_bytes"),
        shelf(options.bytes / FRAMEWORKS, "thinkd_recall_framework_bytes"),
    )
}

/// Returns the ids of statements, each once, with their last change as it was seen.
fn looked_at<'a>(held: impl Iterator<Item = &'a Held>) -> BTreeMap<String, Seq> {
    held.map(|held| (held.id.clone(), held.changed)).collect()
}

/// Returns the result of work for a processor, done apart from work that waits.
pub(super) async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Error> {
    let work = tokio::task::spawn_blocking(work).await;
    work.map_err(|_| Error::CutOff)
}

/// Returns the statements of a view around a name, or between two; none: it has no such name.
fn looked(view: &View, look: &Look) -> Option<GraphPart> {
    let graph = view.graph();
    let from = graph.named(&look.from)?;
    let (docs, complete): (Vec<Doc>, bool) = match &look.to {
        None => graph.around(from, look.depth, look.limit),
        Some(to) => {
            let (way, is_whole) = graph.ways(&[from], look.depth).to(&[graph.named(to)?]);
            (way.unwrap_or_default(), is_whole)
        }
    };
    let held = docs.into_iter().filter_map(|doc| view.held(doc).cloned());
    Some(GraphPart {
        items: held.collect(),
        complete,
    })
}
