//! The door for clients of OpenAI's chat completions: `/v1/models` and `/v1/chat/completions`. It
//! translates onto a session. The model's name chooses the thread, the messages that a client
//! repeats choose the place in it (`openai/looking.rs`), and the turn about the new message is
//! the answer (`openai/reply.rs`).

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::HeaderMap;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::stream;
use serde_json::{Value, json};

use super::context::Edge;
use super::http::needs::{Needs, Read, Speak};
use super::limits::ms;
use super::problem::{Problem, Slug};
use asking::{MODEL, asked, header_of, thread_of};
use form::{DONE, Head, Whole};
use reply::{End, How, Next, Reply, Used};
use request::{Chat, Piece};
use thinkd_session::handle::Session;
use thinkd_words::id::{self, ThreadId};
use thinkd_words::time;
use waiting::{THREAD, Waiting, defect, permit, placed, sse};

mod asking;
mod conversation;
pub mod errors;
mod form;
mod found;
mod hang_up;
mod kept;
mod looking;
mod marks;
mod named;
mod place;
mod reply;
mod request;
mod responses;
mod results;
mod steering;
mod telling;
mod tools;
mod turns;
pub mod waiting;

/// Returns the addresses of the door, which need credentials where any are configured.
pub fn router() -> Router<Arc<Edge>> {
    Router::new()
        .route("/v1/models", get(models))
        .route("/v1/models/{*model}", get(model))
        .route("/v1/chat/completions", post(completions))
        .merge(responses::router())
}

fn shown(model: &str) -> Value {
    json!({ "id": model, "object": "model", "created": 0, "owned_by": "thinkd" })
}

/// Lists the models: a conversation of its own, and the thread `main`.
async fn models(_: Needs<Read>) -> Response {
    let main = format!("{MODEL}/{}", ThreadId::default());
    let data = [shown(MODEL), shown(&main)];
    axum::Json(json!({ "object": "list", "data": data })).into_response()
}

/// One model.
async fn model(
    session: Needs<Read>,
    axum::extract::Path(name): axum::extract::Path<String>,
) -> Result<Response, Problem> {
    if let Some(thread) = thread_of(&name)? {
        named::check(&session, &thread).await?;
    }
    Ok(axum::Json(shown(&name)).into_response())
}

/// Says the new message of a conversation, and answers with the turn about it.
async fn completions(
    session: Needs<Speak>,
    State(edge): State<Arc<Edge>>,
    request: Request,
) -> Result<Response, Problem> {
    let headers = request.headers().clone();
    let chat = request::read(request, &edge).await?;
    let thread = thread_of(&chat.request.model)?;
    edge.stays()?;
    if is_side_call(&edge, &headers, &chat) {
        return side_call(&session, edge, chat).await;
    }
    if let Some(thread) = &thread {
        named::check(&session, thread).await?;
    }
    let asked = asked(&session, &edge, &headers, (&chat, thread, None))?;
    let permit = permit(&session, &edge)?;
    let (chat, place, hung_up) = placed(&session, &edge, (chat, asked), true).await?;
    let reply = Reply::to(&session, &place).await?;
    let answering = Answering {
        head: Head::new(&chat, &place),
        waiting: Waiting::new(&session, edge, permit, (reply, hung_up)),
        is_over: false,
    };
    let thread = [(THREAD, place.thread.to_string())];
    let answer = match chat.request.stream {
        Some(true) => {
            let options = chat.request.stream_options.as_ref();
            let usage = options.and_then(|options| options.include_usage);
            answering.streamed(usage.unwrap_or(false))
        }
        _ => answering
            .whole()
            .await
            .unwrap_or_else(IntoResponse::into_response),
    };
    Ok((thread, answer).into_response())
}

/// True for a small question beside the conversation, such as one for a title.
fn is_side_call(edge: &Edge, headers: &HeaderMap, chat: &Chat) -> bool {
    let doors = &edge.doors;
    if header_of(headers, &doors.side_call_headers).is_some() {
        return true;
    }
    let first = chat.said.iter().find_map(|piece| match piece {
        Piece::Text(text) => Some(text.trim_start()),
        Piece::Image(_) | Piece::Audio(_) => None,
    });
    first.is_some_and(|text| doors.side_calls.iter().any(|it| text.starts_with(it)))
}

/// Answers a small question by the ordinary model, outside of the log.
async fn side_call(session: &Session, edge: Arc<Edge>, chat: Chat) -> Result<Response, Problem> {
    let stop = edge.drain.child_token();
    let _hung_up = stop.clone().drop_guard();
    let words = |pieces: &[Piece]| {
        let texts = pieces.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            Piece::Image(_) | Piece::Audio(_) => None,
        });
        texts.collect::<Vec<_>>().join("\n\n")
    };
    let mut text = String::new();
    for exchange in &chat.before {
        let said = words(&exchange.said);
        text.push_str(&format!("user: {said}\nassistant: {}\n\n", exchange.answer));
    }
    text.push_str(&words(&chat.said));
    let session = session.clone();
    let instructions = chat.instructions.clone();
    let asked = edge.tasks.spawn(async move {
        // Not in the thread that the model names: it may be a mission's, or there is none yet.
        let thread = ThreadId::default();
        session
            .ask_beside(&thread, &instructions, &text, &stop)
            .await
    });
    let answer = asked.await.map_err(|error| {
        tracing::error!(%error, "a side call was not answered");
        defect()
    })??;
    let head = Head {
        id: id::fresh(),
        created: time::now().seconds(),
        model: chat.request.model.clone(),
    };
    if chat.request.stream == Some(true) {
        let text = [
            head.piece(json!({ "role": "assistant", "content": answer }), None),
            head.piece(json!({}), Some("stop")),
            DONE.to_owned(),
        ];
        return Ok(sse(Body::from(text.concat())));
    }
    let whole = Whole {
        content: answer,
        ..Whole::default()
    };
    Ok(axum::Json(head.whole(whole, (Used::default(), How::Done.finish()))).into_response())
}

/// An answer on its way.
struct Answering {
    head: Head,
    waiting: Waiting,
    is_over: bool,
}

impl Answering {
    /// Returns the answer as a whole.
    async fn whole(mut self) -> Result<Response, Problem> {
        let limit_ms = self.waiting.edge.limits.wait_ms;
        let mut answer = Whole::default();
        let mut remarks = String::new();
        let mut so_far = String::new();
        let read = async {
            loop {
                match self.waiting.next().await? {
                    Next::Words(words) => so_far.push_str(&words),
                    Next::Remark(remark) => remarks.push_str(&remark),
                    Next::Call(_, call) => answer.calls.push(call),
                    Next::Over(end) => {
                        self.waiting.hung_up.is_over();
                        // Words of a reply that came to nothing were sent, and are not stored.
                        answer.content = match end.text.is_empty() {
                            true => std::mem::take(&mut so_far),
                            false => end.text.clone(),
                        };
                        answer.content.push_str(&end.told()?);
                        return Ok::<_, Problem>(end);
                    }
                    Next::Begun | Next::CaughtUp => {}
                }
            }
        };
        let end = tokio::time::timeout(ms(limit_ms), read).await;
        let Ok(end) = end else {
            self.waiting.hung_up.is_over();
            let detail = format!(
                "the turn takes longer than {limit_ms} ms and goes on: ask for a stream, or read its answer in the log"
            );
            return Err(Problem::new(Slug::TurnFailed, detail));
        };
        let end = end?;
        let remarks = self.waiting.edge.doors.remarks.then_some(remarks);
        answer.remarks = remarks.filter(|text| !text.is_empty());
        let whole = self.head.whole(answer, (end.used, end.how.finish()));
        Ok(axum::Json(whole).into_response())
    }

    /// Returns the answer in pieces; `usage`: the last of them says the usage.
    fn streamed(self, usage: bool) -> Response {
        let first = self
            .head
            .piece(json!({ "role": "assistant", "content": "" }), None);
        let start = (self, Some(first));
        let chunks = stream::unfold(start, move |(mut this, first)| async move {
            if let Some(first) = first {
                return Some((
                    Ok::<_, std::convert::Infallible>(Bytes::from(first)),
                    (this, None),
                ));
            }
            let chunk = this.chunk(usage).await?;
            Some((Ok(Bytes::from(chunk)), (this, None)))
        });
        sse(Body::from_stream(chunks))
    }

    /// Returns the next piece of a stream; `None` behind its end.
    async fn chunk(&mut self, usage: bool) -> Option<String> {
        if self.is_over {
            return None;
        }
        let quiet = Duration::from_millis(self.waiting.edge.limits.sse_comment_ms);
        let remarks = self.waiting.edge.doors.remarks;
        let next = loop {
            match tokio::time::timeout(quiet, self.waiting.next()).await {
                Ok(Ok(Next::Remark(_))) if !remarks => {}
                Ok(Ok(Next::Begun | Next::CaughtUp)) => {}
                Ok(next) => break next,
                Err(_) => return Some(": still here\n\n".to_owned()),
            }
        };
        Some(match next {
            Ok(Next::Words(words)) => self.head.piece(json!({ "content": words }), None),
            Ok(Next::Remark(text)) => self.head.piece(json!({ "reasoning_content": text }), None),
            Ok(Next::Call(index, call)) => self.head.call(index, &call),
            Ok(Next::Over(end)) => {
                self.is_over = true;
                self.waiting.hung_up.is_over();
                self.last(&end, usage)
            }
            Ok(Next::Begun | Next::CaughtUp) => String::new(),
            Err(problem) => {
                self.is_over = true;
                format!("data: {}\n\n{DONE}", errors::error(&problem))
            }
        })
    }

    /// Returns the end of a stream.
    fn last(&self, end: &End, usage: bool) -> String {
        match end.told() {
            Ok(words) => {
                let words = match words.is_empty() {
                    true => String::new(),
                    false => self.head.piece(json!({ "content": words }), None),
                };
                let last = self.head.piece(json!({}), Some(end.how.finish()));
                let usage = usage.then(|| self.head.line(json!([]), Some(end.used.shown())));
                format!("{words}{last}{}{DONE}", usage.unwrap_or_default())
            }
            Err(problem) => format!("data: {}\n\n{DONE}", errors::error(&problem)),
        }
    }
}
