//! Settings of a space are changed here and nowhere else, an event each. Code that has to act on a
//! change does it behind the append. Code that only has to know a setting reads it where it is
//! needed (`Store::setting`).

use serde_json::Value;

use super::append::append_told;
use super::ground::Ground;
use super::handle::Runtime;
use super::refused::Refused;
use thinkd_event::condition::Condition;
use thinkd_event::draft::Draft;
use thinkd_event::fact::set::{Change, SettingValue};
use thinkd_log::error::StoreError;
use thinkd_log::projections::settings::SettingRow;
use thinkd_words::id::{Seq, Space, ThreadId};
use thinkd_words::setting::Setting;

impl Runtime {
    /// Changes settings, all or none, and returns all that are set. With `expected` only if that
    /// event was the last change: of several callers that expect the same one, one wins.
    pub async fn change_settings(
        &self,
        space: &Space,
        changes: &[(Setting, Value)],
        expected: Option<Seq>,
        by: Option<&str>,
    ) -> Result<Vec<SettingRow>, Refused> {
        self.open(space).await?;
        let Ground { store, mind, .. } = &self.0.ground;
        let draft = |(setting, value): &(Setting, Value)| {
            let change = SettingValue {
                value: value.clone(),
                by: by.map(str::to_owned),
            };
            let draft = Draft::set(
                &ThreadId::default(),
                setting.as_str(),
                Change::Setting(change),
            );
            expected
                .map(Condition::SettingsAt)
                .into_iter()
                .fold(draft, Draft::only_if)
        };
        let mut drafts: Vec<Draft> = changes.iter().map(draft).collect();
        for (_, value) in changes
            .iter()
            .filter(|(setting, _)| *setting == Setting::ReflectionS)
        {
            drafts.push(self.reflection(value)?);
        }
        let is_nothing = drafts.is_empty();
        let stored = match is_nothing {
            true => Ok(()),
            // What follows from a change: open questions are answered when people go.
            false => append_told(&**store, &mind.on_stored, space, drafts)
                .await
                .map(drop),
        };
        let rows = store.settings(space).await?;
        let last = SettingRow::last_change(&rows);
        match (stored, expected) {
            (Err(StoreError::Unmet(_)), Some(expected)) => {
                Err(Refused::SettingsChanged { expected, last })
            }
            (Ok(()), Some(expected)) if is_nothing && expected != last => {
                Err(Refused::SettingsChanged { expected, last })
            }
            (Ok(()), _) => Ok(rows),
            (Err(error), _) => Err(error.into()),
        }
    }
}
