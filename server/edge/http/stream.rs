//! `/events/stream`: the log live, as server-sent events.

use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, HeaderName, header};
use axum::response::{IntoResponse, Response};
use tokio::time::timeout;
use uuid::Uuid;

use super::LAST_EVENT_ID;
use super::needs::{Needs, Read};
use super::params::Params;
use crate::context::Edge;
use crate::limits::ms;
use crate::problem::{Problem, Slug};
use crate::stay::Notice;
use crate::{ids, query};
use thinkd_event::envelope::{Event, Modality, Source};
use thinkd_log::query::Query;
use thinkd_session::follow::{Follow, FollowedEvent, Seen};
use thinkd_words::id::{INTEGER_MAX, Seq};
use thinkd_words::time::Timestamp;

resource! {
    /// See the module.
    RESOURCE;
    "/events/stream" => get(stream);
    schemas(Sent);
}

/// Tells nginx, and proxies that took the header from it, to pass on each event as it comes.
const UNBUFFERED: HeaderName = HeaderName::from_static("x-accel-buffering");

/// A server-sent event of the stream, field by field.
// It describes what `lines` writes; nothing makes one.
#[derive(Debug, utoipa::ToSchema)]
pub struct Sent {
    /// `<seq>@<epoch>`: where the stream is taken up again, by `Last-Event-ID`.
    #[schema(example = "42@0193b6c2-7c2e-7aaa-8000-0123456789ab")]
    pub id: String,
    /// The event, as JSON in one line.
    #[schema(content_media_type = "application/json")]
    pub data: Event,
}

/// Live events.
#[utoipa::path(get, path = "/events/stream", operation_id = "stream_events", tag = "log",
    params(
        ("thread" = Option<String>, Query, description = "only this thread"),
        ("subtree" = Option<bool>, Query, description = "with `thread`: and all below it"),
        ("tags" = Option<Vec<String>>, Query, explode = true, description = "any of these tags, without regard to case; `debug` events only when asked for here"),
        ("all_tags" = Option<bool>, Query, description = "with `tags`: all of them"),
        ("debug" = Option<bool>, Query, description = "`debug` events, too, beside the others"),
        ("source" = Option<Source>, Query, description = "only from this source"),
        ("modality" = Option<Modality>, Query, description = "only of this modality"),
        ("after" = Option<i64>, Query, minimum = 0, description = "a greater `seq`"),
        ("q" = Option<String>, Query, max_length = 1024, description = "full text: all these words"),
        ("epoch" = Option<Uuid>, Query, description = "the incarnation of the log that `after` belongs to; another one is `epoch-changed`"),
        ("Last-Event-ID" = Option<String>, Header, description = "the `id:` of the last event seen; of another epoch it is `epoch-changed`. A seq alone is taken without that check"),
    ),
    responses((status = 200, content_type = "text/event-stream", body = [Sent],
        description = "one after the other, for as long as the connection lives; a comment every 15 s. Where a token let the client in, \
                       the stream ends when the token does; before that comes `event: expiring` with \
                       `data: {\"type\":\"expiring\",\"at\":\"<when it ends>\"}`, without an `id:`")))]
pub async fn stream(
    State(edge): State<Arc<Edge>>,
    session: Needs<Read>,
    headers: HeaderMap,
    mut params: Params,
) -> Result<Response, Problem> {
    let filter = super::events::filter(&mut params, &edge.limits)?;
    let epoch = params.epoch()?;
    params.end()?;
    edge.stays()?;
    let (last, last_epoch) = resumed(&headers)?.unzip();
    let after = last.or(filter.after);
    let limits = &edge.stream_limits;
    let permit = limits.take(session.principal());
    let permit = permit.map_err(|full| limits.refusal(full))?;
    let filter = Query {
        after: None,
        ..filter
    };
    let (follow, head) = session.follow(filter, after).await?;
    for given in [epoch, last_epoch.flatten()] {
        query::check_epoch(given, head.epoch)?;
    }
    if let Some(after) = after {
        super::events::not_ahead(after, head.seq)?;
    }
    let start = (edge.stay(&session), edge, follow, permit);
    let chunks = futures_util::stream::unfold(
        start,
        move |(mut stay, edge, mut follow, permit)| async move {
            let chunk = tokio::select! {
                // Who has to go hears nothing more, however much there is.
                biased;
                () = edge.drain.cancelled() => return None,
                notice = stay.next() => match notice {
                    Notice::Expiring(at) => expiring(at),
                    Notice::Expired | Notice::Revoked => return None,
                },
                chunk = chunk(&mut follow, head.epoch, edge.limits.sse_comment_ms) => chunk?,
            };
            Some((Ok::<_, Infallible>(chunk), (stay, edge, follow, permit)))
        },
    );
    let headers = [
        (header::CONTENT_TYPE, "text/event-stream"),
        // A proxy that packs what passes through it holds it back until there is enough.
        (header::CACHE_CONTROL, "no-store, no-transform"),
        (UNBUFFERED, "no"),
    ];
    Ok((headers, Body::from_stream(chunks)).into_response())
}

fn resumed(headers: &HeaderMap) -> Result<Option<(Seq, Option<Uuid>)>, Problem> {
    let Some(value) = headers.get(LAST_EVENT_ID) else {
        return Ok(None);
    };
    let text = value.to_str().unwrap_or_default().trim();
    let detail = "Last-Event-ID is the id of the last event seen, <seq>@<epoch>, or a seq alone";
    let wrong = || Problem::new(Slug::InvalidCursor, detail);
    last_event(text).map(Some).ok_or_else(wrong)
}

/// `<seq>@<epoch>`, or a seq alone.
fn last_event(text: &str) -> Option<(Seq, Option<Uuid>)> {
    let (seq, epoch) = match text.split_once('@') {
        Some((seq, epoch)) => (seq, Some(ids::uuid(epoch, "").ok()?)),
        None => (text, None),
    };
    let seq = seq.parse().ok();
    let seq = seq.filter(|seq| (0..=INTEGER_MAX).contains(seq))?;
    Some((seq, epoch))
}

/// Returns the next bytes to send: events, or after a while of nothing a comment. None: the log
/// cannot be read.
async fn chunk(follow: &mut Follow, epoch: Uuid, comment_ms: u64) -> Option<Bytes> {
    let events = async {
        loop {
            match follow.next().await {
                Ok(Seen::Events { events, .. }) => return Some(events),
                Ok(Seen::CaughtUp | Seen::Hint(_)) => {}
                Err(error) => {
                    tracing::error!(%error, "a stream ends because the log cannot be read");
                    return None;
                }
            }
        }
    };
    match timeout(ms(comment_ms), events).await {
        Ok(events) => Some(lines(&events?, epoch).into()),
        Err(_) => Some(Bytes::from_static(b": still here\n\n")),
    }
}

/// Returns the event `expiring`, which is none of the log's: it has no `id`, and browsers hand it
/// only to pages that ask for it.
fn expiring(at: Timestamp) -> Bytes {
    format!("event: expiring\ndata: {{\"type\":\"expiring\",\"at\":\"{at}\"}}\n\n").into()
}

/// Bytes of an event's lines beside its JSON.
const LINES: usize = 96;

fn lines(events: &[FollowedEvent], epoch: Uuid) -> String {
    let bytes = events.iter().map(|told| told.json().len() + LINES).sum();
    let mut text = String::with_capacity(bytes);
    for told in events {
        let seq = told.seq();
        let json = told.json();
        // JSON has no raw line breaks: one data line is enough. A string takes whatever is written.
        let _ = write!(text, "id: {seq}@{epoch}\ndata: {json}\n\n");
    }
    text
}
