//! The thread and the ids that a request names: by the model, by headers and by its members.

use axum::http::{HeaderMap, HeaderName};
use uuid::Uuid;

use super::marks::{self, Scope};
use super::place::{Asked, Previous};
use super::request::Chat;
use super::steering;
use crate::auth::Shown;
use crate::context::Edge;
use crate::problem::{Problem, Slug};
use thinkd_session::handle::Session;
use thinkd_words::id::ThreadId;
use thinkd_words::principal::Credential;

/// The model of conversations of their own; before a `/`, of a thread.
pub const MODEL: &str = "thinkd";
/// The number of tries of OpenAI's own clients before this one.
const RETRIES: HeaderName = HeaderName::from_static("x-stainless-retry-count");
/// Bytes of an id that a client gives.
pub const ID_MAX: usize = 512;
/// Members of `metadata` that name a conversation.
const CHAT_MEMBERS: [&str; 3] = ["chat_id", "conversation_id", "thread_id"];

/// Returns the thread that a model's name names; `None`: a conversation of its own.
pub fn thread_of(model: &str) -> Result<Option<ThreadId>, Problem> {
    let unknown = || {
        let name: String = model.chars().take(80).collect();
        let detail = format!(
            "there is no model {name:?}: {MODEL} is a conversation of its own, {MODEL}/<thread> is a thread"
        );
        Problem::at(Slug::NotFound, "/model", detail)
    };
    match model.strip_prefix(MODEL).ok_or_else(unknown)? {
        "" => Ok(None),
        rest => {
            let thread = rest.strip_prefix('/').ok_or_else(unknown)?;
            ThreadId::parse(thread).map(Some).map_err(|_| unknown())
        }
    }
}

/// Returns the ids by which the conversation and the message are found again.
/// Behind a response that the client names, that one is the conversation.
pub fn asked(
    session: &Session,
    edge: &Edge,
    headers: &HeaderMap,
    (chat, thread, previous): (&Chat, Option<ThreadId>, Option<Previous>),
) -> Result<Asked, Problem> {
    let holder = match (session.principal().credential, Shown::in_headers(headers)) {
        (Credential::Key(_), Shown::Secret(key) | Shown::Named(_, key)) => marks::of_secret(key),
        _ => format!("user {}", session.user().unwrap_or_default()),
    };
    let members = chat.request.metadata.iter();
    let named = members.flat_map(|it| CHAT_MEMBERS.iter().filter_map(|key| it.get(*key)?.as_str()));
    let chat_id = header_of(headers, &edge.doors.chat_id_headers);
    let chat_id = chat_id
        .or_else(|| named.map(str::to_owned).next())
        .or_else(|| chat.request.prompt_cache_key.clone())
        .filter(|id| id.len() <= ID_MAX);
    let message_id = header_of(headers, &edge.doors.message_id_headers);
    let behind = previous.as_ref().map(|it| format!("behind {}", it.input));
    let thread = thread.filter(|_| behind.is_none());
    let scope = Scope {
        holder,
        user: chat.request.user.clone(),
        chat: behind.or(chat_id),
        thread: thread.as_ref().map(ThreadId::to_string),
    };
    let event_id = message_id.map(|id| {
        let space = session.space();
        let name = format!("{space} {scope:?} {id}");
        Uuid::new_v5(&Uuid::NAMESPACE_URL, name.as_bytes())
    });
    let retries = headers.get(RETRIES).and_then(|it| it.to_str().ok());
    Ok(Asked {
        scope,
        event_id,
        is_retry: retries.is_some_and(|count| count.trim() != "0"),
        thread,
        policy: steering::policy(chat)?,
        previous,
        request: None,
    })
}

/// Returns the value of the first of these headers that is there.
pub fn header_of(headers: &HeaderMap, names: &[String]) -> Option<String> {
    let mut values = names.iter().filter_map(|name| headers.get(name.as_str()));
    let value = values.find_map(|value| value.to_str().ok())?.trim();
    (!value.is_empty() && value.len() <= ID_MAX).then(|| value.to_owned())
}
