//! Submodules of a space: the prompts that comment on its turns.

use std::collections::BTreeSet;

use super::{Change, Projection, set_of};
use crate::error::StoreError;
use crate::kernel::Store;
use crate::migrations::migration;
use crate::seen::Seen;
use crate::select::Select;
use crate::table::{Row, Table, integer, text};
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::set;
use thinkd_words::id::{Name, Space};
use thinkd_words::time::Timestamp;

/// A submodule's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubmoduleRow {
    /// Its name.
    pub name: Name,
    /// Its prompt.
    pub prompt: String,
    /// Asked once more after the decision.
    pub follow_up: bool,
    /// When it was last set.
    pub updated: Timestamp,
}

pub(super) static PROJECTION: Projection = Projection {
    table: &TABLE,
    kind: Some(set::Kind::Submodule),
    migrations: &[migration!("0031_follow_up")],
    fold,
};

static TABLE: Table = Table {
    name: "submodules",
    key: &[text("space"), text("name")],
    rest: &[text("prompt"), integer("updated"), integer("follow_up")],
    words: None,
};

fn fold(space: &Space, event: &Event, fact: &Fact<'_>) -> Option<Change> {
    let (key, set::Change::Submodule(submodule)) = set_of(fact)? else {
        return None;
    };
    if Name::parse(key).is_err() {
        return Some(Change::Unreadable);
    }
    let rest = submodule.as_ref().map(|submodule| {
        [
            ("prompt", submodule.prompt.clone().into()),
            ("updated", event.ts.into()),
            ("follow_up", i64::from(submodule.follow_up).into()),
        ]
    });
    let key = TABLE.keyed(space, &event.thread, key);
    Some(Change::set(key, rest))
}

fn read(row: &Row) -> Result<SubmoduleRow, StoreError> {
    Ok(SubmoduleRow {
        name: row.name("name")?,
        prompt: row.text("prompt")?.to_owned(),
        follow_up: row.integer("follow_up")? != 0,
        updated: row.time("updated")?,
    })
}

/// Returns the rows that an append has to read to know the submodules of a space.
pub(crate) fn all(space: &Space) -> Select {
    Select::of(&TABLE, space)
}

/// The names of a space's submodules.
pub(crate) fn names(seen: Seen<'_>, space: &Space) -> BTreeSet<String> {
    seen.rows(&TABLE, space)
        .filter_map(|row| row.text("name").ok().map(str::to_owned))
        .collect()
}

/// One of them.
pub(crate) fn named(seen: Seen<'_>, space: &Space, name: &Name) -> Option<SubmoduleRow> {
    let mut rows = seen.rows(&TABLE, space);
    rows.find(|row| row.text("name").is_ok_and(|it| it == name.as_str()))
        .and_then(|row| read(&row).ok())
}

/// Errors: see [`Store`].
impl dyn Store + '_ {
    /// The space's submodules by name. Every turn asks for them, so they come from the cache.
    pub async fn submodules(&self, space: &Space) -> Result<Vec<SubmoduleRow>, StoreError> {
        let rows = self.all_rows(&TABLE, space).await?;
        rows.iter().map(read).collect()
    }
}
