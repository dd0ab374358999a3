//! `PATCH /threads/{thread}`: a person gives a thread a title, or puts it aside.
//! `/threads/{thread}/title`: a model makes the title.

use std::sync::Arc;

use axum::extract::State;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use super::needs::{Needs, Speak};
use super::params::NoParams;
use super::path::Path;
use super::thread::{Thread, with_details};
use super::{Answer, Only};
use crate::context::Edge;
use crate::json::Body;
use crate::problem::{Problem, Slug, Wrongs};
use thinkd_words::id::ThreadId;

/// Most characters of a title.
pub const TITLE_MAX: usize = 200;

/// Changes of a thread; a member that is absent stays as it is.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ChangeThread {
    /// A line for people, 1 to 200 characters; null: the thread has none.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>, example = "Two clocks")]
    pub title: Option<Option<String>>,
    /// True: the thread is put aside. A message takes it up again. A subthread is put aside by
    /// its parent alone.
    pub archived: Option<bool>,
}

fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Option<String>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

impl Body for ChangeThread {
    fn check(&self, wrongs: &mut Wrongs) {
        let Some(Some(title)) = &self.title else {
            return;
        };
        if title.trim().is_empty() {
            let detail = "a title has words; null removes it";
            wrongs.add(Slug::InvalidFrame, "/title", detail);
        } else if title.chars().any(char::is_control) {
            let detail = "a title is one line, without control characters";
            wrongs.add(Slug::InvalidFrame, "/title", detail);
        } else if title.chars().count() > TITLE_MAX {
            let detail = format!("a title has at most {TITLE_MAX} characters");
            wrongs.add(Slug::TextTooLarge, "/title", detail);
        }
    }
}

/// Changes the title of a thread, and puts it aside or takes it up again. Both are for lists that
/// people read: the thread goes on as before.
#[utoipa::path(patch, path = "/threads/{thread}", operation_id = "change_thread", tag = "threads",
    params(("thread" = String, Path, description = "its id")), request_body = ChangeThread,
    responses((status = 200, body = Thread)))]
pub async fn change(
    session: Needs<Speak>,
    Path(thread): Path<ThreadId>,
    Only(body): Only<ChangeThread>,
) -> Answer<Thread> {
    let row = session
        .change_thread(&thread, body.title, body.archived)
        .await?;
    Ok(axum::Json(with_details(&session, row).await?))
}

/// A title that a model made.
#[derive(Debug, Serialize, ToSchema)]
pub struct SuggestedTitle {
    /// The title, which the thread has now.
    #[schema(example = "Two clocks")]
    pub title: String,
}

/// Gives a thread a title that the ordinary model makes of its first messages. One call, which
/// counts in `/usage` (`purpose` is `title`); the log has its cost, and not its words.
#[utoipa::path(post, path = "/threads/{thread}/title", operation_id = "suggest_title", tag = "threads",
    params(("thread" = String, Path, description = "its id")),
    responses((status = 200, body = SuggestedTitle)))]
pub async fn suggest_title(
    session: Needs<Speak>,
    State(edge): State<Arc<Edge>>,
    Path(thread): Path<ThreadId>,
    _: NoParams,
) -> Answer<SuggestedTitle> {
    let stop = edge.drain.child_token();
    let _hung_up = stop.clone().drop_guard();
    let session = (*session).clone();
    // A client that hangs up stops the call, and its cost is recorded nonetheless.
    let asked = edge
        .tasks
        .spawn(async move { session.suggest_title(&thread, &stop).await });
    let title = asked.await.map_err(|error| {
        tracing::error!(%error, "a title was not made");
        Problem::new(
            Slug::Internal,
            "this is a defect of the server; its log says more",
        )
    })??;
    Ok(axum::Json(SuggestedTitle { title }))
}
