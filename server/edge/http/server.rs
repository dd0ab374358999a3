//! What the server says about itself: `/livez`, `/readyz`, `/metrics`, `/metadata`; and `/servers`, which there are.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{Extensions, HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use serde::Serialize;
use utoipa::{OpenApi, ToSchema};
use uuid::Uuid;

use super::Resource;
use super::needs::{Needs, Oversee, Read};
use super::params::Params;
use crate::edge::auth::Shown;
use crate::edge::context::Edge;
use crate::edge::frame::PROTOCOL;
use crate::edge::guesses::Peer;
use crate::edge::limits::Limits;
use crate::edge::problem::{Problem, Slug};
use crate::log::presence::Server;
use crate::session::handle::{Error, Session};
use crate::session::right::Right;
use crate::session::space::Unserved;
use crate::words::budget::Budget;
use crate::words::id::{Seq, Space};
use crate::words::time::Timestamp;

#[derive(OpenApi)]
#[openapi(paths(metrics, metadata, servers),
    tags((name = "server", description = "The server itself")))]
struct Document;

/// See the module.
pub const RESOURCE: Resource = Resource {
    routes: || {
        let router = Router::new()
            .route("/metrics", get(metrics))
            .route("/metadata", get(metadata));
        router.route("/servers", get(servers))
    },
    document: Document::openapi,
    bounds: |_| {},
};

#[derive(OpenApi)]
#[openapi(paths(livez, readyz))]
struct OpenDocument;

/// What anybody may see: whether the server lives, and whether it is ready.
pub const OPEN: Resource = Resource {
    routes: || {
        Router::new()
            .route("/livez", get(livez))
            .route("/readyz", get(readyz))
    },
    document: OpenDocument::openapi,
    bounds: |_| {},
};

/// Most faults of a file that are shown.
const FAULTS_SHOWN: usize = 20;
/// How long the database may take to answer.
const READY_WITHIN: Duration = Duration::from_secs(2);

/// Whether the process lives.
#[utoipa::path(get, path = "/livez", operation_id = "livez", tag = "server", security(()),
    responses((status = 200, content_type = "text/plain", body = String)))]
pub async fn livez() -> &'static str {
    "ok\n"
}

/// Whether it is worth sending requests, in full.
#[derive(Debug, Serialize, ToSchema)]
pub struct Readiness {
    /// `ok`: with spaces that are not served, too, for the others are.
    #[schema(value_type = String, example = "ok")]
    pub status: &'static str,
    /// Spaces that cannot be served as they should be; a person must look.
    pub unserved: Vec<NotServed>,
    /// What the last look through the whole file of the log showed; null before the first has ended, and on Postgres, which looks
    /// after its pages itself.
    pub checked: Option<LookedAt>,
}

/// A look through the whole file of the log.
#[derive(Debug, Serialize, ToSchema)]
pub struct LookedAt {
    /// When it began.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// Pages of the file.
    pub pages: u64,
    /// Events read.
    pub events: u64,
    /// The first of what cannot be read, or is not as it was written, with the page where that is known; empty: all is well.
    pub faults: Vec<String>,
}

/// A space that cannot be served as it should be.
#[derive(Debug, Serialize, ToSchema)]
pub struct NotServed {
    /// The space.
    #[schema(value_type = String, example = "default")]
    pub space: Space,
    /// What cannot be done for it: `opening`, `index`, `timers` or `threads`.
    #[schema(example = "index")]
    pub work: String,
    /// Why.
    pub reason: String,
}

/// Whether it is worth sending requests. With `full`, for who has the server in hand: what cannot be served, and why;
/// where it is not ready, its `detail` is what the database says.
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
    let admin = if full {
        let session = edge
            .enter(Shown::in_headers(&headers), Peer::of(&extensions))
            .await?;
        session.require(Right::Oversee)?;
        Some(session)
    } else {
        None
    };
    params.end()?;
    edge.stays()?;
    match tokio::time::timeout(READY_WITHIN, edge.ping()).await {
        Ok(Ok(())) => match admin {
            Some(session) => Ok(axum::Json(readiness(&session)?).into_response()),
            None => Ok("ok\n".into_response()),
        },
        Ok(Err(error)) if full => {
            tracing::error!(%error, "the server is not ready");
            Err(Problem::new(
                Slug::Unavailable,
                format!("the log cannot be read or written: {error}"),
            ))
        }
        Ok(Err(error)) => Err(error.into()),
        Err(_) => Err(Problem::new(
            Slug::Unavailable,
            "the database does not answer",
        )),
    }
}

fn readiness(session: &Session) -> Result<Readiness, Error> {
    let of = |Unserved {
                  space,
                  work,
                  reason,
              }| NotServed {
        space,
        work,
        reason,
    };
    let unserved = session.unserved()?.into_iter().map(of).collect();
    let checked = session.checked()?.map(|mut it| {
        it.faults.truncate(FAULTS_SHOWN);
        LookedAt {
            at: it.at,
            pages: it.pages,
            events: it.events,
            faults: it.faults,
        }
    });
    Ok(Readiness {
        status: "ok",
        unserved,
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
    let kind = [(
        header::CONTENT_TYPE,
        "text/plain; version=0.0.4; charset=utf-8",
    )];
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
    /// What turns, threads and the space may use up, as `[budget]` says; what is missing has no limit.
    #[schema(value_type = Object)]
    pub budget: Budget,
    /// Database, models, pipelines and which vectors are in force, one line each. For a key with `role = "admin"`.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub about: BTreeMap<&'static str, String>,
}

/// What this server is, and the space the credential opens.
#[utoipa::path(get, path = "/metadata", operation_id = "metadata", tag = "server",
    responses((status = 200, body = Metadata)))]
pub async fn metadata(
    State(edge): State<Arc<Edge>>,
    session: Needs<Read>,
) -> Result<axum::Json<Metadata>, Problem> {
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
    pub items: Vec<ServerView>,
}

/// A server.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Server)]
pub struct ServerView {
    /// Its id: another one with each start.
    pub id: String,
    /// Its host and the number of its process.
    #[schema(example = "thinkd-1/7")]
    pub name: String,
    /// Its version.
    pub version: String,
    /// When it started.
    #[schema(value_type = String, example = "2026-11-21T04:25:00.123456Z")]
    pub since: Timestamp,
    /// When it said last how it is; of the one that is asked: now.
    #[schema(value_type = String, example = "2026-11-21T04:25:00.123456Z")]
    pub seen_at: Timestamp,
    /// `ready`; `draining`: it stops, and finishes what it has begun; `lost`: it has not said anything for ten looks (`runtime.scan_ms`), and
    /// others take up what it had.
    #[schema(example = "ready")]
    pub state: String,
    /// How many threads it looked after then.
    pub threads: u64,
    /// How many leases it held then: threads that it worked on.
    pub leases: u64,
    /// It is the one that is asked.
    pub this: bool,
}

/// The servers on the log. Each says how it is while it looks for threads that nobody runs (`runtime.scan_ms`): what has changed with its next look, the rest
/// every third time. One that is stopped in order is not there any more; one that is lost is shown for a day. For a key with `role = "admin"`.
#[utoipa::path(get, path = "/servers", operation_id = "list_servers", tag = "server",
    responses((status = 200, body = Servers)))]
pub async fn servers(
    session: Needs<Oversee>,
    params: Params,
) -> Result<axum::Json<Servers>, Problem> {
    params.end()?;
    let view = |Server {
                    id,
                    name,
                    version,
                    since,
                    seen,
                    state,
                    threads,
                    leases,
                    is_this,
                }| ServerView {
        id,
        name,
        version,
        since,
        seen_at: seen,
        state,
        threads,
        leases,
        this: is_this,
    };
    Ok(axum::Json(Servers {
        items: session.servers().await?.into_iter().map(view).collect(),
    }))
}
