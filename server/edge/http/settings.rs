//! `/settings`: the switches of a space that people turn while the server runs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::needs::{Needs, Read, Shape};
use super::params::NoParams;
use super::{Answer, Only, bounds};
use crate::json::Body;
use crate::problem::{Slug, Wrongs};
use thinkd_log::projections::settings::SettingRow;
use thinkd_words::decode;
use thinkd_words::id::{INTEGER_MAX, Seq};
use thinkd_words::setting::Setting;
use thinkd_words::time::Timestamp;

resource! {
    /// See the module.
    RESOURCE tagged "settings": "Switches of the space";
    "/settings" => get(read) put(change);
    bounds: |document| {
        let schema = |it: Setting| (it.as_str().to_owned(), it.schema());
        let known: serde_json::Map<String, Value> = Setting::ALL.into_iter().map(schema).collect();
        let settings = json!({ "properties": known, "additionalProperties": false });
        let settings = || ("settings", settings.clone());
        let seq = json!({ "minimum": 0, "maximum": INTEGER_MAX });
        let change = [settings(), ("expected_seq", seq)];
        bounds::of_body(document, "SettingsChange", change);
        bounds::of_body(document, "SpaceSettings", [settings()]);
    };
}

/// The settings of a space.
#[derive(Debug, Serialize, ToSchema)]
pub struct SpaceSettings {
    /// Every setting as it is now.
    #[schema(value_type = Object)]
    pub settings: BTreeMap<&'static str, Value>,
    /// The last change of each; a setting that was never changed is missing.
    pub changes: BTreeMap<&'static str, LastChange>,
    /// The event that changed any of them last; 0: none has. Sent as `expected_seq`, it has a
    /// change refused if any setting was changed meanwhile.
    #[schema(value_type = i64, example = 41)]
    pub seq: Seq,
}

/// The last change of a setting.
#[derive(Debug, Serialize, ToSchema)]
pub struct LastChange {
    /// The event.
    #[schema(value_type = i64, example = 41)]
    pub seq: Seq,
    /// The name of its maker, where it was said.
    #[schema(example = "ann")]
    pub by: Option<String>,
    /// When.
    #[schema(value_type = String, example = "2026-11-21T04:25:00.123456Z")]
    pub at: Timestamp,
}

impl From<Vec<SettingRow>> for SpaceSettings {
    fn from(rows: Vec<SettingRow>) -> Self {
        let seq = SettingRow::last_change(&rows);
        let mut settings: BTreeMap<_, _> =
            Setting::ALL.map(|it| (it.as_str(), it.initial())).into();
        let mut changes = BTreeMap::new();
        for row in rows {
            // A newer server may have set others, or to what is no value here.
            let known = Setting::parse(&row.key);
            if let Some(setting) = known.filter(|it| it.refuses(&row.value).is_none()) {
                let seq = row.seq;
                let by = row.by;
                let at = row.updated;
                settings.insert(setting.as_str(), row.value);
                changes.insert(setting.as_str(), LastChange { seq, by, at });
            }
        }
        Self {
            settings,
            changes,
            seq,
        }
    }
}

/// Changes of settings, all or none.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SettingsChange {
    /// The settings to change, by key; those that are not named stay as they are.
    #[schema(value_type = Object)]
    pub settings: BTreeMap<String, Value>,
    /// The `seq` that was read before: if a setting has been changed since, nothing is changed.
    /// Without it the last one wins.
    #[schema(value_type = Option<i64>, example = 41)]
    pub expected_seq: Option<Seq>,
}

impl Body for SettingsChange {
    fn check(&self, wrongs: &mut Wrongs) {
        for (key, value) in &self.settings {
            let pointer = format!("/settings{}", decode::step(key));
            match Setting::parse(key) {
                Some(setting) => {
                    if let Some(why) = setting.refuses(value) {
                        wrongs.add(Slug::InvalidFrame, pointer, why);
                    }
                }
                None => {
                    let known = Setting::ALL.map(Setting::as_str).join(", ");
                    let detail = format!("there is no such setting; there are: {known}");
                    wrongs.add(Slug::UnknownMember, pointer, detail);
                }
            }
        }
        if self.expected_seq.is_some_and(|seq| seq < 0) {
            wrongs.add(Slug::InvalidFrame, "/expected_seq", "a seq is 0 or more");
        }
    }
}

/// The settings of the space.
#[utoipa::path(get, path = "/settings", operation_id = "get_settings", tag = "settings",
    responses((status = 200, body = SpaceSettings)))]
pub async fn read(session: Needs<Read>, _: NoParams) -> Answer<SpaceSettings> {
    Ok(axum::Json(session.settings().await?.into()))
}

/// Changes settings: one event for each that is named.
#[utoipa::path(put, path = "/settings", operation_id = "change_settings", tag = "settings",
    request_body = SettingsChange, responses((status = 200, body = SpaceSettings)))]
pub async fn change(
    session: Needs<Shape>,
    Only(body): Only<SettingsChange>,
) -> Answer<SpaceSettings> {
    let changes = body.settings.into_iter();
    let changes = changes.filter_map(|(key, value)| Some((Setting::parse(&key)?, value)));
    let changes: Vec<_> = changes.collect();
    let rows = session.change_settings(&changes, body.expected_seq);
    Ok(axum::Json(rows.await?.into()))
}
