//! One WebSocket's bytes: reading and writing at the same time, bounded buffers, close frames that
//! arrive.
//! The meaning of the frames is not known here.

use std::io;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncReadExt;
use tokio::time::{Instant, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::ProtocolError;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::client_stream::ClientStream;

/// Bytes of the buffers of an idle socket. More to write than this is written at once, so that the buffer stays small.
const READ_BUFFER: usize = 4 << 10;
const WRITE_BUFFER: usize = 2 << 10;
/// Most bytes that wait to be written: one frame of any size an event can have, and the frames that
/// came meanwhile.
const WRITE_MAX: usize = 64 << 20;
/// The longest time for a close frame to leave, and the longest for the other side to answer it.
const CLOSE_SENT: Duration = Duration::from_secs(1);
const CLOSE_ANSWERED: Duration = Duration::from_secs(2);

/// The result of a turn of a socket.
pub enum Came {
    /// A message: a text, a ping, …
    Message(Message),
    /// All that waited to be written is written.
    Flushed,
    /// The socket is over, in this way.
    Over(End),
}

/// The way in which a socket ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// The client closed it.
    Closed,
    /// The client is gone without a close frame.
    Lost(&'static str),
    /// We close it, with this code and reason.
    Close(u16, &'static str),
}

impl From<Error> for End {
    fn from(error: Error) -> Self {
        match error {
            Error::ConnectionClosed | Error::AlreadyClosed => Self::Closed,
            Error::Io(error) if error.kind() == io::ErrorKind::FileTooLarge => {
                Self::Close(1009, "too big for a client that is not authenticated")
            }
            Error::Capacity(_) => Self::Close(1009, "too big"),
            Error::Utf8(_) => Self::Close(1007, "not UTF-8"),
            Error::Protocol(ProtocolError::ResetWithoutClosingHandshake) => {
                Self::Lost("closed without a close frame")
            }
            Error::Protocol(_) => Self::Close(1002, "not the WebSocket protocol"),
            _ => Self::Lost("the connection broke"),
        }
    }
}

/// A WebSocket after its handshake.
pub struct Socket {
    stream: WebSocketStream<ClientStream>,
    /// Since when something waits to be written.
    unflushed: Option<Instant>,
    /// The number of answers to the client's frames that wait to be written.
    answers: u32,
}

impl Socket {
    /// The socket on an upgraded connection. Before `authenticated`, it reads at most `before` bytes (`None`: it is already).
    pub async fn new(
        upgraded: Upgraded,
        frame_bytes: usize,
        before: Option<usize>,
    ) -> Option<Self> {
        let parts = upgraded.downcast::<TokioIo<ClientStream>>().ok()?;
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER)
            .write_buffer_size(WRITE_BUFFER)
            .max_write_buffer_size(WRITE_MAX)
            .max_message_size(Some(frame_bytes))
            .max_frame_size(Some(frame_bytes));
        let left = before.map(|before| before.saturating_sub(parts.read_buf.len()));
        let stream = parts.io.into_inner().of_socket(left);
        let stream = WebSocketStream::from_partially_read(
            stream,
            parts.read_buf.to_vec(),
            Role::Server,
            Some(config),
        )
        .await;
        Some(Self {
            stream,
            unflushed: None,
            answers: 0,
        })
    }

    /// From now on the client may send as much as any.
    pub fn authenticated(&mut self) {
        self.stream.get_mut().lift_limit();
    }

    /// Since when something waits to be written; nothing more is to be said to a client that takes nothing.
    pub fn unflushed(&self) -> Option<Instant> {
        self.unflushed
    }

    /// Returns the number of answers to the client's frames that wait to be written.
    pub fn answers(&self) -> u32 {
        self.answers
    }

    /// Puts a text frame into the write buffer.
    pub fn put(&mut self, text: String) -> Result<(), End> {
        self.put_message(Message::text(text))
    }

    /// Puts the answer to one of the client's frames into the write buffer.
    pub fn answer(&mut self, text: String) -> Result<(), End> {
        self.answers += 1;
        self.put(text)
    }

    /// Puts a ping into the write buffer; its pong brings the mark back.
    pub fn ping(&mut self, mark: Bytes) -> Result<(), End> {
        self.put_message(Message::Ping(mark))
    }

    fn put_message(&mut self, message: Message) -> Result<(), End> {
        self.touch();
        self.stream.start_send_unpin(message).map_err(End::from)
    }

    /// Something (a pong, perhaps) is to be written.
    pub fn touch(&mut self) {
        self.unflushed.get_or_insert_with(Instant::now);
    }

    /// Writes the waiting bytes, and reads when `read`. Cancel safe.
    pub async fn turn(&mut self, read: bool) -> Came {
        std::future::poll_fn(|cx| self.poll(cx, read)).await
    }

    fn poll(&mut self, cx: &mut Context<'_>, read: bool) -> Poll<Came> {
        if self.unflushed.is_some() {
            match self.stream.poll_flush_unpin(cx) {
                Poll::Ready(Ok(())) => {
                    self.unflushed = None;
                    self.answers = 0;
                    return Poll::Ready(Came::Flushed);
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Came::Over(error.into())),
                Poll::Pending => {}
            }
        }
        if !read {
            return Poll::Pending;
        }
        self.stream
            .poll_next_unpin(cx)
            .map(|message| match message {
                Some(Ok(message)) => Came::Message(message),
                Some(Err(error)) => Came::Over(error.into()),
                None => Came::Over(End::Closed),
            })
    }

    /// Ends the socket: says why if it is for us to say, and waits a little for the other side to hear it.
    pub async fn finish(mut self, end: &End) {
        match *end {
            End::Lost(_) => {}
            End::Closed => {
                // The answer to the client's close frame leaves while the stream is read to its end.
                let _ = timeout(CLOSE_ANSWERED, async {
                    while let Some(Ok(_)) = self.stream.next().await {}
                })
                .await;
            }
            End::Close(code, reason) => {
                let frame = CloseFrame {
                    code: code.into(),
                    reason: reason.into(),
                };
                let sent = timeout(CLOSE_SENT, self.stream.send(Message::Close(Some(frame)))).await;
                if matches!(sent, Ok(Ok(()))) {
                    let _ = timeout(CLOSE_ANSWERED, self.drain()).await;
                }
            }
        }
    }

    /// Reads and forgets: a connection dropped with bytes unread is reset, and the reset can overtake the close frame.
    async fn drain(&mut self) {
        while let Some(Ok(message)) = self.stream.next().await {
            if message.is_close() {
                break;
            }
        }
        let stream = self.stream.get_mut();
        stream.lift_limit();
        let _ = tokio::io::AsyncWriteExt::shutdown(stream).await;
        // On the heap: what a task could ever hold across a wait, it holds from its beginning.
        let mut bytes = vec![0; 4096];
        while stream.read(&mut bytes).await.is_ok_and(|read| read > 0) {}
    }
}
