//! A lingering close: the server reads on in the body of a request for a while after its rest is
//! not wanted any more. A connection closed with bytes unread is reset, and the reset can overtake
//! the answer that says why.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

/// The longest time for which the rest of a body is read.
const LINGER: Duration = Duration::from_secs(2);

/// A body with a rest that a task of its own reads once the body is dropped.
pub struct LingeringBody {
    body: Option<Incoming>,
    tasks: TaskTracker,
}

impl LingeringBody {
    /// The body of a request.
    pub fn new(body: Incoming, tasks: TaskTracker) -> Self {
        Self {
            body: Some(body),
            tasks,
        }
    }
}

impl Body for LingeringBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.body
            .as_ref()
            .map_or_else(SizeHint::default, Body::size_hint)
    }
}

impl Drop for LingeringBody {
    fn drop(&mut self) {
        let Some(mut body) = self.body.take().filter(|body| !body.is_end_stream()) else {
            return;
        };
        self.tasks.spawn(timeout(LINGER, async move {
            while let Some(Ok(_)) = body.frame().await {}
        }));
    }
}
