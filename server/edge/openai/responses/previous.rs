//! The response behind which a client goes on.

use super::ids::message_of;
use super::object::Answer;
use crate::openai::asking::Previous;
use crate::openai::reply::How;
use crate::problem::{Problem, Slug};
use thinkd_event::envelope::Event;
use thinkd_event::fact::Fact;
use thinkd_log::query::{Order, Query};
use thinkd_session::handle::Session;
use thinkd_words::id::{Seq, ThreadId};

/// The member that names it.
const PLACE: &str = "/previous_response_id";

/// Events behind the end of a turn among which the next one is looked for.
const LATER: u32 = 100;

/// Returns the end of the turn that a response is. `joins`: a message may join it while it runs.
pub async fn find(session: &Session, id: &str, joins: bool) -> Result<Previous, Problem> {
    let at = |slug: Slug, detail: String| Problem::at(slug, PLACE, detail);
    let event = message_of(session, id).await;
    let event = event.map_err(|problem| at(problem.slug(), problem.detail))?;
    let answer = Answer::read(session, &event).await?;
    let Some(end) = &answer.end else {
        if joins {
            return Ok(Previous {
                thread: event.thread,
                input: event.event_id,
                seq: event.seq,
                end: None,
                calls: Vec::new(),
                is_last: true,
            });
        }
        let detail = format!(
            "the response {id} is {}: wait for its end, or cancel it",
            answer.status()
        );
        return Err(at(Slug::Busy, detail));
    };
    if end.how == How::ThreadEnded {
        let detail = format!("the thread {} of the response has ended", event.thread);
        return Err(at(Slug::ThreadEnded, detail));
    }
    let at = match end.how {
        How::TakenBack => behind_taken_back(session, &event.thread, end.seq).await?,
        _ => Some(end.seq),
    };
    let is_last = match at {
        Some(at) => is_last(session, &event.thread, at).await?,
        None => true,
    };
    Ok(Previous {
        is_last,
        thread: event.thread,
        input: event.event_id,
        seq: event.seq,
        end: at,
        calls: answer.calls.iter().map(|call| call.id.clone()).collect(),
    })
}

/// Returns the place behind a message that was taken back: the end of the turn that ran then; none:
/// it runs still.
async fn behind_taken_back(
    session: &Session,
    thread: &ThreadId,
    taken_back: Seq,
) -> Result<Option<Seq>, Problem> {
    if session.has_mail(thread).await? {
        return Ok(None);
    }
    for event in later(session, thread, taken_back).await? {
        match event.fact() {
            Fact::TurnEnded(_) => return Ok(Some(event.seq)),
            Fact::TurnStarted(_) => break,
            _ => {}
        }
    }
    Ok(Some(taken_back))
}

/// True if a thread has not gone on behind the end of a turn, and nothing waits in it.
async fn is_last(session: &Session, thread: &ThreadId, end: Seq) -> Result<bool, Problem> {
    if session.has_mail(thread).await? {
        return Ok(false);
    }
    let later = later(session, thread, end).await?;
    let begins = |event: &Event| matches!(event.fact(), Fact::TurnStarted(_));
    Ok(later.len() < LATER as usize && !later.iter().any(begins))
}

/// Returns the first events of a thread behind this one.
async fn later(session: &Session, thread: &ThreadId, after: Seq) -> Result<Vec<Event>, Problem> {
    let later = Query {
        thread: Some(thread.clone()),
        after: Some(after),
        order: Order::Ascending,
        limit: LATER,
        ..Query::default()
    };
    Ok(session.events(&later).await?)
}
