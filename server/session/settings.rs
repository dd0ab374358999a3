//! A session reads and changes the settings of its space.

use serde_json::Value;

use super::handle::{Acted, Session};
use super::right::Right;
use thinkd_log::projections::settings::SettingRow;
use thinkd_words::id::Seq;
use thinkd_words::setting::Setting;

impl Session {
    /// Returns the settings that were set in the space, by key.
    pub async fn settings(&self) -> Acted<Vec<SettingRow>> {
        Ok(self.store(Right::Read)?.settings(self.space()).await?)
    }

    /// Changes settings, all or none; with `expected` only if that event was the last change.
    /// Returns all settings that were set.
    pub async fn change_settings(
        &self,
        changes: &[(Setting, Value)],
        expected: Option<Seq>,
    ) -> Acted<Vec<SettingRow>> {
        let (runtime, space) = self.acting(Right::Shape)?;
        Ok(runtime
            .change_settings(space, changes, expected, self.user())
            .await?)
    }
}
