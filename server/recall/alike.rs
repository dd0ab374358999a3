//! Which other statements that are held look like one: candidates for people to look at. Nothing is ever merged for being alike. Pure.

use super::held::Held;
use super::saying::Saying;
use super::view::View;
use crate::event::statement::{Triple, folded};

/// A statement that looks like another one.
#[derive(Debug, Clone)]
pub struct Alike {
    /// The other one.
    pub held: Held,
    /// The cosine of their vectors.
    pub likeness: f32,
}

/// The statements that look like this one, the nearest first; at most so many. None where it is not held, or has no vector.
pub fn alike(view: &View, id: &str, most: usize) -> Vec<Alike> {
    let Some(doc) = view.doc_of(id) else { return Vec::new() };
    let Some(one) = view.held(doc) else { return Vec::new() };
    let (rows, saying) = (view.vectors(), Saying::of(one.triple.as_ref(), &one.text, one.valid, view.names()));
    let near = rows.like(doc).filter(|(other, likeness)| *other != doc && *likeness >= rows.scale().alike());
    let mut found: Vec<Alike> = near
        .filter_map(|(other, likeness)| Some(Alike { held: view.held(other)?.clone(), likeness }))
        .filter(|it| !says_other(one, &it.held))
        .filter(|it| !saying.is_same(&Saying::of(it.held.triple.as_ref(), &it.held.text, it.held.valid, view.names())))
        .collect();
    found.sort_by(|a, b| b.likeness.total_cmp(&a.likeness).then_with(|| a.held.number.cmp(&b.held.number)));
    found.truncate(most);
    found
}

/// Whether two say another value, or the same one, of the same: that is no restatement, however alike the texts are.
fn says_other(one: &Held, other: &Held) -> bool {
    let (Some(one), Some(other)) = (&one.triple, &other.triple) else { return false };
    let is_same = |name: fn(&Triple) -> &String| folded(name(one)) == folded(name(other));
    is_same(|it| &it.subject) && is_same(|it| &it.relation)
}
