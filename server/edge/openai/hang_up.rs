//! Clients that hang up before their answer is over.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::conversation::Place;
use crate::context::Edge;
use thinkd_session::handle::{Error, Session};
use thinkd_words::id::ThreadId;

/// Stops the turn of a client that hangs up: dropped before the answer is over, and by the last
/// client that waits for it, it takes the message back, or cancels the turn that has it.
pub struct HungUp(Option<(Session, Arc<Edge>, ThreadId, Uuid)>);

impl HungUp {
    /// A client waits for the answer to a message.
    pub fn new(session: &Session, edge: &Arc<Edge>, place: &Place) -> Self {
        let (thread, id) = (place.thread.clone(), place.event_id);
        edge.waiters.join(id);
        Self(Some((session.clone(), edge.clone(), thread, id)))
    }

    /// The client has its answer.
    pub fn is_over(&mut self) {
        if let Some((_, edge, _, message)) = self.0.take() {
            edge.waiters.leave(message);
        }
    }
}

impl Drop for HungUp {
    fn drop(&mut self) {
        let Some((session, edge, thread, message)) = self.0.take() else {
            return;
        };
        // A server that goes leaves the turn to the next one.
        if !edge.waiters.leave(message) || edge.drain.is_cancelled() {
            return;
        }
        let tasks = edge.tasks.clone();
        tasks.spawn(async move {
            if let Err(error) = stop(&session, &edge.drain, &thread, message).await {
                tracing::warn!(%error, %thread, "the turn of a client that hung up goes on");
            }
        });
    }
}

/// Takes a message back that waits, or cancels the turn that has it.
async fn stop(
    session: &Session,
    drain: &CancellationToken,
    thread: &ThreadId,
    event_id: Uuid,
) -> Result<(), Error> {
    let Some(event) = session.event(event_id).await? else {
        return Ok(());
    };
    let row = session.thread(thread).await?;
    let is_over = row.is_some_and(|row| row.handled >= event.seq || row.has_had(event.seq));
    if is_over || drain.is_cancelled() {
        return Ok(());
    }
    match session.withdraw(thread, event_id).await {
        Ok(()) => Ok(()),
        Err(_) => session.cancel(thread).await.map(drop),
    }
}
