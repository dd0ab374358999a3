//! What servers answer, from the types of the protocol to ours.

use std::sync::Arc;

use rmcp::model::{CallToolResult, ContentBlock, ResourceContents, Tool};
use serde_json::Value;

use super::{Answer, Part, Told};

/// Stands for what this build cannot read.
const UNKNOWN: &str = "(a kind of content that is not known here)";

/// A page of a list.
#[derive(Debug)]
pub struct Page {
    pub tools: Vec<Told>,
    /// The places of the entries that are no objects, from 1.
    pub odd: Vec<usize>,
    /// Where the next one begins, whatever the server takes for that.
    pub next: Option<Value>,
}

/// A tool, as it is listed.
pub fn told(tool: Tool) -> Told {
    let hints = tool.annotations.unwrap_or_default();
    Told {
        name: tool.name.into_owned(),
        description: tool.description.unwrap_or_default().into_owned(),
        schema: Value::Object(Arc::unwrap_or_clone(tool.input_schema)),
        only_reads: hints.read_only_hint.unwrap_or(false),
        is_idempotent: hints.idempotent_hint.unwrap_or(false),
    }
}

/// A page of tools that cannot be read as a whole, each tool by itself: what is wrong with one is seen where all are looked at (`offer.rs`). None: it is
/// no page of tools.
pub fn told_apart(mut page: Value) -> Option<Page> {
    let next = page.get_mut("nextCursor").map(Value::take);
    let (mut tools, mut odd) = (Vec::new(), Vec::new());
    for (at, tool) in page.get("tools")?.as_array()?.iter().enumerate() {
        if tool.is_object() {
            tools.push(one_told_apart(tool))
        } else {
            odd.push(at + 1)
        }
    }
    Some(Page { tools, odd, next })
}

fn one_told_apart(tool: &Value) -> Told {
    let text = |member: &str| {
        tool.get(member)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let hint = |hint: &str| {
        tool.get("annotations")
            .and_then(|hints| hints.get(hint)?.as_bool())
            .unwrap_or(false)
    };
    Told {
        name: text("name"),
        description: text("description"),
        schema: tool.get("inputSchema").cloned().unwrap_or_default(),
        only_reads: hint("readOnlyHint"),
        is_idempotent: hint("idempotentHint"),
    }
}

/// What a call came to.
pub fn answer(result: CallToolResult) -> Answer {
    let CallToolResult {
        content,
        structured_content,
        is_error,
        ..
    } = result;
    let parts = content.into_iter().map(part).collect();
    Answer {
        parts,
        structured: structured_content,
        is_error: is_error.unwrap_or(false),
    }
}

/// A part of it.
pub fn part(block: ContentBlock) -> Part {
    match block {
        ContentBlock::Text(text) => Part::Text(text.text),
        ContentBlock::Image(image) => Part::Media {
            mime: image.mime_type,
            data: image.data,
        },
        ContentBlock::Audio(audio) => Part::Media {
            mime: audio.mime_type,
            data: audio.data,
        },
        ContentBlock::Resource(resource) => contents(resource.resource),
        ContentBlock::ResourceLink(link) => Part::Link(link.uri),
        _ => Part::Text(UNKNOWN.to_owned()),
    }
}

/// What a resource holds.
pub fn contents(contents: ResourceContents) -> Part {
    match contents {
        ResourceContents::TextResourceContents { text, .. } => Part::Text(text),
        ResourceContents::BlobResourceContents {
            mime_type, blob, ..
        } => Part::Media {
            mime: mime_type.unwrap_or_default(),
            data: blob,
        },
        _ => Part::Text(UNKNOWN.to_owned()),
    }
}
