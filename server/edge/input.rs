//! From a client's words to the runtime's: ids are checked, media stored, inputs submitted.
//! Frames and request bodies take the same way.

use uuid::Uuid;

use super::auth::Principal;
use super::frame::{Said, Subscribe, Trigger};
use super::limits::Limits;
use super::media;
use super::problem::{Problem, Slug, Wrongs};
use super::server::Edge;
use super::websocket::outgoing::Ack;
use crate::event::draft::{InputKind, Part};
use crate::event::envelope::Modality;
use crate::log::query::Query;
use crate::runtime::handle::Runtime;
use crate::runtime::input::{Input, InputContent};
use crate::words::id::{InvalidId, Key, Name, ThreadId};

/// The thread of a frame; `main` when none is named.
pub fn thread(text: Option<&str>) -> Result<ThreadId, Problem> {
    text.map_or_else(|| Ok(ThreadId::default()), |text| ThreadId::parse(text).map_err(at("/thread")))
}

/// An invalid id, at a place.
pub fn at(pointer: &'static str) -> impl Fn(InvalidId) -> Problem {
    move |error| Problem::at(Slug::InvalidId, pointer, error.to_string())
}

/// A UUID in its usual form.
pub fn uuid(text: &str, pointer: &str) -> Result<Uuid, Problem> {
    let usual = text.len() == 36;
    Uuid::try_parse(text).ok().filter(|_| usual).ok_or_else(|| {
        Problem::at(Slug::InvalidId, pointer, "this is not a UUID like 0193b6c2-7c2e-7aaa-8000-0123456789ab")
    })
}

/// What a cursor is.
pub const CURSOR: &str = "after is a seq: a whole number from 0 to 9007199254740991";

/// Checks what a frame says about thread and event.
pub fn check_place(thread: Option<&str>, event_id: Option<&str>, wrongs: &mut Wrongs) {
    if let Some(text) = thread {
        wrongs.note("/thread", ThreadId::parse(text));
    }
    if let Some(Err(wrong)) = event_id.map(|text| uuid(text, "/event_id")) {
        wrongs.absorb(wrong);
    }
}

/// A client's idempotency key: the id of the event to come.
pub fn key(text: Option<&str>) -> Result<Option<Key>, Problem> {
    let Some(id) = text.map(|text| uuid(text, "/event_id")).transpose()? else { return Ok(None) };
    let taken = || {
        Problem::at(
            Slug::EventConflict,
            "/event_id",
            format!("only the server makes ids like {id}; draw a UUID of version 4 or 7"),
        )
    };
    Key::new(id).map(Some).ok_or_else(taken)
}

/// Stores something said or perceived.
pub async fn said(
    edge: &Edge,
    who: &Principal,
    id: Option<String>,
    kind: InputKind,
    said: Said,
) -> Result<Ack, Problem> {
    let runtime = &edge.runtime;
    let thread = thread(said.thread.as_deref())?;
    let event_id = key(said.event_id.as_deref())?;
    let words = said.text.filter(|text| !text.trim().is_empty());
    let mut parts: Vec<Part> = words.into_iter().map(Part::Text).collect();
    let mut wrongs = Wrongs::default();
    for (is, name, items) in [(Modality::Image, "images", said.images), (Modality::Audio, "audio", said.audio)] {
        for (index, item) in items.into_iter().enumerate() {
            let at = format!("/{name}/{index}");
            match media::part(&**runtime.store(), &who.space, item, is, &at, edge.limits.image_pixels).await {
                Ok(part) => parts.push(part),
                Err(problem) if problem.errors.is_empty() => return Err(problem),
                Err(problem) => wrongs.absorb(problem),
            }
        }
    }
    match wrongs.take() {
        Some(problem) => Err(problem),
        None => submit(runtime, who, id, thread, event_id, InputContent::Parts(kind, parts)).await,
    }
}

/// Stores a trigger.
pub async fn trigger(runtime: &Runtime, who: &Principal, id: Option<String>, trigger: Trigger) -> Result<Ack, Problem> {
    let thread = thread(trigger.thread.as_deref())?;
    let event_id = key(trigger.event_id.as_deref())?;
    let name = Name::parse(&trigger.event).map_err(at("/event"))?;
    submit(runtime, who, id, thread, event_id, InputContent::Trigger(name, trigger.payload)).await
}

async fn submit(
    runtime: &Runtime,
    who: &Principal,
    id: Option<String>,
    thread: ThreadId,
    event_id: Option<Key>,
    content: InputContent,
) -> Result<Ack, Problem> {
    let (space, user) = (who.space.clone(), who.user.clone());
    let (received, placed) = runtime.submit(Input { space, thread, user, event_id, content }).await?;
    Ok(Ack::stored(id, received, &placed))
}

/// What a subscription asks for: the filter, and the epoch its cursor belongs to.
pub fn subscription(frame: &Subscribe, limits: &Limits) -> Result<(Query, Option<Uuid>), Problem> {
    let thread = frame.thread.as_deref().map(ThreadId::parse).transpose().map_err(at("/thread"))?;
    let epoch = frame.epoch.as_deref().map(|text| uuid(text, "/epoch")).transpose()?;
    let query = Query { thread, subtree: frame.subtree, tags: frame.tags.clone(), ..Query::default() };
    let query = within_tags(query, limits).map_err(|detail| Problem::at(Slug::InvalidParameter, "/tags", detail))?;
    Ok((query, epoch))
}

/// A question with its tags as they are compared (blank ones and repetitions left out), if they are not too many.
pub fn within_tags(query: Query, limits: &Limits) -> Result<Query, String> {
    let (tags, most) = (query.tags(), limits.filter_tags);
    if tags.len() > most {
        metrics::counter!("thinkd_limit_total", "limit" => "filter_tags").increment(1);
        let count = tags.len();
        return Err(format!("a filter has at most {most} tags (limits.filter_tags); this one has {count}"));
    }
    Ok(Query { tags: tags.into_iter().collect(), ..query })
}

/// Refuses a position in another incarnation of the log: other events stand there.
pub fn check_epoch(given: Option<Uuid>, now: Uuid) -> Result<(), Problem> {
    match given {
        Some(given) if given != now => {
            let detail = format!("the log is {now} now, not {given}; read it anew (after 0)");
            Err(Problem::new(Slug::EpochChanged, detail))
        }
        _ => Ok(()),
    }
}
