//! The decoder of a provider's answer, whole or in pieces. It is lenient, because servers that call themselves OpenAI-compatible differ. Pure:
//! JSON in, pieces and an `Answer` out.

use serde_json::Value;

use super::provider::{Answer, Piece, ToolCall, Usage};

/// Most bytes of words and arguments one answer may have.
pub(super) const ANSWER_MAX: usize = 2 << 20;

/// What a tool call weighs besides its letters, so that a flood of empty ones ends too.
const CALL_WEIGHT: usize = 64;

/// An error that the provider wrote into an answer whose status promised a success.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reported {
    /// The provider's words.
    pub message: String,
    /// Its word for it, such as `context_length_exceeded`; may be empty.
    pub code: String,
    /// The HTTP status it means, if it says.
    pub status: Option<u16>,
}

/// Why an answer cannot be read on.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// It is an error.
    Reported(Reported),
    /// It is larger than `ANSWER_MAX`.
    TooLarge,
}

/// An answer as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Draft {
    answer: Answer,
    /// The provider's index of each call, where it gives one.
    indexes: Vec<Option<u64>>,
    weight: usize,
    /// Whether anything of an answer was seen at all.
    pub begun: bool,
}

impl Draft {
    /// Takes up one chunk of a stream, or a whole plain answer: they differ only in how much they hold.
    pub fn take(&mut self, chunk: &Value) -> Result<Vec<Piece>, Unreadable> {
        if let Some(reported) = reported(chunk) {
            return Err(Unreadable::Reported(reported));
        }
        if let Some(usage) = chunk.get("usage").filter(|usage| usage.is_object()) {
            self.answer.usage = read_usage(usage);
        }
        let mut pieces = Vec::new();
        if let Some(choice) = first_choice(chunk) {
            self.begun = true;
            self.take_choice(choice, &mut pieces);
        }
        if self.weight > ANSWER_MAX {
            Err(Unreadable::TooLarge)
        } else {
            Ok(pieces)
        }
    }

    /// Whether the provider said why it ended: nothing but the usage can follow.
    pub fn is_finished(&self) -> bool {
        !self.answer.finish.is_empty()
    }

    /// The whole answer.
    pub fn finish(mut self) -> Answer {
        for call in &mut self.answer.calls {
            if call.arguments.trim().is_empty() {
                call.arguments = "{}".to_owned();
            }
        }
        self.answer
    }

    fn take_choice(&mut self, choice: &Value, pieces: &mut Vec<Piece>) {
        if let Some(reason) = text_at(choice, "finish_reason") {
            self.answer.finish = reason.to_owned();
        }
        let message = ["delta", "message"]
            .into_iter()
            .find_map(|key| choice.get(key).filter(|v| v.is_object()));
        let words = match message {
            Some(message) => spoken(message),
            None => text_at(choice, "text").unwrap_or_default().to_owned(),
        };
        self.take_words(words, pieces);
        for call in message.into_iter().flat_map(calls_of) {
            self.take_call(call, pieces);
        }
    }

    fn take_words(&mut self, words: String, pieces: &mut Vec<Piece>) {
        if !words.is_empty() {
            self.weight += words.len();
            self.answer.text.push_str(&words);
            pieces.push(Piece::Text(words));
        }
    }

    fn take_call(&mut self, part: &Value, pieces: &mut Vec<Piece>) {
        let function = part
            .get("function")
            .filter(|f| f.is_object())
            .unwrap_or(part);
        let id = text_at(part, "id").unwrap_or_default();
        let name = text_at(function, "name").unwrap_or_default();
        let arguments = as_text(function.get("arguments").or_else(|| function.get("input")));
        let at = self.slot(part.get("index").and_then(Value::as_u64), id, name);
        let call = &mut self.answer.calls[at];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        let named = call.name.is_empty() && !name.is_empty();
        if named {
            name.clone_into(&mut call.name);
        }
        call.arguments.push_str(&arguments);
        self.weight += name.len() + arguments.len();
        if named || !arguments.is_empty() {
            pieces.push(Piece::Call {
                index: at,
                name: named.then(|| name.to_owned()),
                arguments,
            });
        }
    }

    /// Which call a part belongs to. With an index: the one of that index, unless an id says that another begins there (some
    /// servers number all parallel calls 0). Without: a name begins a call, the rest goes to the call of its id or the last.
    fn slot(&mut self, index: Option<u64>, id: &str, name: &str) -> usize {
        let calls = &self.answer.calls;
        let another = |call: &ToolCall| {
            !name.is_empty() && !id.is_empty() && !call.id.is_empty() && call.id != id
        };
        let found = match index {
            Some(_) => self
                .indexes
                .iter()
                .rposition(|known| *known == index)
                .filter(|at| !another(&calls[*at])),
            None if !name.is_empty() => None,
            None => calls
                .iter()
                .rposition(|call| !id.is_empty() && call.id == id)
                .or(calls.len().checked_sub(1)),
        };
        found.unwrap_or_else(|| {
            self.indexes.push(index);
            self.answer.calls.push(ToolCall::default());
            self.weight += CALL_WEIGHT;
            self.answer.calls.len() - 1
        })
    }
}

/// The error in an answer, whatever its shape: `{"error": {…}}`, `{"error": "…"}`, `{"object": "error", …}`, `{"detail": "…"}`.
pub(super) fn reported(answer: &Value) -> Option<Reported> {
    let error = match answer.get("error") {
        Some(error) if is_something(error) => error,
        _ if text_at(answer, "object") == Some("error")
            || text_at(answer, "type") == Some("error") =>
        {
            answer
        }
        _ if answer.get("choices").is_none() && text_at(answer, "detail").is_some() => answer,
        _ => return None,
    };
    let message = ["message", "detail", "error", "msg"]
        .into_iter()
        .find_map(|key| text_at(error, key));
    let message = message.map_or_else(|| as_text(Some(error)), str::to_owned);
    let code = ["code", "status", "status_code"]
        .into_iter()
        .find_map(|key| number_at(error, key));
    let word = ["code", "type"]
        .into_iter()
        .find_map(|key| text_at(error, key))
        .unwrap_or_default()
        .to_owned();
    Some(Reported {
        message,
        code: word,
        status: code.and_then(|code| u16::try_from(code).ok()),
    })
}

fn is_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::String(text) => !text.is_empty(),
        _ => true,
    }
}

fn first_choice(chunk: &Value) -> Option<&Value> {
    let choices = chunk.get("choices")?.as_array()?;
    choices
        .iter()
        .find(|choice| choice.get("index").and_then(Value::as_u64).unwrap_or(0) == 0)
}

/// The words of a message: its content, or what it says when it refuses.
fn spoken(message: &Value) -> String {
    let words = content_text(message.get("content").unwrap_or(&Value::Null));
    if words.is_empty() {
        text_at(message, "refusal").unwrap_or_default().to_owned()
    } else {
        words
    }
}

fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(content_text).collect(),
        Value::Object(part) => part.get("text").map(content_text).unwrap_or_default(),
        _ => String::new(),
    }
}

fn calls_of(message: &Value) -> Vec<&Value> {
    let calls = match message.get("tool_calls") {
        Some(Value::Array(calls)) => calls.iter().collect(),
        Some(call @ Value::Object(_)) => vec![call],
        _ => Vec::new(),
    };
    match message.get("function_call").filter(|call| call.is_object()) {
        Some(call) if calls.is_empty() => vec![call],
        _ => calls,
    }
}

fn read_usage(usage: &Value) -> Usage {
    let first = |keys: [&str; 2]| keys.into_iter().find_map(|key| number_at(usage, key));
    let cached = ["prompt_tokens_details", "input_tokens_details"]
        .into_iter()
        .find_map(|key| {
            usage
                .get(key)
                .and_then(|details| number_at(details, "cached_tokens"))
        });
    Usage {
        input_tokens: first(["prompt_tokens", "input_tokens"]).unwrap_or(0),
        output_tokens: first(["completion_tokens", "output_tokens"]).unwrap_or(0),
        cached_tokens: cached
            .or_else(|| first(["prompt_cache_hit_tokens", "cached_tokens"]))
            .unwrap_or(0),
    }
}

fn text_at<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value
        .get(key)
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
}

/// A count, which may be written as `3`, `3.0` or `"3"`; a lie of any size stays summable.
fn number_at(value: &Value, key: &str) -> Option<u64> {
    let number = match value.get(key)? {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped first"
    )]
    Some(number.clamp(0.0, f64::from(u32::MAX)) as u64)
}

fn as_text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}
