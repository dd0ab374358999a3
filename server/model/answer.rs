//! The decoder of a provider's answer, whole or in pieces. It is lenient, because servers that call themselves OpenAI-compatible differ. Pure:
//! JSON in, pieces and an `Answer` out.

use serde_json::{Map, Value};

use super::provider::{Answer, Piece, Usage};
use calls::{Calls, Part};
pub(super) use ending::Ending;
use thinking::Thinking;
pub(crate) use thinking::{Said, said};

mod calls;
mod ending;
mod thinking;

/// Most bytes of words and arguments one answer may have.
pub(super) const ANSWER_MAX: usize = 2 << 20;

/// An error that the provider wrote into an answer whose status promised a success.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Reported {
    /// The provider's words.
    pub message: String,
    /// Its words for it, such as `context_length_exceeded`, and the parameter that it names; may be empty.
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

/// The manner in which an answer is read, which depends on the asker and on the model's habits.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Manner {
    /// `<thought>` is an element of the thinking language, which the answer is to be written in.
    pub keeps_thought: bool,
    /// This model closes thinking that it never opened: no word is certain before the end.
    pub holds_words: bool,
}

/// An answer as far as it has come.
#[derive(Debug, Default)]
pub(super) struct Draft {
    text: String,
    thinking: Thinking,
    calls: Calls,
    usage: Usage,
    finish: String,
    weight: usize,
    /// Whether anything of an answer was seen at all.
    pub begun: bool,
}

/// An answer that has ended.
#[derive(Debug)]
pub(super) struct Whole {
    /// Words that were held back until the end.
    pub rest: String,
    /// The answer.
    pub answer: Answer,
    /// Why it ended.
    pub ending: Ending,
    /// The number of calls that were cut off and are not among its calls.
    pub cut_calls: usize,
    /// Thinking stood in the words, closed and never opened, and was taken off at the end.
    pub unopened: bool,
}

impl Draft {
    /// An empty draft, to be read in this manner.
    pub fn new(manner: Manner) -> Self {
        let thinking = Thinking::new(manner.keeps_thought, manner.holds_words);
        Self {
            thinking,
            ..Self::default()
        }
    }

    /// Takes up one chunk of a stream, or a whole plain answer: they differ only in how much they hold.
    pub fn take(&mut self, chunk: &Value) -> Result<Vec<Piece>, Unreadable> {
        if let Some(reported) = reported(chunk) {
            return Err(Unreadable::Reported(reported));
        }
        let choice = first_choice(chunk);
        for usage in usages(chunk, choice) {
            self.usage = read_usage(usage).max(self.usage);
        }
        let mut pieces = Vec::new();
        if let Some(choice) = choice {
            if let Some(error) = choice.get("error").filter(|error| is_something(error)) {
                return Err(Unreadable::Reported(of_error(error, choice)));
            }
            self.begun = true;
            self.take_choice(choice, &mut pieces);
        }
        if self.weight > ANSWER_MAX {
            Err(Unreadable::TooLarge)
        } else {
            Ok(pieces)
        }
    }

    /// The reason why it ended, as far as the provider has said.
    pub fn ending(&self) -> Ending {
        Ending::of(&self.finish)
    }

    /// The provider's word for that.
    pub fn word(&self) -> &str {
        &self.finish
    }

    /// True if the provider said that it ended, in whatever word.
    pub fn is_ended(&self) -> bool {
        self.ending() != Ending::Open
    }

    /// True if nothing but the usage can follow. Some say `stop` in an empty chunk, long before their words.
    pub fn is_over(&self) -> bool {
        self.ending().is_known_end() && self.has_words_or_calls()
    }

    /// True if there are calls, all of them whole.
    pub fn has_whole_calls(&self) -> bool {
        let (made, whole) = self.calls.counts();
        made > 0 && made == whole
    }

    /// The whole answer.
    pub fn finish(mut self) -> Whole {
        let ending = self.ending();
        let is_cut = ending == Ending::Cut;
        let rest = self.thinking.finish();
        self.text.push_str(&rest);
        let behind = thinking::behind_unopened(&self.text).map(str::to_owned);
        let (made, _) = self.calls.counts();
        let calls = self.calls.finish(is_cut);
        let answer = Answer {
            usage: self.usage,
            finish: self.finish,
            ..Answer::default()
        };
        Whole {
            rest,
            ending,
            cut_calls: made - calls.len(),
            unopened: behind.is_some(),
            answer: Answer {
                text: behind.unwrap_or(self.text),
                calls,
                ..answer
            },
        }
    }

    fn take_choice(&mut self, choice: &Value, pieces: &mut Vec<Piece>) {
        if let Some(word) = text_at(choice, "finish_reason") {
            // A word that means none takes nothing back.
            if self.finish.is_empty() || Ending::of(word) != Ending::Open {
                word.clone_into(&mut self.finish);
            }
        }
        let object = |key: &str| choice.get(key).filter(|value| value.is_object());
        let delta = object("delta").filter(|delta| !delta.as_object().is_some_and(Map::is_empty));
        let message = delta
            .or_else(|| object("message"))
            .or_else(|| object("delta"));
        // A whole message behind deltas says the same once more.
        let is_again = delta.is_none() && object("message").is_some() && self.has_words_or_calls();
        if is_again {
            return;
        }
        let words = match message {
            Some(message) => spoken(message),
            None => text_at(choice, "text").unwrap_or_default().to_owned(),
        };
        self.take_words(&words, pieces);
        for call in message.into_iter().flat_map(calls_of) {
            self.take_call(call, pieces);
        }
    }

    /// True if words or calls have come.
    pub fn has_words_or_calls(&self) -> bool {
        !self.text.is_empty() || !self.calls.is_empty()
    }

    fn take_words(&mut self, words: &str, pieces: &mut Vec<Piece>) {
        self.weight += words.len();
        let certain = self.thinking.push(words);
        if !certain.is_empty() {
            self.text.push_str(&certain);
            pieces.push(Piece::Text(certain));
        }
    }

    fn take_call(&mut self, part: &Value, pieces: &mut Vec<Piece>) {
        let function = part
            .get("function")
            .filter(|f| f.is_object())
            .unwrap_or(part);
        let part = Part {
            index: number_at(part, "index"),
            id: text_at(part, "id").unwrap_or_default(),
            name: name_of(function),
            arguments: as_text(function.get("arguments").or_else(|| function.get("input"))),
        };
        let (piece, weight) = self.calls.take(part);
        self.weight += weight;
        pieces.extend(piece);
    }
}

/// The tool's name, without the marks of a template that some servers leave behind it.
fn name_of(function: &Value) -> &str {
    let name = text_at(function, "name").unwrap_or_default();
    name.split("<|").next().unwrap_or_default().trim()
}

/// The error in an answer, whatever its shape: `{"error": {…}}`, `{"error": "…"}`, `{"object": "error", …}`, `{"detail": "…"}`.
pub(super) fn reported(answer: &Value) -> Option<Reported> {
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
    let says = |key: &str| {
        answer
            .get(key)
            .is_some_and(|it| it.is_array() || text_at(answer, key).is_some())
    };
    let is_bare =
        answer.get("choices").is_none() && ["detail", "message", "msg"].into_iter().any(says);
    // Gemini answers a prompt that it blocks with its reason, and no choice.
    let blocked = ["prompt_feedback", "promptFeedback"]
        .into_iter()
        .find_map(|key| answer.get(key))
        .filter(|it| {
            text_at(it, "block_reason")
                .or(text_at(it, "blockReason"))
                .is_some()
        })
        .filter(|_| first_choice(answer).is_none());
    let listed = answer.get("errors").and_then(|errors| errors.get(0));
    let error = answer
        .get("error")
        .or(listed)
        .or(blocked)
        .filter(|error| is_something(error));
    match error {
        Some(error) => Some(of_error(error, answer)),
        None if is_marked || is_bare => Some(of_error(answer, answer)),
        None => None,
    }
}

/// Reads an error, which stands in an answer.
fn of_error(error: &Value, answer: &Value) -> Reported {
    let message = ["message", "detail", "error", "msg"]
        .into_iter()
        .find_map(|key| text_at(error, key));
    let message = message.map_or_else(|| as_text(Some(error)), str::to_owned);
    let code = ["code", "status", "status_code"]
        .into_iter()
        .find_map(|key| number_at(error, key));
    // Words for it stand beside the message, or beside the error.
    let words = [error, answer]
        .into_iter()
        .flat_map(|it| ["code", "type", "status", "param"].map(|key| text_at(it, key)))
        .flatten();
    Reported {
        message,
        code: words.collect::<Vec<_>>().join(" "),
        status: code.and_then(|code| u16::try_from(code).ok()),
    }
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
        Value::Object(part) if is_thinking(part) => String::new(),
        Value::Object(part) => part.get("text").map(content_text).unwrap_or_default(),
        _ => String::new(),
    }
}

/// True if a part of a message is thinking: its type says so, in each provider's word.
fn is_thinking(part: &Map<String, Value>) -> bool {
    let kind = part.get("type").and_then(Value::as_str).unwrap_or_default();
    let is_marked = part
        .get("thought")
        .is_some_and(|thought| *thought == Value::Bool(true));
    is_marked
        || ["reason", "think", "thought", "summary"]
            .iter()
            .any(|word| kind.contains(word))
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

/// The places where servers count tokens: the chunk, the choice, and Groq's own member.
fn usages<'c>(chunk: &'c Value, choice: Option<&'c Value>) -> impl Iterator<Item = &'c Value> {
    let own = chunk.get("x_groq").and_then(|own| own.get("usage"));
    let usual = [
        chunk.get("usage"),
        choice.and_then(|choice| choice.get("usage")),
        own,
    ];
    usual
        .into_iter()
        .flatten()
        .filter(|usage| usage.is_object())
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
    let input_tokens = first(["prompt_tokens", "input_tokens"]).unwrap_or(0);
    let output_tokens = first(["completion_tokens", "output_tokens"]).unwrap_or(0);
    // Some leave thinking out of the answer's tokens; the total has it.
    let rest = number_at(usage, "total_tokens").map_or(0, |all| all.saturating_sub(input_tokens));
    Usage {
        input_tokens,
        output_tokens: output_tokens.max(rest),
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
