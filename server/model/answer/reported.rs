//! An error that stands in an answer with a status that promised a success. Pure.

use serde_json::Value;

use super::members::{as_text, choices, is_something, number_at, text_at};

/// An error that the provider wrote into an answer with a status that promised a success.
#[derive(Debug, PartialEq, Eq)]
pub struct Reported {
    /// The provider's words.
    pub message: String,
    /// Its words for it, such as `context_length_exceeded`, and the parameter that it names; may be empty.
    pub code: String,
    /// The HTTP status it means, if it says.
    pub status: Option<u16>,
}

/// Returns the error in an answer of any shape: `{"error": {…}}`, `{"error": "…"}`,
/// `{"object": "error", …}`, `{"detail": "…"}`, `{"base_resp": {"status_code": 1008, …}}`,
/// `{"error_code": 18, …}`, `{"success": false, …}`.
pub fn reported(answer: &Value) -> Option<Reported> {
    if let Some(reported) = answer
        .as_array()
        .and_then(|list| list.first())
        .and_then(reported)
    {
        return Some(reported);
    }
    let is_marked = ["object", "type"]
        .iter()
        .any(|key| text_at(answer, key) == Some("error"));
    let says = |key: &&str| {
        answer
            .get(key)
            .is_some_and(|it| it.is_array() || text_at(answer, key).is_some())
    };
    let has_choices = |is_empty: bool| match answer.get("choices") {
        None | Some(Value::Null) => false,
        Some(choices) => is_empty || is_something(choices),
    };
    let is_bare = !has_choices(true) && MESSAGES.iter().any(says);
    let has_failed = answer.get("success") == Some(&Value::Bool(false))
        || answer.get("error_code").is_some_and(is_something);
    // Gemini answers a prompt that it blocks with its reason, and no choice.
    let blocked = ["prompt_feedback", "promptFeedback"]
        .into_iter()
        .find_map(|key| answer.get(key))
        .filter(|it| {
            text_at(it, "block_reason")
                .or(text_at(it, "blockReason"))
                .is_some()
        })
        .filter(|_| choices(answer).next().is_none());
    // MiniMax says so of a prompt beside no choice.
    if answer.get("input_sensitive") == Some(&Value::Bool(true)) && choices(answer).next().is_none()
    {
        return Some(Reported {
            message: "the input is sensitive (input_sensitive)".to_owned(),
            code: "content_filter".to_owned(),
            status: Some(400),
        });
    }
    let listed = answer.get("errors").and_then(|errors| errors.get(0));
    let has_code = |told: &&Value| told.get("status_code").is_some_and(is_something);
    let error = answer
        .get("error")
        .filter(|error| is_error(error))
        .or(listed.filter(|error| is_error(error)))
        .or(answer.get("base_resp").filter(has_code))
        .or(blocked);
    match error {
        Some(error) => Some(of_error(error, answer)),
        None if is_marked || is_bare || (has_failed && !has_choices(false)) => {
            Some(of_error(answer, answer))
        }
        None => None,
    }
}

/// Members that hold the words of an error.
const MESSAGES: [&str; 6] = [
    "message",
    "detail",
    "error",
    "msg",
    "error_msg",
    "status_msg",
];

/// Members that hold the number or the word for an error.
const CODES: [&str; 4] = ["code", "status", "status_code", "error_code"];

/// False where an error is empty, or says that all is well.
pub fn is_error(error: &Value) -> bool {
    let is_well = |text: &str| matches!(text.to_lowercase().as_str(), "ok" | "success");
    let has_code = |key: &&str| {
        matches!(number_at(error, key), Some(0 | 200)) || text_at(error, key).is_some_and(is_well)
    };
    let message = MESSAGES.iter().find_map(|key| text_at(error, key));
    let has_failed = !CODES.iter().any(has_code) || !message.is_none_or(is_well);
    is_something(error) && has_failed
}

/// Reads an error, which stands in an answer.
pub fn of_error(error: &Value, answer: &Value) -> Reported {
    let message = MESSAGES.iter().find_map(|key| text_at(error, key));
    let mut message = message.map_or_else(|| as_text(Some(error)), str::to_owned);
    // The words of the provider behind a gateway.
    if let Some(raw) = error.get("metadata").and_then(|it| text_at(it, "raw")) {
        message = format!("{message}: {raw}");
    }
    let code = CODES.iter().find_map(|key| number_at(error, key));
    // A provider's own numbers are no status.
    let status = code.and_then(|code| u16::try_from(code).ok());
    let status = status.filter(|status| (400..600).contains(status));
    // Words for it stand beside the message, or beside the error.
    let words = [error, answer]
        .into_iter()
        .flat_map(|it| ["code", "type", "status", "param"].map(|key| text_at(it, key)))
        .flatten()
        .map(str::to_owned);
    let number = code
        .filter(|_| status.is_none())
        .map(|code| code.to_string());
    Reported {
        message,
        code: words.chain(number).collect::<Vec<_>>().join(" "),
        status,
    }
}
