//! The socket as a chat uses it: connecting, sending, and why it ended. The frames are the server's own (`edge::outgoing`).

use std::time::Duration;

use anyhow::{Context as _, bail};
use futures_util::SinkExt as _;
use secrecy::ExposeSecret as _;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{self, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};
use uuid::Uuid;

use super::client::Server;
use crate::id::ThreadId;

/// A connected socket.
pub type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Something said, under an id that makes saying it twice harmless.
pub fn message(id: Uuid, thread: &ThreadId, text: &str) -> Value {
    json!({ "type": "message", "id": id, "event_id": id, "thread": thread, "text": text })
}

/// Sends a frame. A connection that does not take it is found lost by whoever reads from it.
pub async fn send(socket: &mut Socket, frame: &Value) {
    let _ = socket.send(Message::text(frame.to_string())).await;
}

/// Connects and authenticates.
pub async fn connect(server: &Server, user: Option<&str>) -> anyhow::Result<Socket> {
    let mut request = server.socket().into_client_request().context("--url")?;
    if let (Some(authorization), None) = (server.authorization(), user) {
        let value =
            HeaderValue::from_str(&authorization).context("the token has characters that no header may have")?;
        request.headers_mut().insert("authorization", value);
    }
    let connecting = tokio_tungstenite::connect_async(request);
    let (mut socket, _) = tokio::time::timeout(Duration::from_secs(10), connecting)
        .await
        .with_context(|| server.unreachable())?
        .with_context(|| server.unreachable())?;
    if let Some(user) = user {
        // Only this form carries a name.
        let token = server.token.as_ref().map_or("", |token| token.expose_secret());
        socket.send(Message::text(format!("{user}:{token}"))).await?;
    }
    Ok(socket)
}

/// Whether the server was there and said no: trying again would not help.
pub fn is_refusal(error: &anyhow::Error) -> bool {
    let refusal = error.downcast_ref::<tungstenite::Error>();
    matches!(refusal, Some(tungstenite::Error::Http(answer)) if answer.status().is_client_error())
}

/// Why the server closed the socket, if another one may be had.
pub fn closed(frame: Option<tungstenite::protocol::CloseFrame>) -> anyhow::Result<String> {
    match frame {
        Some(frame) if matches!(u16::from(frame.code), 4401 | 4403 | 4429) => {
            bail!("the server refused the connection ({}): {}", frame.code, frame.reason)
        }
        Some(frame) => Ok(format!("closed, {}", frame.code)),
        None => Ok("closed".into()),
    }
}
