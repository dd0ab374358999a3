//! `/world-model/entities`: which names are one, who says so and why; merging and un-merging.

use axum::Router;
use axum::routing::{get, post};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::{OpenApi, ToSchema};

use super::needs::{Needs, Read, Shape};
use super::params::{self, Params};
use super::world_model::{name, too_long};
use super::{Json, Page, Resource, bounds, cursor};
use crate::edge::json::Body;
use crate::edge::problem::{Problem, Slug, Wrongs};
use crate::event::entity::NAMES_MAX;
use crate::event::statement::{NAME_MAX, SENTENCE_MAX};
use crate::log::projections::merges::MergeRow;
use crate::session::entities::Entity as Found;
use crate::words::id::Seq;
use crate::words::time::Timestamp;

#[derive(OpenApi)]
#[openapi(paths(list, merge, unmerge))]
struct Document;

/// See the module.
pub const RESOURCE: Resource = Resource {
    routes: || {
        Router::new()
            .route("/world-model/entities", get(list))
            .route("/world-model/entities/merge", post(merge))
            .route("/world-model/entities/unmerge", post(unmerge))
    },
    document: Document::openapi,
    bounds: draw_bounds,
};

/// Names that are one. What was said of it keeps the names that it was said with.
#[derive(Debug, Serialize, ToSchema)]
pub struct Entity {
    /// Its names as they were said, that by which it is called first.
    pub names: Vec<String>,
    /// The merges that say so and stand, the oldest first.
    pub merges: Vec<NameMerge>,
}

/// A merge of names.
#[derive(Debug, Serialize, ToSchema)]
pub struct NameMerge {
    /// Its id: that of the event that made it.
    #[schema(format = "uuid")]
    pub id: String,
    /// The position of that event.
    #[schema(value_type = i64)]
    pub seq: Seq,
    /// The names.
    pub names: Vec<String>,
    /// Why.
    pub reason: String,
    /// Who did it; null: a rule.
    pub by: Option<String>,
    /// The statement that says so, where a rule did it: when it falls, the merge is undone.
    pub statement: Option<String>,
    /// When.
    #[schema(value_type = String)]
    pub at: Timestamp,
}

impl From<MergeRow> for NameMerge {
    fn from(row: MergeRow) -> Self {
        let MergeRow {
            id,
            seq,
            merge,
            made: at,
            ..
        } = row;
        Self {
            id,
            seq,
            names: merge.names,
            reason: merge.reason,
            by: merge.by,
            statement: merge.statement,
            at,
        }
    }
}

impl From<Found> for Entity {
    fn from(found: Found) -> Self {
        Self {
            names: found.names,
            merges: found.merges.into_iter().map(Into::into).collect(),
        }
    }
}

/// Names to be one from now on.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMerge {
    /// The names: by the first one the entity is called.
    pub names: Vec<String>,
    /// Why they are one.
    #[schema(example = "One person, says the register.")]
    pub reason: String,
}

impl Body for NewMerge {
    fn check(&self, wrongs: &mut Wrongs) {
        let count = self.names.len();
        if !(2..=NAMES_MAX).contains(&count) {
            let detail = format!("names are merged 2 to {NAMES_MAX} at a time; here are {count}");
            wrongs.add(Slug::InvalidFrame, "/names", detail);
        }
        for (at, name) in self.names.iter().enumerate() {
            check_name(&format!("/names/{at}"), name, wrongs);
        }
        check_reason(&self.reason, wrongs);
    }
}

/// A name to be one with no other any more.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewUnmerge {
    /// The name. What it was merged with stays one without it.
    #[schema(example = "Alma Reyes")]
    pub name: String,
    /// Why.
    #[schema(example = "Two people, says the register.")]
    pub reason: String,
}

impl Body for NewUnmerge {
    fn check(&self, wrongs: &mut Wrongs) {
        check_name("/name", &self.name, wrongs);
        check_reason(&self.reason, wrongs);
    }
}

/// What does not stand any more.
#[derive(Debug, Serialize, ToSchema)]
pub struct Unmerged {
    /// The merges that were undone.
    pub undone: Vec<NameMerge>,
}

fn check_name(pointer: &str, name: &str, wrongs: &mut Wrongs) {
    if name.trim().is_empty() {
        wrongs.add(Slug::EmptyInput, pointer, "a name says something");
    }
    too_long(pointer, name, NAME_MAX, wrongs);
}

fn check_reason(reason: &str, wrongs: &mut Wrongs) {
    if reason.trim().is_empty() {
        wrongs.add(
            Slug::EmptyInput,
            "/reason",
            "whoever merges names or undoes it says why",
        );
    }
    too_long("/reason", reason, SENTENCE_MAX, wrongs);
}

/// The entities that have several names, the one that was merged first first.
#[utoipa::path(get, path = "/world-model/entities", operation_id = "list_entities", tag = "world-model",
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "50 when absent"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before"),
        ("name" = Option<String>, Query, description = "only the entity of this name"),),
    responses((status = 200, body = Page<Entity>)))]
pub async fn list(
    session: Needs<Read>,
    mut query: Params,
) -> Result<axum::Json<Page<Entity>>, Problem> {
    let (limit, place) = (query.limit()?, query.one("cursor")?);
    let wanted = name(&mut query, "name")?;
    query.end()?;
    let bound = format!("entities {} {wanted:?}", session.space());
    let after = place
        .map(|place| cursor::read(&bound, &place))
        .transpose()?;
    let after = after.and_then(|seq| seq.parse().ok()).unwrap_or(0);
    let (found, next) = session
        .entities(wanted.as_deref(), after, limit as usize)
        .await?;
    let next = next.map(|seq| cursor::write(&bound, &seq.to_string()));
    Ok(axum::Json(Page {
        items: found.into_iter().map(Entity::from).collect(),
        next,
    }))
}

/// Merges names: they are one from now on. Statements are not changed; what contradicts another one now is contested.
#[utoipa::path(post, path = "/world-model/entities/merge", operation_id = "merge_entities", tag = "world-model",
    request_body = NewMerge, responses((status = 200, body = Entity)))]
pub async fn merge(
    session: Needs<Shape>,
    params: Params,
    Json(NewMerge { names, reason }): Json<NewMerge>,
) -> Result<axum::Json<Entity>, Problem> {
    params.end()?;
    let names = names.iter().map(|name| name.trim().to_owned()).collect();
    Ok(axum::Json(session.merge(names, reason).await?.into()))
}

/// Undoes all merges of a name. What was said with it before or since is said of it alone.
#[utoipa::path(post, path = "/world-model/entities/unmerge", operation_id = "unmerge_entity", tag = "world-model",
    request_body = NewUnmerge, responses((status = 200, body = Unmerged)))]
pub async fn unmerge(
    session: Needs<Shape>,
    params: Params,
    Json(NewUnmerge { name, reason }): Json<NewUnmerge>,
) -> Result<axum::Json<Unmerged>, Problem> {
    params.end()?;
    let undone = session.unmerge(name.trim(), &reason).await?;
    Ok(axum::Json(Unmerged {
        undone: undone.into_iter().map(Into::into).collect(),
    }))
}

/// What the members may be.
fn draw_bounds(document: &mut Value) {
    let text = |most: usize| json!({ "pattern": bounds::WORDS, "maxLength": most });
    let names = json!({ "minItems": 2, "maxItems": NAMES_MAX, "items": { "type": "string", "pattern": bounds::WORDS, "maxLength": NAME_MAX } });
    bounds::of_body(
        document,
        "NewMerge",
        [("names", names), ("reason", text(SENTENCE_MAX))],
    );
    bounds::of_body(
        document,
        "NewUnmerge",
        [("name", text(NAME_MAX)), ("reason", text(SENTENCE_MAX))],
    );
    let parameters = document["paths"]["/world-model/entities"]["get"]["parameters"].as_array_mut();
    for parameter in parameters
        .into_iter()
        .flatten()
        .filter(|parameter| parameter["name"] == "name")
    {
        let bound =
            json!({ "pattern": bounds::WORDS, "minLength": 1, "maxLength": params::WORDS_MAX });
        bounds::put(&mut parameter["schema"], bound);
    }
}
