//! `/state`: the notes that modules keep. To be read only.

use axum::Router;
use axum::routing::get;
use serde::Serialize;
use utoipa::{OpenApi, ToSchema};

use super::needs::{Needs, Read};
use super::params::Params;
use super::path::{Key, Path};
use super::{Page, Resource, cursor};
use crate::edge::problem::{Problem, Slug};
use crate::log::projections::entries::EntryRow;
use crate::words::time::Timestamp;

#[derive(OpenApi)]
#[openapi(paths(list, one),
    tags((name = "state", description = "The notes that modules keep")))]
struct Document;

/// See the module.
pub const RESOURCE: Resource = Resource {
    routes: || {
        Router::new()
            .route("/state", get(list))
            .route("/state/{*key}", get(one))
    },
    document: Document::openapi,
    bounds: |_| {},
};

/// A note.
#[derive(Debug, Serialize, ToSchema)]
pub struct Entry {
    /// Its key.
    pub key: String,
    /// What it says.
    pub content: String,
    /// Keys it is related to.
    pub related_keys: Vec<String>,
    /// What is said about it.
    pub metadata: About,
}

/// What is said about a note.
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
pub async fn list(
    session: Needs<Read>,
    mut params: Params,
) -> Result<axum::Json<Page<Entry>>, Problem> {
    let (limit, at, words) = (params.limit()?, params.one("cursor")?, params.words()?);
    params.end()?;
    if let Some(words) = words {
        if at.is_some() {
            return Err(Problem::parameter(
                "cursor",
                "a search has one page; ask for more with limit",
            ));
        }
        let found = session.search_entries(&words, limit).await?;
        return Ok(axum::Json(Page {
            items: found.into_iter().map(Entry::from).collect(),
            next: None,
        }));
    }
    let bound = format!("state {}", session.space());
    let after = at.map(|at| cursor::read(&bound, &at)).transpose()?;
    let mut entries = session.entries(after.as_deref(), limit + 1).await?;
    let more = entries.len() > limit as usize;
    entries.truncate(limit as usize);
    let next = entries
        .last()
        .filter(|_| more)
        .map(|last| cursor::write(&bound, &last.key));
    Ok(axum::Json(Page {
        items: entries.into_iter().map(Entry::from).collect(),
        next,
    }))
}

/// One note.
#[utoipa::path(get, path = "/state/{key}", operation_id = "get_state", tag = "state",
    params(("key" = String, Path, description = "its key")),
    responses((status = 200, body = Entry)))]
pub async fn one(
    session: Needs<Read>,
    Path(Key(key)): Path<Key>,
    params: Params,
) -> Result<axum::Json<Entry>, Problem> {
    params.end()?;
    let entry = session.entry(&key).await?;
    let entry =
        entry.ok_or_else(|| Problem::new(Slug::NotFound, "there is no entry of that key"))?;
    Ok(axum::Json(entry.into()))
}
