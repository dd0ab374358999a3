//! Contacts: the threads that a thread can send to, and those that have to hear of a thread's end.

use super::{Change, Projection, set_of};
use crate::error::StoreError;
use crate::kernel::Store;
use crate::select::Select;
use crate::table::{Row, Table, text};
use crate::thread_row::Span;
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_event::fact::set;
use thinkd_words::id::{Name, Space, ThreadId};

/// A contact of a thread: a thread that it can send to.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, utoipa::ToSchema)]
#[schema(as = Contact)]
pub struct ContactRow {
    /// The name by which the thread calls its contact.
    #[schema(value_type = String)]
    pub name: Name,
    /// The thread that is the contact.
    #[serde(rename = "thread")]
    #[schema(value_type = String)]
    pub target: ThreadId,
    /// The work, wants and offers of the contact.
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
    let (key, set::Change::Contact(contact)) = set_of(fact)? else {
        return None;
    };
    if Name::parse(key).is_err() {
        return Some(Change::Unreadable);
    }
    let rest = contact.as_ref().map(|contact| {
        [
            ("target", (&contact.thread).into()),
            ("description", contact.description.clone().into()),
        ]
    });
    let key = TABLE.keyed(space, &event.thread, key);
    Some(Change::set(key, rest))
}

fn read(row: &Row) -> Result<ContactRow, StoreError> {
    Ok(ContactRow {
        name: row.name("name")?,
        target: row.thread("target")?,
        description: row.text("description")?.to_owned(),
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
        let of_thread = Select::of(&TABLE, space).equal("thread", thread);
        self.read(of_thread.order_by(&["name"]), read).await
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
        let pair = |row: &Row| Ok((row.thread("target")?, row.thread("thread")?));
        self.read(select.first(limit), pair).await
    }
}
