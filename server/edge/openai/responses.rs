//! The door for clients of OpenAI's responses: `/v1/responses`. A response is the turn about a
//! message, and its id is the message's. All that a client is shown of it is read from the log, so
//! every server has it, before and after a restart.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use futures_util::{StreamExt as _, stream};
use serde_json::{Value, json};

use super::asking::{asked, thread_of};
use super::hang_up::HungUp;
use super::place::{Place, said_before};
use super::reply::{Next, Reply};
use super::request::body_of;
use super::turns::{Until, turn_about};
use super::waiting::{THREAD, Waiting, permit, placed, sse};
use super::{named, steering};
use crate::context::Edge;
use crate::http::needs::{Needs, Read, Speak};
use crate::http::params::Params;
use crate::limits::ms;
use crate::problem::{Problem, Slug};
use events::Events;
use ids::{call_of_item, message_of, message_of_item};
use item::Item;
use object::{Answer, Head};
use request::ResponseRequest;
use thinkd_event::fact::Fact;
use thinkd_session::handle::Session;
use thinkd_thread::settings::Policy;
use thinkd_words::id::{INTEGER_MAX, ThreadId};

mod events;
mod ids;
mod item;
mod object;
mod parts;
mod previous;
mod request;
mod tools;

/// Items of a page, where the client does not say, and at most.
const ITEMS: i64 = 20;
const ITEMS_MAX: i64 = 100;

/// Returns the addresses of the door.
pub fn router() -> Router<Arc<Edge>> {
    Router::new()
        .route("/v1/responses", post(create))
        .route("/v1/responses/{id}", get(retrieve).delete(keep))
        .route("/v1/responses/{id}/cancel", post(cancel))
        .route("/v1/responses/{id}/input_items", get(input_items))
}

/// Says the new message, and answers with the turn about it: at its end, in events, or at once for
/// a client that asks later.
async fn create(
    session: Needs<Speak>,
    State(edge): State<Arc<Edge>>,
    request: Request,
) -> Result<Response, Problem> {
    let headers = request.headers().clone();
    let mut body: ResponseRequest = body_of(request, &edge).await?;
    let thread = thread_of(&body.model)?;
    let items = body.items()?;
    edge.stays()?;
    let items = resolved(&session, items).await?;
    let is_streamed = body.stream == Some(true);
    let limits = (edge.limits.text_bytes, edge.doors.client_tool_ms);
    let (chat, kept) = body.read(items, limits)?;
    if let Some(thread) = &thread {
        named::check(&session, thread).await?;
    }
    let joins = steering::policy(&chat)? == Some(Policy::Steer);
    let previous = match &kept.previous {
        Some(id) => Some(previous::find(&session, id, joins).await?),
        None => None,
    };
    let is_background = kept.background;
    let mut asked = asked(&session, &edge, &headers, (&chat, thread, previous))?;
    asked.request = Some(kept);
    let permit = match is_background && !is_streamed {
        true => None,
        false => Some(permit(&session, &edge)?),
    };
    let placed = placed(&session, &edge, (chat, asked), !is_background).await;
    let (_, place, mut hung_up) = placed?;
    let head = head_at(&session, &place).await?;
    if head.is_background() {
        // An earlier request said it, and does not wait: neither does its turn.
        hung_up.is_over();
    }
    let thread = [(THREAD, place.thread.to_string())];
    let Some(permit) = permit else {
        let answer = Answer::read(&session, &head.event).await?;
        return Ok((thread, Json(head.shown(&answer))).into_response());
    };
    let reply = Reply::to(&session, &place).await?;
    let waiting = Waiting::new(&session, edge, permit, (reply, hung_up));
    let answer = match is_streamed {
        true => streamed(waiting, Events::of(head, place.is_next, None)),
        false => whole(waiting, &head).await?,
    };
    Ok((thread, answer).into_response())
}

/// Returns the items with the answers that the client names by their ids.
async fn resolved(session: &Session, items: Vec<Item>) -> Result<Vec<Item>, Problem> {
    let mut all = Vec::with_capacity(items.len());
    for item in items {
        let Item::Reference(id, place) = item else {
            all.push(item);
            continue;
        };
        if let Some(call) = call_of_item(&id) {
            all.push(Item::Call(call, None));
            continue;
        }
        let event = message_of_item(session, &id).await?;
        let turn = match &event {
            Some(event) => turn_about(session, event, Until::Turn).await?,
            None => None,
        };
        let turn = turn.ok_or_else(|| {
            let id: String = id.chars().take(80).collect();
            let detail = format!("there is no answer with the id {id:?}");
            Problem::at(Slug::NotFound, place, detail)
        })?;
        all.push(Item::Answer(turn.answer));
    }
    Ok(all)
}

async fn head_at(session: &Session, place: &Place) -> Result<Head, Problem> {
    let event = session.event(place.event_id).await?;
    let event = event.ok_or_else(|| Problem::new(Slug::Internal, "a message without an event"))?;
    Head::read(session, event).await
}

/// Returns a response as a whole. One that failed is a problem.
async fn whole(mut waiting: Waiting, head: &Head) -> Result<Response, Problem> {
    let limit_ms = waiting.edge.limits.wait_ms;
    let answer = over(&mut waiting).await?;
    waiting.hung_up.is_over();
    let id = head.id();
    if answer.end.is_none() {
        let detail = format!(
            "the turn takes longer than {limit_ms} ms and goes on: GET /v1/responses/{id}, or ask with stream or background"
        );
        return Err(Problem::new(Slug::TurnFailed, detail));
    }
    match answer.problem(&id) {
        Some(problem) => Err(problem),
        None => Ok(Json(head.shown(&answer)).into_response()),
    }
}

/// Waits for the end of an answer, as long as a client may wait.
async fn over(waiting: &mut Waiting) -> Result<Answer, Problem> {
    let limit = ms(waiting.edge.limits.wait_ms);
    let mut answer = Answer::default();
    let read = async {
        loop {
            match waiting.next().await? {
                Next::Over(end) => {
                    answer.end = Some(end);
                    return Ok(());
                }
                next => answer.take(&next),
            }
        }
    };
    if let Ok(Err(problem)) = tokio::time::timeout(limit, read).await {
        return Err(problem);
    }
    Ok(answer)
}

/// Returns a response as events.
fn streamed(waiting: Waiting, mut events: Events) -> Response {
    let first = events.first();
    let first = stream::iter((!first.is_empty()).then(|| Bytes::from(first)));
    let start = (waiting, events, false);
    let chunks = stream::unfold(
        start,
        move |(mut waiting, mut events, is_over)| async move {
            if is_over {
                return None;
            }
            let (chunk, is_over) = chunk(&mut waiting, &mut events).await;
            Some((Bytes::from(chunk), (waiting, events, is_over)))
        },
    );
    let chunks = first.chain(chunks).map(Ok::<_, Infallible>);
    sse(Body::from_stream(chunks))
}

/// Returns the next events of a stream, and whether they are the last.
async fn chunk(waiting: &mut Waiting, events: &mut Events) -> (String, bool) {
    let quiet = Duration::from_millis(waiting.edge.limits.sse_comment_ms);
    loop {
        match tokio::time::timeout(quiet, waiting.next()).await {
            Err(_) => return (": still here\n\n".to_owned(), false),
            Ok(Err(problem)) => return (events.problem(&problem), true),
            Ok(Ok(next)) => {
                let text = events.next(next);
                if events.is_over() {
                    waiting.hung_up.is_over();
                    return (text, true);
                }
                if !text.is_empty() {
                    return (text, false);
                }
            }
        }
    }
}

/// One response: as it is now, or its events behind a number.
async fn retrieve(
    session: Needs<Read>,
    State(edge): State<Arc<Edge>>,
    Path(id): Path<String>,
    mut params: Params,
) -> Result<Response, Problem> {
    read_over(&mut params);
    let is_streamed = params.flag("stream")?;
    let after = params.integer("starting_after", 0..=INTEGER_MAX)?;
    params.end()?;
    if after.is_some() && !is_streamed {
        let detail = "is for a stream: send stream=true, too";
        return Err(Problem::parameter("starting_after", detail));
    }
    let event = message_of(&session, &id).await?;
    let thread = [(THREAD, event.thread.to_string())];
    let head = Head::read(&session, event).await?;
    if !is_streamed {
        let answer = Answer::read(&session, &head.event).await?;
        return Ok((thread, Json(head.shown(&answer))).into_response());
    }
    edge.stays()?;
    let permit = permit(&session, &edge)?;
    let event = &head.event;
    let is_next = session.is_next(&event.thread, event.seq).await?;
    let place = Place {
        is_next,
        ..said_before(event)
    };
    let reply = Reply::to(&session, &place).await?;
    let hung_up = HungUp::beside(&session, &edge, event);
    let waiting = Waiting::new(&session, edge, permit, (reply, hung_up));
    let after = after.and_then(|after| u64::try_from(after).ok());
    let events = Events::of(head, is_next, after);
    Ok((thread, streamed(waiting, events)).into_response())
}

/// Details of other servers' responses, which are read over.
fn read_over(params: &mut Params) {
    for name in ["include", "include[]", "include_obfuscation"] {
        params.all(name);
    }
}

/// Takes the message back that waits, or cancels the turn that has it. A response that is over
/// stays as it is.
async fn cancel(
    session: Needs<Speak>,
    State(edge): State<Arc<Edge>>,
    Path(id): Path<String>,
) -> Result<Response, Problem> {
    let event = message_of(&session, &id).await?;
    let head = Head::read(&session, event).await?;
    let event = &head.event;
    let thread = [(THREAD, event.thread.to_string())];
    let answer = Answer::read(&session, event).await?;
    if answer.end.is_some() {
        return Ok((thread, Json(head.shown(&answer))).into_response());
    }
    let is_result = matches!(event.fact(), Fact::ClientResults(_));
    let stays = answer.has_begun || is_result;
    if is_result && answer.status() == "queued" {
        let detail = "results of calls are not taken back: cancel it when its turn has begun";
        return Err(Problem::new(Slug::Busy, detail));
    }
    edge.stays()?;
    let permit = permit(&session, &edge)?;
    if stays || !took_back(&session, &event.thread, event.event_id).await? {
        session.cancel(&event.thread).await?;
    }
    let reply = Reply::to(&session, &said_before(event)).await?;
    let mut waiting = Waiting::new(&session, edge, permit, (reply, HungUp::never()));
    let answer = over(&mut waiting).await?;
    Ok((thread, Json(head.shown(&answer))).into_response())
}

/// Takes a message back. False: a turn has it by now.
async fn took_back(
    session: &Session,
    thread: &ThreadId,
    event_id: uuid::Uuid,
) -> Result<bool, Problem> {
    match session
        .withdraw(thread, event_id)
        .await
        .map_err(Problem::from)
    {
        Ok(()) => Ok(true),
        Err(problem) if problem.slug() == Slug::InputTaken => Ok(false),
        Err(problem) => Err(problem),
    }
}

/// The messages that a response was asked with.
async fn input_items(
    session: Needs<Read>,
    Path(id): Path<String>,
    mut params: Params,
) -> Result<Json<Value>, Problem> {
    read_over(&mut params);
    let limit = params.integer("limit", 1..=ITEMS_MAX)?.unwrap_or(ITEMS);
    let order = params.word("order", "asc, desc", |word| match word {
        "asc" => Some(true),
        "desc" => Some(false),
        _ => None,
    })?;
    let after = params.one("after")?;
    params.end()?;
    let event = message_of(&session, &id).await?;
    let mut items = parts::items(&session, &event).await?;
    if order != Some(true) {
        items.reverse();
    }
    if let Some(after) = after {
        let place = items.iter().position(|item| item["id"] == *after);
        let place = place
            .ok_or_else(|| Problem::parameter("after", "is the id of no item of this response"))?;
        items.drain(..=place);
    }
    let limit = usize::try_from(limit).unwrap_or(1);
    let has_more = items.len() > limit;
    items.truncate(limit);
    let id_of = |item: Option<&Value>| item.map(|item| item["id"].clone());
    let first = id_of(items.first());
    let last = id_of(items.last());
    Ok(Json(json!({
        "object": "list", "data": items, "first_id": first, "last_id": last, "has_more": has_more,
    })))
}

/// Refuses to delete: the log is append-only.
async fn keep(session: Needs<Speak>, Path(id): Path<String>) -> Result<Response, Problem> {
    let event = message_of(&session, &id).await?;
    let detail = format!(
        "the log keeps every response: it is not deleted. DELETE /threads/{}/inputs/{} takes its message back, as long as no later turn has begun",
        event.thread, event.event_id
    );
    Err(Problem::new(Slug::Unprocessable, detail))
}
