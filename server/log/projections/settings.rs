//! Settings of a space that were set: the value of each, its event, and its author.

use serde_json::Value;

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
use thinkd_words::setting::Setting;
use thinkd_words::time::Timestamp;

/// A setting that was set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingRow {
    /// Its key; a newer server may have set one that this build does not know.
    pub key: String,
    /// Its value.
    pub value: Value,
    /// The event that set it last.
    pub seq: Seq,
    /// The name of its author, as far as known.
    pub by: Option<String>,
    /// When.
    pub updated: Timestamp,
}

impl SettingRow {
    /// The event that changed any of these last; 0: none has.
    pub fn last_change(rows: &[Self]) -> Seq {
        rows.iter().map(|row| row.seq).max().unwrap_or(0)
    }
}

pub(super) static PROJECTION: Projection = Projection {
    table: &TABLE,
    kind: Some(set::Kind::Setting),
    migrations: &[migration!("0014_settings")],
    fold,
};

static TABLE: Table = Table {
    name: "settings",
    key: &[text("space"), text("key")],
    rest: &[
        text("value"),
        integer("seq"),
        text("set_by"),
        integer("updated"),
    ],
    words: None,
};

fn fold(space: &Space, event: &Event, fact: &Fact<'_>) -> Option<Change> {
    let (key, set::Change::Setting(setting)) = set_of(fact)? else {
        return None;
    };
    let key = TABLE.keyed(space, &event.thread, key);
    Some(Change::Put(key.with([
        ("value", setting.value.to_string().into()),
        ("seq", event.seq.into()),
        ("set_by", setting.by.clone().unwrap_or_default().into()),
        ("updated", event.ts.into()),
    ])))
}

fn read(row: &Row) -> Result<SettingRow, StoreError> {
    let by = row.text("set_by")?;
    Ok(SettingRow {
        key: row.text("key")?.to_owned(),
        value: row.json("value")?,
        seq: row.integer("seq")?,
        by: (!by.is_empty()).then(|| by.to_owned()),
        updated: row.time("updated")?,
    })
}

/// Returns the rows that an append has to read to know which event changed a setting last.
pub(crate) fn all(space: &Space) -> Select {
    Select::of(&TABLE, space)
}

/// The event that changed a setting of a space last; 0: none has.
pub(crate) fn last_change(seen: Seen<'_>, space: &Space) -> Seq {
    let rows = seen.rows(&TABLE, space);
    let seqs = rows.filter_map(|row| row.integer("seq").ok());
    seqs.max().unwrap_or(0)
}

/// Errors: see [`Store`].
impl dyn Store + '_ {
    /// Returns the settings that were set, by key. They come from the cache.
    pub async fn settings(&self, space: &Space) -> Result<Vec<SettingRow>, StoreError> {
        let rows = self.all_rows(&TABLE, space).await?;
        rows.iter().map(read).collect()
    }

    /// Returns the present value of a setting.
    pub async fn setting(&self, space: &Space, setting: Setting) -> Result<Value, StoreError> {
        let mut all = self.settings(space).await?.into_iter();
        let set = all.find(|row| row.key == setting.as_str());
        // What a newer server may have set it to, and this build does not know, is as good as nothing.
        let known = set
            .map(|row| row.value)
            .filter(|value| setting.refuses(value).is_none());
        Ok(known.unwrap_or_else(|| setting.initial()))
    }

    /// Returns true if no user is there to be asked.
    pub async fn is_user_away(&self, space: &Space) -> Result<bool, StoreError> {
        Ok(self.setting(space, Setting::UserAway).await? == Value::Bool(true))
    }
}
