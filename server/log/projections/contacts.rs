//! Contacts: whom a thread can send to, and who has to hear of a thread's end.

use super::{Change, Projection};
use crate::event::envelope::Event;
use crate::event::fact::Fact;
use crate::event::fact::set::{self, Set};
use crate::log::error::StoreError;
use crate::log::kernel::Store;
use crate::log::select::Select;
use crate::log::table::{Cell, Row, Table, text};
use crate::log::thread_row::Span;
use crate::words::id::{Name, Space, ThreadId};

/// Whom a thread can send to.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[schema(as = Contact)]
pub struct ContactRow {
    /// What the thread calls it.
    #[schema(value_type = String)]
    pub name: Name,
    /// The thread.
    #[serde(rename = "thread")]
    #[schema(value_type = String)]
    pub target: ThreadId,
    /// What it does, wants and offers.
    pub description: String,
}

pub(super) static PROJECTION: Projection = Projection {
    table: &TABLE,
    kind: Some(set::Kind::Contact),
    migrations: &[],
    fold,
};

static TABLE: Table = Table {
    name: "contacts",
    key: &[text("space"), text("thread"), text("name")],
    rest: &[text("target"), text("description")],
    words: None,
};

fn fold(space: &Space, event: &Event, fact: &Fact<'_>) -> Option<Change> {
    let Fact::Set(Set {
        key,
        change: set::Change::Contact(contact),
        ..
    }) = fact
    else {
        return None;
    };
    if Name::parse(key).is_err() {
        return Some(Change::Unreadable);
    }
    let cells = || -> [(&'static str, Cell); 3] {
        [
            ("space", space.into()),
            ("thread", (&event.thread).into()),
            ("name", (*key).into()),
        ]
    };
    let row = contact.as_ref().map(|contact| {
        let rest = [
            ("target", (&contact.thread).into()),
            ("description", contact.description.clone().into()),
        ];
        cells().into_iter().chain(rest).collect()
    });
    Some(Change::to(row, cells().into()))
}

fn read(row: &Row) -> Result<ContactRow, StoreError> {
    let description = row.text("description")?.to_owned();
    Ok(ContactRow {
        name: row.name("name")?,
        target: row.thread("target")?,
        description,
    })
}

/// Errors: see [`Store`].
impl dyn Store + '_ {
    /// A thread's contacts by name.
    pub async fn contacts(
        &self,
        space: &Space,
        thread: &ThreadId,
    ) -> Result<Vec<ContactRow>, StoreError> {
        let select = Select::of(&TABLE, space)
            .equal("thread", thread)
            .order_by(&["name"]);
        self.select(select).await?.iter().map(read).collect()
    }

    /// The threads that have one of these among their contacts, each behind that one, by id; of each those behind this id, at most
    /// `limit`.
    pub async fn referrers(
        &self,
        space: &Space,
        of: Span<'_>,
        after: &str,
        limit: u32,
    ) -> Result<Vec<(ThreadId, ThreadId)>, StoreError> {
        let targets = Select::of(&TABLE, space)
            .at_least("target", *of.start())
            .at_most("target", *of.end());
        let select = targets
            .after("thread", after)
            .distinct(&["target", "thread"])
            .order_by(&["target", "thread"]);
        let rows = self.select(select.first(limit)).await?;
        rows.iter()
            .map(|row| Ok((row.thread("target")?, row.thread("thread")?)))
            .collect()
    }
}
