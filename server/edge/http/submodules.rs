//! `/submodules`: the voices of a space.

use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::cursor::Part;
use super::needs::{Needs, Read, Shape};
use super::params::{NoParams, Params};
use super::path::Path;
use super::{Answer, Only, Page, bounds, made};
use crate::ids;
use crate::json::Body;
use crate::problem::{Problem, Slug, Wrongs};
use thinkd_event::fact::set;
use thinkd_log::projections::submodules::SubmoduleRow;
use thinkd_mind::submodule::Heard;
use thinkd_session::handle::Session;
use thinkd_words::id::Name;
use thinkd_words::time::Timestamp;

resource! {
    /// See the module.
    RESOURCE tagged "submodules": "The voices";
    "/submodules" => get(list) post(create);
    "/submodules/{name}" => patch(change) delete(remove);
    bounds: |document| {
        let prompt = || ("prompt", bounds::text(bounds::WORDS));
        let members = [("name", bounds::name()), prompt()];
        bounds::of_body(document, "NewSubmodule", members);
        bounds::of_body(document, "SubmoduleChange", [prompt()]);
    };
}

/// A voice.
#[derive(Debug, Serialize, ToSchema)]
pub struct Submodule {
    /// Its name.
    #[schema(value_type = String, example = "empath")]
    pub name: Name,
    /// Its prompt: all that it is.
    pub prompt: String,
    /// Asked once more after the decision, where `turn.follow_up` is on.
    pub follow_up: bool,
    /// When it was last set.
    #[schema(value_type = String, example = "2026-11-21T04:25:00.123456Z")]
    pub updated_at: Timestamp,
    /// The outcomes of the times that it was asked, by this server since it started.
    pub heard: Heard,
}

impl Submodule {
    fn new(session: &Session, row: SubmoduleRow) -> Result<Self, Problem> {
        Ok(Self {
            heard: session.heard(&row.name)?,
            name: row.name,
            prompt: row.prompt,
            follow_up: row.follow_up,
            updated_at: row.updated,
        })
    }
}

/// The voices by name.
#[utoipa::path(get, path = "/submodules", operation_id = "list_submodules", tag = "submodules",
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "50 when absent"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before"),),
    responses((status = 200, body = Page<Submodule>)))]
pub async fn list(session: Needs<Read>, mut params: Params) -> Answer<Page<Submodule>> {
    let part = Part::take(&mut params)?;
    params.end()?;
    let part = part.of(format!("submodules {}", session.space()))?;
    let after = part.at.as_deref().unwrap_or_default();
    let rows = session.submodules().await?;
    let rows = rows.into_iter().filter(|row| row.name.as_str() > after);
    let Page { items, next } = part.page(rows, |row: &SubmoduleRow| row.name.clone());
    let shown = items.into_iter().map(|row| Submodule::new(&session, row));
    let items = shown.collect::<Result<_, _>>()?;
    Ok(axum::Json(Page { items, next }))
}

/// A voice to be.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSubmodule {
    /// Its name: 1 to 32 of a-z, 0-9, _ and -.
    #[schema(example = "empath")]
    pub name: String,
    /// Its prompt.
    #[schema(example = "Say how the user may feel, in one sentence.")]
    pub prompt: String,
    /// Asked once more after the decision; absent: yes. Its next view has the decision either way.
    pub follow_up: Option<bool>,
}

/// Another prompt for a voice, or another `follow_up`; an absent one stays as it is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SubmoduleChange {
    /// Its prompt.
    pub prompt: Option<String>,
    /// Asked once more after the decision.
    pub follow_up: Option<bool>,
}

fn check(prompt: &str, wrongs: &mut Wrongs) {
    let detail = "a submodule is its prompt: it cannot be empty";
    wrongs.unsaid("/prompt", prompt, detail);
}

impl Body for NewSubmodule {
    fn check(&self, wrongs: &mut Wrongs) {
        wrongs.note("/name", Name::parse(&self.name));
        check(&self.prompt, wrongs);
    }
}

impl Body for SubmoduleChange {
    fn check(&self, wrongs: &mut Wrongs) {
        match &self.prompt {
            Some(prompt) => check(prompt, wrongs),
            None if self.follow_up.is_some() => {}
            None => {
                let detail = "nothing is changed: give a prompt, follow_up, or both";
                wrongs.add(Slug::InvalidFrame, "/prompt", detail);
            }
        }
    }
}

/// Adds a voice; it is heard from the next turn on.
#[utoipa::path(post, path = "/submodules", operation_id = "create_submodule", tag = "submodules",
    request_body = NewSubmodule, responses((status = 201, body = Submodule)))]
pub async fn create(
    session: Needs<Shape>,
    Only(body): Only<NewSubmodule>,
) -> Result<Response, Problem> {
    let name = Name::parse(&body.name).map_err(ids::at("/name"))?;
    let submodule = set::Submodule {
        prompt: body.prompt,
        follow_up: body.follow_up.unwrap_or(true),
    };
    let row = session.create_submodule(&name, submodule).await?;
    let place = format!("/submodules/{name}");
    let submodule = Submodule::new(&session, row)?;
    Ok(made(StatusCode::CREATED, place, submodule))
}

/// Gives a voice another prompt, or has it follow up or not.
#[utoipa::path(patch, path = "/submodules/{name}", operation_id = "change_submodule", tag = "submodules", params(("name" = String, Path, description = "its name")),
    request_body = SubmoduleChange, responses((status = 200, body = Submodule)))]
pub async fn change(
    session: Needs<Shape>,
    Path(name): Path<Name>,
    Only(body): Only<SubmoduleChange>,
) -> Answer<Submodule> {
    let SubmoduleChange { prompt, follow_up } = body;
    let row = session
        .change_submodule(&name, prompt.as_deref(), follow_up)
        .await?;
    Ok(axum::Json(Submodule::new(&session, row)?))
}

/// Removes a voice.
#[utoipa::path(delete, path = "/submodules/{name}", operation_id = "remove_submodule", tag = "submodules", params(("name" = String, Path, description = "its name")),
    responses((status = 204, description = "it is gone")))]
pub async fn remove(
    session: Needs<Shape>,
    Path(name): Path<Name>,
    _: NoParams,
) -> Result<StatusCode, Problem> {
    session.remove_submodule(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}
