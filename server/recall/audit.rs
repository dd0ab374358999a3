//! Findings of recall for the audit of a memory: statements that look alike, and the number of
//! times that minds recalled each. Statements that look alike are candidates for people to look at:
//! nothing is ever merged for that. All are looked for in one pass over the vectors, a part at a
//! time.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::finder::{Error, Recall, apart};
use super::graph::Doc;
use super::held::Saying;
use super::uses::Counted;
use super::vectors::Vector;
use super::view::View;
use thinkd_log::error::Stored;
use thinkd_words::id::{Seq, Space};

/// So many statements of a view are looked at at once.
const AT_ONCE: u32 = 4096;

/// A statement that looks like another one.
#[derive(Debug, Clone, Serialize, utoipa::ToSchema)]
pub struct Near {
    /// Its id.
    #[schema(format = "uuid")]
    pub id: String,
    /// The text of the statement.
    pub text: String,
    /// The likeness of the two: the cosine of their vectors.
    #[serde(serialize_with = "thousandths")]
    pub likeness: f64,
    /// The position of its claim.
    #[serde(skip)]
    number: Seq,
}

fn thousandths<S: Serializer>(likeness: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64((likeness * 1000.0).round() / 1000.0)
}

/// Statements that look alike.
#[derive(Debug, Default)]
pub struct Likenesses {
    /// By the id of each that was asked for and has any: the nearest first.
    pub of: HashMap<String, Vec<Near>>,
    /// Why vectors said nothing, or not of all statements.
    pub without_vectors: Option<String>,
}

/// A statement of which those are sought that look like it.
struct Sought {
    id: String,
    saying: Saying,
    vector: Vector,
    found: Vec<Near>,
}

impl Recall {
    /// Returns how often minds recalled each statement, of late.
    pub async fn uses(&self, space: &Space) -> Stored<Arc<Counted>> {
        self.uses.counted(&*self.store, space).await
    }

    /// Returns the others that look like each of these, at most so many of each. All vectors of the
    /// space are looked at once.
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
        let mut all = slot.read(|view| sought(view, &ids));
        let mut from = Some(0);
        // Read anew for each part: what changes the view does not wait for all of them, and whoever has gone is not worked for.
        while let Some(at) = from {
            let slot = slot.clone();
            let look = move || {
                let next = slot.read(|view| look_at(view, &mut all, (at, AT_ONCE), most));
                (next, all)
            };
            (from, all) = apart(look).await?;
        }
        all.retain(|it| !it.found.is_empty());
        Ok(Likenesses {
            of: all.into_iter().map(|it| (it.id, it.found)).collect(),
            without_vectors,
        })
    }
}

/// Returns those of these that are held and have a vector.
fn sought(view: &View, ids: &[String]) -> Vec<Sought> {
    let of = |id: &String| {
        let doc = view.doc_of(id)?;
        Some(Sought {
            id: id.clone(),
            saying: view.held(doc)?.saying(&view.names),
            vector: view.vectors.vector(doc)?,
            found: Vec::new(),
        })
    };
    ids.iter().filter_map(of).collect()
}

/// Holds so many statements from a number on beside each that is sought for, and keeps the nearest, at most so many of each. Where to go on; none: that was
/// all.
fn look_at(view: &View, all: &mut [Sought], (from, count): (Doc, Doc), most: usize) -> Option<Doc> {
    let rows = &view.vectors;
    let least = rows.scale().alike();
    let next = from.saturating_add(count);
    for doc in from..next.min(rows.end()) {
        let (Some(held), Some(vector)) = (view.held(doc), rows.vector(doc)) else {
            continue;
        };
        for sought in all.iter_mut() {
            let likeness = vector.cosine(&sought.vector);
            if likeness < least || held.id == sought.id || !held.status.is_held() {
                continue;
            }
            // What says another value of the same is no restatement, however alike the texts are; what says the same is another doubt.
            let saying = held.saying(&view.names);
            if !sought.saying.is_of_same(&saying) && !sought.saying.is_same(&saying) {
                sought.found.push(Near {
                    id: held.id.clone(),
                    text: held.text.clone(),
                    likeness: likeness.into(),
                    number: held.number,
                });
            }
        }
    }
    for Sought { found, .. } in all {
        let nearer = |a: &Near, b: &Near| b.likeness.total_cmp(&a.likeness);
        found.sort_by(|a, b| nearer(a, b).then(a.number.cmp(&b.number)));
        found.truncate(most);
    }
    (next < rows.end()).then_some(next)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::held::Held;

    /// A held statement without an edge.
    fn held(number: i64) -> Held {
        let text = format!(
            "The {} number {} points at a comet.",
            ["telescope", "mirror"][number as usize % 2],
            number / 7
        );
        Held::plain(number.to_string(), number, text)
    }

    #[test]
    fn in_parts_of_any_size_the_same_is_found_as_by_holding_each_beside_each() {
        let all: Vec<Held> = (1..=60).map(held).collect();
        let mut view = View::default();
        all.iter().for_each(|held| view.put(held.clone()));
        // Numbers that are free again are passed over.
        (20..30).for_each(|number| view.remove(&number.to_string()));
        let kept = || all.iter().filter(|held| !(20..30).contains(&held.number));
        let least = view.vectors.scale().alike();
        for (count, most) in [(1, 5), (7, 5), (1000, 5), (16, 1)] {
            let ids: Vec<String> = all.iter().map(|held| held.id.clone()).collect();
            let mut sought = sought(&view, &ids);
            assert_eq!(sought.len(), 50);
            let mut from = Some(0);
            let mut parts = 0;
            while let Some(at) = from {
                from = look_at(&view, &mut sought, (at, count), most);
                parts += 1;
            }
            assert_eq!(parts, 60_u32.div_ceil(count), "each number once");
            for Sought { id, found, .. } in sought {
                let own = all.iter().find(|held| held.id == id).unwrap();
                let vector = |held: &Held| Vector::built_in(&held.text).unwrap();
                let near = |other: &&Held| {
                    other.id != id
                        && other.text != own.text
                        && vector(own).cosine(&vector(other)) >= least
                };
                let mut expected: Vec<&Held> = kept().filter(near).collect();
                let likeness = |it: &Held| vector(own).cosine(&vector(it));
                expected.sort_by(|a, b| {
                    likeness(b)
                        .total_cmp(&likeness(a))
                        .then(a.number.cmp(&b.number))
                });
                expected.truncate(most);
                let found: Vec<_> = found.iter().map(|it| &it.id).collect();
                let expected: Vec<_> = expected.iter().map(|it| &it.id).collect();
                assert_eq!(found, expected, "of {id}");
            }
        }
    }
}
