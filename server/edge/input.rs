//! Inputs of clients: ids are checked, media stored, inputs submitted.
//! Frames and request bodies take the same way.

use super::ack::Ack;
use super::frame::{Said, Trigger};
use super::limits::Limits;
use super::problem::{Problem, Wrongs};
use super::{ids, media};
use thinkd_event::draft::{InputKind, Part};
use thinkd_event::envelope::Modality;
use thinkd_runtime::turns::input::InputContent;
use thinkd_session::handle::Session;
use thinkd_words::id::{Key, Name, ThreadId};

/// Stores something said or perceived.
pub async fn submit_said(
    session: &Session,
    limits: &Limits,
    id: Option<String>,
    kind: InputKind,
    said: Said,
) -> Result<Ack, Problem> {
    let thread = ids::thread(said.thread.as_deref())?;
    let event_id = ids::key(said.event_id.as_deref())?;
    let words = said.text.filter(|text| !text.trim().is_empty());
    let mut parts: Vec<Part> = words.into_iter().map(Part::Text).collect();
    let mut wrongs = Wrongs::default();
    for (is, name, items) in [
        (Modality::Image, "images", said.images),
        (Modality::Audio, "audio", said.audio),
    ] {
        for (index, item) in items.into_iter().enumerate() {
            let at = format!("/{name}/{index}");
            match media::part(session, item, is, &at, limits.image_pixels).await {
                Ok(part) => parts.push(part),
                Err(problem) if problem.errors.is_empty() => return Err(problem),
                Err(problem) => wrongs.absorb(problem),
            }
        }
    }
    if let Some(problem) = wrongs.take() {
        return Err(problem);
    }
    let content = InputContent::Parts(kind, parts);
    submit(session, id, thread, event_id, content).await
}

/// Stores a trigger.
pub async fn submit_trigger(
    session: &Session,
    id: Option<String>,
    trigger: Trigger,
) -> Result<Ack, Problem> {
    let thread = ids::thread(trigger.thread.as_deref())?;
    let event_id = ids::key(trigger.event_id.as_deref())?;
    let name = Name::parse(&trigger.event).map_err(ids::at("/event"))?;
    let content = InputContent::Trigger(name, trigger.payload);
    submit(session, id, thread, event_id, content).await
}

async fn submit(
    session: &Session,
    id: Option<String>,
    thread: ThreadId,
    event_id: Option<Key>,
    content: InputContent,
) -> Result<Ack, Problem> {
    let (received, placed) = session.submit(thread, event_id, content).await?;
    Ok(Ack::stored(id, received, &placed))
}
