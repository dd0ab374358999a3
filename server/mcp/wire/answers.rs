//! Answers of servers, from JSON to types of ours. They are read part by part: the library reads all of an answer or nothing of it, and a part of an
//! unknown kind would cost those beside it.

use rmcp::model::ServerResult;
use serde_json::{Value, to_value};

use super::{Answer, Part, Pointer, Told};

/// Most characters of an unknown kind that are said.
const KIND_MAX: usize = 60;

/// A page of a list.
#[derive(Debug)]
pub struct Page {
    pub tools: Vec<Told>,
    /// The places of the entries that are no objects, from 1.
    pub odd: Vec<usize>,
    /// The beginning of the next page, in any form that the server uses.
    pub next: Option<Value>,
}

/// Returns the JSON of an answer, of any type that the library took it for.
pub fn json(result: ServerResult) -> Value {
    match result {
        ServerResult::CustomResult(result) => result.0,
        known => to_value(known).unwrap_or_default(),
    }
}

/// Returns a page of tools, none of which is judged here (`offer.rs`). None: it is no page of
/// tools.
pub fn page(mut page: Value) -> Option<Page> {
    let next = page.get_mut("nextCursor").map(Value::take);
    let mut tools = Vec::new();
    let mut odd = Vec::new();
    for (at, tool) in page.get("tools")?.as_array()?.iter().enumerate() {
        if tool.is_object() {
            tools.push(told(tool))
        } else {
            odd.push(at + 1)
        }
    }
    Some(Page { tools, odd, next })
}

fn told(tool: &Value) -> Told {
    let hint = |hint: &str| {
        tool.get("annotations")
            .and_then(|hints| hints.get(hint)?.as_bool())
            .unwrap_or(false)
    };
    Told {
        name: text(tool, "name").unwrap_or_default(),
        description: text(tool, "description").unwrap_or_default(),
        schema: tool.get("inputSchema").cloned().unwrap_or_default(),
        only_reads: hint("readOnlyHint"),
        is_idempotent: hint("idempotentHint"),
    }
}

/// Returns a member that is a text, unless it is empty.
pub fn text(of: &Value, member: &str) -> Option<String> {
    let text = of.get(member)?.as_str()?;
    (!text.is_empty()).then(|| text.to_owned())
}

/// Returns the answer to a call. None: it is no answer to one.
pub fn answer(result: Value) -> Option<Answer> {
    let Value::Object(mut members) = result else {
        return None;
    };
    let known = ["content", "structuredContent", "isError"];
    if !members.is_empty() && !known.iter().any(|key| members.contains_key(*key)) {
        return None;
    }
    let is_error = !matches!(
        members.get("isError"),
        None | Some(Value::Null | Value::Bool(false))
    );
    let structured = members.remove("structuredContent");
    Some(Answer {
        parts: members.remove("content").map(parts).unwrap_or_default(),
        structured,
        is_error,
    })
}

/// Returns the parts of an answer; one alone may stand without a list around it.
pub fn parts(content: Value) -> Vec<Part> {
    match content {
        Value::Null => Vec::new(),
        Value::Array(parts) => parts.into_iter().map(part).collect(),
        one => vec![part(one)],
    }
}

fn part(block: Value) -> Part {
    let mut block = match block {
        Value::String(text) => return Part::Text(text),
        Value::Object(block) => Value::Object(block),
        _ => return left_out("a part of no kind"),
    };
    let kind = text(&block, "type").unwrap_or_default();
    match kind.as_str() {
        "text" | "" if block.get("text").is_some() => words(block["text"].take()),
        "image" => media(block, "data", None).unwrap_or_else(|| left_out("a picture of no kind")),
        "audio" => media(block, "data", None).unwrap_or_else(|| left_out("a sound of no kind")),
        "resource" => contents(block["resource"].take()),
        "resource_link" => match text(&block, "uri") {
            Some(uri) => Part::Link(Pointer {
                uri,
                name: text(&block, "title").or_else(|| text(&block, "name")),
                description: text(&block, "description"),
                mime: text(&block, "mimeType"),
            }),
            None => left_out("a link to nowhere"),
        },
        "" => left_out("a part of no kind"),
        kind => {
            let kind: String = kind.chars().take(KIND_MAX).collect();
            left_out(&format!("a part of the kind {kind:?}"))
        }
    }
}

/// Returns the contents of a resource.
pub fn contents(mut contents: Value) -> Part {
    if contents.get("text").is_some_and(|text| !text.is_null()) {
        return words(contents["text"].take());
    }
    media(contents, "blob", Some("")).unwrap_or_else(|| left_out("a resource of no kind"))
}

/// Returns words, or JSON in their place.
fn words(text: Value) -> Part {
    match text {
        Value::String(text) => Part::Text(text),
        Value::Null => left_out("a text without words"),
        other => Part::Text(other.to_string()),
    }
}

/// Returns bytes in base64. Their kind is said beside them, or before them in an address (`data:`),
/// or it is `unsaid`.
fn media(mut block: Value, member: &str, unsaid: Option<&str>) -> Option<Part> {
    let Value::String(data) = block.get_mut(member)?.take() else {
        return None;
    };
    let address = data.trim_start().strip_prefix("data:");
    let (kind, bytes) = address
        .and_then(|address| address.split_once(";base64,"))
        .map_or((None, None), |(kind, bytes)| (Some(kind), Some(bytes)));
    let mime = text(&block, "mimeType");
    let mime = mime.as_deref().or(kind).or(unsaid)?.to_owned();
    let data = bytes.map(str::to_owned).unwrap_or(data);
    Some(Part::Media { mime, data })
}

/// Returns the words in place of a part that cannot be read.
fn left_out(what: &str) -> Part {
    Part::Text(format!("({what} is left out)"))
}
