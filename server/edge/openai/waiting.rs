//! A client that waits for an answer, as a whole or in a stream: until the answer is over, the
//! server goes, or the client's credentials end.

use std::sync::Arc;

use axum::body::Body;
use axum::http::{HeaderName, header};
use axum::response::{IntoResponse, Response};

use super::asking::Asked;
use super::hang_up::HungUp;
use super::place::Place;
use super::reply::{Next, Reply};
use super::request::Chat;
use super::{conversation, results};
use crate::context::Edge;
use crate::problem::{Problem, Slug};
use crate::stay::{Notice, Stay};
use crate::stream_limits::StreamPermit;
use thinkd_session::handle::Session;

/// The header with the thread of an answer.
pub const THREAD: HeaderName = HeaderName::from_static("x-thinkd-thread");
/// A proxy that compresses a stream holds it back until there is enough.
const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");

/// A message is looked for so often, while other clients hang up.
const LOOKS: usize = 4;

/// See the module.
pub struct Waiting {
    /// The outside.
    pub edge: Arc<Edge>,
    /// Stops the turn of a client that goes.
    pub hung_up: HungUp,
    reply: Reply,
    stay: Stay,
    _permit: StreamPermit,
}

impl Waiting {
    /// A client waits for an answer, if there is room for one more.
    pub fn new(
        session: &Session,
        edge: Arc<Edge>,
        permit: StreamPermit,
        (reply, hung_up): (Reply, HungUp),
    ) -> Self {
        Self {
            stay: edge.stay(session),
            edge,
            hung_up,
            reply,
            _permit: permit,
        }
    }

    /// Returns the next thing of the answer; an error for a server that goes, and a client that has to.
    /// Cancel safe.
    pub async fn next(&mut self) -> Result<Next, Problem> {
        loop {
            tokio::select! {
                biased;
                () = self.edge.drain.cancelled() => {
                    let detail = "the server is going away; the turn goes on, and the log has its answer";
                    return Err(Problem::new(Slug::Unavailable, detail));
                }
                notice = self.stay.next() => match notice {
                    Notice::Expiring(_) => {}
                    Notice::Expired | Notice::Revoked => {
                        let detail = "the credentials are not valid any more";
                        return Err(Problem::new(Slug::Unauthenticated, detail));
                    }
                },
                next = self.reply.next() => return next,
            }
        }
    }
}

/// Says the new message in its place, for a client that may hang up meanwhile. `waits`: the turn
/// stops then; another client asks for the answer later.
pub async fn placed(
    session: &Session,
    edge: &Arc<Edge>,
    (chat, asked): (Chat, Asked),
    waits: bool,
) -> Result<(Chat, Place, HungUp), Problem> {
    let session = session.clone();
    let its = edge.clone();
    // Goes on if the client hangs up: then nobody takes its result, and the turn stops.
    let placing = edge.tasks.spawn(async move {
        let mut looks = 0;
        loop {
            looks += 1;
            let stops = its.waiters.stops();
            let mut place = match chat.said.is_empty() {
                true => results::place(&session, &its, (&chat, &asked)).await?,
                false => conversation::place(&session, &its, &chat, &asked).await?,
            };
            if !place.is_next {
                place.is_next = session.is_next(&place.thread, place.seq).await?;
            }
            let hung_up = match waits {
                true => HungUp::new(&session, &its, &place),
                false => Ok(HungUp::never()),
            };
            place.storing = None;
            match hung_up {
                Err(over) => over.cancelled().await,
                // The first client of the message hung up meanwhile, perhaps.
                Ok(mut hung_up)
                    if place.was_said && its.waiters.stops() != stops && looks < LOOKS =>
                {
                    hung_up.is_over();
                }
                Ok(hung_up) => return Ok((chat, place, hung_up)),
            }
        }
    });
    placing.await.unwrap_or_else(|error| {
        tracing::error!(%error, "a message was not placed");
        Err(defect())
    })
}

/// The problem of a task that came to nothing.
pub fn defect() -> Problem {
    let detail = "this is a defect of the server; its log says more";
    Problem::new(Slug::Internal, detail)
}

/// Returns a permit for a client to wait with.
pub fn permit(session: &Session, edge: &Edge) -> Result<StreamPermit, Problem> {
    let limits = &edge.stream_limits;
    let permit = limits.take(session.principal());
    permit.map_err(|full| limits.refusal(full))
}

/// A stream of events.
pub fn sse(body: Body) -> Response {
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store, no-transform"),
        (UNBUFFERED, "no"),
    ];
    (headers, body).into_response()
}
