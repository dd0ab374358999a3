//! Frameworks of a space as they stand now: the words of each, and the results of like tasks with
//! it and without it.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::{Change, Projection};
use crate::error::Stored;
use crate::kernel::Store;
use crate::migrations::migration;
use crate::seen::Seen;
use crate::select::Select;
use crate::shown::json;
use crate::table::{Cell, Row, Table, integer, text};
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::framework::Said;
use thinkd_event::fact::set::{self, Set};
use thinkd_event::framework::{Framework, Recipe};
use thinkd_words::id::{Seq, Space, ThreadId};
use thinkd_words::time::Timestamp;

/// A framework's row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameworkRow {
    /// Its id.
    pub id: String,
    /// The framework, as it stands now.
    pub framework: Framework,
    /// The event that said something of it last.
    pub changed: Seq,
    /// When it was set.
    pub updated: Timestamp,
}

/// The part of a framework's row that tells whether it is for a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameworkName {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// For which tasks it is.
    pub purpose: String,
    /// The event that said something of it last.
    pub changed: Seq,
}

/// The parts that stand in no column of their own.
#[derive(Serialize, Deserialize)]
struct Body<'a> {
    knowledge: Cow<'a, [String]>,
    recipe: Cow<'a, Recipe>,
    by: Cow<'a, Option<String>>,
}

pub(super) static PROJECTION: Projection = Projection {
    table: &TABLE,
    kind: Some(set::Kind::Framework),
    migrations: &[migration!("0028_frameworks")],
    fold,
};

static TABLE: Table = Table {
    name: "frameworks",
    key: &[text("space"), text("id")],
    rest: &[
        text("name"),
        text("purpose"),
        text("kind"),
        text("body"),
        text("tally"),
        integer("changed"),
        integer("updated"),
    ],
    words: None,
};

fn fold(space: &Space, event: &Event, fact: &Fact<'_>) -> Option<Change> {
    let key = |id: &str| TABLE.keyed(space, &event.thread, id);
    let changed = ("changed", Cell::from(event.seq));
    match fact {
        Fact::Set(Set {
            key: id,
            change: set::Change::Framework(framework),
            ..
        }) => {
            let Some(framework) = framework else {
                return Some(Change::Remove(key(id)));
            };
            let body = Body {
                knowledge: Cow::Borrowed(&framework.knowledge),
                recipe: Cow::Borrowed(&framework.recipe),
                by: Cow::Borrowed(&framework.by),
            };
            let (Ok(body), Ok(tally)) = (json(&body), json(&framework.tally)) else {
                return Some(Change::Unreadable);
            };
            let rest = [
                ("name", framework.name.as_str().into()),
                ("purpose", framework.purpose.as_str().into()),
                ("kind", framework.recipe.kind().into()),
                ("body", body.into()),
                ("tally", tally.into()),
                changed,
                ("updated", event.ts.into()),
            ];
            Some(Change::Put(key(id).with(rest)))
        }
        Fact::Framework(fact) => {
            let Said::Came { tally, .. } = &fact.what else {
                return None;
            };
            let rest = [("tally", json(tally).ok()?.into()), changed];
            Some(Change::Alter(key(fact.framework).with(rest)))
        }
        _ => None,
    }
}

fn read(row: &Row) -> Stored<FrameworkRow> {
    let (named, body): (_, Body) = (read_name(row)?, row.json("body")?);
    Ok(FrameworkRow {
        id: named.id,
        framework: Framework {
            name: named.name,
            purpose: named.purpose,
            knowledge: body.knowledge.into_owned(),
            recipe: body.recipe.into_owned(),
            by: body.by.into_owned(),
            tally: row.json("tally")?,
        },
        changed: named.changed,
        updated: row.time("updated")?,
    })
}

fn read_name(row: &Row) -> Stored<FrameworkName> {
    Ok(FrameworkName {
        id: row.text("id")?.to_owned(),
        name: row.text("name")?.to_owned(),
        purpose: row.text("purpose")?.to_owned(),
        changed: row.integer("changed")?,
    })
}

/// Returns the rows that an append has to read to know whether a framework is as its caller saw it.
pub(crate) fn of_id(space: &Space, id: &str) -> Select {
    Select::of(&TABLE, space).equal("id", id)
}

/// Returns the rows that an append has to read to know the number of frameworks of a space.
pub(crate) fn ids(space: &Space) -> Select {
    Select::of(&TABLE, space).distinct(&["space", "id", "changed"])
}

/// Returns whether a framework is there, and nothing has been said of it since that event.
pub(crate) fn is_at(seen: Seen<'_>, space: &Space, id: &str, changed: Seq) -> bool {
    let row = seen.row(&TABLE.changed(space, &ThreadId::default(), id));
    row.is_some_and(|row| *row.cell("changed") == Cell::from(changed))
}

/// Returns whether a space has fewer frameworks than so many.
pub(crate) fn has_room(seen: Seen<'_>, space: &Space, most: usize) -> bool {
    seen.rows(&TABLE, space).take(most).count() < most
}

/// Errors: see [`Store`].
impl dyn Store + '_ {
    /// Returns one framework.
    pub async fn framework(&self, space: &Space, id: &str) -> Stored<Option<FrameworkRow>> {
        self.read_first(of_id(space, id), read).await
    }

    /// Frameworks in the order in which they were created, those after `after`, of one kind if it
    /// is named; at most `limit`.
    pub async fn frameworks(
        &self,
        space: &Space,
        kind: Option<&str>,
        after: Option<&str>,
        limit: u32,
    ) -> Stored<Vec<FrameworkRow>> {
        let mut select = Select::of(&TABLE, space);
        if let Some(after) = after {
            select = select.after("id", after);
        }
        if let Some(kind) = kind {
            select = select.equal("kind", kind);
        }
        self.read(select.order_by(&["id"]).first(limit), read).await
    }

    /// Returns, of each framework of a space, the part that tells for which tasks it is, in the
    /// order in which they were created.
    pub async fn framework_names(&self, space: &Space) -> Stored<Vec<FrameworkName>> {
        let columns = &["id", "name", "purpose", "changed"];
        let select = Select::of(&TABLE, space).distinct(columns);
        self.read(select.order_by(&["id"]), read_name).await
    }
}
