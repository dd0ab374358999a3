//! The thread and the ids that a request names: by the model, by headers and by its members.

use axum::http::{HeaderMap, HeaderName};
use uuid::Uuid;

use super::kept::Kept;
use super::marks::{self, Scope};
use super::request::Chat;
use super::steering;
use crate::auth::Shown;
use crate::context::Edge;
use crate::problem::{Problem, Slug};
use thinkd_session::handle::Session;
use thinkd_thread::settings::Policy;
use thinkd_words::id::{Seq, ThreadId};
use thinkd_words::principal::Credential;

/// The model of conversations of their own; before a `/`, of a thread.
pub const MODEL: &str = "thinkd";
/// The number of tries of OpenAI's own clients before this one.
const RETRIES: HeaderName = HeaderName::from_static("x-stainless-retry-count");
/// Bytes of an id that a client gives.
pub const ID_MAX: usize = 512;
/// Members of `metadata` that name a conversation.
const CHAT_MEMBERS: [&str; 3] = ["chat_id", "conversation_id", "thread_id"];

/// The client's ids, and its word that it asks again.
#[derive(Debug)]
pub struct Asked {
    /// The clients that can find the conversation.
    pub scope: Scope,
    /// The id that the message is to have.
    pub event_id: Option<Uuid>,
    /// True: an earlier request like this got no answer.
    pub is_retry: bool,
    /// The thread that the model's name names.
    pub thread: Option<ThreadId>,
    /// Its effect on a running turn; none: that of the thread.
    pub policy: Option<Policy>,
    /// The response behind which the client says the message, if it names one.
    pub previous: Option<Previous>,
    /// The members of the request that are stored with the message.
    pub request: Option<Kept>,
}

/// The turn that a client goes on behind.
#[derive(Debug, Clone)]
pub struct Previous {
    /// The thread.
    pub thread: ThreadId,
    /// The message that the turn is about.
    pub input: Uuid,
    /// Its position.
    pub seq: Seq,
    /// The end of the turn; none: it runs, and the message joins it, or waits behind it.
    pub end: Option<Seq>,
    /// The calls that the client is to run, by the client's ids.
    pub calls: Vec<String>,
    /// True if the thread has not gone on.
    pub is_last: bool,
}

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
