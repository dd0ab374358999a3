//! The server accepts connections and routes requests to the doors, HTTP and WebSocket; both
//! translate and bound, and know no rule of thinking. The state that all tasks for clients share is
//! in `context.rs`.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use futures_util::FutureExt;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use tower_http::cors::{AllowHeaders, AllowMethods, AllowOrigin, CorsLayer};

use super::allowed_hosts::Local;
use super::auth::Shown;
use super::client_stream::{self, ClientStream};
use super::compress::compress;
use super::connections::Connection;
use super::context::{Edge, Options, Parts};
use super::guesses::Peer;
use super::http::lingering_close::LingeringBody;
use super::limits::ms;
use super::problem::{Problem, Slug};
use super::{console, docs, http, openai, websocket};

/// Bytes that a connection holds for a client to take, beside those being written; and of requests,
/// beside their headers.
const BUFFER: usize = 8 << 10;
/// Headers of a request.
const HEADERS: usize = 100;
/// The longest time for the headers of a request that comes while the server goes.
const GOING_HEADER_MS: u64 = 1000;
/// After a failed accept (no more descriptors, say).
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Serves until `shutdown`, then lets clients go: `/readyz` says 503, sockets are closed with 1001, requests under way are
/// finished, all within the time of a drain. An error: the options are not valid.
pub async fn serve(
    listener: TcpListener,
    options: Options,
    parts: Parts,
    shutdown: CancellationToken,
) -> Result<(), String> {
    let mut routes = http::router().merge(parts.routes.clone());
    if options.doors.openai {
        routes = routes.merge(openai::router());
    }
    let edge = Arc::new(Edge::new(options, parts, shutdown.clone())?);
    let router = router(edge.clone(), &routes);
    let tasks = edge.tasks.clone();
    let accepting = accept_all(listener, &edge, &router);
    let drained = async {
        shutdown.cancelled().await;
        tasks.close();
        let gone = tokio::time::timeout(ms(edge.limits.drain_ms), tasks.wait());
        if gone.await.is_err() {
            let left = tasks.len();
            tracing::warn!(left, "clients are left behind that did not go in time");
        }
    };
    tokio::select! {
        () = drained => Ok(()),
        never = accepting => match never {},
    }
}

async fn accept_all(listener: TcpListener, edge: &Arc<Edge>, router: &Router) -> Infallible {
    loop {
        match listener.accept().await {
            Ok((stream, from)) => {
                // Without it small frames wait for the other side's acknowledgement: 44 ms instead of 0.1.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, %from, "TCP_NODELAY cannot be set");
                }
                client_stream::bound_unsent(&stream);
                edge.tasks
                    .spawn(connection(stream, from, edge.clone(), router.clone()));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be accepted");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

/// One connection, to its end or its upgrade.
async fn connection(stream: TcpStream, from: SocketAddr, edge: Arc<Edge>, router: Router) {
    let Ok(local) = stream.local_addr() else {
        return;
    };
    let tasks = edge.tasks.clone();
    let counted = edge.connections.admit();
    let asking = counted.clone();
    let answer = service_fn(move |mut request: hyper::Request<Incoming>| {
        request.extensions_mut().insert(Local(local.ip()));
        request.extensions_mut().insert(Peer(from.ip()));
        request.extensions_mut().insert(asking.clone());
        let request = request.map(|body| Body::new(LingeringBody::new(body, tasks.clone())));
        let router = router.clone();
        async move { Ok::<_, Infallible>(answer(router, request).await) }
    });
    // Who comes while the server goes is told so, by one answer: a connection closed without a word looks like a crash.
    let going = edge.drain.is_cancelled();
    let header_ms = match going {
        true => edge.limits.header_ms.min(GOING_HEADER_MS),
        false => edge.limits.header_ms,
    };
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .keep_alive(!going)
        .header_read_timeout(ms(header_ms))
        .max_header_size(edge.limits.header_bytes)
        // Without it a stream is read half a megabyte ahead of a client that takes nothing.
        .max_buf_size(edge.limits.header_bytes + BUFFER)
        .max_headers(HEADERS);
    let stream = ClientStream::new(stream, ms(edge.limits.stall_ms));
    let connection = builder
        .serve_connection(TokioIo::new(stream), answer)
        .with_upgrades();
    tokio::pin!(connection);
    let served = tokio::select! {
        served = &mut connection => served,
        () = counted.superseded() => return,
        () = edge.drain.cancelled(), if !going => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, %from, "a connection ended early");
    }
}

/// A router's answer. A defect of ours is an answer too.
async fn answer(router: Router, request: Request) -> Response {
    let answered = AssertUnwindSafe(router.oneshot(request)).catch_unwind();
    match answered.await {
        Ok(Ok(response)) => response,
        Ok(Err(never)) => match never {},
        Err(_) => {
            tracing::error!("a request met a defect of this server");
            let detail = "this is a defect of the server; its log says more";
            Problem::new(Slug::Internal, detail).into_response()
        }
    }
}

/// Returns the whole server; `requests` are the routes that need credentials.
fn router(edge: Arc<Edge>, requests: &Router<Arc<Edge>>) -> Router {
    // Inside, so that the work counts for the space that has it done.
    let protected = (requests.clone())
        .layer(middleware::from_fn(compress))
        .layer(middleware::from_fn_with_state(edge.clone(), authenticate));
    let origins = edge.clone();
    let allowed = AllowOrigin::predicate(move |origin, request| {
        let local = request.extensions.get::<Local>();
        local.is_some_and(|local| origins.hosts.knows_origin(origin.as_bytes(), *local))
    });
    let cors = CorsLayer::new()
        .allow_origin(allowed)
        .allow_methods(AllowMethods::mirror_request()) // nothing is at that address, or `methods` says more
        .allow_headers(AllowHeaders::mirror_request()) // clients of other protocols send their own; the origin is what is checked
        .expose_headers([
            header::RETRY_AFTER,
            header::LOCATION,
            header::ALLOW,
            openai::waiting::THREAD,
        ])
        .max_age(Duration::from_secs(600));
    // Without those of features: one that takes OPTIONS would be run for anybody.
    let bare = routes(http::router()).with_state(edge.clone());
    routes(protected)
        .fallback(async || {
            Problem::not_found("there is nothing at this address; /docs says what there is")
        })
        .layer(middleware::from_fn(tidy))
        .layer(cors)
        .layer(middleware::from_fn_with_state(bare, methods))
        .layer(middleware::from_fn_with_state(edge.clone(), guard))
        .layer(middleware::from_fn(openai::errors::reworded))
        .layer(middleware::from_fn(count))
        .with_state(edge)
}

/// All addresses, with those that need credentials.
fn routes(protected: Router<Arc<Edge>>) -> Router<Arc<Edge>> {
    let console = match console::is_there() {
        true => console::router(),
        false => Router::new(),
    };
    let open = http::open_router().merge(docs::router());
    Router::new()
        .route("/", get(websocket::root))
        .route("/ws", get(websocket::connect))
        .merge(open.layer(middleware::from_fn(compress)))
        .merge(console)
        .merge(protected)
}

/// Tells pages of other origins which methods an address has. The routes themselves are asked: none
/// of them takes OPTIONS, so each refuses it and names those that it takes.
async fn methods(State(routes): State<Router>, request: Request, next: Next) -> Response {
    if request.method() != Method::OPTIONS {
        return next.run(request).await;
    }
    let mut asking = Request::new(Body::empty());
    *asking.method_mut() = Method::OPTIONS;
    *asking.uri_mut() = request.uri().clone();
    let Ok(refused) = routes.oneshot(asking).await;
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    let allowed = headers.contains_key(header::ACCESS_CONTROL_ALLOW_METHODS);
    if let Some(methods) = refused.headers().get(header::ALLOW).filter(|_| allowed) {
        headers.insert(header::ACCESS_CONTROL_ALLOW_METHODS, methods.clone());
    }
    response
}

/// Refuses an address that is too long to be one of ours.
fn fits(uri: &Uri, limit: usize) -> Result<(), Problem> {
    let address = uri.path_and_query();
    let bytes = address.map_or(0, |address| address.as_str().len());
    if bytes <= limit {
        return Ok(());
    }
    metrics::counter!("thinkd_limit_total", "limit" => "url_bytes").increment(1);
    let detail = format!("an address has at most {limit} bytes; this one has {bytes}");
    Err(Problem::new(Slug::UriTooLong, detail))
}

/// Refuses requests to other names and from pages of other sites, before anything else is looked at.
async fn guard(State(edge): State<Arc<Edge>>, request: Request, next: Next) -> Response {
    let local = request.extensions().get::<Local>().copied();
    let local = local.unwrap_or(Local(std::net::Ipv4Addr::LOCALHOST.into()));
    if let Err(problem) = fits(request.uri(), edge.limits.url_bytes) {
        return problem.into_response();
    }
    // A load balancer asks by an address of its own, and needs no credentials.
    if ["/livez", "/readyz"].contains(&request.uri().path()) {
        return next.run(request).await;
    }
    match edge.hosts.check(request.uri(), request.headers(), local) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

/// Lets in authenticated clients; handlers find the `Session` in the request.
async fn authenticate(State(edge): State<Arc<Edge>>, mut request: Request, next: Next) -> Response {
    let shown = Shown::in_headers(request.headers());
    let from = Peer::of(request.extensions());
    let session = match edge.enter(shown, from).await {
        Ok(session) => session,
        Err(denied) => return Problem::from(denied).into_response(),
    };
    let connection = request.extensions().get::<Arc<Connection>>().cloned();
    if let Err(problem) = edge.admit(&session, connection.as_deref()).await {
        return problem.into_response();
    }
    request.extensions_mut().insert(session.clone());
    session.share(next.run(request)).await
}

/// Makes a problem of refusals that the framework words in its own way.
async fn tidy(request: Request, next: Next) -> Response {
    let method = request.method().clone();
    let response = next.run(request).await;
    let slug = match response.status() {
        StatusCode::METHOD_NOT_ALLOWED => Slug::MethodNotAllowed,
        StatusCode::BAD_REQUEST => Slug::InvalidParameter,
        _ => return response,
    };
    let kind = response.headers().get(header::CONTENT_TYPE);
    if kind.is_some_and(|kind| kind == "application/problem+json") {
        return response;
    }
    let detail = match slug {
        Slug::MethodNotAllowed => {
            format!("{method} is not possible here; the header Allow says what is")
        }
        _ => "the address is not valid UTF-8 in percent-encoding".to_owned(),
    };
    let mut problem = Problem::new(slug, detail).into_response();
    if let Some(allow) = response.headers().get(header::ALLOW) {
        problem.headers_mut().insert(header::ALLOW, allow.clone());
    }
    problem
}

/// Counts requests, and forbids browsers to take an answer for another type than it declares.
async fn count(request: Request, next: Next) -> Response {
    let begin = Instant::now();
    // A label for every word a client makes up would have no end.
    let method = match request.method().as_str() {
        known @ ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE" | "OPTIONS") => known,
        _ => "other",
    };
    let method = method.to_owned();
    let path = request.extensions().get::<MatchedPath>();
    let path = path.map_or("", |path| path.as_str()).to_owned();
    let mut response = next.run(request).await;
    let status = response.status().as_str().to_owned();
    metrics::counter!("thinkd_http_requests_total", "method" => method, "path" => path.clone(), "status" => status)
        .increment(1);
    metrics::histogram!("thinkd_http_seconds", "path" => path)
        .record(begin.elapsed().as_secs_f64());
    let nosniff = HeaderValue::from_static("nosniff");
    response
        .headers_mut()
        .insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}
