//! The door for clients of OpenAI's chat completions: `/v1/models` and `/v1/chat/completions`. It
//! translates onto a session. The model's name chooses the thread, the messages that a client
//! repeats choose the place in it (`openai/conversation.rs`), and the turn about the new message is
//! the answer (`openai/reply.rs`).

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::stream;
use serde_json::{Value, json};
use uuid::Uuid;

use super::auth::Shown;
use super::context::Edge;
use super::http::needs::{Needs, Read, Speak};
use super::limits::ms;
use super::problem::{Problem, Slug};
use super::stay::{Notice, Stay};
use super::stream_limits::StreamPermit;
use form::{DONE, Head, Whole, sse};
use hang_up::HungUp;
use marks::Scope;
use place::{Asked, Place};
use reply::{End, Next, Reply};
use request::{Chat, Piece};
use thinkd_session::handle::Session;
use thinkd_words::id::{self, ThreadId};
use thinkd_words::principal::Credential;
use thinkd_words::time;

mod conversation;
pub mod errors;
mod form;
mod hang_up;
mod marks;
mod named;
mod place;
mod reply;
mod request;
mod results;
mod steering;
mod telling;
mod tools;
mod turns;

/// The model of conversations of their own; before a `/`, of a thread.
const MODEL: &str = "thinkd";
/// The header with the thread of an answer.
pub const THREAD: HeaderName = HeaderName::from_static("x-thinkd-thread");
/// The number of tries of OpenAI's own clients before this one.
const RETRIES: HeaderName = HeaderName::from_static("x-stainless-retry-count");
/// Bytes of an id that a client gives.
const ID_MAX: usize = 512;
/// Members of `metadata` that name a conversation.
const CHAT_MEMBERS: [&str; 3] = ["chat_id", "conversation_id", "thread_id"];

/// Returns the addresses of the door, which need credentials where any are configured.
pub fn router() -> Router<Arc<Edge>> {
    Router::new()
        .route("/v1/models", get(models))
        .route("/v1/models/{*model}", get(model))
        .route("/v1/chat/completions", post(completions))
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

/// Returns the thread that a model's name names; `None`: a conversation of its own.
fn thread_of(model: &str) -> Result<Option<ThreadId>, Problem> {
    let unknown = || {
        let name: String = model.chars().take(80).collect();
        let detail = format!(
            "there is no model {name:?}: {MODEL} is a conversation of its own, {MODEL}/<thread> is a thread"
        );
        Problem::at(Slug::NotFound, "/model", detail)
    };
    match model.strip_prefix(MODEL).ok_or_else(unknown)? {
        "" => Ok(None),
        rest => {
            let thread = rest.strip_prefix('/').ok_or_else(unknown)?;
            ThreadId::parse(thread).map(Some).map_err(|_| unknown())
        }
    }
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
    let policy = steering::policy(&chat)?;
    let asked = Asked {
        policy,
        ..asked(&session, &edge, &headers, (&chat, thread))
    };
    let limits = &edge.stream_limits;
    let permit = limits.take(session.principal());
    let permit = permit.map_err(|full| limits.refusal(full))?;
    // Goes on if the client hangs up meanwhile: then nobody takes its result, and the turn stops.
    let placing = placed(session.clone(), edge.clone(), (chat, asked));
    let placed = edge.tasks.spawn(placing).await.map_err(|error| {
        tracing::error!(%error, "a message was not placed");
        defect()
    });
    let (chat, place, hung_up) = placed??;
    let reply = Reply::to(&session, &place.thread, place.seq, place.is_next).await?;
    let answering = Answering {
        head: Head::new(&chat, &place),
        stay: edge.stay(&session),
        hung_up,
        edge,
        reply,
        is_over: false,
        _permit: permit,
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

/// Says the new message in its place, for a client that may hang up.
async fn placed(
    session: Session,
    edge: Arc<Edge>,
    (chat, asked): (Chat, Asked),
) -> Result<(Chat, Place, HungUp), Problem> {
    let place = match chat.said.is_empty() {
        true => results::place(&session, &chat, &asked).await?,
        false => conversation::place(&session, &edge, &chat, &asked).await?,
    };
    let hung_up = HungUp::new(&session, &edge, &place);
    Ok((chat, place, hung_up))
}

fn defect() -> Problem {
    let detail = "this is a defect of the server; its log says more";
    Problem::new(Slug::Internal, detail)
}

/// Returns the ids by which the conversation and the message are found again.
fn asked(
    session: &Session,
    edge: &Edge,
    headers: &HeaderMap,
    (chat, thread): (&Chat, Option<ThreadId>),
) -> Asked {
    let holder = match (session.principal().credential, Shown::in_headers(headers)) {
        (Credential::Key(_), Shown::Secret(key) | Shown::Named(_, key)) => marks::of_secret(key),
        _ => format!("user {}", session.user().unwrap_or_default()),
    };
    let members = chat.request.metadata.iter();
    let named = members.flat_map(|it| CHAT_MEMBERS.iter().filter_map(|key| it.get(*key)?.as_str()));
    let chat_id = header_of(headers, &edge.doors.chat_id_headers);
    let chat_id = chat_id
        .or_else(|| named.map(str::to_owned).next())
        .or_else(|| chat.request.prompt_cache_key.clone())
        .filter(|id| id.len() <= ID_MAX);
    let message_id = header_of(headers, &edge.doors.message_id_headers);
    let scope = Scope {
        holder,
        user: chat.request.user.clone(),
        chat: chat_id,
        thread: thread.as_ref().map(ThreadId::to_string),
    };
    let event_id = message_id.map(|id| {
        let space = session.space();
        let name = format!("{space} {scope:?} {id}");
        Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes())
    });
    let retries = headers.get(RETRIES).and_then(|it| it.to_str().ok());
    Asked {
        scope,
        event_id,
        is_retry: retries.is_some_and(|count| count.trim() != "0"),
        thread,
        policy: None,
    }
}

/// Returns the value of the first of these headers that is there.
fn header_of(headers: &HeaderMap, names: &[String]) -> Option<String> {
    let mut values = names.iter().filter_map(|name| headers.get(name.as_str()));
    let value = values.find_map(|value| value.to_str().ok())?.trim();
    (!value.is_empty() && value.len() <= ID_MAX).then(|| value.to_owned())
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
    let (session, instructions) = (session.clone(), chat.instructions.clone());
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
    Ok(axum::Json(head.whole(whole, End::default())).into_response())
}

/// An answer on its way.
struct Answering {
    edge: Arc<Edge>,
    head: Head,
    reply: Reply,
    stay: Stay,
    hung_up: HungUp,
    is_over: bool,
    _permit: StreamPermit,
}

impl Answering {
    /// Returns the next thing of the answer; an error for a server that goes, and a client that has to.
    async fn next(&mut self) -> Result<Next, Problem> {
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

    /// Returns the answer as a whole.
    async fn whole(mut self) -> Result<Response, Problem> {
        let limit_ms = self.edge.limits.wait_ms;
        let (mut answer, mut remarks) = (Whole::default(), String::new());
        let read = async {
            loop {
                match self.next().await? {
                    Next::Words(words) => answer.content.push_str(&words),
                    Next::Remark(remark) => remarks.push_str(&remark),
                    Next::Call(_, call) => answer.calls.push(call),
                    Next::Over(how) => {
                        self.hung_up.is_over();
                        return how;
                    }
                }
            }
        };
        let end = tokio::time::timeout(ms(limit_ms), read).await;
        let Ok(end) = end else {
            self.hung_up.is_over();
            let detail = format!(
                "the turn takes longer than {limit_ms} ms (limits.wait_ms) and goes on: ask for a stream, or read its answer in the log"
            );
            return Err(Problem::new(Slug::TurnFailed, detail));
        };
        let end = end?;
        let remarks = self.edge.doors.remarks.then_some(remarks);
        answer.remarks = remarks.filter(|text| !text.is_empty());
        let whole = self.head.whole(answer, end);
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
        let quiet = Duration::from_millis(self.edge.limits.sse_comment_ms);
        let remarks = self.edge.doors.remarks;
        let next = loop {
            match tokio::time::timeout(quiet, self.next()).await {
                Ok(Ok(Next::Remark(_))) if !remarks => {}
                Ok(next) => break next,
                Err(_) => return Some(": still here\n\n".to_owned()),
            }
        };
        Some(match next {
            Ok(Next::Words(words)) => self.head.piece(json!({ "content": words }), None),
            Ok(Next::Remark(text)) => self.head.piece(json!({ "reasoning_content": text }), None),
            Ok(Next::Call(index, call)) => self.head.call(index, &call),
            Ok(Next::Over(Ok(end))) => {
                self.end();
                let usage = usage.then(|| self.head.line(json!([]), Some(end.used.shown())));
                let last = self.head.piece(json!({}), Some(end.finish.as_str()));
                format!("{last}{}{DONE}", usage.unwrap_or_default())
            }
            Ok(Next::Over(Err(problem))) => {
                self.end();
                format!("data: {}\n\n{DONE}", errors::error(&problem))
            }
            Err(problem) => {
                self.is_over = true;
                format!("data: {}\n\n{DONE}", errors::error(&problem))
            }
        })
    }

    fn end(&mut self) {
        self.is_over = true;
        self.hung_up.is_over();
    }
}
