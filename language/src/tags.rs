//! The type of a tag, shared by the scanner of tags and the finder of quotes.

use std::ops::Range;

use super::elements::Name;

/// An attribute as written; no value is `<step done>`.
pub type Attribute<'t> = (&'t str, Option<&'t str>);

/// Kind of a tag.
#[derive(Debug, PartialEq, Eq)]
pub enum Shape<'t> {
    /// `<name …>`
    Open(Vec<Attribute<'t>>),
    /// `<name …/>`
    Alone(Vec<Attribute<'t>>),
    /// `</name>`
    Close,
    /// Begins like an opening tag and does not end like one. Its range is the beginning.
    Broken,
}

/// A tag of a known element.
#[derive(Debug, PartialEq, Eq)]
pub struct Tag<'t> {
    /// Name of its element.
    pub name: Name,
    /// Its range, in bytes.
    pub range: Range<usize>,
    /// Its kind.
    pub shape: Shape<'t>,
    /// The index of the tag at the other end, if there is one.
    pub partner: Option<usize>,
}
