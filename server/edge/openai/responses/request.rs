//! The body of `POST /v1/responses`, read: instructions, the exchanges that the client repeats, and
//! the new messages. Errors name the place in the body.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::item::Item;
use super::tools;
use crate::json::Body;
use crate::openai::asking::{ID_MAX, MODEL};
use crate::openai::kept::{Instructions, Kept};
#[cfg(test)]
use crate::openai::request::told;
use crate::openai::request::{Chat, ChatRequest, Exchange, Piece, ResponseFormat, ToolResult};
use crate::openai::request::{form, pieces, words};
use crate::openai::tools::{RESPONSES, offer};
use crate::problem::{Problem, Slug, Wrongs};

/// Most members of `metadata`, and characters of the name and the value of each.
const METADATA_MAX: usize = 16;
const NAME_MAX: usize = 64;
const VALUE_MAX: usize = 512;
/// Most answers that a request names by their ids.
const REFERENCES_MAX: usize = 256;
/// Details that no turn has.
const LOGPROBS: &str = "message.output_text.logprobs";

/// The members that are read. Others, such as the temperature, are the model's configuration here,
/// and are read over.
#[derive(Debug, Deserialize)]
pub struct ResponseRequest {
    /// `thinkd`, or `thinkd/<thread>`.
    pub model: String,
    /// A text, or a list of items.
    #[serde(default)]
    input: Value,
    #[serde(default)]
    instructions: Option<String>,
    /// True: the answer comes as events.
    #[serde(default)]
    pub stream: Option<bool>,
    /// True: the client asks for the answer later.
    #[serde(default)]
    pub background: Option<bool>,
    /// The response behind which the message is said.
    #[serde(default)]
    pub previous_response_id: Option<String>,
    #[serde(default)]
    store: Option<bool>,
    #[serde(default)]
    metadata: Option<Map<String, Value>>,
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    prompt_cache_key: Option<String>,
    #[serde(default)]
    text: Option<TextOptions>,
    #[serde(default)]
    tools: Option<Vec<Value>>,
    #[serde(default)]
    tool_choice: Option<Value>,
    #[serde(default)]
    parallel_tool_calls: Option<bool>,
    #[serde(default)]
    include: Option<Vec<String>>,
    #[serde(default)]
    top_logprobs: Option<u64>,
    #[serde(default)]
    conversation: Option<Value>,
    #[serde(default)]
    prompt: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct TextOptions {
    #[serde(default)]
    format: Option<Map<String, Value>>,
}

impl Body for ResponseRequest {
    fn check(&self, wrongs: &mut Wrongs) {
        tools::check(self.tools.as_ref(), self.tool_choice.as_ref(), wrongs);
        let mut refuse = |place: &str, detail: &str| {
            wrongs.add(Slug::Unprocessable, place, detail);
        };
        if self.store == Some(false) {
            refuse(
                "/store",
                "the log keeps every message and every answer: leave store out, or send true",
            );
        }
        let asks = self.include.iter().flatten().any(|it| it == LOGPROBS);
        if asks || self.top_logprobs.is_some_and(|count| count > 0) {
            let place = if asks { "/include" } else { "/top_logprobs" };
            refuse(place, "there are no logprobs of a turn: leave it out");
        }
        if self.conversation.as_ref().is_some_and(|it| !it.is_null()) {
            refuse(
                "/conversation",
                "there are no conversation objects: go on by previous_response_id, or name a thread in the model (thinkd/<thread>)",
            );
        }
        if self.prompt.as_ref().is_some_and(|it| !it.is_null()) {
            refuse(
                "/prompt",
                "there are no stored prompts: send instructions and input",
            );
        }
        if self.user.as_ref().is_some_and(|it| it.len() > ID_MAX) {
            let detail = format!("user has at most {ID_MAX} bytes");
            wrongs.add(Slug::TextTooLarge, "/user", detail);
        }
        self.check_metadata(wrongs);
    }
}

impl ResponseRequest {
    fn check_metadata(&self, wrongs: &mut Wrongs) {
        let members = self.metadata.as_ref();
        if members.is_some_and(|it| it.len() > METADATA_MAX) {
            let detail = format!("metadata has at most {METADATA_MAX} members");
            wrongs.add(Slug::InvalidFrame, "/metadata", detail);
        }
        for (name, value) in members.into_iter().flatten() {
            let fits = |text: &str, most| text.chars().count() <= most;
            let is_text = value.as_str().is_some_and(|text| fits(text, VALUE_MAX));
            if !is_text || !fits(name, NAME_MAX) {
                let detail = format!(
                    "a member of metadata is a text of at most {VALUE_MAX} characters, with a name of at most {NAME_MAX}"
                );
                wrongs.add(Slug::InvalidFrame, "/metadata", detail);
            }
        }
    }

    /// Returns the items of the input.
    pub fn items(&mut self) -> Result<Vec<Item>, Problem> {
        let items = match std::mem::take(&mut self.input) {
            Value::Null => Vec::new(),
            Value::String(text) => return Ok(vec![Item::User(vec![Piece::Text(text)])]),
            Value::Array(items) => items,
            _ => {
                let detail = "input is a text, or a list of items";
                return Err(Problem::at(Slug::InvalidFrame, "/input", detail));
            }
        };
        let mut read = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            read.extend(item_of(item, &format!("/input/{index}"))?);
        }
        let named = read.iter().filter(|it| matches!(it, Item::Reference(..)));
        if named.count() > REFERENCES_MAX {
            let detail = format!(
                "a request names at most {REFERENCES_MAX} answers by their ids: go on by previous_response_id"
            );
            return Err(Problem::at(Slug::Unprocessable, "/input", detail));
        }
        Ok(read)
    }

    /// Returns the conversation that the request has, its references resolved, and the members that
    /// are stored with the message.
    pub fn read(
        mut self,
        items: Vec<Item>,
        (text_bytes, client_tool_ms): (usize, u64),
    ) -> Result<(Chat, Kept), Problem> {
        let tool_choice = self.tool_choice.clone().filter(|it| !it.is_null());
        let offer = offer(
            self.tools.take().unwrap_or_default(),
            (self.tool_choice.take(), RESPONSES),
            self.parallel_tool_calls == Some(false),
            client_tool_ms,
        )?;
        let mut talk = Talk::default();
        talk.instructions.extend(self.instructions.take());
        items.into_iter().for_each(|item| talk.take(item));
        if !talk.said.iter().any(Piece::says) {
            talk.said.clear();
            talk.sizes.clear();
        }
        if talk.said.is_empty() && talk.results.is_empty() {
            let detail = "nothing is said: the input ends without a message of the user";
            return Err(Problem::at(Slug::EmptyInput, "/input", detail));
        }
        let format = self.text.take().and_then(|text| text.format);
        let form = form(format.map(format_of).transpose()?, "/text/format")?;
        let mut request = ChatRequest::default();
        request.model.clone_from(&self.model);
        request.user.clone_from(&self.user);
        request.metadata.clone_from(&self.metadata);
        request.prompt_cache_key = self.prompt_cache_key;
        let instructions = talk.instructions.join("\n\n");
        // In a named thread they are told with the first message, and with no other one.
        let is_prompt = !instructions.trim().is_empty()
            && (self.model == MODEL
                || self.previous_response_id.is_some()
                || talk.before.is_empty());
        let kept = Kept {
            model: self.model,
            background: self.background == Some(true),
            previous: self.previous_response_id,
            user: self.user,
            metadata: self.metadata.unwrap_or_default(),
            tool_choice,
            instructions: is_prompt.then_some(Instructions::Prompt(true)),
            items: Vec::new(),
            sizes: talk.sizes,
        };
        let chat = Chat {
            instructions,
            before: talk.before,
            said: talk.said,
            calls: talk.calls,
            results: talk.results,
            offer,
            form,
            place: "/input",
            request,
        };
        chat.fits(text_bytes)?;
        Ok((chat, kept))
    }
}

/// Reads an item; none: one that is read over.
fn item_of(item: Value, place: &str) -> Result<Option<Item>, Problem> {
    let Value::Object(mut item) = item else {
        let detail = "an item is an object: {\"role\": \"user\", \"content\": \"…\"}";
        return Err(Problem::at(Slug::InvalidFrame, place, detail));
    };
    let text = |key: &str| item.get(key).and_then(Value::as_str).map(str::to_owned);
    let kind = text("type").unwrap_or_else(|| "message".into());
    match &*kind {
        "message" => {}
        // A client repeats it as it came; there is none of ours.
        "reasoning" => return Ok(None),
        "item_reference" => {
            let id = text("id")
                .ok_or_else(|| Problem::at(Slug::InvalidFrame, place, "a reference has an id"))?;
            return Ok(Some(Item::Reference(id, place.to_owned())));
        }
        _ => return tools::read(&kind, item, place).map(Some),
    }
    let role = text("role").unwrap_or_default();
    let content = item.remove("content").unwrap_or_default();
    let pieces = pieces(content, &format!("{place}/content"))?;
    Ok(Some(match &*role {
        "system" | "developer" => Item::System(pieces),
        "user" => Item::User(pieces),
        "assistant" => Item::Answer(Vec::from_iter(words(pieces)).join("\n\n")),
        other => {
            let other: String = other.chars().take(40).collect();
            let detail =
                format!("role {other:?} is not known: system, developer, user or assistant");
            let place = format!("{place}/role");
            return Err(Problem::at(Slug::InvalidFrame, place, detail));
        }
    }))
}

/// Returns the form of an answer as the other protocol has it.
fn format_of(format: Map<String, Value>) -> Result<ResponseFormat, Problem> {
    let Some(kind) = format.get("type").and_then(Value::as_str) else {
        let detail = "a format has a type: text, json_object or json_schema";
        return Err(Problem::at(Slug::InvalidFrame, "/text/format", detail));
    };
    Ok(ResponseFormat {
        kind: kind.to_owned(),
        json_schema: format.get("schema").cloned(),
    })
}

/// A conversation as it is read.
#[derive(Default)]
struct Talk {
    instructions: Vec<String>,
    before: Vec<Exchange>,
    said: Vec<Piece>,
    /// The number of pieces of each message in `said`.
    sizes: Vec<usize>,
    /// The calls of the last answer, and the results behind it.
    calls: Vec<String>,
    results: Vec<ToolResult>,
}

impl Talk {
    fn take(&mut self, item: Item) {
        match item {
            Item::System(pieces) => self.instructions.extend(words(pieces)),
            Item::User(pieces) => {
                self.sizes.push(pieces.len());
                self.said.extend(pieces);
            }
            // A reference is an answer by now.
            Item::Reference(..) => {}
            Item::Answer(answer) => self.adds(&answer, None),
            Item::Call(call, act) => {
                self.adds("", act);
                self.calls.push(call);
            }
            Item::Result(result) => {
                if let Some(exchange) = self.before.last_mut() {
                    exchange.gives(&result.pieces);
                }
                self.results.push(result);
            }
        }
    }

    /// Takes in more of an answer, behind the words or the results that it is to.
    fn adds(&mut self, answer: &str, act: Option<String>) {
        if !self.said.is_empty() || !self.results.is_empty() {
            self.calls.clear();
            self.results.clear();
        }
        if !self.said.is_empty() || self.before.is_empty() {
            self.sizes.clear();
            self.before.push(Exchange {
                said: std::mem::take(&mut self.said),
                ..Exchange::default()
            });
        }
        if let Some(exchange) = self.before.last_mut() {
            exchange.adds(answer, act.into_iter());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(input: Value) -> Result<(Chat, Kept), Problem> {
        let body = json!({ "model": "thinkd", "instructions": "Be brief.", "input": input });
        let mut request: ResponseRequest = serde_json::from_value(body).unwrap();
        let items = request.items()?;
        request.read(items, (1000, 1000))
    }

    #[test]
    fn items_are_a_conversation_and_the_new_messages() {
        let (chat, kept) = read(json!([
            { "role": "system", "content": "Speak up." },
            { "role": "user", "content": "one" },
            { "type": "reasoning", "id": "rs_1", "summary": [] },
            { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "uno", "annotations": [] }] },
            { "role": "user", "content": [{ "type": "input_text", "text": "two" }, { "type": "input_image", "file_id": "ab" }] },
            { "role": "user", "content": "three" },
        ]))
        .unwrap();
        assert_eq!(chat.instructions, "Be brief.\n\nSpeak up.");
        assert_eq!((chat.before.len(), chat.said.len()), (1, 3));
        assert_eq!(chat.before[0].answer, "uno");
        assert_eq!(kept.sizes, [2, 1]);
    }

    #[test]
    fn results_behind_the_last_answer_are_of_its_calls_and_others_are_past() {
        let called = |id: &str| json!({ "type": "function_call", "call_id": id, "name": "add", "arguments": "{}" });
        let result = |id: &str, text: &str| json!({ "type": "function_call_output", "call_id": id, "output": text });
        let items = json!([
            { "role": "user", "content": "one" },
            called("a"),
            result("a", "1"),
            called("b"),
            called("c"),
            result("b", "2"),
        ]);
        let (chat, kept) = read(items.clone()).unwrap();
        assert!(chat.said.is_empty() && kept.sizes.is_empty());
        assert_eq!(chat.calls, ["b", "c"]);
        let place = "/input/5/call_id";
        let only = (
            &*chat.results[0].call,
            &*told(&chat.results[0].pieces),
            &*chat.results[0].place,
        );
        assert_eq!((chat.results.len(), only), (1, ("b", "2", place)));
        assert_eq!((chat.before.len(), chat.before[0].acts.len()), (1, 5));
        let mut later = items.as_array().unwrap().clone();
        later.push(json!({ "role": "assistant", "content": "two" }));
        later.push(json!({ "role": "user", "content": "three" }));
        let (chat, kept) = read(later.into()).unwrap();
        assert_eq!((&*chat.before[0].answer, &*kept.sizes), ("two", &[1][..]));
        assert!(chat.results.is_empty() && chat.calls.is_empty());
        let (chat, _) = read(json!([result("b", "2")])).unwrap();
        assert!(chat.before.is_empty() && chat.said.is_empty());
    }

    #[test]
    fn what_is_no_message_is_refused_with_its_place() {
        for (input, place) in [
            (json!([]), "/input"),
            (json!("  "), "/input"),
            (
                json!([{ "role": "user", "content": "hi" }, { "role": "assistant", "content": "ho" }]),
                "/input",
            ),
            (
                json!([{ "role": "king", "content": "hi" }]),
                "/input/0/role",
            ),
            (
                json!([{ "role": "user", "content": 4 }]),
                "/input/0/content",
            ),
            (json!([{ "type": "item_reference" }]), "/input/0"),
            (
                json!([{ "type": "function_call_output", "output": "4" }]),
                "/input/0/call_id",
            ),
            (
                json!([{ "type": "function_call_output", "call_id": "c", "output": 4 }]),
                "/input/0/output",
            ),
            (
                json!([{ "type": "web_search_call", "id": "w" }]),
                "/input/0",
            ),
            (
                json!([{ "role": "user", "content": [{ "type": "input_image", "image_url": "https://example.org/a.png" }] }]),
                "/input/0/content/0",
            ),
            (
                json!([{ "role": "user", "content": [{ "type": "input_file", "file_id": "f" }] }]),
                "/input/0/content/0",
            ),
            (json!("x".repeat(1001)), "/input"),
        ] {
            let refused = read(input.clone()).unwrap_err();
            assert_eq!(refused.errors[0].pointer, place, "{input}");
        }
    }
}
