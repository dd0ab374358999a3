//! Coming in by WebSocket: handshake, credentials, and the end of a socket. `websocket/client.rs`
//! serves the client in between.
//! One task a socket.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Redirect, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use super::auth::Shown;
use super::connections::Connection;
use super::console;
use super::context::Edge;
use super::frame::{self, ClientFrame, Framed, PROTOCOL};
use super::guesses::Peer;
use super::limits::ms;
use super::problem::{Problem, Slug};
use super::stream_limits::StreamPermit;
use client::{Client, Entrance};
use socket::{Came, End, Socket};
use thinkd_session::handle::Session;

pub mod asyncapi;
mod client;
mod order;
pub mod outgoing;
mod socket;

/// The reason given to an unauthenticated client when there are too many of them.
const NO_ROOM: &str = "too many have not authenticated; connect again";
/// The longest time for a last event about a lost client.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// `GET /`: a WebSocket, or for people the way to the console, or to the documentation where there is none.
pub async fn root(state: State<Arc<Edge>>, request: Request) -> Response {
    let page = if console::is_there() {
        console::PLACE
    } else {
        "docs"
    };
    if wants_upgrade(request.headers()) {
        connect(state, request).await
    } else {
        Redirect::to(page).into_response()
    }
}

/// `GET /ws`: a WebSocket.
pub async fn connect(State(edge): State<Arc<Edge>>, request: Request) -> Response {
    match upgrade(edge, request).await {
        Ok(response) => response,
        Err(problem) => refuse(problem),
    }
}

fn refuse(problem: Problem) -> Response {
    let upgrade = problem.slug() == Slug::UpgradeRequired;
    let mut response = problem.into_response();
    if upgrade {
        let headers = response.headers_mut();
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        let version = HeaderValue::from_static("13");
        headers.insert(header::SEC_WEBSOCKET_VERSION, version);
    }
    response
}

fn has_token(headers: &HeaderMap, name: header::HeaderName, token: &str) -> bool {
    let values = headers.get_all(name).iter();
    let texts = values.filter_map(|value| value.to_str().ok());
    let mut words = texts.flat_map(|text| text.split(','));
    words.any(|word| word.trim().eq_ignore_ascii_case(token))
}

fn wants_upgrade(headers: &HeaderMap) -> bool {
    has_token(headers, header::UPGRADE, "websocket")
        && has_token(headers, header::CONNECTION, "upgrade")
}

/// The answer to a handshake's key, if it is one.
fn accept_key(headers: &HeaderMap) -> Option<String> {
    let mut keys = headers.get_all(header::SEC_WEBSOCKET_KEY).iter();
    let key = keys.next()?;
    let bytes = STANDARD.decode(key.as_bytes()).ok()?;
    (bytes.len() == 16 && keys.next().is_none()).then(|| derive_accept_key(key.as_bytes()))
}

fn check_handshake(request: &Request) -> Result<String, Problem> {
    let headers = request.headers();
    let needs = |detail| Err(Problem::new(Slug::UpgradeRequired, detail));
    if request.method() != Method::GET || !wants_upgrade(headers) {
        return needs("this address speaks WebSocket; /docs says how");
    }
    let version = headers.get(header::SEC_WEBSOCKET_VERSION);
    if version.is_none_or(|version| version != "13") {
        return needs("Sec-WebSocket-Version has to be 13");
    }
    let detail = "Sec-WebSocket-Key has to be 16 bytes in base64, once";
    accept_key(headers).ok_or_else(|| Problem::new(Slug::InvalidParameter, detail))
}

async fn upgrade(edge: Arc<Edge>, mut request: Request) -> Result<Response, Problem> {
    let accept = check_handshake(&request)?;
    edge.stays()?;
    let from = Peer::of(request.extensions());
    let shown = Shown::in_headers(request.headers());
    let session = match shown {
        Shown::Nothing if !edge.authority.is_open() => None,
        shown => Some(edge.enter(shown, from).await?),
    };
    let connection = request.extensions().get::<Arc<Connection>>().cloned();
    let who = match session {
        Some(session) => {
            let holder = session.principal().credential.holder();
            edge.rate_limits.pass(holder).await?;
            let limits = &edge.stream_limits;
            let permit = limits.take(session.principal());
            let permit = permit.map_err(|full| limits.refusal(full))?;
            connection.inspect(|connection| connection.known());
            Who::Known(session, permit)
        }
        None => Who::Nobody(connection),
    };
    let offered = has_token(request.headers(), header::SEC_WEBSOCKET_PROTOCOL, PROTOCOL);
    let upgrading = hyper::upgrade::on(&mut request);
    edge.tasks.clone().spawn(async move {
        let limit = edge.limits.unauthenticated_frame_bytes;
        let before = matches!(who, Who::Nobody(_)).then_some(limit);
        match upgrading.await {
            Ok(upgraded) => match Socket::new(upgraded, edge.limits.frame_bytes, before).await {
                Some(socket) => serve(edge, socket, (who, from)).await,
                None => tracing::error!("a WebSocket did not come over TCP"),
            },
            Err(error) => tracing::debug!(%error, "a client left during the handshake"),
        }
    });
    Ok(switching(&accept, offered))
}

/// The client at a socket.
enum Who {
    /// An identified client, and its permit.
    Known(Session, StreamPermit),
    /// A client that has still to identify itself, and its connection, which counts among those
    /// without a space until then.
    Nobody(Option<Arc<Connection>>),
}

fn switching(accept: &str, echo_protocol: bool) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
    if let Ok(accept) = HeaderValue::from_str(accept) {
        headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept);
    }
    if echo_protocol {
        let protocol = HeaderValue::from_static(PROTOCOL);
        headers.insert(header::SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    response
}

/// Serves one socket to its end.
async fn serve(edge: Arc<Edge>, mut socket: Socket, (who, from): (Who, Peer)) {
    let (end, session) = match enter(&edge, &mut socket, who, from).await {
        Ok((entrance, permit)) => {
            let mut client = Client::new(edge.clone(), socket, entrance);
            let session = client.session().clone();
            let end = session.share(client.run()).await;
            socket = client.leave();
            // Given back as soon as nothing more is read, however long the goodbye takes.
            drop(permit);
            (end, Some(session))
        }
        Err(end) => (end, None),
    };
    tracing::debug!(?end, "a socket ended");
    socket.finish(&end).await;
    if let (End::Lost(why), Some(session)) = (end, session) {
        let noted = session.note_failure("a client was lost", json!({ "reason": why }));
        if !matches!(tokio::time::timeout(LAST_WORDS, noted).await, Ok(Ok(()))) {
            tracing::warn!(why, "a client was lost, and the log cannot be told");
        }
    }
}

async fn enter(
    edge: &Edge,
    socket: &mut Socket,
    who: Who,
    from: Peer,
) -> Result<(Entrance, StreamPermit), End> {
    let connection = match who {
        Who::Known(session, permit) => {
            let entrance = Entrance {
                session,
                from,
                older: false,
                acknowledge: None,
            };
            return Ok((entrance, permit));
        }
        Who::Nobody(connection) => connection,
    };
    let entrance = tokio::select! {
        entrance = first_frame(edge, socket, from) => entrance?,
        () = tokio::time::sleep(ms(edge.limits.auth_ms)) => return Err(End::Close(4408, "no credentials came in time")),
        () = superseded(connection.as_deref()) => return Err(End::Close(4429, NO_ROOM)),
        () = edge.drain.cancelled() => return Err(End::Close(1001, "going away; connect again")),
    };
    let permit = edge.stream_limits.take(entrance.session.principal());
    let permit = permit.map_err(|full| End::Close(4429, full.reason()))?;
    socket.authenticated();
    Ok((entrance, permit))
}

async fn superseded(connection: Option<&Connection>) {
    match connection {
        Some(connection) => connection.superseded().await,
        None => std::future::pending().await,
    }
}

async fn first_frame(edge: &Edge, socket: &mut Socket, from: Peer) -> Result<Entrance, End> {
    loop {
        match socket.turn(true).await {
            Came::Flushed | Came::Message(Message::Pong(_) | Message::Frame(_)) => {}
            Came::Message(Message::Ping(_)) => socket.touch(),
            Came::Message(Message::Binary(_)) => return Err(End::Close(1003, "frames are text")),
            Came::Message(Message::Close(_)) => return Err(End::Closed),
            Came::Over(end) => return Err(end),
            Came::Message(Message::Text(text)) => return authenticate(edge, &text, from).await,
        }
    }
}

async fn authenticate(edge: &Edge, text: &str, from: Peer) -> Result<Entrance, End> {
    let Framed { id, frame } = frame::read(text, &edge.limits, None);
    let (shown, older) = match &frame {
        Ok(ClientFrame::Auth(auth)) => (Shown::Secret(&auth.token), false),
        Err(problem) if problem.slug() == Slug::MalformedJson => {
            (Shown::in_text(text.trim()), true)
        }
        _ => (Shown::Nothing, false),
    };
    let session = edge.enter(shown, from).await.map_err(|denied| {
        let (code, reason) = denied.closing();
        End::Close(code, reason)
    })?;
    Ok(Entrance {
        session,
        from,
        older,
        acknowledge: id,
    })
}
