//! The stream of a client. A write timeout closes it when the client takes none of the written
//! bytes for a while. From a socket of an unknown client few bytes are read. Reading has limits of
//! its own elsewhere (headers, bodies, frames).

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

/// Bytes that the system keeps for a client beside those that are on their way to it.
#[cfg(target_os = "linux")]
const UNSENT: u32 = 128 << 10;

/// Has the system keep few of the bytes that a client does not take. It would take megabytes for
/// each client, which are read from the log, written as frames and copied for nothing.
pub fn bound_unsent(stream: &TcpStream) {
    #[cfg(target_os = "linux")]
    if let Err(error) = socket2::SockRef::from(stream).set_tcp_notsent_lowat(UNSENT) {
        tracing::debug!(%error, "TCP_NOTSENT_LOWAT cannot be set");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = stream;
}

/// See the module.
pub struct ClientStream {
    stream: TcpStream,
    limit: Option<Duration>,
    /// Running since the last write that could not be made.
    stalled: Option<Pin<Box<Sleep>>>,
    /// Bytes that may still be read; none: all.
    left: Option<usize>,
}

impl ClientStream {
    /// Returns the stream of a connection; no write waits longer than `limit`.
    pub fn new(stream: TcpStream, limit: Duration) -> Self {
        Self {
            stream,
            limit: Some(limit),
            stalled: None,
            left: None,
        }
    }

    /// Returns the stream of a socket, which has write timeouts of its own; at most `left` bytes are read.
    #[must_use]
    pub fn of_socket(self, left: Option<usize>) -> Self {
        Self {
            stream: self.stream,
            limit: None,
            stalled: None,
            left,
        }
    }

    /// Lifts the limit of bytes that are read.
    pub fn lift_limit(&mut self) {
        self.left = None;
    }

    fn written(
        &mut self,
        cx: &mut Context<'_>,
        polled: Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let Some(limit) = self.limit.filter(|_| polled.is_pending()) else {
            self.stalled = None;
            return polled;
        };
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(sleep(limit)));
        stalled
            .as_mut()
            .poll(cx)
            .map(|()| Err(io::ErrorKind::TimedOut.into()))
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.left == Some(0) {
            return Poll::Ready(Err(io::ErrorKind::FileTooLarge.into()));
        }
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(cx, buf);
        let read = buf.filled().len() - before;
        self.left = self.left.map(|left| left.saturating_sub(read));
        polled
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.written(cx, polled)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.stream).poll_write_vectored(cx, slices);
        self.written(cx, polled)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
