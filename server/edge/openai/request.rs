//! The body of `POST /v1/chat/completions`, read: instructions, the exchanges
//! that the client repeats, and the new message.

use axum::extract::Request;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::tools::{CHAT, offer};
use crate::context::Edge;
use crate::frame::Media;
use crate::http::{body, check_json};
use crate::json::{self, Body};
use crate::limits::Limits;
use crate::problem::{Problem, Slug, Wrongs};
use thinkd_tools::toolbox::client::Offer;

/// Most messages of a request.
const MESSAGES_MAX: usize = 10_000;

/// The members that are read. Others, such as the temperature, are the model's configuration here,
/// and are read over.
#[derive(Debug, Default, Deserialize)]
pub struct ChatRequest {
    /// `thinkd`, or `thinkd/<thread>`.
    pub model: String,
    /// The conversation, oldest first.
    pub messages: Vec<ChatMessage>,
    /// True: the answer comes in pieces.
    #[serde(default)]
    pub stream: Option<bool>,
    /// Options of a stream.
    #[serde(default)]
    pub stream_options: Option<StreamOptions>,
    /// The client's name for its user: conversations of others are not found by it.
    #[serde(default)]
    pub user: Option<String>,
    /// Free members; `chat_id`, `conversation_id` and `thread_id` name the conversation.
    #[serde(default)]
    pub metadata: Option<Map<String, Value>>,
    /// Another name for the conversation.
    #[serde(default)]
    pub prompt_cache_key: Option<String>,
    #[serde(default)]
    n: Option<u64>,
    #[serde(default)]
    tools: Option<Vec<Value>>,
    #[serde(default)]
    tool_choice: Option<Value>,
    #[serde(default)]
    parallel_tool_calls: Option<bool>,
    #[serde(default)]
    functions: Option<Vec<Value>>,
    #[serde(default)]
    function_call: Option<Value>,
    #[serde(default)]
    response_format: Option<ResponseFormat>,
    #[serde(default)]
    logprobs: Option<bool>,
}

/// Options of a stream.
#[derive(Debug, Deserialize)]
pub struct StreamOptions {
    /// True: the last piece says the usage.
    #[serde(default)]
    pub include_usage: Option<bool>,
}

/// The form of an answer.
#[derive(Debug, Deserialize)]
pub struct ResponseFormat {
    /// `text`, `json_object` or `json_schema`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The schema, or an object with it at `schema`.
    #[serde(default)]
    pub json_schema: Option<Value>,
}

/// One message as the client has it.
#[derive(Debug, Deserialize)]
pub struct ChatMessage {
    role: String,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    tool_calls: Option<Vec<Value>>,
    #[serde(default)]
    tool_call_id: Option<String>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Piece {
    /// Words.
    Text(String),
    /// An image.
    Image(Media),
    /// A sound.
    Audio(Media),
}

impl Piece {
    /// True if something is in it.
    pub fn says(&self) -> bool {
        match self {
            Self::Text(text) => !text.trim().is_empty(),
            Self::Image(_) | Self::Audio(_) => true,
        }
    }
}

/// Messages of the user, and the answer of the assistant to them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Exchange {
    /// The words and media of the user.
    pub said: Vec<Piece>,
    /// The answer.
    pub answer: String,
    /// The calls that the client ran in between, and their results, a line each.
    pub acts: Vec<String>,
}

/// A result that the client gives of a call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolResult {
    /// The place of the call's id in the body.
    pub place: String,
    /// The id of the call.
    pub call: String,
    /// The words and media.
    pub pieces: Vec<Piece>,
}

/// A request, read.
#[derive(Debug)]
pub struct Chat {
    /// The instructions of the client; empty: none.
    pub instructions: String,
    /// The exchanges before, oldest first.
    pub before: Vec<Exchange>,
    /// The new message; empty: the client only gives results.
    pub said: Vec<Piece>,
    /// The calls of the last answer, by the client's ids.
    pub calls: Vec<String>,
    /// The results behind the last answer.
    pub results: Vec<ToolResult>,
    /// The tools that the client offers.
    pub offer: Option<Offer>,
    /// The form that the client wants the answer in, in words.
    pub form: Option<String>,
    /// The place of the messages in the body.
    pub place: &'static str,
    /// The members of the request that choose the conversation and the form of the response.
    pub request: ChatRequest,
}

impl Body for ChatRequest {
    fn check(&self, wrongs: &mut Wrongs) {
        let mut refuse = |place: &str, detail: &str| {
            wrongs.add(Slug::Unprocessable, place, detail);
        };
        if self.n.is_some_and(|n| n != 1) {
            refuse("/n", "a thread gives one answer: leave n out, or send 1");
        }
        if self.logprobs == Some(true) {
            refuse("/logprobs", "there are no logprobs of a turn: leave it out");
        }
        let detail = "functions are the old form of tools: send tools and tool_choice";
        if self.functions.iter().any(|it| !it.is_empty()) {
            refuse("/functions", detail);
        }
        if self.function_call.is_some() {
            refuse("/function_call", detail);
        }
    }
}

/// Reads a request. Errors name the place in the body.
pub async fn read(request: Request, edge: &Edge) -> Result<Chat, Problem> {
    let request = body_of(request, edge).await?;
    chat(request, edge.limits.text_bytes, edge.doors.client_tool_ms)
}

/// Reads a body that may have a whole conversation in it.
pub async fn body_of<T: Body>(request: Request, edge: &Edge) -> Result<T, Problem> {
    check_json(request.headers())?;
    let limits = &edge.limits;
    let bytes = body(request, limits.frame_bytes, limits.body_ms, limits.body_ms).await?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|_| Problem::new(Slug::MalformedJson, "not JSON: not UTF-8"))?;
    // Images stand in the texts, and the whole conversation in the list.
    let wide = Limits {
        text_bytes: limits.frame_bytes,
        array_items: MESSAGES_MAX,
        ..limits.clone()
    };
    let mut wrongs = Wrongs::default();
    let members = json::members(text, &wide, &mut wrongs)?;
    let parsed = json::body::<T>(members, &mut wrongs);
    wrongs.or(parsed)
}

fn chat(mut request: ChatRequest, text_bytes: usize, client_tool_ms: u64) -> Result<Chat, Problem> {
    let offer = offer(
        request.tools.take().unwrap_or_default(),
        (request.tool_choice.take(), CHAT),
        request.parallel_tool_calls == Some(false),
        client_tool_ms,
    )?;
    let form = form(request.response_format.take(), "/response_format")?;
    let messages = std::mem::take(&mut request.messages);
    if messages.is_empty() {
        let detail = "messages is empty: say something as the user";
        return Err(Problem::at(Slug::EmptyInput, "/messages", detail));
    }
    let last = messages.len() - 1;
    let mut instructions = Vec::new();
    let mut before = Vec::<Exchange>::new();
    let mut said = Vec::new();
    let mut calls = Vec::new();
    let mut results = Vec::new();
    for (index, message) in messages.into_iter().enumerate() {
        let place = format!("/messages/{index}");
        let pieces = pieces(message.content, &format!("{place}/content"))?;
        let made = message.tool_calls.unwrap_or_default();
        match &*message.role {
            "system" | "developer" => instructions.extend(words(pieces)),
            "user" => said.extend(pieces),
            "assistant" if index == last => {
                let detail = "the last message is the assistant's: nothing is said to answer";
                return Err(Problem::at(Slug::EmptyInput, place, detail));
            }
            "assistant" => {
                let answer = Vec::from_iter(words(pieces)).join("\n\n");
                if !said.is_empty() || before.is_empty() {
                    before.push(Exchange {
                        said: std::mem::take(&mut said),
                        ..Exchange::default()
                    });
                }
                if let Some(exchange) = before.last_mut() {
                    exchange.adds(&answer, made.iter().filter_map(act));
                }
                let id = |call: &Value| Some(call.get("id")?.as_str()?.to_owned());
                calls = made.iter().filter_map(id).collect();
                results.clear();
            }
            "tool" => {
                let place = format!("{place}/tool_call_id");
                let Some(call) = message.tool_call_id else {
                    let detail = "a message of the role tool names its call: tool_call_id";
                    return Err(Problem::at(Slug::InvalidFrame, place, detail));
                };
                if let Some(exchange) = before.last_mut() {
                    exchange.gives(&pieces);
                }
                results.push(ToolResult {
                    place,
                    call,
                    pieces,
                });
            }
            other => {
                let other: String = other.chars().take(40).collect();
                let detail = format!(
                    "role {other:?} is not known: system, developer, user, assistant or tool"
                );
                return Err(Problem::at(
                    Slug::InvalidFrame,
                    format!("{place}/role"),
                    detail,
                ));
            }
        }
    }
    let is_said = said.iter().any(Piece::says);
    if !is_said && results.is_empty() {
        let detail = "nothing is said: the last message has no words and no media";
        return Err(Problem::at(
            Slug::EmptyInput,
            format!("/messages/{last}"),
            detail,
        ));
    }
    let chat = Chat {
        instructions: instructions.join("\n\n"),
        before,
        said: if is_said { said } else { Vec::new() },
        calls,
        results,
        offer,
        form,
        place: "/messages",
        request,
    };
    chat.fits(text_bytes)?;
    Ok(chat)
}

impl Chat {
    /// Refuses texts that are longer than a text may be.
    pub fn fits(&self, text_bytes: usize) -> Result<(), Problem> {
        let texts = self.said.iter().filter_map(|piece| match piece {
            Piece::Text(text) => Some(text.len()),
            Piece::Image(_) | Piece::Audio(_) => None,
        });
        for (name, bytes) in [
            ("the new message", texts.sum()),
            ("system", self.instructions.len()),
            ("the format", self.form.as_deref().map_or(0, str::len)),
        ] {
            if bytes > text_bytes {
                let detail = format!(
                    "{name} has at most {text_bytes} bytes (limits.text_bytes); this one has {bytes}"
                );
                return Err(Problem::at(Slug::TextTooLarge, self.place, detail));
            }
        }
        Ok(())
    }
}

/// Returns a message in words.
pub fn told(pieces: &[Piece]) -> String {
    let words = pieces.iter().map(|piece| match piece {
        Piece::Text(text) => text.as_str(),
        Piece::Image(_) => "[image]",
        Piece::Audio(_) => "[audio]",
    });
    words.collect::<Vec<_>>().join("\n")
}

/// Returns the words of a message, without its media.
pub fn words(pieces: Vec<Piece>) -> impl Iterator<Item = String> {
    pieces.into_iter().filter_map(|piece| match piece {
        Piece::Text(text) if !text.trim().is_empty() => Some(text),
        _ => None,
    })
}

/// Returns the form of an answer in words, for the decision.
pub fn form(wanted: Option<ResponseFormat>, place: &str) -> Result<Option<String>, Problem> {
    let Some(ResponseFormat { kind, json_schema }) = wanted else {
        return Ok(None);
    };
    match (&*kind, json_schema) {
        ("text", _) => Ok(None),
        ("json_object", _) => Ok(Some("Reply with one JSON object and nothing else.".into())),
        ("json_schema", Some(schema)) => {
            let schema = schema.get("schema").unwrap_or(&schema);
            Ok(Some(format!(
                "Reply with one JSON value and nothing else. It fits this JSON schema: {schema}"
            )))
        }
        _ => {
            let detail = "the format is text, json_object, or json_schema with a schema";
            Err(Problem::at(Slug::InvalidFrame, place, detail))
        }
    }
}

impl Exchange {
    /// Takes in more of the answer, and calls that it made.
    pub fn adds(&mut self, answer: &str, acts: impl Iterator<Item = String>) {
        if !self.answer.is_empty() && !answer.is_empty() {
            self.answer.push_str("\n\n");
        }
        self.answer.push_str(answer);
        self.acts.extend(acts);
    }

    /// Returns true if a stored message of this text is the user's part, which has no media.
    pub fn is_said_by(&self, text: &str) -> bool {
        let texts = self.said.iter().map(|piece| match piece {
            Piece::Text(text) => Some(text.as_str()),
            Piece::Image(_) | Piece::Audio(_) => None,
        });
        let texts = texts.collect::<Option<Vec<_>>>();
        texts.is_some_and(|texts| texts.join("\n\n") == text)
    }

    /// Takes in the result of a call.
    pub fn gives(&mut self, pieces: &[Piece]) {
        self.acts.push(format!("tool: {}", told(pieces)));
    }
}

/// Returns a call in words: `calls weather: {"city":"Bern"}`.
fn act(call: &Value) -> Option<String> {
    let function = call.get("function")?;
    let text = |key: &str| function.get(key).and_then(Value::as_str);
    Some(format!(
        "calls {}: {}",
        text("name")?,
        text("arguments").unwrap_or_default()
    ))
}

/// Returns the parts of a message: its content is a text, a list of parts, or nothing.
pub fn pieces(content: Value, place: &str) -> Result<Vec<Piece>, Problem> {
    match content {
        Value::Null => Ok(Vec::new()),
        Value::String(text) => Ok(vec![Piece::Text(text)]),
        Value::Array(parts) => {
            let parts = parts.iter().enumerate();
            let pieces = parts.map(|(index, part)| piece(part, &format!("{place}/{index}")));
            pieces.collect()
        }
        _ => {
            let detail = "content is a text, or a list of parts";
            Err(Problem::at(Slug::InvalidFrame, place, detail))
        }
    }
}

fn piece(part: &Value, place: &str) -> Result<Piece, Problem> {
    let wrong = |detail: &str| Problem::at(Slug::InvalidFrame, place, detail);
    let text = |key: &str| part.get(key).and_then(Value::as_str);
    match text("type").unwrap_or_default() {
        kind @ ("text" | "input_text" | "output_text" | "refusal") => {
            let key = if kind == "refusal" { kind } else { "text" };
            let text = text(key).ok_or_else(|| wrong("this part has no text"))?;
            Ok(Piece::Text(text.to_owned()))
        }
        "image_url" => {
            let url = part.get("image_url");
            let url = url.and_then(|it| it.as_str().or_else(|| it.get("url")?.as_str()));
            let url = url.ok_or_else(|| wrong("image_url has no url"))?;
            Ok(Piece::Image(data(url).ok_or_else(|| {
                wrong("an image is sent as data:image/…;base64,…: no address is fetched")
            })?))
        }
        "input_image" => image(&text).ok_or_else(|| {
            wrong("an image is sent as image_url: data:image/…;base64,…, or as file_id: the hash of a blob; no address is fetched")
        }),
        "input_audio" => {
            let audio = part.get("input_audio");
            let data = audio.and_then(|it| it.get("data")?.as_str());
            let data = data.ok_or_else(|| wrong("input_audio has no data"))?;
            Ok(Piece::Audio(Media {
                data: Some(data.to_owned()),
                ..Media::default()
            }))
        }
        other => {
            let other: String = other.chars().take(40).collect();
            let detail = format!("{other:?} is no type of part: text, image_url or input_audio");
            Err(wrong(&detail))
        }
    }
}

/// Reads an image of the newer form, which has texts as members.
fn image<'a>(text: &impl Fn(&str) -> Option<&'a str>) -> Option<Piece> {
    let media = match (text("image_url"), text("file_id")) {
        (Some(url), _) => data(url)?,
        (None, blob) => Media {
            blob: Some(blob?.to_owned()),
            ..Media::default()
        },
    };
    Some(Piece::Image(media))
}

/// Reads `data:<type>;base64,<data>`.
fn data(url: &str) -> Option<Media> {
    let (kind, data) = url.strip_prefix("data:")?.split_once(";base64,")?;
    Some(Media {
        data: Some(data.to_owned()),
        mime_type: Some(kind.to_owned()),
        blob: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(messages: Value) -> Result<Chat, Problem> {
        let body = json!({ "model": "thinkd", "messages": messages });
        chat(serde_json::from_value(body).unwrap(), 1000, 1000)
    }

    #[test]
    fn a_conversation_is_its_exchanges_and_the_new_message() {
        let chat = read(json!([
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": "one" },
            { "role": "assistant", "content": "uno" },
            { "role": "user", "content": [{ "type": "text", "text": "two" }] },
            { "role": "user", "content": "three" },
        ]))
        .unwrap();
        assert_eq!(chat.instructions, "Be brief.");
        let said = vec![Piece::Text("one".into())];
        let answer = "uno".to_owned();
        let one = Exchange {
            said,
            answer,
            ..Exchange::default()
        };
        assert_eq!(chat.before, [one]);
        let texts = ["two", "three"].map(|text| Piece::Text(text.into()));
        assert_eq!(chat.said, texts);
    }

    #[test]
    fn results_behind_the_last_answer_are_of_its_calls_and_others_are_past() {
        let called = |id: &str| {
            json!({ "role": "assistant", "content": null, "tool_calls": [
                { "id": id, "type": "function", "function": { "name": "add", "arguments": "{}" } },
            ] })
        };
        let result =
            |id: &str, text: &str| json!({ "role": "tool", "tool_call_id": id, "content": text });
        let messages = json!([
            { "role": "user", "content": "one" },
            called("a"),
            result("a", "1"),
            called("b"),
            result("b", "2"),
        ]);
        let chat = read(messages.clone()).unwrap();
        assert!(chat.said.is_empty());
        assert_eq!(chat.calls, ["b"]);
        assert_eq!(chat.results.len(), 1);
        assert_eq!(
            (
                &*chat.results[0].call,
                &*told(&chat.results[0].pieces),
                &*chat.results[0].place
            ),
            ("b", "2", "/messages/4/tool_call_id")
        );
        assert_eq!(chat.before.len(), 1, "it is one exchange");
        assert_eq!(chat.before[0].answer, "");
        assert_eq!(
            chat.before[0].acts,
            ["calls add: {}", "tool: 1", "calls add: {}", "tool: 2"]
        );
        let mut later = messages.as_array().unwrap().clone();
        later.push(json!({ "role": "assistant", "content": "two" }));
        later.push(json!({ "role": "user", "content": "three" }));
        let chat = read(later.into()).unwrap();
        assert_eq!(chat.before[0].answer, "two");
        assert!(chat.results.is_empty() && chat.calls.is_empty());
    }

    #[test]
    fn a_request_that_says_nothing_is_refused_with_its_place() {
        for (messages, place) in [
            (json!([]), "/messages"),
            (json!([{ "role": "user", "content": " " }]), "/messages/0"),
            (json!([{ "role": "user" }]), "/messages/0"),
            (
                json!([{ "role": "user", "content": "hi" }, { "role": "assistant", "content": "ho" }]),
                "/messages/1",
            ),
            (
                json!([{ "role": "king", "content": "hi" }]),
                "/messages/0/role",
            ),
            (
                json!([{ "role": "tool", "content": "4" }]),
                "/messages/0/tool_call_id",
            ),
            (
                json!([{ "role": "user", "content": 4 }]),
                "/messages/0/content",
            ),
            (
                json!([{ "role": "user", "content": [{ "type": "image_url", "image_url": { "url": "https://example.org/a.png" } }] }]),
                "/messages/0/content/0",
            ),
            (
                json!([{ "role": "user", "content": "x".repeat(1001) }]),
                "/messages",
            ),
        ] {
            let refused = read(messages.clone()).unwrap_err();
            assert_eq!(refused.errors[0].pointer, place, "{messages}");
        }
    }
}
