//! Ids in a client's words, checked: threads, events, idempotency keys.

use uuid::Uuid;

use super::problem::{Problem, Slug, Wrongs};
use thinkd_words::id::{InvalidId, Key, ThreadId};

/// The thread of a frame; `main` when none is named.
pub fn thread(text: Option<&str>) -> Result<ThreadId, Problem> {
    text.map_or_else(
        || Ok(ThreadId::default()),
        |text| ThreadId::parse(text).map_err(at("/thread")),
    )
}

/// An invalid id, at a place.
pub fn at(pointer: &'static str) -> impl Fn(InvalidId) -> Problem {
    move |error| Problem::at(Slug::InvalidId, pointer, error.to_string())
}

/// A UUID in its usual form.
pub fn uuid(text: &str, pointer: &str) -> Result<Uuid, Problem> {
    let usual = text.len() == 36;
    let detail = "this is not a UUID like 0193b6c2-7c2e-7aaa-8000-0123456789ab";
    let wrong = || Problem::at(Slug::InvalidId, pointer, detail);
    let uuid = Uuid::try_parse(text).ok().filter(|_| usual);
    uuid.ok_or_else(wrong)
}

/// The definition of a cursor.
pub const CURSOR: &str = "after is a seq: a whole number from 0 to 9007199254740991";

/// Checks the thread and the event id of a frame.
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
    let Some(id) = text.map(|text| uuid(text, "/event_id")).transpose()? else {
        return Ok(None);
    };
    let detail = || format!("only the server makes ids like {id}; draw a UUID of version 4 or 7");
    let taken = || Problem::at(Slug::EventConflict, "/event_id", detail());
    Key::new(id).map(Some).ok_or_else(taken)
}
