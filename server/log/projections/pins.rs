//! The descriptions of other servers' tools that models are told, each by its hash. A description
//! is settled by the first turn that was offered the tool, or by a person. The words themselves are
//! in the event.

use std::collections::BTreeMap;

use uuid::Uuid;

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
use thinkd_words::id::{Seq, Space};
use thinkd_words::time::Timestamp;

/// The settled description of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PinRow {
    /// The server.
    pub server: String,
    /// The hash of its words.
    pub sha256: String,
    /// The event, which has the words.
    pub event: Uuid,
    /// Its place in the log.
    pub seq: Seq,
    /// The name of its approver; none: it was the first time.
    pub by: Option<String>,
    /// When.
    pub updated: Timestamp,
}

pub(super) static PROJECTION: Projection = Projection {
    table: &TABLE,
    kind: Some(set::Kind::Pin),
    migrations: &[migration!("0015_pins")],
    fold,
};

static TABLE: Table = Table {
    name: "pins",
    key: &[text("space"), text("tool")],
    rest: &[
        text("server"),
        text("sha256"),
        text("event"),
        integer("seq"),
        text("approved_by"),
        integer("updated"),
    ],
    words: None,
};

fn fold(space: &Space, event: &Event, fact: &Fact<'_>) -> Option<Change> {
    let (tool, set::Change::Pin(pin)) = set_of(fact)? else {
        return None;
    };
    let key = TABLE.keyed(space, &event.thread, tool);
    Some(Change::Put(key.with([
        ("server", pin.server.clone().into()),
        ("sha256", pin.sha256.clone().into()),
        ("event", event.event_id.to_string().into()),
        ("seq", event.seq.into()),
        ("approved_by", pin.by.clone().unwrap_or_default().into()),
        ("updated", event.ts.into()),
    ])))
}

fn read(row: &Row) -> Result<(String, PinRow), StoreError> {
    let event = row.text("event")?;
    let event = Uuid::parse_str(event)
        .map_err(|_| StoreError::Broken(format!("{event:?} is no event's id")))?;
    let by = row.text("approved_by")?;
    let pin = PinRow {
        server: row.text("server")?.to_owned(),
        sha256: row.text("sha256")?.to_owned(),
        event,
        seq: row.integer("seq")?,
        by: (!by.is_empty()).then(|| by.to_owned()),
        updated: row.time("updated")?,
    };
    Ok((row.text("tool")?.to_owned(), pin))
}

/// Returns the rows that an append has to read to know which event settled a tool last.
pub(crate) fn of_tool(space: &Space, tool: &str) -> Select {
    Select::of(&TABLE, space).equal("tool", tool)
}

/// The event that settled a tool of a space last; 0: none has.
pub(crate) fn last(seen: Seen<'_>, space: &Space, tool: &str) -> Seq {
    let mut rows = seen.rows(&TABLE, space);
    let row = rows.find(|row| row.text("tool").is_ok_and(|it| it == tool));
    row.and_then(|row| row.integer("seq").ok()).unwrap_or(0)
}

/// Errors: see [`Store`].
impl dyn Store + '_ {
    /// The tools of other servers that a space knows. They come from the cache.
    pub async fn pins(&self, space: &Space) -> Result<BTreeMap<String, PinRow>, StoreError> {
        let rows = self.all_rows(&TABLE, space).await?;
        rows.iter().map(read).collect()
    }
}
