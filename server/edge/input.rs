//! Inputs of clients: ids are checked, media stored, inputs submitted.
//! Frames and request bodies take the same way.

use super::ack::{Ack, Forked, Placement};
use super::frame::{ForkThread, Said, Trigger};
use super::limits::Limits;
use super::problem::{Problem, Wrongs};
use super::{ids, media};
use thinkd_event::draft::{InputKind, Part};
use thinkd_event::envelope::Modality;
use thinkd_event::request::FromClient;
use thinkd_runtime::fork::NewFork;
use thinkd_runtime::turns::input::InputContent;
use thinkd_session::handle::Session;
use thinkd_words::id::{Name, ThreadId};

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
    let policy = said.policy;
    let content = InputContent::Parts(kind, parts(session, limits, said).await?);
    let (received, placed) = session.submit(thread, event_id, content, policy).await?;
    Ok(Ack::stored(id, received, &placed))
}

/// Returns the parts of something said or perceived; its media are stored.
pub async fn parts(session: &Session, limits: &Limits, said: Said) -> Result<Vec<Part>, Problem> {
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
    match wrongs.take() {
        Some(problem) => Err(problem),
        None => Ok(parts),
    }
}

/// Forks a thread.
pub async fn fork(
    session: &Session,
    limits: &Limits,
    id: Option<String>,
    fork: ForkThread,
) -> Result<Forked, Problem> {
    let thread = ids::thread(fork.of.as_deref())?;
    let wanted = fork.thread.as_deref().map(ThreadId::parse).transpose();
    let replaced = fork.instead_of.as_deref();
    let replaced = replaced.map(|it| ids::uuid(it, "/instead_of"));
    let mut event_id = None;
    let mut message = None;
    if let Some(said) = fork.message {
        let within = |problem: Problem| problem.within("/message");
        event_id = ids::key(said.event_id.as_deref()).map_err(within)?;
        let parts = parts(session, limits, said).await.map_err(within)?;
        message = Some(InputContent::Parts(InputKind::Message, parts));
    }
    let wish = NewFork {
        thread,
        at: fork.at,
        instead_of: replaced.transpose()?,
        of_ended: false,
        id: wanted.map_err(ids::at("/thread"))?,
        message,
        event_id,
        user: None,
        client: FromClient::default(),
    };
    let made = session.fork(wish).await?;
    Ok(Forked {
        id,
        events: made.said.iter().map(Placement::of).collect(),
        thread: made.thread,
        from: made.from,
        at: made.at,
    })
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
    let (received, placed) = session.submit(thread, event_id, content, None).await?;
    Ok(Ack::stored(id, received, &placed))
}
