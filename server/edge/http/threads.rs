//! `/threads`: what there is, what it does, starting and stopping it.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::params::Params;
use super::{Caller, Json, Page, cursor};
use crate::edge::Edge;
use crate::edge::input;
use crate::edge::problem::{Problem, Slug};
use crate::id::{Name, Seq, ThreadId};
use crate::runtime::NewThread;
use crate::store::{Status, ThreadRow};
use crate::thread::{Policy, Settings};

/// A thread.
#[derive(Debug, Serialize, ToSchema)]
pub struct Thread {
    /// Its id.
    #[schema(value_type = String, example = "main")]
    pub id: ThreadId,
    /// The thread it is below.
    #[schema(value_type = Option<String>)]
    pub parent: Option<ThreadId>,
    /// A line for people.
    pub title: Option<String>,
    /// What kind of process it is.
    pub kind: Kind,
    /// `idle`, `thinking`, `waiting`, `done`, `failed` or `stopped`.
    pub status: String,
    /// Whom it waits for.
    pub waiting_for: Option<String>,
    /// The seq of its last event.
    #[schema(value_type = i64)]
    pub head: Seq,
    /// Everything that woke it up to here has had its turn.
    #[schema(value_type = i64)]
    pub handled: Seq,
    /// Whom it can send to.
    pub contacts: Vec<Value>,
    /// What it is about to do.
    pub plan: Option<Value>,
    /// What it has used.
    pub budget: Used,
}

/// What a thread has used.
#[derive(Debug, Serialize, ToSchema)]
pub struct Used {
    /// Model calls.
    pub model_calls: u64,
    /// Tokens, in and out, as far as providers said.
    pub tokens: u64,
    /// Messages to itself since something came from outside.
    pub self_messages: u32,
}

/// What kind of process a thread is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It talks with people.
    Conversation,
    /// It is a run of a pipeline: `POST /pipelines/{name}` makes these.
    Pipeline,
}

/// What kind of process is created here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum NewKind {
    /// It talks with people.
    #[default]
    Conversation,
}

impl From<ThreadRow> for Thread {
    fn from(row: ThreadRow) -> Self {
        let busy = row.status == Status::Idle && row.woken > row.handled;
        let status = if busy { Status::Thinking } else { row.status };
        let Settings { title, pipeline, .. } = Settings::of(&row.settings);
        let kind = if pipeline.is_some() { Kind::Pipeline } else { Kind::Conversation };
        Self {
            // What runs are below is a place, no thread.
            parent: row.thread.parent().filter(|_| kind == Kind::Conversation),
            id: row.thread,
            title,
            kind,
            status: status.as_str().to_owned(),
            waiting_for: None,
            head: row.head,
            handled: row.handled,
            contacts: Vec::new(),
            plan: None,
            budget: Used { model_calls: row.model_calls, tokens: row.tokens, self_messages: row.self_messages },
        }
    }
}

/// The threads by id.
#[utoipa::path(get, path = "/threads", operation_id = "list_threads", tag = "threads",
    params(("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "50 when absent"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before"),),
    responses((status = 200, body = Page<Thread>)))]
pub async fn list(
    State(edge): State<Arc<Edge>>,
    Caller(who): Caller,
    mut params: Params,
) -> Result<axum::Json<Page<Thread>>, Problem> {
    let (limit, at) = (params.limit()?, params.one("cursor")?);
    params.end()?;
    let bound = format!("threads {}", who.space);
    let after = at.map(|at| Ok::<_, Problem>(ThreadId::parse(&cursor::read(&bound, &at)?)?)).transpose()?;
    let mut rows = edge.runtime.store().threads(&who.space, after.as_ref(), limit + 1).await?;
    let more = rows.len() > limit as usize;
    rows.truncate(limit as usize);
    let next = rows.last().filter(|_| more).map(|row| cursor::write(&bound, row.thread.as_str()));
    Ok(axum::Json(Page { items: rows.into_iter().map(Thread::from).collect(), next }))
}

/// One thread.
#[utoipa::path(get, path = "/threads/{thread}", operation_id = "get_thread", tag = "threads", params(("thread" = String, Path, description = "its id")),
    responses((status = 200, body = Thread)))]
pub async fn one(
    State(edge): State<Arc<Edge>>,
    Caller(who): Caller,
    Path(thread): Path<String>,
    params: Params,
) -> Result<axum::Json<Thread>, Problem> {
    params.end()?;
    let id = ThreadId::parse(&thread)?;
    let row = edge.runtime.store().thread(&who.space, &id).await?;
    let row = row.ok_or_else(|| Problem::new(Slug::NotFound, format!("there is no thread {id}")))?;
    Ok(axum::Json(row.into()))
}

/// A thread to be.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateThread {
    /// A suggestion for the last part of its id.
    #[schema(example = "research")]
    pub label: Option<String>,
    /// The thread it is created below.
    pub parent: Option<String>,
    /// A line for people.
    pub title: Option<String>,
    /// What kind of process it is.
    #[serde(default)]
    pub kind: NewKind,
    /// What the decision is told besides its own prompt.
    pub prompt: Option<String>,
    /// The voices it hears; all when absent.
    pub submodules: Option<Vec<String>>,
    /// What new input does to a running turn; as configured when absent.
    #[schema(value_type = Option<String>, example = "enqueue")]
    pub policy: Option<Policy>,
    /// Which model its decision uses.
    pub tier: Option<TierWord>,
}

/// Which model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum TierWord {
    /// The ordinary one.
    Low,
    /// The better, dearer one.
    High,
}

impl CreateThread {
    fn parse(self) -> Result<NewThread, Problem> {
        let name = |text: String, pointer| Name::parse(&text).map_err(input::at(pointer));
        let submodules = self.submodules.map(|names| names.into_iter().map(|text| name(text, "/submodules")).collect());
        let settings = Settings {
            title: self.title,
            pipeline: None,
            prompt: self.prompt,
            submodules: submodules.transpose()?,
            policy: self.policy,
            high_tier: self.tier == Some(TierWord::High),
        };
        let label = self.label.map(|label| name(label, "/label")).transpose()?;
        let parent = self.parent.map(|parent| ThreadId::parse(&parent).map_err(input::at("/parent")));
        Ok(NewThread { label, parent: parent.transpose()?, settings })
    }
}

/// Creates a conversation.
#[utoipa::path(post, path = "/threads", operation_id = "create_thread", tag = "threads", request_body = CreateThread,
    responses((status = 201, body = Thread)))]
pub async fn create(
    State(edge): State<Arc<Edge>>,
    Caller(who): Caller,
    params: Params,
    Json(body): Json<CreateThread>,
) -> Result<Response, Problem> {
    params.end()?;
    let row = edge.runtime.create_thread(&who.space, body.parse()?).await?;
    let place = format!("/threads/{}", row.thread);
    Ok((StatusCode::CREATED, [(header::LOCATION, place)], axum::Json(Thread::from(row))).into_response())
}

/// Whether there was a turn to cancel.
#[derive(Debug, Serialize, ToSchema)]
pub struct Cancelled {
    /// False: none ran.
    pub cancelled: bool,
}

/// Cancels the turn that runs.
#[utoipa::path(post, path = "/threads/{thread}/cancel", operation_id = "cancel_turn", tag = "threads", params(("thread" = String, Path, description = "its id")),
    responses((status = 200, body = Cancelled)))]
pub async fn cancel(
    State(edge): State<Arc<Edge>>,
    Caller(who): Caller,
    Path(thread): Path<String>,
    params: Params,
) -> Result<axum::Json<Cancelled>, Problem> {
    params.end()?;
    let cancelled = edge.runtime.cancel(&who.space, &ThreadId::parse(&thread)?).await?;
    Ok(axum::Json(Cancelled { cancelled }))
}

/// Ends a thread.
#[utoipa::path(post, path = "/threads/{thread}/end", operation_id = "end_thread", tag = "threads", params(("thread" = String, Path, description = "its id")),
    responses((status = 200, body = Thread)))]
pub async fn end(
    State(edge): State<Arc<Edge>>,
    Caller(who): Caller,
    Path(thread): Path<String>,
    params: Params,
) -> Result<axum::Json<Thread>, Problem> {
    params.end()?;
    let row = edge.runtime.end(&who.space, &ThreadId::parse(&thread)?).await?;
    Ok(axum::Json(row.into()))
}
