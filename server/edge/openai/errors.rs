//! Problems in the form of OpenAI's errors: `{"error": {"message", "type", "param", "code"}}`. The
//! status and the words stay; the code is the problem's slug.

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use crate::problem::{Problem, Slug};

/// OpenAI's clients repeat a request that met a failure of the server, unless this header says no.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// The type of error in this protocol, and the code that its clients know; else the code is the
/// slug's word.
const fn kind(slug: Slug) -> (&'static str, Option<&'static str>) {
    match slug {
        Slug::Unauthenticated => ("invalid_request_error", Some("invalid_api_key")),
        Slug::Forbidden => ("permission_error", None),
        Slug::QueueFull | Slug::TooManyRequests => {
            ("rate_limit_error", Some("rate_limit_exceeded"))
        }
        Slug::Internal | Slug::Unavailable | Slug::ModelFailed | Slug::TurnFailed => {
            ("server_error", None)
        }
        Slug::MalformedJson
        | Slug::InvalidFrame
        | Slug::UnknownType
        | Slug::UnknownMember
        | Slug::InvalidParameter
        | Slug::InvalidId
        | Slug::InvalidCursor
        | Slug::InvalidMedia
        | Slug::EmptyInput
        | Slug::TextTooLarge
        | Slug::NulNotAllowed
        | Slug::NotFound
        | Slug::MethodNotAllowed
        | Slug::RequestTimeout
        | Slug::EventConflict
        | Slug::EpochChanged
        | Slug::CursorAhead
        | Slug::ThreadEnded
        | Slug::Busy
        | Slug::AlreadySettled
        | Slug::InputTaken
        | Slug::ToolChanged
        | Slug::SettingsChanged
        | Slug::FrameworkChanged
        | Slug::TooLarge
        | Slug::UriTooLong
        | Slug::UnsupportedMediaType
        | Slug::MisdirectedRequest
        | Slug::InvalidArguments
        | Slug::Unprocessable
        | Slug::UpgradeRequired => ("invalid_request_error", None),
    }
}

/// True for failures that come again.
const fn is_lasting(slug: Slug) -> bool {
    matches!(
        slug,
        Slug::ModelFailed | Slug::Internal | Slug::RequestTimeout
    )
}

/// Returns a problem in this protocol's form.
pub fn error(problem: &Problem) -> Value {
    let slug = problem.slug();
    let (kind, code) = kind(slug);
    let place = problem.errors.first().map(|wrong| member(&wrong.pointer));
    json!({ "error": {
        "message": problem.detail,
        "type": kind,
        "param": place.filter(|place| !place.is_empty()),
        "code": code.unwrap_or(slug.as_str()),
    } })
}

/// A JSON pointer as this protocol names members: `messages[0].content`.
fn member(pointer: &str) -> String {
    let mut name = String::new();
    for part in pointer.split('/').skip(1) {
        let part = part.replace("~1", "/").replace("~0", "~");
        if !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()) {
            name.push_str(&format!("[{part}]"));
        } else {
            if !name.is_empty() {
                name.push('.');
            }
            name.push_str(&part);
        }
    }
    name
}

/// Words every problem at this door's addresses as its protocol does.
pub async fn reworded(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_ours = path == "/v1" || path.starts_with("/v1/");
    let response = next.run(request).await;
    let Some(problem) = response.extensions().get::<Problem>().filter(|_| is_ours) else {
        return response;
    };
    let text = error(problem).to_string();
    let lasting = is_lasting(problem.slug());
    let (mut parts, _) = response.into_parts();
    let headers = &mut parts.headers;
    headers.remove(header::CONTENT_LENGTH);
    let json = HeaderValue::from_static("application/json");
    headers.insert(header::CONTENT_TYPE, json);
    if lasting {
        headers.insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    }
    Response::from_parts(parts, Body::from(text)).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_named_as_clients_of_this_protocol_know_it() {
        assert_eq!(
            member("/messages/0/content/1/image_url"),
            "messages[0].content[1].image_url"
        );
        assert_eq!(member(""), "");
        let problem = Problem::at(Slug::EmptyInput, "/messages", "nothing is said");
        let error = error(&problem);
        assert_eq!(error["error"]["param"], "messages");
        assert_eq!(error["error"]["code"], "empty-input");
        assert_eq!(error["error"]["type"], "invalid_request_error");
    }
}
