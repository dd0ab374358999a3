//! `/threads/{thread}/fork`: a new thread with the past of another, for messages that are changed
//! and answers that are asked for again.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use serde_json::{Value, json};

use super::needs::{Needs, Speak};
use super::path::Path;
use super::{Only, bounds, made};
use crate::ack::Forked;
use crate::context::Edge;
use crate::frame::ForkThread;
use crate::input;
use crate::problem::{Problem, Slug};
use thinkd_words::id::{INTEGER_MAX, ThreadId};

resource! {
    /// See the module.
    RESOURCE;
    "/threads/{thread}/fork" => post(fork);
    bounds: |document| {
        let at = json!({ "minimum": 0, "maximum": INTEGER_MAX });
        let members = [("at", at), ("thread", bounds::thread())];
        bounds::of_body(document, "ForkThread", members);
        draw_message(document);
    };
}

/// Forks a thread: a new one with its past up to the end of a turn, and with its settings and
/// contacts. The summaries, corrections, plan and mood that it had there come along, too. Nothing is
/// copied; both threads go on for themselves. Timers, watches, questions, approvals and subthreads
/// stay behind. To change a message, name it as `instead_of`, and send its new text as `message`;
/// to ask for another answer, send the same text again. All that waited for a turn by then counts
/// as handled.
#[utoipa::path(post, path = "/threads/{thread}/fork", operation_id = "fork_thread", tag = "threads",
    params(("thread" = String, Path, description = "its id")), request_body = ForkThread,
    responses((status = 201, body = Forked)))]
pub async fn fork(
    session: Needs<Speak>,
    State(edge): State<Arc<Edge>>,
    Path(thread): Path<ThreadId>,
    Only(body): Only<ForkThread>,
) -> Result<Response, Problem> {
    let of = Some(thread.to_string());
    if body.of.is_some() {
        let detail = "the address names the thread to fork";
        return Err(Problem::at(Slug::InvalidFrame, "/of", detail));
    }
    let wanted = ForkThread { of, ..body };
    let fork = input::fork(&session, &edge.limits, None, wanted).await?;
    let place = format!("/threads/{}", fork.thread);
    Ok(made(StatusCode::CREATED, place, fork))
}

/// The first message: as a posted one, but its thread is the fork.
fn draw_message(document: &mut Value) {
    let schemas = &mut document["components"]["schemas"];
    let mut message = schemas["Said"].clone();
    if let Some(properties) = message["properties"].as_object_mut() {
        properties.remove("thread");
    }
    let said = json!({ "description": "The first message of the fork; without it the fork waits for one.", "anyOf": [
        { "required": ["text"], "properties": { "text": { "type": "string", "pattern": bounds::WORDS } } },
        { "required": ["images"], "properties": { "images": { "type": "array", "minItems": 1 } } },
        { "required": ["audio"], "properties": { "audio": { "type": "array", "minItems": 1 } } },
    ] });
    bounds::put(&mut message, said);
    schemas["FirstMessage"] = message;
    // The address names the thread to fork.
    if let Some(members) = schemas["ForkThread"]["properties"].as_object_mut() {
        members.remove("of");
    }
    let reference = json!({ "$ref": "#/components/schemas/FirstMessage" });
    schemas["ForkThread"]["properties"]["message"] =
        json!({ "oneOf": [{ "type": "null" }, reference] });
}
