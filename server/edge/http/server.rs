//! The server about itself: `/livez`, `/readyz`, `/metrics`, `/metadata`; and `/servers`, the
//! servers on the log.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::{Extensions, HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::Answer;
use super::needs::{Needs, Oversee, Read};
use super::params::{NoParams, Params};
use crate::auth::Shown;
use crate::context::Edge;
use crate::frame::PROTOCOL;
use crate::guesses::Peer;
use crate::limits::Limits;
use crate::problem::{Problem, Slug};
use thinkd_log::presence::Server;
use thinkd_log::upkeep::Checked;
use thinkd_session::handle::{Error, Session};
use thinkd_session::right::Right;
use thinkd_session::space::Unserved;
use thinkd_words::budget::Budget;
use thinkd_words::id::Seq;

resource! {
    /// See the module.
    RESOURCE tagged "server": "The server itself";
    "/metrics" => get(metrics);
    "/metadata" => get(metadata);
    "/servers" => get(servers);
}

resource! {
    /// The resource that needs no credentials: it says if the server lives, and if it is ready.
    OPEN;
    "/livez" => get(livez);
    "/readyz" => get(readyz);
}

/// Most faults of a file that are shown.
const FAULTS_SHOWN: usize = 20;
/// The longest time that the database may take to answer.
const READY_WITHIN: Duration = Duration::from_secs(2);

/// Returns `ok` while the process lives.
#[utoipa::path(get, path = "/livez", operation_id = "livez", tag = "server", security(()),
    responses((status = 200, content_type = "text/plain", body = String)))]
pub async fn livez() -> &'static str {
    "ok\n"
}

/// The readiness for requests, in full.
#[derive(Debug, Serialize, ToSchema)]
pub struct Readiness {
    /// `ok`: with spaces that are not served, too, for the others are.
    #[schema(value_type = String, example = "ok")]
    pub status: &'static str,
    /// Spaces that cannot be served as they should be; a person must look.
    pub unserved: Vec<Unserved>,
    /// The result of the last look through the whole file of the log. Null before the first has
    /// ended, and on Postgres, which looks after its pages itself.
    pub checked: Option<Checked>,
}

/// Tells whether it is worth sending requests. With `full`, for the person in charge of the server:
/// all that cannot be served, and why; where it is not ready, its `detail` has the words of the
/// database.
#[utoipa::path(get, path = "/readyz", operation_id = "readyz", tag = "server", security(()),
    params(("full" = Option<bool>, Query, description = "spaces that are not served, and damage, too; with the credentials of an admin")),
    responses((status = 200, content((String = "text/plain"), (Readiness = "application/json")))))]
pub async fn readyz(
    State(edge): State<Arc<Edge>>,
    headers: HeaderMap,
    extensions: Extensions,
    mut params: Params,
) -> Result<Response, Problem> {
    let full = params.flag("full")?;
    let admin = match full {
        true => {
            let shown = Shown::in_headers(&headers);
            Some(edge.enter(shown, Peer::of(&extensions)).await?)
        }
        false => None,
    };
    if let Some(session) = &admin {
        session.require(Right::Oversee)?;
    }
    params.end()?;
    edge.stays()?;
    match tokio::time::timeout(READY_WITHIN, edge.ping()).await {
        Ok(Ok(())) => match admin {
            Some(session) => Ok(axum::Json(readiness(&session)?).into_response()),
            None => Ok("ok\n".into_response()),
        },
        Ok(Err(error)) if full => {
            tracing::error!(%error, "the server is not ready");
            let detail = format!("the log cannot be read or written: {error}");
            Err(Problem::new(Slug::Unavailable, detail))
        }
        Ok(Err(error)) => Err(error.into()),
        Err(_) => {
            let detail = "the database does not answer";
            Err(Problem::new(Slug::Unavailable, detail))
        }
    }
}

fn readiness(session: &Session) -> Result<Readiness, Error> {
    let mut checked = session.checked()?;
    if let Some(it) = &mut checked {
        it.faults.truncate(FAULTS_SHOWN);
    }
    Ok(Readiness {
        status: "ok",
        unserved: session.unserved()?,
        checked,
    })
}

/// The metrics of all spaces, in Prometheus' text format. For a key with `role = "admin"`.
#[utoipa::path(get, path = "/metrics", operation_id = "metrics", tag = "server",
    responses((status = 200, content_type = "text/plain", body = String)))]
pub async fn metrics(
    _: Needs<Oversee>,
    State(edge): State<Arc<Edge>>,
) -> Result<Response, Problem> {
    edge.metrics.run_upkeep();
    let kind = "text/plain; version=0.0.4; charset=utf-8";
    let kind = [(header::CONTENT_TYPE, kind)];
    Ok((kind, edge.metrics.render()).into_response())
}

/// The description of this server.
#[derive(Debug, Serialize, ToSchema)]
pub struct Metadata {
    /// `thinkd`.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
    /// The socket's protocol.
    pub protocol: &'static str,
    /// The space the credential opens.
    pub space: String,
    /// This incarnation of the space's log.
    pub epoch: Uuid,
    /// The seq of its last event.
    #[schema(value_type = i64)]
    pub head: Seq,
    /// The limits: sizes, counts and times.
    #[schema(value_type = Object)]
    pub limits: Limits,
    /// The most that turns, threads and the space may use up, as `[budget]` says; a missing
    /// value: no limit.
    #[schema(value_type = Object)]
    pub budget: Budget,
    /// Database, models, pipelines and which vectors are in force, one line each. For a key with `role = "admin"`.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub about: BTreeMap<&'static str, String>,
}

/// Returns the description of this server, and the space the credential opens.
#[utoipa::path(get, path = "/metadata", operation_id = "metadata", tag = "server",
    responses((status = 200, body = Metadata)))]
pub async fn metadata(State(edge): State<Arc<Edge>>, session: Needs<Read>) -> Answer<Metadata> {
    let head = session.head().await?;
    let mut about = BTreeMap::new();
    if session.may(Right::Oversee) {
        about.extend(edge.about.iter().cloned());
        about.insert("vectors", session.vectors()?);
    }
    Ok(axum::Json(Metadata {
        name: "thinkd",
        version: env!("CARGO_PKG_VERSION"),
        protocol: PROTOCOL,
        space: session.space().to_string(),
        epoch: head.epoch,
        head: head.seq,
        limits: edge.limits.clone(),
        budget: session.budget()?.clone(),
        about,
    }))
}

/// The servers on the log.
#[derive(Debug, Serialize, ToSchema)]
pub struct Servers {
    /// By when they started, the one that is asked last.
    pub items: Vec<Server>,
}

/// The servers on the log. Each says how it is while it looks for threads that no server runs
///: changes with its next look, the rest every third time. One that is stopped
/// in order is not there any more; one that is lost is shown for a day. For a key with
/// `role = "admin"`.
#[utoipa::path(get, path = "/servers", operation_id = "list_servers", tag = "server",
    responses((status = 200, body = Servers)))]
pub async fn servers(session: Needs<Oversee>, _: NoParams) -> Answer<Servers> {
    let items = session.servers().await?;
    Ok(axum::Json(Servers { items }))
}
