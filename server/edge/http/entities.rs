//! `/world-model/entities`: the names of one entity, with the author and the reason of each merge;
//! merging and un-merging.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::cursor::Part;
use super::needs::{Needs, Read, Shape};
use super::params::Params;
use super::world_model::{name, words};
use super::{Answer, Only, Page, bounds};
use crate::json::Body;
use crate::problem::{Slug, Wrongs};
use thinkd_event::entity::NAMES_MAX;
use thinkd_event::statement::{NAME_MAX, SENTENCE_MAX};
use thinkd_session::entities::{Entity, NameMerge};

resource! {
    /// See the module.
    RESOURCE;
    "/world-model/entities" => get(list);
    "/world-model/entities/merge" => post(merge);
    "/world-model/entities/unmerge" => post(unmerge);
    bounds: draw_bounds;
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
    /// The name. The names that it was merged with stay one without it.
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

/// The merges that do not stand any more.
#[derive(Debug, Serialize, ToSchema)]
pub struct Unmerged {
    /// The merges that were undone.
    pub undone: Vec<NameMerge>,
}

fn check_name(pointer: &str, name: &str, wrongs: &mut Wrongs) {
    words(pointer, name, (NAME_MAX, "a name says something"), wrongs);
}

fn check_reason(reason: &str, wrongs: &mut Wrongs) {
    let why = "whoever merges names or undoes it says why";
    words("/reason", reason, (SENTENCE_MAX, why), wrongs);
}

/// The entities that have several names, the one that was merged first first.
#[utoipa::path(get, path = "/world-model/entities", operation_id = "list_entities", tag = "world-model",
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "50 when absent"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before"),
        ("name" = Option<String>, Query, description = "only the entity of this name"),),
    responses((status = 200, body = Page<Entity>)))]
pub async fn list(session: Needs<Read>, mut query: Params) -> Answer<Page<Entity>> {
    let part = Part::take(&mut query)?;
    let wanted = name(&mut query, "name")?;
    query.end()?;
    let part = part.of(format!("entities {} {wanted:?}", session.space()))?;
    let after = part.behind().unwrap_or(0);
    let found = session.entities(wanted.as_deref(), after).await?;
    Ok(axum::Json(part.page(found, Entity::place)))
}

/// Merges names: they are one from now on. Statements are not changed; those that now contradict
/// another one are contested.
#[utoipa::path(post, path = "/world-model/entities/merge", operation_id = "merge_entities", tag = "world-model",
    request_body = NewMerge, responses((status = 200, body = Entity)))]
pub async fn merge(
    session: Needs<Shape>,
    Only(NewMerge { names, reason }): Only<NewMerge>,
) -> Answer<Entity> {
    let names = names.iter().map(|name| name.trim().to_owned()).collect();
    Ok(axum::Json(session.merge(names, reason).await?))
}

/// Undoes all merges of a name. Statements made with it, before or since, are about it alone.
#[utoipa::path(post, path = "/world-model/entities/unmerge", operation_id = "unmerge_entity", tag = "world-model",
    request_body = NewUnmerge, responses((status = 200, body = Unmerged)))]
pub async fn unmerge(
    session: Needs<Shape>,
    Only(NewUnmerge { name, reason }): Only<NewUnmerge>,
) -> Answer<Unmerged> {
    let undone = session.unmerge(name.trim(), &reason).await?;
    Ok(axum::Json(Unmerged { undone }))
}

/// Writes the bounds of the members into the document.
fn draw_bounds(document: &mut Value) {
    let names = json!({ "minItems": 2, "maxItems": NAMES_MAX, "items": { "type": "string", "pattern": bounds::WORDS, "maxLength": NAME_MAX } });
    let reason = || ("reason", bounds::words(SENTENCE_MAX));
    let name = ("name", bounds::words(NAME_MAX));
    bounds::of_body(document, "NewMerge", [("names", names), reason()]);
    bounds::of_body(document, "NewUnmerge", [name, reason()]);
    let name = ("name", bounds::asked());
    bounds::of_query(document, "/world-model/entities", [name]);
}
