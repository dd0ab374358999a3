//! The appends of one commit, and how much a commit may have.

use super::plan::Item;

/// Most events of one commit, unless one append alone has more.
const EVENTS: usize = 512;
/// Most payload bytes of one commit, unless one append alone has more.
const BYTES: usize = 4 << 20;

/// See the module.
#[derive(Default)]
pub(super) struct Group {
    pub items: Vec<Item>,
    events: usize,
    /// The number of bytes of their payloads.
    pub bytes: usize,
}

impl Group {
    pub fn of(item: Item) -> Self {
        let mut group = Self::default();
        group.push(item);
        group
    }

    pub fn has_room(&self) -> bool {
        self.events < EVENTS && self.bytes < BYTES
    }

    pub fn push(&mut self, item: Item) {
        self.events += item.drafts.len();
        self.bytes += item.bytes;
        self.items.push(item);
    }
}
