//! The facts of entities: names are one from now on, or are not any more. Both are of modality `state`, so that no model is shown them.

use thinkd_facts::Fact;
use uuid::Uuid;

use crate::draft::Draft;
use crate::entity::{Merge, Unmerge};
use crate::envelope::Source;
use thinkd_words::id::ThreadId;

/// The first tag.
pub const TAG: &str = "entity";

/// A fact about names.
#[derive(Debug, Clone, PartialEq, Fact)]
#[fact(tags("entity", "<kind>"), plain, visibility = State, role = Aside, label = "world model")]
pub enum EntityFact {
    /// Names are one: by an operator, or because a statement that says so has survived. Texts keep
    /// the names that they were written with.
    #[fact(name = "entity-merged", tags("merged", "statement:<id>?" = &merge.statement),
           source = source(&merge.by),
           text = format!("{} are one: {}", merge.names.join(" and "), merge.reason))]
    Merged(#[fact(flat, bound = merge)] Merge),
    /// A merge does not stand any more: its names are one only where another one says so.
    #[fact(name = "entity-unmerged", tags("unmerged"), source = source(&unmerge.by),
           text = format!("{} are not one by this any more: {}", unmerge.names.join(" and "), unmerge.reason))]
    Unmerged(#[fact(flat, bound = unmerge)] Unmerge),
}

fn source(by: &Option<String>) -> Source {
    by.as_ref().map_or(Source::Internal, |_| Source::User)
}

impl Draft {
    /// Names are one. The id of the event is that of the merge.
    pub fn merged(thread: &ThreadId, id: Uuid, merge: Merge) -> Self {
        EntityFact::Merged(merge).encode(thread).with_id(id)
    }

    /// A merge does not stand any more.
    pub fn unmerged(thread: &ThreadId, unmerge: Unmerge) -> Self {
        EntityFact::Unmerged(unmerge).encode(thread)
    }
}
