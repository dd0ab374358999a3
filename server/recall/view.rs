//! The held statements of a space in memory, with their words and their graph, and the search among
//! them. Pure: it is told which rows changed (`recall/finder.rs`), and holds a statement exactly
//! while its row says that it is held, or recalled on a person's word.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::bm25::Index;
use super::graph::{Doc, Graph, Node};
use super::held::Held;
use super::rivals::Rivals;
use super::vectors::{Rows, Scale, Vector};
use thinkd_event::entity::Names;
use thinkd_log::projections::merges::MergeRow;
use thinkd_log::projections::statements::StatementRow;
use thinkd_words::id::Seq;

pub mod finding;

/// The id of a statement that lacks a vector, and its text.
pub type Lacking = (String, String);

/// See the module.
#[derive(Debug, Default)]
pub struct View {
    /// The last change that it knows.
    pub changed: Seq,
    /// The last change of merges that it knows.
    pub merged: Seq,
    /// The merges that stand, by their place in the log.
    merges: BTreeMap<Seq, Vec<String>>,
    /// The names that are one.
    pub(super) names: Names,
    held: Vec<Option<Held>>,
    by_id: HashMap<String, Doc>,
    free: Vec<Doc>,
    words: Index,
    graph: Graph,
    rivals: Rivals,
    /// The vectors, by the numbers of the statements.
    pub(super) vectors: Rows,
    /// The statements that have no vector yet, where a model makes the vectors.
    missing: Option<BTreeSet<Doc>>,
    bytes: usize,
}

impl View {
    /// Returns a view with vectors by a model: they are put in as they come (`give`).
    pub fn by_model() -> Self {
        Self {
            vectors: Rows::of(Scale::UNKNOWN),
            missing: Some(BTreeSet::new()),
            ..Self::default()
        }
    }

    /// Takes in a row that changed. Rows come in the order of their changes. A row that is older
    /// than the last known change was read by a reader that was overtaken, and may be held no more.
    pub fn take(&mut self, row: StatementRow) {
        if row.changed <= self.changed {
            return;
        }
        self.changed = row.changed;
        if row.status.is_held() || row.word().is_some() {
            self.put(Held::of(row))
        } else {
            self.remove(&row.id)
        }
    }

    /// Takes in a statement, without regard to its row.
    pub fn put(&mut self, held: Held) {
        let ends = self.ends(&held);
        self.put_named(held, &ends);
    }

    /// The same, where it connects these names.
    pub fn put_named(&mut self, held: Held, names: &[impl AsRef<str>]) {
        self.remove(&held.id);
        let doc = self.free.pop().unwrap_or_else(|| {
            self.held.push(None);
            Doc::try_from(self.held.len() - 1).unwrap_or(Doc::MAX)
        });
        self.words.put(doc, &held.words());
        self.graph.put(doc, held.number, names);
        self.rivals.put(doc, &held);
        match &mut self.missing {
            None => self.vectors.put(doc, Vector::built_in(&held.text).as_ref()),
            Some(missing) => {
                missing.insert(doc);
                self.vectors.put(doc, None);
            }
        }
        self.bytes += held.bytes();
        self.by_id.insert(held.id.clone(), doc);
        self.held[doc as usize] = Some(held);
    }

    /// Holds these and nothing else: a statement that is there already with the same text stays.
    pub(super) fn hold(&mut self, all: Vec<Held>) {
        let wanted: HashSet<&String> = all.iter().map(|held| &held.id).collect();
        let gone = self.by_id.keys().filter(|id| !wanted.contains(id));
        for id in gone.cloned().collect::<Vec<_>>() {
            self.remove(&id);
        }
        for held in all {
            let doc = self.doc_of(&held.id);
            let known = doc.and_then(|doc| self.held.get_mut(doc as usize)?.as_mut());
            match known.filter(|known| known.text == held.text) {
                Some(known) => known.changed = held.changed,
                None => self.put(held),
            }
        }
    }

    /// Lets a statement go, if it is there.
    pub fn remove(&mut self, id: &str) {
        let Some(doc) = self.by_id.remove(id) else {
            return;
        };
        let Some(held) = self.held[doc as usize].take() else {
            return;
        };
        self.words.remove(doc, &held.words());
        self.graph.remove(doc, held.number);
        self.rivals.remove(&held);
        self.vectors.put(doc, None);
        if let Some(missing) = &mut self.missing {
            missing.remove(&doc);
        }
        self.bytes -= held.bytes();
        self.free.push(doc);
    }

    /// Returns the number of statements.
    pub fn len(&self) -> usize {
        self.by_id.len()
    }

    /// Returns true if there are none.
    pub fn is_empty(&self) -> bool {
        self.by_id.is_empty()
    }

    /// Memory that it takes, roughly.
    pub fn bytes(&self) -> usize {
        self.bytes
            + self.vectors.bytes()
            + self.words.bytes()
            + self.graph.bytes()
            + self.rivals.bytes()
            + 2 * self.names.bytes()
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// A statement.
    pub fn held(&self, doc: Doc) -> Option<&Held> {
        self.held.get(doc as usize)?.as_ref()
    }

    /// The number of a statement.
    pub fn doc_of(&self, id: &str) -> Option<Doc> {
        self.by_id.get(id).copied()
    }

    /// Vectors are of this scale from now on: those of another one go, and are missing.
    pub fn measure(&mut self, scale: &Scale) {
        let is_other = self.vectors.scale() != scale;
        if let Some(missing) = self.missing.as_mut().filter(|_| is_other) {
            self.vectors = Rows::of(scale.clone());
            missing.extend(self.by_id.values());
        }
    }

    /// Returns the number of statements that have no vector yet.
    pub fn missing(&self) -> usize {
        self.missing.as_ref().map_or(0, BTreeSet::len)
    }

    /// Some statements that have no vector yet.
    pub fn some_missing(&self, most: usize) -> Vec<Lacking> {
        let docs = self.missing.iter().flatten();
        docs.filter_map(|doc| self.held(*doc))
            .map(|held| (held.id.clone(), held.text.clone()))
            .take(most)
            .collect()
    }

    /// Puts in the vector of a statement, if it is the same still; none: there will be none.
    pub fn give(&mut self, (id, text): &Lacking, vector: Option<&Vector>) {
        let is_same = |doc: &u32| self.held(*doc).is_some_and(|held| held.text == *text);
        let doc = self.doc_of(id).filter(is_same);
        if let (Some(doc), Some(missing)) = (doc, &mut self.missing) {
            missing.remove(&doc);
            self.vectors.put(doc, vector);
        }
    }

    /// Takes in merges and rows that changed, in the order of their changes.
    pub fn take_all(&mut self, merges: Vec<MergeRow>, rows: Vec<StatementRow>) {
        let is_merged = !merges.is_empty();
        for row in merges {
            self.merged = self.merged.max(row.changed);
            match row.ended {
                0 => self.merges.insert(row.seq, row.merge.names),
                _ => self.merges.remove(&row.seq),
            };
        }
        if is_merged {
            self.set_names(Names::of(self.merges.values().map(Vec::as_slice)));
        }
        rows.into_iter().for_each(|row| self.take(row));
    }

    /// Sets the names that are one from now on: statements about a name that means something else
    /// now get other ends.
    pub fn set_names(&mut self, names: Names) {
        let changed = self.names.changed(&names);
        let before = std::mem::replace(&mut self.names, names);
        let stood = |form: &String| before.entity(form).to_owned();
        let nodes: BTreeSet<Node> = changed
            .iter()
            .filter_map(|form| self.graph.named(&stood(form)))
            .collect();
        let docs: BTreeSet<Doc> = nodes
            .into_iter()
            .flat_map(|node| self.graph.of_name(node))
            .collect();
        for doc in docs {
            let Some(held) = self.held(doc) else {
                continue;
            };
            let number = held.number;
            let ends = self.ends(held);
            self.graph.remove(doc, number);
            self.graph.put(doc, number, &ends);
        }
        let all = self.names.all().into_iter();
        self.graph
            .set_aliases(all.map(|(form, entity)| (form.to_owned(), entity.to_owned())));
    }

    /// The names that a statement connects: those of the entities.
    pub(super) fn ends(&self, held: &Held) -> Vec<String> {
        let names = held
            .triple
            .iter()
            .flat_map(|triple| [&triple.subject, &triple.object]);
        names.map(|name| self.names.resolve(name)).collect()
    }
}
