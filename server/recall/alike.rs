//! Which other statements that are held look like some: candidates for people to look at. Nothing is ever merged for being alike. All of them are looked
//! for in one pass over the vectors, a part at a time. Pure.

use super::graph::Doc;
use super::held::Held;
use super::saying::Saying;
use super::vectors::Vector;
use super::view::View;
use crate::event::entity::Names;
use crate::event::statement::{Triple, folded};

/// A statement that looks like another one.
#[derive(Debug, Clone)]
pub struct Alike {
    /// The other one.
    pub held: Held,
    /// The cosine of their vectors.
    pub likeness: f32,
}

/// A statement of which those are sought that look like it.
pub struct Sought {
    own: Held,
    vector: Vector,
    found: Vec<Alike>,
}

impl Sought {
    /// None: it is not held, or has no vector.
    pub fn of(view: &View, id: &str) -> Option<Self> {
        let doc = view.doc_of(id)?;
        Some(Self {
            own: view.held(doc)?.clone(),
            vector: view.vectors().vector(doc)?,
            found: Vec::new(),
        })
    }

    /// Its id, and what was found: the nearest first.
    pub fn into_found(self) -> (String, Vec<Alike>) {
        (self.own.id, self.found)
    }

    /// The nearest, in order; at most so many.
    fn keep(&mut self, most: usize) {
        self.found.sort_by(|a, b| {
            b.likeness
                .total_cmp(&a.likeness)
                .then_with(|| a.held.number.cmp(&b.held.number))
        });
        self.found.truncate(most);
    }
}

/// Holds so many statements from a number on beside each that is sought for, and keeps the nearest, at most so many of each. Where to go on; none: that was
/// all.
pub fn look_at(
    view: &View,
    all: &mut [Sought],
    (from, count): (Doc, Doc),
    most: usize,
) -> Option<Doc> {
    let (rows, names) = (view.vectors(), view.names());
    let least = rows.scale().alike();
    let next = from.saturating_add(count);
    for (doc, vector) in rows.some(from..next) {
        for sought in all.iter_mut() {
            let likeness = vector.cosine(&sought.vector);
            if likeness < least {
                continue;
            }
            let is_other = |held: &&Held| held.id != sought.own.id && held.status.is_held();
            let Some(held) = view.held(doc).filter(is_other) else {
                continue;
            };
            if !says_other(&sought.own, held, names) && !says_same(&sought.own, held, names) {
                sought.found.push(Alike {
                    held: held.clone(),
                    likeness,
                });
            }
        }
    }
    all.iter_mut().for_each(|sought| sought.keep(most));
    ((next as usize) < rows.len()).then_some(next)
}

/// Whether two say another value, or the same one, of the same: that is no restatement, however alike the texts are.
fn says_other(one: &Held, other: &Held, names: &Names) -> bool {
    let (Some(one), Some(other)) = (&one.triple, &other.triple) else {
        return false;
    };
    let relation = |it: &Triple| folded(&it.relation);
    names.is_one(&one.subject, &other.subject) && relation(one) == relation(other)
}

/// Whether two say the same: that is another doubt.
fn says_same(one: &Held, other: &Held, names: &Names) -> bool {
    let saying = |it: &Held| Saying::of(it.triple.as_ref(), &it.text, it.valid, names);
    saying(one).is_same(&saying(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::statement::{Status, Valid};

    /// A held statement without an edge.
    fn held(number: i64) -> Held {
        let text = format!(
            "The {} number {} points at a comet.",
            ["telescope", "mirror"][number as usize % 2],
            number / 7
        );
        let (id, status) = (number.to_string(), Status::Surviving);
        Held {
            id,
            number,
            changed: number,
            text,
            triple: None,
            valid: Valid::default(),
            status,
            reflection_only: false,
            said_by: None,
        }
    }

    #[test]
    fn in_parts_of_any_size_the_same_is_found_as_by_holding_each_beside_each() {
        let all: Vec<Held> = (1..=60).map(held).collect();
        let mut view = View::default();
        all.iter().for_each(|held| view.put(held.clone()));
        // Numbers that are free again are passed over.
        (20..30).for_each(|number| view.remove(&number.to_string()));
        let kept = || all.iter().filter(|held| !(20..30).contains(&held.number));
        let least = view.vectors().scale().alike();
        for (count, most) in [(1, 5), (7, 5), (1000, 5), (16, 1)] {
            let mut sought: Vec<Sought> = all
                .iter()
                .filter_map(|held| Sought::of(&view, &held.id))
                .collect();
            assert_eq!(sought.len(), 50);
            let (mut from, mut parts) = (Some(0), 0);
            while let Some(at) = from {
                from = look_at(&view, &mut sought, (at, count), most);
                parts += 1;
            }
            assert_eq!(parts, 60_u32.div_ceil(count), "each number once");
            for it in sought {
                let (id, found) = it.into_found();
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
                let ids = |of: &mut dyn Iterator<Item = &Held>| {
                    of.map(|held| held.id.clone()).collect::<Vec<_>>()
                };
                assert_eq!(
                    ids(&mut found.iter().map(|it| &it.held)),
                    ids(&mut expected.into_iter()),
                    "of {id}"
                );
            }
        }
    }
}
