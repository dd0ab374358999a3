//! `/events`, `/events/{event_id}`, `/prompt-views/{event_id}`: the log as history.

use std::sync::Arc;

use axum::extract::State;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

use super::needs::{Needs, Read};
use super::params::{NoParams, Params};
use super::path::Path;
use super::{Answer, cursor};
use crate::context::Edge;
use crate::limits::Limits;
use crate::problem::{Problem, Slug};
use crate::query;
use thinkd_event::envelope::{Event, Modality, Source};
use thinkd_log::query::{Order, Query, Show};
use thinkd_words::id::{Seq, Space};

resource! {
    /// See the module.
    RESOURCE tagged "log": "Everything that happened, in order";
    "/events" => get(list);
    "/events/{event_id}" => get(one);
    "/prompt-views/{event_id}" => get(prompt_view);
}

/// The conditions that history and stream have in common.
pub fn filter(params: &mut Params, limits: &Limits) -> Result<Query, Problem> {
    // Without a thread `subtree` adds nothing: all there is, is below everything. A `subscribe` frame is read so, too.
    let query = Query {
        thread: params.thread()?,
        subtree: params.flag("subtree")?,
        tags: params.all("tags"),
        all_tags: params.flag("all_tags")?,
        source: params.source()?,
        modality: params.modality()?,
        show: match params.flag("debug")? {
            true => Show::All,
            false => Show::Public,
        },
        after: params.cursor("after")?,
        text: params.words()?,
        ..Query::default()
    };
    query::within_tags(query, limits).map_err(|detail| Problem::parameter("tags", detail))
}

fn question(params: &mut Params, limits: &Limits) -> Result<Query, Problem> {
    let order = |word: &str| match word {
        "desc" => Some(Order::Descending),
        "asc" => Some(Order::Ascending),
        _ => None,
    };
    Ok(Query {
        before: params.seq("before")?,
        since: params.moment("since")?,
        before_ts: params.moment("before_ts")?,
        order: params
            .word("order", "desc, asc", order)?
            .unwrap_or_default(),
        limit: params.limit()?,
        ..filter(params, limits)?
    })
}

/// Returns the question that a cursor is bound to: the space and all conditions, but not the size
/// of a page.
fn bound(space: &Space, query: &Query) -> String {
    let all = Query {
        limit: 0,
        ..query.clone()
    };
    format!("events {space} {all:?}")
}

/// Refuses a cursor that is beyond the log's end: it was given for another log.
pub fn not_ahead(after: Seq, head: Seq) -> Result<(), Problem> {
    if after <= head {
        return Ok(());
    }
    let detail = format!("after {after} is beyond the log's end, {head}");
    Err(Problem::new(Slug::CursorAhead, detail))
}

fn continue_at(query: &mut Query, at: Seq) {
    match query.order {
        Order::Descending => query.before = Some(query.before.map_or(at, |before| before.min(at))),
        Order::Ascending => query.after = Some(query.after.map_or(at, |after| after.max(at))),
    }
}

/// A page of history.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Page_Event)]
pub struct History {
    /// The events.
    #[schema(value_type = Vec<Event>)]
    pub items: Vec<Box<RawValue>>,
    /// The cursor of the next page; null on the last one.
    pub next: Option<String>,
    /// The `seq`s of events that belong here and cannot be read by this server, since a newer one wrote them or they are damaged: they
    /// count as events of the page. Absent: all can be read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<i64>, required = false)]
    pub unreadable: Vec<Seq>,
}

/// History.
#[utoipa::path(get, path = "/events", operation_id = "list_events", tag = "log",
    params(
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "50 when absent"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before"),
        ("thread" = Option<String>, Query, description = "only this thread"),
        ("subtree" = Option<bool>, Query, description = "with `thread`: and all below it"),
        ("tags" = Option<Vec<String>>, Query, explode = true, description = "any of these tags, without regard to case; `debug` events only when asked for here"),
        ("all_tags" = Option<bool>, Query, description = "with `tags`: all of them"),
        ("debug" = Option<bool>, Query, description = "`debug` events, too, beside the others"),
        ("source" = Option<Source>, Query, description = "only from this source"),
        ("modality" = Option<Modality>, Query, description = "only of this modality"),
        ("after" = Option<i64>, Query, minimum = 0, description = "a greater `seq`"),
        ("before" = Option<i64>, Query, minimum = 0, description = "a smaller `seq`"),
        ("since" = Option<String>, Query, format = DateTime, description = "at or after this moment"),
        ("before_ts" = Option<String>, Query, format = DateTime, description = "strictly older than this moment"),
        ("q" = Option<String>, Query, max_length = 1024, description = "full text: all these words"),
        ("order" = Option<String>, Query, example = "desc", description = "`desc` (newest first) or `asc`, by `seq`"),
        ("epoch" = Option<Uuid>, Query, description = "the incarnation of the log that `after`, `before` and `cursor` belong to; another one is `epoch-changed`"),
    ),
    responses((status = 200, body = History)))]
pub async fn list(
    State(edge): State<Arc<Edge>>,
    session: Needs<Read>,
    mut params: Params,
) -> Answer<History> {
    let at = params.one("cursor")?;
    let mut query = question(&mut params, &edge.limits)?;
    let epoch = params.epoch()?;
    params.end()?;
    if epoch.is_some() {
        query::check_epoch(epoch, session.head().await?.epoch)?;
    }
    let asked_after = query.after;
    let bound = bound(session.space(), &query);
    if let Some(at) = at {
        let at = cursor::read(&bound, &at)?.parse();
        let at = at.map_err(|_| Problem::new(Slug::InvalidCursor, "no seq"))?;
        continue_at(&mut query, at);
    }
    let limit = query.limit as usize;
    // One more than asked for tells whether there is a next page.
    query.limit += 1;
    let mut items = session.written(&query).await?;
    if let Some(after) = asked_after.filter(|_| items.is_empty()) {
        not_ahead(after, session.head().await?.seq)?;
    }
    let more = items.len() > limit;
    items.truncate(limit);
    let last = items.last().filter(|_| more);
    let next = last.map(|last| cursor::write(&bound, &last.seq.to_string()));
    let unread = items.iter().filter(|event| event.json.is_none());
    let unreadable = unread.map(|event| event.seq).collect();
    let items = items.into_iter().filter_map(|event| event.json).collect();
    Ok(axum::Json(History {
        items,
        next,
        unreadable,
    }))
}

/// One event.
#[utoipa::path(get, path = "/events/{event_id}", operation_id = "get_event", tag = "log",
    params(("event_id" = Uuid, Path, description = "its id")),
    responses((status = 200, body = Event)))]
pub async fn one(session: Needs<Read>, Path(event_id): Path<Uuid>, _: NoParams) -> Answer<Event> {
    let event = session.event(event_id).await?;
    let event = event.ok_or_else(|| Problem::not_found("there is no event of that id"))?;
    Ok(axum::Json(event))
}

/// The view of a model call: its request, made anew from the log.
// It describes what is written where the view is made; nothing makes one.
#[derive(Debug, ToSchema)]
#[schema(as = PromptView)]
pub struct View {
    /// The record of the call.
    pub call: Uuid,
    /// The thread.
    #[schema(example = "main")]
    pub thread: String,
    /// The module that asked.
    #[schema(example = "decision")]
    pub module: Option<String>,
    /// Why.
    pub purpose: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// `input_tokens`, `output_tokens`, `cached_tokens`, as far as the provider said.
    #[schema(value_type = Option<Object>)]
    pub usage: Value,
    /// The request is, byte for byte, the one that was sent.
    pub exact: bool,
    /// The request, as the provider gets it.
    #[schema(value_type = Object)]
    pub request: Value,
    /// The pieces of the request, in the order in which models read it, tools first, as providers
    /// cache them.
    pub sections: Vec<ViewSection>,
}

/// A piece of a request.
#[derive(Debug, ToSchema)]
pub struct ViewSection {
    /// `tools`, `system`, `summary`, `event`, `corrections`, `task`, `prompt` (the voice's own),
    /// `own` (the voice's acts in this turn) or `self` (the thread's task and mood).
    #[schema(example = "event")]
    pub kind: String,
    /// The event it is made of; null: it is none.
    #[schema(value_type = Option<i64>)]
    pub seq: Option<Seq>,
    /// Its size.
    pub bytes: u64,
    /// Its share of `usage.input_tokens`, by size; where the provider counted none, a quarter of its bytes.
    pub tokens_estimated: u64,
}

/// Returns the view of a model call.
#[utoipa::path(get, path = "/prompt-views/{event_id}", operation_id = "get_prompt_view", tag = "log",
    params(("event_id" = Uuid, Path, description = "the id of a model call's record, or of anything the call produced")),
    responses((status = 200, body = View)))]
pub async fn prompt_view(
    session: Needs<Read>,
    Path(event_id): Path<Uuid>,
    _: NoParams,
) -> Answer<Value> {
    Ok(axum::Json(session.prompt_view(event_id).await?))
}
