//! `/questions`: the mind's questions to people, and their answers.

use axum::http::StatusCode;
use axum::response::Response;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use super::needs::{Needs, Read, Speak};
use super::params::{NoParams, Params};
use super::path::Path;
use super::{Only, Page, bounds, requests};
use crate::json::Body;
use crate::problem::{Problem, Wrongs};
use thinkd_event::condition::RequestState;
use thinkd_event::envelope::Payload;
use thinkd_words::id::Seq;

resource! {
    /// See the module.
    RESOURCE tagged "questions": "What the mind asks people";
    "/questions" => get(list);
    "/questions/{id}" => get(one) post(answer);
    bounds: |document| {
        let text = ("text", bounds::text(bounds::WORDS));
        bounds::of_body(document, "QuestionAnswer", [text]);
    };
}

/// An open question.
// It describes what `requests` writes; nothing makes one.
#[derive(Debug, Serialize, ToSchema)]
pub struct Question {
    /// Its id: that of the event that asked it.
    #[schema(format = "uuid")]
    pub question_id: String,
    /// The thread that asked.
    #[schema(example = "main")]
    pub thread: String,
    /// The position of the event that asked it.
    #[schema(value_type = i64)]
    pub seq: Seq,
    /// The text, the choices, the schema of an answer, the people that may answer, and until when
    /// an answer is waited for, as the event says it.
    #[serde(flatten)]
    #[schema(value_type = Object)]
    pub asked: Payload,
}

/// An answer.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct QuestionAnswer {
    /// The answer in words; of a question with choices, one of them. Without it, of a question with a schema, the JSON as text.
    pub text: Option<String>,
    /// The answer as JSON, of a question with a schema.
    #[schema(value_type = Option<Value>)]
    pub value: Option<Value>,
}

impl Body for QuestionAnswer {
    fn check(&self, wrongs: &mut Wrongs) {
        if self.value.is_none() {
            let text = self.text.as_deref().unwrap_or_default();
            let detail = "an answer has text, or value where the question has a schema";
            wrongs.unsaid("", text, detail);
        }
    }
}

/// Open questions, the oldest first.
#[utoipa::path(get, path = "/questions", operation_id = "list_questions", tag = "questions",
    params(("thread" = Option<String>, Query, description = "only this thread's"),
        ("limit" = Option<u32>, Query, minimum = 1, maximum = 500, description = "50 when absent"),
        ("cursor" = Option<String>, Query, description = "`next` of the page before"),),
    responses((status = 200, body = Page<Question>)))]
pub async fn list(session: Needs<Read>, params: Params) -> Result<Response, Problem> {
    requests::page(&session, RequestState::Question, params).await
}

/// One open question. Questions that are answered are in the log.
#[utoipa::path(get, path = "/questions/{id}", operation_id = "get_question", tag = "questions",
    params(("id" = String, Path, description = "its id")), responses((status = 200, body = Question)))]
pub async fn one(
    session: Needs<Read>,
    Path(id): Path<Uuid>,
    _: NoParams,
) -> Result<Response, Problem> {
    requests::one(&session, RequestState::Question, id).await
}

/// Answers a question. The first answer is the only one.
#[utoipa::path(post, path = "/questions/{id}", operation_id = "answer_question", tag = "questions",
    params(("id" = String, Path, description = "its id")), request_body = QuestionAnswer,
    responses((status = 204, description = "it is answered")))]
pub async fn answer(
    session: Needs<Speak>,
    Path(id): Path<Uuid>,
    Only(QuestionAnswer { text, value }): Only<QuestionAnswer>,
) -> Result<StatusCode, Problem> {
    let text = text.unwrap_or_else(|| value.as_ref().map(Value::to_string).unwrap_or_default());
    session.answer(&id.to_string(), text, value).await?;
    Ok(StatusCode::NO_CONTENT)
}
