//! `/state`: the notes that modules keep. To be read only.

use serde::Serialize;
use utoipa::ToSchema;

use super::cursor::Part;
use super::needs::{Needs, Read};
use super::params::{NoParams, Params};
use super::path::{Key, Path};
use super::{Answer, Page};
use crate::problem::Problem;
use thinkd_log::projections::entries::EntryRow;
use thinkd_words::time::Timestamp;

resource! {
    /// See the module.
    RESOURCE tagged "state": "The notes that modules keep";
    "/state" => get(list);
    "/state/{*key}" => get(one);
}

/// A note.
#[derive(Debug, Serialize, ToSchema)]
pub struct Entry {
    /// Its key.
    pub key: String,
    /// Its text.
    pub content: String,
    /// Keys it is related to.
    pub related_keys: Vec<String>,
    /// Its metadata.
    pub metadata: About,
}

/// The metadata of a note.
#[derive(Debug, Serialize, ToSchema)]
pub struct About {
    /// When it was last written.
    #[schema(value_type = String, example = "2026-11-21T04:25:00.123456Z")]
    pub updated_at: Timestamp,
    /// The module that wrote it last.
    #[schema(example = "decision")]
    pub owner: String,
}

impl From<EntryRow> for Entry {
    fn from(entry: EntryRow) -> Self {
        let metadata = About {
            updated_at: entry.updated,
            owner: entry.owner,
        };
        Self {
            key: entry.key,
            content: entry.content,
            related_keys: entry.related_keys,
            metadata,
        }
    }
}

/// The notes by key, or with `q` those that have its words, best first.
#[utoipa::path(get, path = "/state", operation_id = "list_state", tag = "state",
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "50 when absent"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before"), ("q" = Option<String>, Query, max_length = 1024, description = "any of these words; best first, one page")),
    responses((status = 200, body = Page<Entry>)))]
pub async fn list(session: Needs<Read>, mut params: Params) -> Answer<Page<Entry>> {
    let part = Part::take(&mut params)?;
    let words = params.words()?;
    params.end()?;
    if let Some(words) = words {
        if part.is_later() {
            let detail = "a search has one page; ask for more with limit";
            return Err(Problem::parameter("cursor", detail));
        }
        let found = session.search_entries(&words, part.limit).await?;
        return Ok(axum::Json(Page {
            items: found.into_iter().map(Entry::from).collect(),
            next: None,
        }));
    }
    let part = part.of(format!("state {}", session.space()))?;
    let entries = session.entries(part.at.as_deref(), part.limit + 1);
    Ok(axum::Json(
        part.page(entries.await?, |last| last.key.clone()),
    ))
}

/// One note.
#[utoipa::path(get, path = "/state/{key}", operation_id = "get_state", tag = "state",
    params(("key" = String, Path, description = "its key")),
    responses((status = 200, body = Entry)))]
pub async fn one(session: Needs<Read>, Path(Key(key)): Path<Key>, _: NoParams) -> Answer<Entry> {
    let entry = session.entry(&key).await?;
    let entry = entry.ok_or_else(|| Problem::not_found("there is no entry of that key"))?;
    Ok(axum::Json(entry.into()))
}
