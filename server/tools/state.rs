//! `state_get`, `state_put`, `state_search`, `state_delete`: notes a module keeps for itself. Every write is an event.

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::tool::{Desk, Effect, Output, Typed};
use crate::event::draft::Draft;
use crate::log::store::{self, Entry};
use crate::words::failure::{Failure, FailureKind};

/// Longest key, in bytes.
const KEY_MAX: usize = 255;
/// Longest content, in bytes.
const CONTENT_MAX: usize = 64 << 10;
/// Most related keys.
const RELATED_MAX: usize = 64;
/// Most hits of one search.
const HITS_MAX: u32 = 50;

macro_rules! tool {
    ($tool:ident, $name:literal, $input:ty, $effect:expr) => {
        #[doc = concat!("The tool `", $name, "`.")]
        pub struct $tool;

        #[async_trait]
        impl Typed for $tool {
            type Input = $input;
            const NAME: &'static str = $name;
            const EFFECT: Effect = $effect;

            async fn run(input: $input, desk: &Desk) -> Result<Output, Failure> {
                input.run(desk).await
            }
        }
    };
}

tool!(Get, "state_get", GetInput, Effect::Repeatable);
tool!(Put, "state_put", PutInput, Effect::Events);
tool!(Search, "state_search", SearchInput, Effect::Repeatable);
// It reads before it writes: what was put just before has to be committed first.
tool!(Delete, "state_delete", DeleteInput, Effect::Repeatable);

/// Arguments of `state_get`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetInput {
    key: String,
}

impl GetInput {
    async fn run(self, desk: &Desk) -> Result<Output, Failure> {
        let entry = desk.store.entry(&desk.space, valid_key(&self.key)?).await.map_err(store_failed)?;
        let output = match entry {
            Some(entry) => json!({ "found": true, "entry": shown(&entry) }),
            None => json!({ "found": false }),
        };
        Ok(Output::value(output))
    }
}

/// Arguments of `state_put`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PutInput {
    /// Short and stable.
    key: String,
    content: String,
    related_keys: Vec<String>,
}

impl PutInput {
    async fn run(self, desk: &Desk) -> Result<Output, Failure> {
        valid_key(&self.key)?;
        if self.content.len() > CONTENT_MAX {
            return Err(invalid(format!("a note holds at most {CONTENT_MAX} bytes")));
        }
        if self.related_keys.len() > RELATED_MAX || self.related_keys.iter().any(|key| valid_key(key).is_err()) {
            return Err(invalid(format!("at most {RELATED_MAX} related keys, each 1 to {KEY_MAX} bytes")));
        }
        let change =
            json!({ "content": self.content, "related_keys": self.related_keys, "owner": desk.by.to_string() });
        let draft = Draft::changed(&desk.thread, "entry", &self.key, change);
        Ok(Output { drafts: vec![draft], value: Some(json!({ "stored": self.key })), ..Output::default() })
    }
}

/// Arguments of `state_search`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchInput {
    query: String,
    /// At most 50; null for 5.
    limit: Option<u32>,
}

impl SearchInput {
    async fn run(self, desk: &Desk) -> Result<Output, Failure> {
        let limit = self.limit.unwrap_or(5).min(HITS_MAX);
        if limit == 0 {
            return Ok(Output::value(json!([])));
        }
        let hits = desk.store.search_entries(&desk.space, &self.query, limit).await.map_err(store_failed)?;
        Ok(Output::value(hits.iter().map(shown).collect()))
    }
}

/// Arguments of `state_delete`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteInput {
    key: String,
}

impl DeleteInput {
    async fn run(self, desk: &Desk) -> Result<Output, Failure> {
        let known = desk.store.entry(&desk.space, valid_key(&self.key)?).await.map_err(store_failed)?;
        if known.is_none() {
            return Ok(Output::value(json!({ "found": false })));
        }
        let draft = Draft::changed(&desk.thread, "entry", &self.key, Value::Null);
        Ok(Output {
            drafts: vec![draft],
            value: Some(json!({ "found": true, "deleted": self.key })),
            ..Output::default()
        })
    }
}

fn invalid(text: String) -> Failure {
    Failure::new(FailureKind::Tool, text).with(json!({ "reason": "invalid_arguments" }))
}

fn store_failed(error: store::Error) -> Failure {
    Failure::new(FailureKind::Store, format!("the notes could not be read: {error}")).retryable()
}

fn valid_key(key: &str) -> Result<&str, Failure> {
    if key.trim().is_empty() || key.len() > KEY_MAX || key.contains('\0') {
        return Err(invalid(format!("a key needs 1 to {KEY_MAX} bytes, not only spaces, no NUL")));
    }
    Ok(key)
}

fn shown(entry: &Entry) -> Value {
    json!({
        "key": entry.key, "content": entry.content, "related_keys": entry.related_keys,
        "metadata": { "updated_at": entry.updated, "owner": entry.owner },
    })
}
