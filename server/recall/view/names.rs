//! Which names are one in a view: what is about one of them has the ends of their entity.

use std::collections::BTreeSet;

use super::View;
use crate::event::entity::Names;
use crate::log::projections::merges::MergeRow;
use crate::log::projections::statements::StatementRow;
use crate::recall::graph::{Doc, Node};
use crate::recall::held::Held;

impl View {
    /// Which names are one.
    pub fn names(&self) -> &Names {
        &self.names
    }

    /// Takes in merges and rows that changed, in the order of their changes.
    pub fn take_all(&mut self, merges: Vec<MergeRow>, rows: Vec<StatementRow>) {
        if !merges.is_empty() {
            self.take_merges(merges);
        }
        rows.into_iter().for_each(|row| self.take(row));
    }

    /// Takes in merges that changed, in the order of their changes.
    pub fn take_merges(&mut self, rows: Vec<MergeRow>) {
        for row in rows {
            self.merged = self.merged.max(row.changed);
            match row.ended {
                0 => self.merges.insert(row.seq, row.merge.names),
                _ => self.merges.remove(&row.seq),
            };
        }
        self.set_names(Names::of(self.merges.values().map(Vec::as_slice)));
    }

    /// Names are one by these from now on: what is about one that means something else now gets other ends.
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
            let (number, ends) = (held.number, self.ends(held));
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
