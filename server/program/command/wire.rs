//! The socket as a chat uses it: connecting, sending, and why it ended. The frames are the server's own (`edge::websocket::outgoing`).

use std::time::Duration;

use anyhow::Context as _;
use futures_util::{SinkExt as _, StreamExt as _};
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use uuid::Uuid;

use super::client::{Refused, Server};
use thinkd_edge::websocket::outgoing::{Hello, ServerFrame};
use thinkd_words::id::ThreadId;

/// Longest time for connecting and saying hello.
const ENTERING: Duration = Duration::from_secs(10);

/// A connected socket.
pub type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Something said, under an id that makes saying it twice harmless.
pub fn message(id: Uuid, thread: &ThreadId, text: &str) -> Value {
    json!({ "type": "message", "id": id, "event_id": id, "thread": thread, "text": text })
}

/// Sends a frame. A failure is ignored here: the reader finds the connection lost.
pub async fn send(socket: &mut Socket, frame: &Value) {
    let _ = socket.send(Message::text(frame.to_string())).await;
}

/// Connects and authenticates, until the server has said hello.
pub async fn enter(server: &Server) -> anyhow::Result<(Socket, Hello)> {
    let entering = async {
        let mut socket = connect(server).await?;
        loop {
            match socket.next().await {
                Some(Ok(Message::Text(text))) => {
                    // A later server may say other things before.
                    if let Ok(ServerFrame::Hello(hello)) = serde_json::from_str(&text) {
                        return Ok((socket, hello));
                    }
                }
                Some(Ok(Message::Close(frame))) => {
                    let why = closed(server, frame)?;
                    return Err(server.unanswered(&why).into());
                }
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(server.unreached(&error).into()),
                None => return Err(server.unanswered("it closed the connection").into()),
            }
        }
    };
    tokio::time::timeout(ENTERING, entering)
        .await
        .map_err(|_| server.unanswered(&format!("not within {} s", ENTERING.as_secs())))?
}

async fn connect(server: &Server) -> anyhow::Result<Socket> {
    let mut request = server.socket().into_client_request().context("--url")?;
    if server.user.is_none() {
        // Without a secret something is shown all the same: a server that wants one says so at once, and does not wait for it.
        let authorization = server.authorization();
        let authorization = authorization.unwrap_or_else(|| "Bearer none".to_owned());
        let value = HeaderValue::from_str(&authorization)
            .context("the token has characters that no header may have")?;
        request.headers_mut().insert("authorization", value);
    }
    let mut socket = match tokio_tungstenite::connect_async(request).await {
        Ok((socket, _)) => socket,
        Err(tungstenite::Error::Http(answer)) if answer.status().is_client_error() => {
            let body = answer.body().as_deref().unwrap_or_default();
            let problem: Value = serde_json::from_slice(body).unwrap_or_default();
            let detail = problem["detail"].as_str().unwrap_or_default();
            return Err(server.refused(answer.status().as_u16(), detail).into());
        }
        Err(error) => return Err(server.unreached(&error).into()),
    };
    if let Some(user) = &server.user {
        // Only this form carries a name.
        let token = server.token.as_ref().map(|token| token.expose_secret());
        let first = format!("{user}:{}", token.unwrap_or("none"));
        socket.send(Message::text(first)).await?;
    }
    Ok(socket)
}

/// Returns true if the server was there and said no.
pub fn is_refusal(error: &anyhow::Error) -> bool {
    error.is::<Refused>()
}

/// Why the server closed the socket, if another one may be had.
pub fn closed(
    server: &Server,
    frame: Option<tungstenite::protocol::CloseFrame>,
) -> anyhow::Result<String> {
    match frame {
        Some(frame) if matches!(u16::from(frame.code), 4401 | 4403 | 4429) => {
            Err(server.refused(frame.code.into(), &frame.reason).into())
        }
        Some(frame) => Ok(format!("closed, {}", frame.code)),
        None => Ok("closed".into()),
    }
}
