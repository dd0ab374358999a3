//! From a client's words to the runtime's: ids are checked, media stored, inputs submitted.
//! Frames and request bodies take the same way.

use super::ack::Ack;
use super::auth::Principal;
use super::context::Edge;
use super::frame::{Said, Trigger};
use super::problem::{Problem, Wrongs};
use super::{ids, media};
use crate::event::draft::{InputKind, Part};
use crate::event::envelope::Modality;
use crate::runtime::handle::Runtime;
use crate::runtime::input::{Input, InputContent};
use crate::words::id::{Key, Name, ThreadId};

/// Stores something said or perceived.
pub async fn said(
    edge: &Edge,
    who: &Principal,
    id: Option<String>,
    kind: InputKind,
    said: Said,
) -> Result<Ack, Problem> {
    let runtime = &edge.runtime;
    let thread = ids::thread(said.thread.as_deref())?;
    let event_id = ids::key(said.event_id.as_deref())?;
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
    let thread = ids::thread(trigger.thread.as_deref())?;
    let event_id = ids::key(trigger.event_id.as_deref())?;
    let name = Name::parse(&trigger.event).map_err(ids::at("/event"))?;
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
