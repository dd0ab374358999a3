//! Messages for the turn that runs: a client says so by `metadata`, and the turn is that of the
//! message before, as the client has it.

use super::marks::marks;
use super::place::Asked;
use super::request::Chat;
use super::turns::{Until, turn_about};
use crate::problem::{Problem, Slug};
use thinkd_event::fact::input::Mark;
use thinkd_log::query::Query;
use thinkd_session::handle::Session;
use thinkd_thread::settings::Policy;
use thinkd_words::id::ThreadId;

/// The member of `metadata` with the effect of a message on a running turn.
const MEMBER: &str = "thinkd_policy";
/// Most pieces before the new ones that are taken for the message before.
const PIECES: usize = 16;
/// Inputs that are looked at.
const SAME: u32 = 64;

/// Returns the effect that the client wants its message to have on a running turn; none: that of
/// the thread.
pub fn policy(chat: &Chat) -> Result<Option<Policy>, Problem> {
    let members = chat.request.metadata.as_ref();
    let Some(word) = members.and_then(|members| members.get(MEMBER)) else {
        return Ok(None);
    };
    let policy = word.as_str().and_then(Policy::parse);
    policy.map(Some).ok_or_else(|| {
        let detail = format!("{MEMBER} is enqueue, steer, interrupt or reject");
        Problem::at(Slug::InvalidFrame, format!("/metadata/{MEMBER}"), detail)
    })
}

/// Returns the thread with the running turn that the new message is to join, and the pieces of the
/// message that this turn has already: a client without an answer sends both messages as one.
pub async fn joins(
    session: &Session,
    (chat, asked): (&Chat, &Asked),
    all: &[Mark],
) -> Result<Option<(ThreadId, usize)>, Problem> {
    if asked.policy != Some(Policy::Steer) {
        return Ok(None);
    }
    let before = chat.before.len().checked_sub(1);
    let mut known = Vec::from_iter(before.map(|last| (all[last].tag(), 0)));
    for pieces in 1..chat.said.len().min(PIECES) {
        let mark = marks(&asked.scope, &chat.before, &chat.said[..pieces]).pop();
        known.extend(mark.map(|mark| (mark.tag(), pieces)));
    }
    if known.is_empty() {
        return Ok(None);
    }
    let query = Query {
        tags: known.iter().map(|(tag, _)| tag.clone()).collect(),
        limit: SAME,
        ..Query::default()
    };
    let mut running = Vec::new();
    let found = session.events(&query).await?;
    for event in found.iter().filter(|event| event.wakes()) {
        let turn = turn_about(session, event, Until::Turn).await?;
        // A turn is stored with its first result: until then the log has none.
        if turn.is_none_or(|turn| turn.outcome.is_none()) {
            let has = |(tag, _): &&(String, usize)| event.meta.tags.contains(tag);
            let pieces = known.iter().find(has).map_or(0, |(_, pieces)| *pieces);
            running.push((event.thread.clone(), pieces));
        }
    }
    // Of several people with the same conversation nobody joins another one's turn.
    Ok(match running.len() {
        1 => running.pop(),
        _ => None,
    })
}
