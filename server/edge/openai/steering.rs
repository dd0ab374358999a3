//! Messages for the turn that runs: a client says so by `metadata`, and the turn is that of the
//! message before, as the client has it.

use super::marks::{Scope, marks};
use super::request::Chat;
use super::turns::{Until, turn_about};
use crate::problem::{Problem, Slug};
use thinkd_event::envelope::Event;
use thinkd_event::fact::input::Mark;
use thinkd_session::handle::Session;
use thinkd_thread::settings::Policy;
use thinkd_words::id::ThreadId;

/// The member of `metadata` with the effect of a message on a running turn.
const MEMBER: &str = "thinkd_policy";
/// Most pieces before the new ones that are taken for the message before.
const PIECES: usize = 16;

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

/// Returns the marks of the messages with which the new one may come again, the longest first, each
/// with its number of pieces: a client without an answer sends all that it said since as one.
pub fn repeated(chat: &Chat, scope: &Scope) -> Vec<(Mark, usize)> {
    let lengths = (1..chat.said.len().min(PIECES)).rev();
    let marked = lengths.filter_map(|pieces| {
        let mark = marks(scope, &chat.before, &chat.said[..pieces]).pop()?;
        Some((mark, pieces))
    });
    marked.collect()
}

/// Returns the thread with the running turn that the new message meets, and the pieces of the
/// message that this turn has already. `found`: inputs with one of these marks, or with that of the
/// exchange before.
pub async fn joins(
    session: &Session,
    found: &[Event],
    repeated: &[(Mark, usize)],
) -> Result<Option<(ThreadId, usize)>, Problem> {
    let mut running = Vec::new();
    for event in found {
        let turn = turn_about(session, event, Until::Turn).await?;
        // A turn is stored with its first result: until then the log has none.
        if turn.is_none_or(|turn| turn.outcome.is_none()) {
            let has = |(mark, _): &&(Mark, usize)| event.meta.tags.contains(&mark.tag());
            let pieces = repeated.iter().find(has).map_or(0, |(_, pieces)| *pieces);
            running.push((event.thread.clone(), pieces));
        }
    }
    // Of several people with the same conversation nobody joins another one's turn.
    Ok(match running.len() {
        1 => running.pop(),
        _ => None,
    })
}
