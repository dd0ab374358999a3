//! Requests: the resources, and the parts that all of them share (the client, parameters, bodies,
//! pages). Each resource has a file: its addresses, its handlers, and its description in the
//! contract.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use serde::Serialize;
use serde_json::Value;
use tokio::time::timeout;
use utoipa::openapi::OpenApi;

use self::params::Params;
use super::context::Edge;
use super::json::{self, Body};
use super::limits::ms;
use super::problem::{Problem, Slug, Wrongs};

/// Declares a resource: its tag in the contract, and the tag's description; the handlers by address
/// and method; the schemas that no handler names. Its bounds are those that types do not say.
macro_rules! resource {
    (
        $(#[$says:meta])*
        $name:ident $(tagged $tag:tt: $about:tt)?;
        $($address:literal => $($method:ident($($handler:ident)::+))+;)+
        $(schemas($schema:ident);)?
        $(bounds: $bounds:expr;)?
    ) => {
        $(#[$says])*
        pub const $name: $crate::http::Resource = {
            #[derive(utoipa::OpenApi)]
            #[openapi(
                paths($($($($handler)::+),+),+),
                $(components(schemas($schema)),)?
                $(tags((name = $tag, description = $about)))?
            )]
            struct Document;

            $crate::http::Resource {
                routes: || {
                    axum::Router::new()
                        $(.route($address, axum::routing::MethodRouter::new()$(.$method($($handler)::+))+))+
                },
                document: <Document as utoipa::OpenApi>::openapi,
                bounds: resource!(@bounds $($bounds)?),
            }
        };
    };
    (@bounds) => { |_| {} };
    (@bounds $bounds:expr) => { $bounds };
}

pub mod approvals;
pub mod audit;
pub mod blobs;
pub mod bounds;
pub mod cursor;
pub mod entities;
pub mod events;
pub mod fork;
pub mod frameworks;
pub mod identity;
pub mod lingering_close;
pub mod messages;
pub mod missions;
pub mod models;
pub mod needs;
pub mod openapi;
pub mod params;
pub mod path;
pub mod pending;
pub mod pipelines;
pub mod questions;
pub mod recall;
pub mod requests;
pub mod schedules;
pub mod server;
pub mod settings;
pub mod state;
pub mod stream;
pub mod submodules;
pub mod thread;
pub mod thread_change;
pub mod thread_filter;
pub mod threads;
pub mod tools;
pub mod turns;
pub mod usage;
pub mod world_model;

/// The header with which a stream of server-sent events is taken up again.
pub const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

/// A resource: the addresses of its handlers, and its description in the contract.
pub struct Resource {
    /// The handlers by address.
    pub routes: fn() -> Router<Arc<Edge>>,
    /// The same operations with their types; asked for when a client reads the contract.
    pub document: fn() -> OpenApi,
    /// Writes the limits and forms, which types do not say, into the contract.
    pub bounds: fn(&mut Value),
}

/// The resources that need credentials where any are configured: a line for each, in the order of
/// the document.
const RESOURCES: [Resource; 25] = [
    events::RESOURCE,
    stream::RESOURCE,
    messages::RESOURCE,
    threads::RESOURCE,
    fork::RESOURCE,
    missions::RESOURCE,
    turns::RESOURCE,
    submodules::RESOURCE,
    usage::RESOURCE,
    settings::RESOURCE,
    schedules::RESOURCE,
    state::RESOURCE,
    world_model::RESOURCE,
    entities::RESOURCE,
    recall::RESOURCE,
    audit::RESOURCE,
    frameworks::RESOURCE,
    identity::RESOURCE,
    pipelines::RESOURCE,
    blobs::RESOURCE,
    server::RESOURCE,
    approvals::RESOURCE,
    questions::RESOURCE,
    tools::RESOURCE,
    models::RESOURCE,
];

/// The resource that needs no credentials: it says if the server lives, and if it is ready.
const OPEN: Resource = server::OPEN;

/// Their routes alone: a program that serves requests does not bring along the code that writes the
/// contract.
const ROUTES: [fn() -> Router<Arc<Edge>>; RESOURCES.len()] = {
    let mut routes = [OPEN.routes; RESOURCES.len()];
    let mut at = 0;
    while at < routes.len() {
        routes[at] = RESOURCES[at].routes;
        at += 1;
    }
    routes
};

/// Returns the routes that need credentials where any are configured.
pub(super) fn router() -> Router<Arc<Edge>> {
    ROUTES
        .iter()
        .fold(Router::new(), |router, routes| router.merge(routes()))
}

/// Returns the routes that need no credentials.
pub(super) fn open_router() -> Router<Arc<Edge>> {
    const OPEN_ROUTES: fn() -> Router<Arc<Edge>> = OPEN.routes;
    OPEN_ROUTES()
}

/// A page of a list.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub struct Page<T> {
    /// The items; of a list with conditions there may be none on a page that is not the last.
    pub items: Vec<T>,
    /// The cursor of the next page; null on the last one.
    pub next: Option<String>,
}

/// A JSON body, read strictly.
pub struct Json<T>(pub T);

impl<T: Body> FromRequest<Arc<Edge>> for Json<T> {
    type Rejection = Problem;
    async fn from_request(request: Request, edge: &Arc<Edge>) -> Result<Self, Problem> {
        let (members, mut wrongs) = json_body(request, edge).await?;
        let body = json::body(members, &mut wrongs);
        wrongs.or(body).map(Self)
    }
}

/// A JSON body, read strictly, of a request without parameters.
pub struct Only<T>(pub T);

impl<T: Body> FromRequest<Arc<Edge>> for Only<T> {
    type Rejection = Problem;
    async fn from_request(request: Request, edge: &Arc<Edge>) -> Result<Self, Problem> {
        let params = Params::parse(request.uri().query().unwrap_or_default())?;
        let Json(body) = Json::from_request(request, edge).await?;
        params.end().map(|()| Self(body))
    }
}

/// The same, of a body that may be left out.
pub struct MayOnly<T>(pub T);

impl<T: Body + Default> FromRequest<Arc<Edge>> for MayOnly<T> {
    type Rejection = Problem;
    async fn from_request(request: Request, edge: &Arc<Edge>) -> Result<Self, Problem> {
        Params::parse(request.uri().query().unwrap_or_default())?.end()?;
        if axum::body::HttpBody::is_end_stream(request.body()) {
            return Ok(Self(T::default()));
        }
        let Json(body) = Json::from_request(request, edge).await?;
        Ok(Self(body))
    }
}

/// The JSON answer of a handler.
pub type Answer<T> = Result<axum::Json<T>, Problem>;

/// Returns the answer that something was made, or will be, at an address.
pub fn made(status: StatusCode, place: String, body: impl Serialize) -> Response {
    (status, [(header::LOCATION, place)], axum::Json(body)).into_response()
}

/// Returns the members of a JSON body, and the errors in their text.
pub async fn json_body(
    request: Request,
    edge: &Edge,
) -> Result<(serde_json::Map<String, Value>, Wrongs), Problem> {
    check_json(request.headers())?;
    let limits = &edge.limits;
    let bytes = body(request, limits.body_bytes, limits.body_ms, limits.body_ms).await?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|_| Problem::new(Slug::MalformedJson, "not JSON: not UTF-8"))?;
    let mut wrongs = Wrongs::default();
    let members = json::members(text, &edge.limits, &mut wrongs)?;
    Ok((members, wrongs))
}

/// Refuses a body that does not say it is JSON in UTF-8.
pub fn check_json(headers: &HeaderMap) -> Result<(), Problem> {
    plain_encoding(headers)?;
    let kind = headers.get(header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let mut words = kind.split(';').map(|word| word.trim().to_ascii_lowercase());
    let is_json = words
        .next()
        .is_some_and(|essence| essence == "application/json");
    let is_utf8 = |word: String| matches!(&*word, "" | "charset=utf-8" | "charset=\"utf-8\"");
    if is_json && words.all(is_utf8) {
        return Ok(());
    }
    let detail = "send the body as Content-Type: application/json, in UTF-8";
    Err(Problem::new(Slug::UnsupportedMediaType, detail))
}

/// Refuses bodies that are compressed.
pub fn plain_encoding(headers: &HeaderMap) -> Result<(), Problem> {
    match headers.get(header::CONTENT_ENCODING) {
        Some(encoding) if encoding != "identity" => {
            let detail = "send the body without Content-Encoding";
            Err(Problem::new(Slug::UnsupportedMediaType, detail))
        }
        _ => Ok(()),
    }
}

/// A body of at most `limit` bytes that arrives within `limit_ms`, and of which something arrives every `stall_ms`.
pub async fn body(
    request: Request,
    limit: usize,
    limit_ms: u64,
    stall_ms: u64,
) -> Result<Bytes, Problem> {
    let too_large = || {
        metrics::counter!("thinkd_limit_total", "limit" => "body_bytes").increment(1);
        let detail = format!("a body has at most {limit} bytes here");
        Problem::new(Slug::TooLarge, detail)
    };
    let declared = request.headers().get(header::CONTENT_LENGTH);
    let declared = declared.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|length| length > limit as u64) {
        return Err(too_large());
    }
    // Room that is not written to takes no memory; a body that outgrows its room takes three times its size for a moment.
    let room = declared.and_then(|length| usize::try_from(length).ok());
    let mut stream = request.into_body().into_data_stream();
    let read = async {
        let mut bytes = Vec::with_capacity(room.unwrap_or(0));
        let stalled = |_| slow(format!("nothing of the body arrived for {stall_ms} ms"));
        loop {
            let chunk = timeout(ms(stall_ms), stream.next()).await;
            let Some(chunk) = chunk.map_err(stalled)? else {
                return Ok(Bytes::from(bytes));
            };
            let broken = |_| Problem::new(Slug::InvalidParameter, "the body broke off");
            let chunk = chunk.map_err(broken)?;
            if bytes.len() + chunk.len() > limit {
                return Err(too_large());
            }
            bytes.extend_from_slice(&chunk);
        }
    };
    let late = |_| slow(format!("the body did not arrive within {limit_ms} ms"));
    timeout(ms(limit_ms), read).await.map_err(late)?
}

fn slow(detail: String) -> Problem {
    Problem::new(Slug::RequestTimeout, detail)
}
