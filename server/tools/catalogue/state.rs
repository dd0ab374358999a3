//! `state_get`, `state_put`, `state_search`, `state_delete`: notes a module keeps for itself. Every write is an event.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::supplies::Supplies;
use crate::tool::{CallSite, Effect, Output, Typed, invalid};
use thinkd_event::draft::Draft;
use thinkd_event::fact::set::{Change, Note};
use thinkd_log::error::StoreError;
use thinkd_log::projections::entries::EntryRow;
use thinkd_log::shown_to_models::is_taken_back;
use thinkd_log::words::asked;
use thinkd_words::failure::{Failure, FailureKind};

/// Longest key, in bytes.
const KEY_MAX: usize = 255;
/// Longest content, in bytes.
const CONTENT_MAX: usize = 64 << 10;
/// Most related keys.
const RELATED_MAX: usize = 64;
/// Most hits of one search.
const HITS_MAX: u32 = 50;

/// `state_get`: reads one.
pub struct Get(pub Supplies);

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GetInput {
    key: String,
}

impl Typed for Get {
    type Input = GetInput;
    const NAME: &'static str = "state_get";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/state_get.md");
    const EFFECT: Effect = Effect::Repeatable;

    async fn call(&self, input: GetInput, site: &CallSite) -> Result<Output, Failure> {
        let entry = self
            .0
            .store
            .entry(&site.space, valid_key(&input.key)?)
            .await
            .map_err(store_failed)?;
        let Some(entry) = entry else {
            return Ok(Output::value(json!({ "found": false })));
        };
        let is_back = is_taken_back(&*self.0.store, &site.space, entry.seq).await;
        Ok(Output::value(match is_back.map_err(store_failed)? {
            true => json!({ "found": false }),
            false => json!({ "found": true, "entry": shown(&entry) }),
        }))
    }
}

/// `state_put`: writes one.
pub struct Put;

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PutInput {
    key: String,
    content: String,
    related_keys: Vec<String>,
}

impl Typed for Put {
    type Input = PutInput;
    const NAME: &'static str = "state_put";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/state_put.md");
    const EFFECT: Effect = Effect::Events;

    async fn call(&self, input: PutInput, site: &CallSite) -> Result<Output, Failure> {
        let PutInput {
            key,
            content,
            related_keys,
        } = input;
        valid_key(&key)?;
        if content.len() > CONTENT_MAX {
            return Err(invalid(format!("a note holds at most {CONTENT_MAX} bytes")));
        }
        if related_keys.len() > RELATED_MAX
            || related_keys.iter().any(|key| valid_key(key).is_err())
        {
            return Err(invalid(format!(
                "at most {RELATED_MAX} related keys, each 1 to {KEY_MAX} bytes"
            )));
        }
        let note = Note {
            content,
            related_keys,
            owner: site.by.to_string(),
        };
        let draft = Draft::set(&site.thread, &key, Change::Entry(Some(note)));
        Ok(Output::done(vec![draft], json!({ "stored": key })))
    }
}

/// `state_search`: finds some.
pub struct Search(pub Supplies);

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchInput {
    query: String,
    limit: Option<u32>,
}

impl Typed for Search {
    type Input = SearchInput;
    const NAME: &'static str = "state_search";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/state_search.md");
    const EFFECT: Effect = Effect::Repeatable;

    async fn call(&self, input: SearchInput, site: &CallSite) -> Result<Output, Failure> {
        let limit = input.limit.unwrap_or(5).min(HITS_MAX);
        if limit == 0 {
            return Ok(Output::value(json!([])));
        }
        if asked(&input.query).is_empty() {
            let text = "query has nothing that can be looked for: no letter, no digit, no emoji";
            return Err(invalid(text));
        }
        let hits = self
            .0
            .store
            .search_entries(&site.space, &input.query, limit)
            .await
            .map_err(store_failed)?;
        let mut found = Vec::with_capacity(hits.len());
        for hit in &hits {
            let is_back = is_taken_back(&*self.0.store, &site.space, hit.seq).await;
            if !is_back.map_err(store_failed)? {
                found.push(shown(hit));
            }
        }
        Ok(Output::value(found.into()))
    }
}

/// `state_delete`: removes one. It reads before it writes: a value put just before has to be
/// committed first.
pub struct Delete(pub Supplies);

/// Its arguments.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DeleteInput {
    key: String,
}

impl Typed for Delete {
    type Input = DeleteInput;
    const NAME: &'static str = "state_delete";
    const PROMPT: &'static str = include_str!("../../../prompts/tools/state_delete.md");
    const EFFECT: Effect = Effect::Repeatable;

    async fn call(&self, input: DeleteInput, site: &CallSite) -> Result<Output, Failure> {
        let known = self
            .0
            .store
            .entry(&site.space, valid_key(&input.key)?)
            .await
            .map_err(store_failed)?;
        if known.is_none() {
            return Ok(Output::value(json!({ "found": false })));
        }
        let draft = Draft::set(&site.thread, &input.key, Change::Entry(None));
        let value = json!({ "found": true, "deleted": input.key });
        Ok(Output::done(vec![draft], value))
    }
}

fn store_failed(error: StoreError) -> Failure {
    let text = format!("the notes could not be read: {error}");
    Failure::new(FailureKind::Store, text).retryable()
}

fn valid_key(key: &str) -> Result<&str, Failure> {
    if key.trim().is_empty() || key.len() > KEY_MAX || key.contains('\0') {
        return Err(invalid(format!(
            "a key needs 1 to {KEY_MAX} bytes, not only spaces, no NUL"
        )));
    }
    Ok(key)
}

fn shown(entry: &EntryRow) -> Value {
    json!({
        "key": entry.key, "content": entry.content, "related_keys": entry.related_keys,
        "metadata": { "updated_at": entry.updated, "owner": entry.owner },
    })
}
