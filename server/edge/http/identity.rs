//! `/self`: the identity of a thread, its purpose, its latest thoughts, and its mood.

use serde::Serialize;
use utoipa::ToSchema;

use super::Answer;
use super::needs::{Needs, Read};
use super::params::Params;
use thinkd_event::envelope::Event;
use thinkd_words::id::{Seq, Space, ThreadId};
use thinkd_words::time::Timestamp;

resource! {
    /// See the module.
    RESOURCE tagged "self": "Who a mind is, and in which mood";
    "/self" => get(read);
}

/// The identity of a thread. Its models are told the same: its identity and its mission first, its
/// task and its mood last.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = SelfView)]
pub struct Myself {
    /// The space of the mind that it is part of.
    #[schema(value_type = String, example = "default")]
    pub space: Space,
    /// The thread.
    #[schema(value_type = String, example = "main")]
    pub thread: ThreadId,
    /// The purpose of it all: the thread's own mission, or that of the space (the setting
    /// `mission`); null: none was said.
    pub mission: Option<String>,
    /// The purpose of the thread, in a line; null: none was said.
    pub task: Option<String>,
    /// Its mood, in a word.
    #[schema(example = "composed")]
    pub mood: String,
    /// Its latest thoughts, the newest first.
    pub thoughts: Vec<Thought>,
}

/// Something that a mind thought.
#[derive(Debug, Serialize, ToSchema)]
pub struct Thought {
    /// The event.
    #[schema(value_type = i64, example = 41)]
    pub seq: Seq,
    /// The words of the thought.
    pub text: String,
    /// When.
    #[schema(value_type = String, example = "2026-11-21T04:25:00.123456Z")]
    pub at: Timestamp,
}

impl From<Event> for Thought {
    fn from(event: Event) -> Self {
        Self {
            seq: event.seq,
            text: event.text().to_owned(),
            at: event.ts,
        }
    }
}

/// Returns the identity of a thread, its mission, its task, its mood, and its latest thoughts.
#[utoipa::path(get, path = "/self", operation_id = "get_self", tag = "self",
    params(("thread" = Option<String>, Query, description = "which thread; `main` when absent"),),
    responses((status = 200, body = Myself)))]
pub async fn read(session: Needs<Read>, mut query: Params) -> Answer<Myself> {
    let thread = query.thread()?.unwrap_or_default();
    query.end()?;
    let (identity, thoughts) = session.identity(&thread).await?;
    Ok(axum::Json(Myself {
        space: session.space().clone(),
        thread,
        mission: identity.mission,
        task: identity.task,
        mood: identity.mood,
        thoughts: thoughts.into_iter().map(Thought::from).collect(),
    }))
}
