//! Which names are one in a view: what is about one of them has the ends of their entity.

use std::collections::BTreeSet;

use super::View;
use crate::event::entity::Names;
use crate::log::projections::merges::MergeRow;
use crate::recall::graph::{Doc, Node};
use crate::recall::held::Held;

impl View {
    /// Which names are one.
    pub fn names(&self) -> &Names {
        &self.names
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
        let stood = |form: String| {
            before
                .all()
                .get(form.as_str())
                .map_or(form.clone(), |it| (*it).to_owned())
        };
        let nodes: BTreeSet<Node> = changed
            .into_iter()
            .filter_map(|form| self.graph.named(&stood(form)))
            .collect();
        let docs: BTreeSet<Doc> = nodes
            .into_iter()
            .flat_map(|node| self.graph.of_name(node))
            .collect();
        for doc in docs {
            let Some(held) = self.held.get(doc as usize).and_then(Option::as_ref) else {
                continue;
            };
            let (number, ends) = (held.number, self.ends(held));
            self.graph.remove(doc, number);
            self.graph.put(
                doc,
                number,
                &ends.iter().map(String::as_str).collect::<Vec<_>>(),
            );
        }
        self.graph.set_aliases(
            self.names
                .all()
                .into_iter()
                .map(|(form, entity)| (form.to_owned(), entity.to_owned())),
        );
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
