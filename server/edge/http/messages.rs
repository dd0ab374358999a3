//! `/messages`: the chat alone. `/threads/{thread}/messages`: posting a message over HTTP, and
//! waiting for its outcome.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;
use uuid::Uuid;

use super::needs::{Needs, Read, Speak};
use super::params::{NoParams, Params};
use super::path::Path;
use super::{Answer, bounds, json_body};
use crate::ack::{Ack, AckStatus};
use crate::context::Edge;
use crate::frame::{self, ClientFrame, Framed};
use crate::input;
use crate::limits::ms;
use crate::problem::{Problem, Slug, Wrongs};
use thinkd_event::envelope::{Event, TurnOutcome, tag};
use thinkd_event::fact::Fact;
use thinkd_log::query::{Order, Query};
use thinkd_log::shown::Written;
use thinkd_session::handle::Session;
use thinkd_session::outcome::Outcome;
use thinkd_words::id::{INTEGER_MAX, Seq, ThreadId};
use thinkd_words::time::Timestamp;

resource! {
    /// See the module.
    RESOURCE tagged "chat": "What was said, and saying something";
    "/messages" => get(list);
    "/threads/{thread}/messages" => post(post_message);
    "/threads/{thread}/inputs/{event_id}" => delete(withdraw);
    bounds: draw_bounds;
}

/// The form of bytes in a frame.
const BASE64: &str = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";
/// The latest second that `before` can name.
const BEFORE_MAX: i64 = INTEGER_MAX / 1_000_000;

/// One line of a chat.
#[derive(Debug, Serialize, ToSchema)]
pub struct ChatMessage {
    /// `user` or `assistant`.
    pub role: &'static str,
    /// The user, when known.
    pub user: String,
    /// The texts that were said.
    pub chat: Vec<String>,
    /// Seconds since 1970.
    pub timestamp: i64,
}

impl From<Event> for ChatMessage {
    fn from(event: Event) -> Self {
        let said = match event.text() {
            "" => format!("[{}]", event.modality),
            text => text.to_owned(),
        };
        let (role, user) = match event.fact() {
            Fact::Reply(_) => ("assistant", None),
            Fact::Input(input) => ("user", input.user),
            _ => ("user", None),
        };
        Self {
            role,
            user: user.unwrap_or_default().to_owned(),
            chat: vec![said],
            timestamp: event.ts.seconds(),
        }
    }
}

/// The parts of threads that were taken back: of which thread, from where to where, in which turns.
type TakenBack = Vec<(ThreadId, (Seq, Seq), Option<(u64, u64)>)>;

/// Returns the parts that were taken back after a position: they are no part of the chat any more.
async fn taken_back(session: &Session, within: &Query, after: Seq) -> Result<TakenBack, Problem> {
    let mut query = Query {
        tags: vec!["withdrawn".into()],
        thread: within.thread.clone(),
        after: Some(after),
        order: Order::Ascending,
        limit: 500,
        ..Query::default()
    };
    let mut all = Vec::new();
    loop {
        let page = session.events(&query).await?;
        query.after = page.last().map(|last| last.seq);
        let is_last = page.len() < query.limit as usize;
        all.extend(page.into_iter().filter_map(|event| match event.fact() {
            Fact::Withdrawn(it) => Some((event.thread.clone(), (it.from, it.input), it.turns)),
            _ => None,
        }));
        if is_last {
            return Ok(all);
        }
    }
}

/// `of_one`: the events are of one thread, with the past that it has of others if it is a fork.
fn is_taken_back(event: &Event, all: &TakenBack, of_one: bool) -> bool {
    all.iter().any(|(thread, (from, input), turns)| {
        let is_of_turn = |turn| turns.is_some_and(|(first, last)| (first..=last).contains(&turn));
        (of_one || *thread == event.thread)
            && ((*from..=*input).contains(&event.seq) || event.turn().is_some_and(is_of_turn))
    })
}

/// The newest messages of user and assistant before a moment, oldest first, without those that
/// were taken back.
#[utoipa::path(get, path = "/messages", operation_id = "list_messages", tag = "chat",
    params(
        ("n" = Option<u32>, Query, minimum = 1, maximum = 500, description = "20 when absent"),
        ("before" = Option<i64>, Query, minimum = 0, description = "strictly older than these seconds since 1970"),
        ("thread" = Option<String>, Query, description = "only this thread; of all of them when absent"),
    ),
    responses((status = 200, body = [ChatMessage])))]
pub async fn list(session: Needs<Read>, mut params: Params) -> Answer<Vec<ChatMessage>> {
    let n = params.integer("n", 1..=500)?.unwrap_or(20);
    let before = params.integer("before", 0..=BEFORE_MAX)?;
    let thread = params.thread()?;
    params.end()?;
    let mut query = Query {
        tags: vec!["type:message".into(), tag::RESPONSE.into()],
        before_ts: before.map(|seconds| Timestamp::from_micros(seconds * 1_000_000)),
        limit: u32::try_from(n).unwrap_or(20),
        thread,
        ..Query::default()
    };
    let limit = query.limit as usize;
    let mut newest = Vec::with_capacity(limit);
    loop {
        let page = session.written(&query).await?;
        // What this server cannot read is left out, and others take its place.
        let more = page.last().filter(|_| page.len() >= limit);
        let more = more.map(|last| last.seq);
        let event = |it: Written| serde_json::from_str::<Event>(it.json?.get()).ok();
        let read: Vec<Event> = page.into_iter().filter_map(event).collect();
        let taken_back = match read.last() {
            Some(oldest) => taken_back(&session, &query, oldest.seq).await?,
            None => Vec::new(),
        };
        let stays = read.into_iter();
        let stays = stays.filter(|it| !is_taken_back(it, &taken_back, query.thread.is_some()));
        newest.extend(stays.map(ChatMessage::from).take(limit - newest.len()));
        query.before = more;
        if more.is_none() || newest.len() >= limit {
            newest.reverse();
            return Ok(axum::Json(newest));
        }
    }
}

/// The outcome of a posted message.
#[derive(Debug, Serialize, ToSchema)]
pub struct Posted {
    /// As in an `ack` frame.
    #[serde(flatten)]
    pub ack: Ack,
    /// The answers, when they were waited for and came in time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub responses: Option<Vec<Event>>,
    /// Beside `responses`: how the turn ended that it was handled in, `done`, `cancelled` or `failed`; or, where no turn came to it, `ended`: the thread
    /// has ended, or `withdrawn`: it was taken back.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, example = "done")]
    pub outcome: Option<&'static str>,
    /// Beside `responses`: the failures meanwhile, as the log has them, of voices and tools, too;
    /// absent: none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Event>,
}

/// Says something in a thread.
#[utoipa::path(post, path = "/threads/{thread}/messages", operation_id = "post_message", tag = "chat",
    params(
        ("thread" = String, Path, description = "its id; an unused one creates a conversation"),
        ("wait" = Option<f64>, Query, minimum = 0, description = "seconds to wait for what comes of it"),
    ),
    request_body(content = frame::Said, description = "as a `message` or `sensory` frame (`type`, `id` may stand here too)"),
    responses(
        (status = 200, body = Posted, description = "handled, and the thread is idle"),
        (status = 202, body = Posted, description = "stored"),
    ))]
pub async fn post_message(
    State(edge): State<Arc<Edge>>,
    session: Needs<Speak>,
    Path(thread): Path<ThreadId>,
    mut params: Params,
    request: Request,
) -> Result<Response, Problem> {
    let wait = wait(&mut params, edge.limits.wait_ms)?;
    params.end()?;
    let (members, wrongs) = json_body(request, &edge).await?;
    let (id, kind, said) = parse_message(&thread, members, wrongs)?;
    // Followed from before it is stored: nothing that comes of it is missed.
    let follow = match wait {
        Some(_) => Some(session.follow_outcome(&thread).await?),
        None => None,
    };
    let ack = input::submit_said(&session, &edge.limits, id, kind, said).await?;
    let Some((limit_ms, follow)) = wait.zip(follow) else {
        return Ok(accepted(ack));
    };
    let seq = ack.events.last().map_or(0, |placed| placed.seq);
    let waited = async {
        match ack.status {
            // It was said before the following began.
            AckStatus::Duplicate => session.past_outcome(&thread, seq, follow).await,
            _ => session.outcome(&thread, seq, follow).await,
        }
    };
    let outcome = tokio::select! {
        outcome = tokio::time::timeout(ms(limit_ms), waited) => outcome.ok(),
        () = edge.drain.cancelled() => None,
    };
    Ok(match outcome {
        Some(Ok(outcome)) => axum::Json(Posted::new(ack, outcome)).into_response(),
        None => accepted(ack),
        // The input is stored: a log that cannot be read now changes nothing about that.
        Some(Err(error)) => {
            tracing::warn!(%error, %thread, "what became of an input cannot be read");
            accepted(ack)
        }
    })
}

impl Posted {
    fn new(ack: Ack, outcome: Outcome) -> Self {
        // What others were answered meanwhile is no answer to it.
        let (turn, responses) = match outcome.withdrawn {
            true => ("withdrawn", Vec::new()),
            false => {
                let turn = outcome.turn.map_or("ended", TurnOutcome::as_str);
                (turn, outcome.responses)
            }
        };
        Self {
            ack,
            responses: Some(responses),
            outcome: Some(turn),
            failures: outcome.failures,
        }
    }
}

fn accepted(ack: Ack) -> Response {
    let posted = Posted {
        ack,
        responses: None,
        outcome: None,
        failures: Vec::new(),
    };
    (StatusCode::ACCEPTED, axum::Json(posted)).into_response()
}

/// Returns `wait`, the seconds to wait for the outcome, as milliseconds.
pub fn wait(params: &mut Params, most_ms: u64) -> Result<Option<u64>, Problem> {
    let Some(text) = params.one("wait")? else {
        return Ok(None);
    };
    let most = most_ms as f64 / 1000.0;
    let seconds = text.parse().ok();
    let seconds = seconds.filter(|seconds: &f64| (0.0..=most).contains(seconds));
    let detail = format!("a number of seconds from 0 to {}", most_ms / 1000);
    let seconds = seconds.ok_or_else(|| Problem::parameter("wait", detail))?;
    Ok(Some((seconds * 1000.0) as u64))
}

type Saying = (Option<String>, thinkd_event::draft::InputKind, frame::Said);

fn parse_message(
    thread: &ThreadId,
    members: Map<String, Value>,
    wrongs: Wrongs,
) -> Result<Saying, Problem> {
    let Framed { id, frame } = frame::from_members(members, wrongs, None);
    let ClientFrame::Input(kind, mut said) = frame? else {
        let detail = "only message and sensory can be posted here";
        return Err(Problem::at(Slug::UnknownType, "/type", detail));
    };
    let named = said.thread.replace(thread.to_string());
    if named.is_some_and(|named| named != thread.as_str()) {
        let detail = "the address names another thread";
        return Err(Problem::at(Slug::InvalidFrame, "/thread", detail));
    }
    Ok((id, kind, said))
}

/// Takes back an input. Of the withdrawal of an input that waits and a turn that begins, one is
/// first. A turn that has the input keeps it, and the withdrawal is refused (`input-taken`). An
/// input that was taken back is in no turn, and models are not shown it any more. Members take back
/// the inputs said in their own name, operators those of anybody. An input with a turn that is over
/// can be taken back, together with that turn, only before a later turn of the thread begins.
/// Models are shown neither any more, and the log keeps both. A turn stays (`input-taken`) if it
/// ran a tool with an effect outside, proposed a call to people, sent messages to other threads or
/// made a thread. It stays, too, if it set a timer, a schedule, a watch or a plan.
#[utoipa::path(delete, path = "/threads/{thread}/inputs/{event_id}", operation_id = "withdraw_input", tag = "chat",
    params(("thread" = String, Path, description = "its id"),
        ("event_id" = Uuid, Path, description = "the input's; of one with several parts, that of the last")),
    responses((status = 204, description = "it is taken back, now or before")))]
pub async fn withdraw(
    session: Needs<Speak>,
    Path((thread, event_id)): Path<(ThreadId, Uuid)>,
    _: NoParams,
) -> Result<StatusCode, Problem> {
    session.withdraw(&thread, event_id).await?;
    Ok(StatusCode::NO_CONTENT)
}

fn draw_bounds(document: &mut Value) {
    let text = || bounds::text(bounds::TEXT);
    let members = [
        ("thread", bounds::thread()),
        ("text", text()),
        ("images", bounds::list()),
        ("audio", bounds::list()),
    ];
    bounds::of_body(document, "Said", members);
    let data = json!({ "pattern": BASE64, "contentEncoding": "base64" });
    let members = [
        ("data", data),
        ("mimeType", json!({ "pattern": "^(image|audio)/" })),
        ("blob", bounds::sha256()),
    ];
    bounds::of_body(document, "Media", members);
    let before = ("before", json!({ "maximum": BEFORE_MAX }));
    bounds::of_query(document, "/messages", [before]);
    draw_post_message(document);
}

/// The body of a posted message: as a frame, but the address names the thread, and something has to be said.
fn draw_post_message(value: &mut Value) {
    let schemas = &mut value["components"]["schemas"];
    for one in ["data", "blob"] {
        let other = if one == "data" { "blob" } else { "data" };
        let alone = json!({ "required": [one], "properties": { one: { "type": "string" }, other: { "type": "null" } } });
        if let Some(media) = schemas["Media"].as_object_mut() {
            let forms = media.entry("oneOf").or_insert_with(|| json!([]));
            forms
                .as_array_mut()
                .into_iter()
                .for_each(|it| it.push(alone.clone()));
        }
    }
    let mut message = schemas["Said"].clone();
    if let Some(properties) = message["properties"].as_object_mut() {
        properties.remove("thread");
        let kind = json!({ "type": "string", "enum": ["message", "sensory"], "description": "`message` when absent." });
        properties.insert("type".into(), kind);
        let id = json!({ "type": ["string", "null"], "maxLength": 255, "pattern": bounds::TEXT, "description": "Comes back in the answer." });
        properties.insert("id".into(), id);
    }
    bounds::put(
        &mut message,
        json!({ "description": "Something said or perceived.", "anyOf": [
            { "required": ["text"], "properties": { "text": { "type": "string", "pattern": bounds::WORDS } } },
            { "required": ["images"], "properties": { "images": { "type": "array", "minItems": 1 } } },
            { "required": ["audio"], "properties": { "audio": { "type": "array", "minItems": 1 } } },
        ] }),
    );
    schemas["PostMessage"] = message;
    let content =
        &mut value["paths"]["/threads/{thread}/messages"]["post"]["requestBody"]["content"];
    content["application/json"]["schema"] = json!({ "$ref": "#/components/schemas/PostMessage" });
}
