//! Clients that hang up before their answer is over.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::place::{Place, said_before};
use super::reply::{CANCELLED, Next, Reply};
use crate::context::Edge;
use crate::problem::Problem;
use thinkd_event::envelope::{Event, tag};
use thinkd_event::fact::Fact;
use thinkd_log::query::Query;
use thinkd_session::handle::{Error, Session};
use thinkd_words::id::ThreadId;

/// Most joins of a turn that are looked at.
const JOINED: u32 = 64;

/// Stops the turn of a client that hangs up: dropped before the answer is over, and by the last
/// client that waits for it, it takes the message back, or cancels the turn that has it.
pub struct HungUp(Option<(Session, Arc<Edge>, Waiting)>);

/// A message with an answer that a client waits for.
#[derive(Debug, Clone)]
struct Waiting {
    thread: ThreadId,
    event_id: Uuid,
    /// False: the turn goes on without the client.
    stops: bool,
}

impl HungUp {
    /// A client waits for the answer to a message. An error for one that is being stopped.
    pub fn new(
        session: &Session,
        edge: &Arc<Edge>,
        place: &Place,
    ) -> Result<Self, CancellationToken> {
        Self::of(session, edge, (&place.thread, place.event_id, true))
    }

    /// A client that follows the answer to a message: the turn goes on while it does, and is not
    /// stopped when it goes.
    pub fn beside(session: &Session, edge: &Arc<Edge>, message: &Event) -> Self {
        let place = (&message.thread, message.event_id, false);
        Self::of(session, edge, place).unwrap_or(Self::never())
    }

    fn of(
        session: &Session,
        edge: &Arc<Edge>,
        (thread, event_id, stops): (&ThreadId, Uuid, bool),
    ) -> Result<Self, CancellationToken> {
        edge.waiters.join(event_id)?;
        let waiting = Waiting {
            thread: thread.clone(),
            event_id,
            stops,
        };
        Ok(Self(Some((session.clone(), edge.clone(), waiting))))
    }

    /// A client without a part in it.
    pub const fn never() -> Self {
        Self(None)
    }

    /// The client has its answer.
    pub fn is_over(&mut self) {
        if let Some((_, edge, waiting)) = self.0.take() {
            edge.waiters.leave(waiting.event_id);
        }
    }
}

impl Drop for HungUp {
    fn drop(&mut self) {
        let Some((session, edge, waiting)) = self.0.take() else {
            return;
        };
        // A server that goes leaves the turn to the next one.
        if !waiting.stops || edge.drain.is_cancelled() {
            return edge.waiters.leave(waiting.event_id);
        }
        let Some(stopping) = edge.waiters.hang_up(waiting.event_id) else {
            return;
        };
        let tasks = edge.tasks.clone();
        tasks.spawn(async move {
            if let Err(problem) = stopped(&session, &edge, &waiting).await {
                let error = &problem.detail;
                let thread = &waiting.thread;
                tracing::warn!(%error, %thread, "the turn of a client that hung up goes on");
            }
            drop(stopping);
        });
    }
}

/// Stops the turn of a message, and waits for its end: the same request again finds it over.
async fn stopped(session: &Session, edge: &Edge, waiting: &Waiting) -> Result<(), Problem> {
    let Some(event) = session.event(waiting.event_id).await? else {
        return Ok(());
    };
    if !stop(session, edge, &event).await? {
        return Ok(());
    }
    let mut reply = Reply::to(session, &said_before(&event)).await?;
    let over = async {
        while !matches!(reply.next().await?, Next::Over(_)) {}
        Ok(())
    };
    let over = tokio::time::timeout(CANCELLED, over).await;
    over.unwrap_or(Ok(()))
}

/// Takes a message back that waits, or cancels the turn that has it. Returns false if the turn is
/// over, or goes on.
async fn stop(session: &Session, edge: &Edge, event: &Event) -> Result<bool, Error> {
    let thread = &event.thread;
    let row = session.thread(thread).await?;
    let is_over = row.is_some_and(|row| row.handled >= event.seq || row.has_had(event.seq));
    if is_over || edge.drain.is_cancelled() {
        return Ok(false);
    }
    // Results are not taken back: behind another turn they wait for their own.
    if matches!(event.fact(), Fact::ClientResults(_)) {
        return match session.is_next(thread, event.seq).await? {
            true => session.cancel(thread).await.map(|_| true),
            false => Ok(false),
        };
    }
    match session.withdraw(thread, event.event_id).await {
        Ok(()) => Ok(true),
        Err(_) if is_awaited(session, edge, event).await? => Ok(false),
        Err(_) => session.cancel(thread).await.map(|_| true),
    }
}

/// Returns whether the turn with this message has another one, or will have, for which a client
/// waits: one of them joins the turn of the other.
async fn is_awaited(session: &Session, edge: &Edge, message: &Event) -> Result<bool, Error> {
    let query = Query {
        thread: Some(message.thread.clone()),
        tags: vec![tag::TURN.to_owned()],
        limit: JOINED,
        ..Query::default()
    };
    let mut about = Vec::new();
    for event in session.events(&query).await? {
        match event.fact() {
            Fact::TurnSteered(steered) => about.extend(steered.inputs.iter().map(|(_, it)| *it)),
            Fact::TurnStarted(started) => {
                about.extend(started.batch);
                break;
            }
            _ => break,
        }
    }
    if edge.waiters.is_storing(session.space(), &message.thread) {
        return Ok(true);
    }
    if !about.is_empty() && !about.contains(&message.seq) {
        return Ok(false);
    }
    about.retain(|seq| *seq != message.seq);
    // Those that wait to join it: the turn takes them in while this looks, perhaps.
    let later = Query {
        thread: Some(message.thread.clone()),
        tags: vec![tag::INPUT.to_owned()],
        after: Some(message.seq),
        limit: JOINED,
        ..Query::default()
    };
    let later = session.events(&later).await?;
    let steers = |it: &&Event| matches!(it.fact(), Fact::Input(input) if input.steers());
    about.extend(later.iter().filter(steers).map(|it| it.seq));
    for seq in about {
        let other = session.events(&Query::at(seq)).await?;
        if other.iter().any(|it| edge.waiters.wait_for(it.event_id)) {
            return Ok(true);
        }
    }
    Ok(false)
}
