//! Submodules of a space: the prompts that comment on its turns.

use std::collections::BTreeSet;

use super::{Change, Projection, set_of};
use crate::event::envelope::Event;
use crate::event::fact::Fact;
use crate::event::fact::set;
use crate::log::error::StoreError;
use crate::log::kernel::Store;
use crate::log::migrations::migration;
use crate::log::seen::Seen;
use crate::log::select::Select;
use crate::log::table::{Row, Table, integer, text};
use crate::words::id::{Name, Space};
use crate::words::time::Timestamp;

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

/// What an append has to read to know which submodules a space has.
pub(in crate::log) fn all(space: &Space) -> Select {
    Select::of(&TABLE, space)
}

/// The names of a space's submodules.
pub(in crate::log) fn names(seen: Seen<'_>, space: &Space) -> BTreeSet<String> {
    seen.rows(&TABLE, space)
        .filter_map(|row| row.text("name").ok().map(str::to_owned))
        .collect()
}

/// One of them.
pub(in crate::log) fn named(seen: Seen<'_>, space: &Space, name: &Name) -> Option<SubmoduleRow> {
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
