//! `/submodules`: the voices of a space.

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, patch};
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};

use super::needs::{Needs, Read, Shape};
use super::params::Params;
use super::path::Path;
use super::{Json, Page, Resource, bounds, cursor};
use crate::edge::ids;
use crate::edge::json::Body;
use crate::edge::problem::{Problem, Slug, Wrongs};
use crate::event::fact::set;
use crate::log::projections::submodules::SubmoduleRow;
use crate::mind::submodule;
use crate::session::handle::Session;
use crate::words::id::Name;
use crate::words::time::Timestamp;

#[derive(OpenApi)]
#[openapi(paths(list, create, change, remove),
    tags((name = "submodules", description = "The voices")))]
struct Document;

/// See the module.
pub const RESOURCE: Resource = Resource {
    routes: || {
        Router::new()
            .route("/submodules", get(list).post(create))
            .route("/submodules/{name}", patch(change).delete(remove))
    },
    document: Document::openapi,
    bounds: |document| {
        let prompt = || ("prompt", bounds::text(bounds::WORDS));
        bounds::of_body(
            document,
            "NewSubmodule",
            [("name", bounds::name()), prompt()],
        );
        bounds::of_body(document, "SubmoduleChange", [prompt()]);
    },
};

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
    /// What became of the times that it was asked, by this server since it started.
    pub heard: Heard,
}

/// What became of the times that a voice was asked; each is counted once.
#[derive(Debug, Serialize, ToSchema)]
pub struct Heard {
    /// It spoke in time.
    pub spoke: u64,
    /// It had nothing to say.
    pub passed: u64,
    /// It answered when the decision no longer waited for it.
    pub late: u64,
    /// It could not answer.
    pub failed: u64,
}

impl Submodule {
    fn new(session: &Session, row: SubmoduleRow) -> Result<Self, Problem> {
        let submodule::Heard {
            spoke,
            passed,
            late,
            failed,
        } = session.heard(&row.name)?;
        let heard = Heard {
            spoke,
            passed,
            late,
            failed,
        };
        Ok(Self {
            name: row.name,
            prompt: row.prompt,
            follow_up: row.follow_up,
            updated_at: row.updated,
            heard,
        })
    }
}

/// The voices by name.
#[utoipa::path(get, path = "/submodules", operation_id = "list_submodules", tag = "submodules",
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "50 when absent"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before"),),
    responses((status = 200, body = Page<Submodule>)))]
pub async fn list(
    session: Needs<Read>,
    mut params: Params,
) -> Result<axum::Json<Page<Submodule>>, Problem> {
    let (limit, at) = (params.limit()? as usize, params.one("cursor")?);
    params.end()?;
    let bound = format!("submodules {}", session.space());
    let after = at
        .map(|at| cursor::read(&bound, &at))
        .transpose()?
        .unwrap_or_default();
    let rows = session.submodules().await?;
    let mut rows: Vec<_> = rows
        .into_iter()
        .filter(|row| row.name.as_str() > after.as_str())
        .collect();
    let more = rows.len() > limit;
    rows.truncate(limit);
    let next = rows
        .last()
        .filter(|_| more)
        .map(|row| cursor::write(&bound, row.name.as_str()));
    let items = rows
        .into_iter()
        .map(|row| Submodule::new(&session, row))
        .collect::<Result<_, _>>()?;
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
    if prompt.trim().is_empty() {
        wrongs.add(
            Slug::EmptyInput,
            "/prompt",
            "a submodule is its prompt: it cannot be empty",
        );
    }
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
            None => wrongs.add(
                Slug::InvalidFrame,
                "/prompt",
                "nothing is changed: give a prompt, follow_up, or both",
            ),
        }
    }
}

/// Adds a voice; it is heard from the next turn on.
#[utoipa::path(post, path = "/submodules", operation_id = "create_submodule", tag = "submodules",
    request_body = NewSubmodule, responses((status = 201, body = Submodule)))]
pub async fn create(
    session: Needs<Shape>,
    params: Params,
    Json(body): Json<NewSubmodule>,
) -> Result<Response, Problem> {
    params.end()?;
    let name = Name::parse(&body.name).map_err(ids::at("/name"))?;
    let submodule = set::Submodule {
        prompt: body.prompt,
        follow_up: body.follow_up.unwrap_or(true),
    };
    let row = session.create_submodule(&name, submodule).await?;
    let place = format!("/submodules/{name}");
    Ok((
        StatusCode::CREATED,
        [(header::LOCATION, place)],
        axum::Json(Submodule::new(&session, row)?),
    )
        .into_response())
}

/// Gives a voice another prompt, or has it follow up or not.
#[utoipa::path(patch, path = "/submodules/{name}", operation_id = "change_submodule", tag = "submodules", params(("name" = String, Path, description = "its name")),
    request_body = SubmoduleChange, responses((status = 200, body = Submodule)))]
pub async fn change(
    session: Needs<Shape>,
    Path(name): Path<Name>,
    params: Params,
    Json(body): Json<SubmoduleChange>,
) -> Result<axum::Json<Submodule>, Problem> {
    params.end()?;
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
    params: Params,
) -> Result<StatusCode, Problem> {
    params.end()?;
    session.remove_submodule(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}
