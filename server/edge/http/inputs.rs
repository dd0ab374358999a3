//! `/threads/{thread}/inputs`: taking back an input that waits, or one with its turn.

use axum::Router;
use axum::http::StatusCode;
use axum::routing::delete;
use utoipa::OpenApi;
use uuid::Uuid;

use super::Resource;
use super::needs::{Needs, Speak};
use super::params::NoParams;
use super::path::Path;
use crate::edge::problem::Problem;
use crate::words::id::ThreadId;

#[derive(OpenApi)]
#[openapi(paths(withdraw))]
struct Document;

/// See the module.
pub const RESOURCE: Resource = Resource {
    routes: || Router::new().route("/threads/{thread}/inputs/{event_id}", delete(withdraw)),
    document: Document::openapi,
    bounds: |_| {},
};

/// Takes back an input. Of one that waits for its turn and a turn that begins, one is first: a turn that has the input keeps it, and this
/// is refused (`input-taken`); an input that was taken back is in no turn, and models are not shown it any more. Members take back what was
/// said in their own name, operators what anybody said. An input whose turn is over is taken back with it, until a later turn of the thread begins:
/// models are shown neither any more, and the log keeps both. A turn that ran a tool with an effect outside, proposed a call to people, sent messages
/// to other threads or made one stays (`input-taken`).
#[utoipa::path(delete, path = "/threads/{thread}/inputs/{event_id}", operation_id = "withdraw_input", tag = "chat",
    params(("thread" = String, Path, description = "its id"),
        ("event_id" = uuid::Uuid, Path, description = "the input's; of one with several parts, that of the last")),
    responses((status = 204, description = "it is taken back, now or before")))]
pub async fn withdraw(
    session: Needs<Speak>,
    Path((thread, event_id)): Path<(ThreadId, Uuid)>,
    _: NoParams,
) -> Result<StatusCode, Problem> {
    session.withdraw(&thread, event_id).await?;
    Ok(StatusCode::NO_CONTENT)
}
