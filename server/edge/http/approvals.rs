//! `/approvals`: tool calls that wait for a person, and the person's verdicts.

use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::needs::{Judge, Needs, Read};
use super::params::{NoParams, Params};
use super::path::Path;
use super::{Answer, Only, Page, bounds, requests};
use crate::json::Body;
use crate::problem::{Problem, Slug, Wrongs};
use thinkd_event::condition::RequestState;
use thinkd_event::envelope::Payload;
use thinkd_event::request::Said;
use thinkd_words::id::Seq;

resource! {
    /// See the module.
    RESOURCE tagged "approvals": "Tool calls that wait for a person";
    "/approvals" => get(list);
    "/approvals/{id}" => get(one) post(decide);
    bounds: |document| {
        let words = |name| (name, bounds::text(bounds::WORDS));
        bounds::of_body(document, "Verdict", [words("reason"), words("text")]);
    };
}

/// A tool call that waits for a person.
// It describes what `requests` writes; nothing makes one.
#[derive(Debug, Serialize, ToSchema)]
pub struct Approval {
    /// Its id: that of the event that asked for it.
    #[schema(format = "uuid")]
    pub approval_id: String,
    /// The thread that made the call.
    #[schema(example = "main")]
    pub thread: String,
    /// The position of the event that asked for it.
    #[schema(value_type = i64)]
    pub seq: Seq,
    /// The call, the tool, its arguments, the diff of the change that it would make, and until when
    /// it waits, as the event says it.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub asked: Payload,
}

/// The verdict of a person on a call that waits.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// The verdict.
    pub verdict: Word,
    /// With `edit`: the arguments that the call runs with instead of those that were proposed, all
    /// of them.
    #[schema(value_type = Option<Object>)]
    pub arguments: Option<Payload>,
    /// With `respond`: the result of the call.
    pub text: Option<String>,
    /// Why.
    pub reason: Option<String>,
}

/// The word of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum Word {
    /// The call runs as proposed.
    Approve,
    /// The same; with `arguments` the same as `edit`.
    Grant,
    /// The call runs with other arguments.
    Edit,
    /// The call does not run.
    Reject,
    /// The same.
    Deny,
    /// The call does not run; `text` is its result.
    Respond,
}

impl Body for Verdict {
    fn check(&self, wrongs: &mut Wrongs) {
        let needs_arguments = self.verdict == Word::Edit;
        if needs_arguments && self.arguments.is_none() {
            let detail = "edit takes the arguments that the call is to run with";
            wrongs.add(Slug::InvalidFrame, "/arguments", detail);
        }
        if !needs_arguments && self.verdict != Word::Grant && self.arguments.is_some() {
            let detail = "only edit takes arguments";
            wrongs.add(Slug::InvalidFrame, "/arguments", detail);
        }
        if self.verdict == Word::Respond {
            let text = self.text.as_deref().unwrap_or_default();
            let detail = "respond takes the text that is the result of the call";
            wrongs.unsaid("/text", text, detail);
        } else if self.text.is_some() {
            let detail = "only respond takes a text; say why in reason";
            wrongs.add(Slug::InvalidFrame, "/text", detail);
        }
    }
}

impl Verdict {
    fn said(&mut self) -> Said {
        match self.verdict {
            Word::Approve | Word::Grant | Word::Edit => {
                Said::Approve(self.arguments.take().map(Value::Object))
            }
            Word::Reject | Word::Deny => Said::Reject,
            Word::Respond => Said::Respond(self.text.take().unwrap_or_default()),
        }
    }
}

/// The outcome of a call that waited.
#[derive(Debug, Serialize, ToSchema)]
pub struct Decided {
    /// The approval.
    #[schema(format = "uuid")]
    pub approval_id: String,
    /// `granted`, `answered` or `denied`.
    #[schema(example = "granted")]
    pub status: String,
}

/// Tool calls that wait for a person, the oldest first.
#[utoipa::path(get, path = "/approvals", operation_id = "list_approvals", tag = "approvals",
    params(("thread" = Option<String>, Query, description = "only this thread's"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "50 when absent"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before"),),
    responses((status = 200, body = Page<Approval>)))]
pub async fn list(session: Needs<Read>, params: Params) -> Result<Response, Problem> {
    requests::page(&session, RequestState::Approval, params).await
}

/// One tool call that waits for a person. Calls that are settled are in the log.
#[utoipa::path(get, path = "/approvals/{id}", operation_id = "get_approval", tag = "approvals",
    params(("id" = String, Path, description = "its id")), responses((status = 200, body = Approval)))]
pub async fn one(
    session: Needs<Read>,
    Path(id): Path<Uuid>,
    _: NoParams,
) -> Result<Response, Problem> {
    requests::one(&session, RequestState::Approval, id).await
}

/// Says whether a call may run. The first verdict is the only one. Of a call that may run, the result follows in its thread.
#[utoipa::path(post, path = "/approvals/{id}", operation_id = "decide_approval", tag = "approvals",
    params(("id" = String, Path, description = "its id")), request_body = Verdict, responses((status = 200, body = Decided)))]
pub async fn decide(
    session: Needs<Judge>,
    Path(id): Path<Uuid>,
    Only(mut verdict): Only<Verdict>,
) -> Answer<Decided> {
    let said = verdict.said();
    let id = id.to_string();
    let status = session
        .decide(&id, said, verdict.reason.as_deref().unwrap_or_default())
        .await?;
    Ok(axum::Json(Decided {
        approval_id: id,
        status: status.to_owned(),
    }))
}
