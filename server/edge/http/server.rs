//! What the server says about itself: `/livez`, `/readyz`, `/metrics`, `/metadata`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::Caller;
use crate::edge::outgoing::PROTOCOL;
use crate::edge::problem::{Problem, Slug};
use crate::edge::{Edge, Limits, Role};
use crate::id::Seq;

/// How long the database may take to answer.
const READY_WITHIN: Duration = Duration::from_secs(2);

/// Whether the process lives.
#[utoipa::path(get, path = "/livez", operation_id = "livez", tag = "server", security(()),
    responses((status = 200, content_type = "text/plain", body = String)))]
pub async fn livez() -> &'static str {
    "ok\n"
}

/// Whether it is worth sending requests.
#[utoipa::path(get, path = "/readyz", operation_id = "readyz", tag = "server", security(()),
    responses((status = 200, content_type = "text/plain", body = String)))]
pub async fn readyz(State(edge): State<Arc<Edge>>) -> Result<&'static str, Problem> {
    if edge.drain.is_cancelled() {
        return Err(Problem::new(Slug::Unavailable, "the server is going away"));
    }
    match tokio::time::timeout(READY_WITHIN, edge.runtime.store().ping()).await {
        Ok(Ok(())) => Ok("ok\n"),
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(Problem::new(Slug::Unavailable, "the database does not answer")),
    }
}

/// The metrics of all spaces, in Prometheus' text format. For a key with `role = "admin"`.
#[utoipa::path(get, path = "/metrics", operation_id = "metrics", tag = "server",
    responses((status = 200, content_type = "text/plain", body = String)))]
pub async fn metrics(State(edge): State<Arc<Edge>>, Caller(who): Caller) -> Result<Response, Problem> {
    who.require_admin()?;
    edge.metrics.run_upkeep();
    let kind = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    Ok((kind, edge.metrics.render()).into_response())
}

/// What this server is.
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
    /// How much, how many, how long.
    #[schema(value_type = Object)]
    pub limits: Limits,
    /// Database, models and pipelines, one line each. For a key with `role = "admin"`.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub about: BTreeMap<&'static str, String>,
}

/// What this server is, and the space the credential opens.
#[utoipa::path(get, path = "/metadata", operation_id = "metadata", tag = "server",
    responses((status = 200, body = Metadata)))]
pub async fn metadata(State(edge): State<Arc<Edge>>, Caller(who): Caller) -> Result<axum::Json<Metadata>, Problem> {
    let head = edge.runtime.store().head(&who.space).await?;
    Ok(axum::Json(Metadata {
        name: "thinkd",
        version: env!("CARGO_PKG_VERSION"),
        protocol: PROTOCOL,
        space: who.space.to_string(),
        epoch: head.epoch,
        head: head.seq,
        limits: edge.limits.clone(),
        about: edge.about.iter().filter(|_| who.role == Role::Admin).cloned().collect(),
    }))
}
