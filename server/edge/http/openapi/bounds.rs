//! The limits and forms that the server enforces, written into the OpenAPI document: what a schema lets through is not refused for
//! its form. Types say which members there are; what a text or number may be is said here, once for every place that has it.

use serde_json::{Value, json};
use utoipa::openapi::OpenApi;

use crate::edge::http::{messages, params};
use crate::edge::limits::Limits;
use crate::words::id::{INTEGER_MAX, THREAD_ID_MAX};

/// A text that may be empty. NUL is refused everywhere.
const TEXT: &str = r"^[^\u0000]*$";
/// A text with something in it.
const WORDS: &str = r"^[^\u0000]*[^\u0000\s\u0085][^\u0000]*$";
const NAME: &str = "^[a-z0-9_-]{1,32}$";
const THREAD: &str = r"^[a-z0-9_-]{1,32}(\.[a-z0-9_-]{1,32})*$";
const SHA256: &str = "^[0-9a-f]{64}$";
const BASE64: &str = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$";

/// The document with its bounds.
pub fn draw(document: &OpenApi) -> Value {
    // Made of maps with string keys: this cannot fail.
    let mut value = serde_json::to_value(document).unwrap_or_default();
    for (schema, member, bound) in members() {
        put(&mut value["components"]["schemas"][schema]["properties"][member], bound);
    }
    for (_, item) in value["paths"].as_object_mut().into_iter().flatten() {
        for (_, operation) in item.as_object_mut().into_iter().flatten() {
            // Asking by index would put a null where there are none.
            let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
            for parameter in parameters.into_iter().flatten() {
                let bound = parameter["name"]
                    .as_str()
                    .and_then(|name| bound_of(name, parameter["in"].as_str().unwrap_or_default()));
                if let Some(bound) = bound {
                    put(&mut parameter["schema"], bound);
                }
            }
        }
    }
    let before = json!({ "maximum": messages::BEFORE_MAX });
    for parameter in value["paths"]["/messages"]["get"]["parameters"].as_array_mut().into_iter().flatten() {
        if parameter["name"] == "before" {
            put(&mut parameter["schema"], before.clone());
        }
    }
    post_message(&mut value);
    value
}

/// Adds the members of `bound` to a schema.
fn put(schema: &mut Value, bound: Value) {
    if let (Some(schema), Value::Object(bound)) = (schema.as_object_mut(), bound) {
        schema.extend(bound);
    }
}

fn text(pattern: &str) -> Value {
    json!({ "pattern": pattern, "maxLength": Limits::default().text_bytes })
}

fn thread() -> Value {
    json!({ "pattern": THREAD, "maxLength": THREAD_ID_MAX })
}

/// What members of bodies may be.
fn members() -> Vec<(&'static str, &'static str, Value)> {
    let (name, items) = (json!({ "pattern": NAME }), Limits::default().array_items);
    let policy = json!({ "enum": ["enqueue", "interrupt", "reject", null] });
    vec![
        ("CreateThread", "label", name.clone()),
        ("CreateThread", "parent", thread()),
        ("CreateThread", "title", text(TEXT)),
        ("CreateThread", "prompt", text(TEXT)),
        ("CreateThread", "policy", policy),
        ("CreateThread", "submodules", json!({ "maxItems": items, "items": { "type": "string", "pattern": NAME } })),
        ("CreateThread", "contacts", json!({ "maxItems": items })),
        ("CreateContact", "name", name.clone()),
        ("CreateContact", "thread", thread()),
        ("CreateContact", "description", text(TEXT)),
        ("NewSubmodule", "name", name),
        ("NewSubmodule", "prompt", text(WORDS)),
        ("SubmoduleChange", "prompt", text(WORDS)),
        ("StartRun", "event_id", json!({ "format": "uuid" })),
        ("Said", "thread", thread()),
        ("Said", "text", text(TEXT)),
        ("Said", "images", json!({ "maxItems": items })),
        ("Said", "audio", json!({ "maxItems": items })),
        ("Media", "data", json!({ "pattern": BASE64, "contentEncoding": "base64" })),
        ("Media", "mimeType", json!({ "pattern": "^(image|audio)/" })),
        ("Media", "blob", json!({ "pattern": SHA256 })),
    ]
}

/// What parameters of a name may be, wherever they stand.
fn bound_of(name: &str, place: &str) -> Option<Value> {
    Some(match (name, place) {
        // Where `subtree` is true or false, a pattern says nothing.
        ("thread" | "parent" | "subtree", _) => thread(),
        ("status", _) => json!({ "enum": ["idle", "thinking", "waiting", "done", "failed", "stopped"] }),
        ("name", "path") => json!({ "pattern": NAME }),
        ("run", "path") => json!({ "format": "uuid" }),
        ("sha256", "path") => json!({ "pattern": SHA256 }),
        ("key", "path") => json!({ "pattern": r"^[^\u0000]+$" }),
        ("after" | "before", _) => json!({ "maximum": INTEGER_MAX }),
        ("Last-Event-ID", _) => json!({ "pattern": "^[0-9]{1,16}(@[0-9a-fA-F-]{36})?$" }),
        ("q", _) => json!({ "pattern": WORDS, "minLength": 1, "maxLength": params::WORDS_MAX }),
        ("tags", _) => {
            json!({ "maxItems": Limits::default().filter_tags, "items": { "type": "string", "pattern": TEXT } })
        }
        ("cursor", _) => json!({ "pattern": "^[A-Za-z0-9_-]{16,}$" }),
        ("order", _) => json!({ "enum": ["desc", "asc"] }),
        ("wait", _) => json!({ "maximum": Limits::default().wait_ms / 1000 }),
        _ => return None,
    })
}

/// The body of a posted message: as a frame, but the address names the thread, and something has to be said.
fn post_message(value: &mut Value) {
    let schemas = &mut value["components"]["schemas"];
    for one in ["data", "blob"] {
        let other = if one == "data" { "blob" } else { "data" };
        let alone =
            json!({ "required": [one], "properties": { one: { "type": "string" }, other: { "type": "null" } } });
        if let Some(media) = schemas["Media"].as_object_mut() {
            let forms = media.entry("oneOf").or_insert_with(|| json!([]));
            forms.as_array_mut().into_iter().for_each(|forms| forms.push(alone.clone()));
        }
    }
    let mut message = schemas["Said"].clone();
    if let Some(properties) = message["properties"].as_object_mut() {
        properties.remove("thread");
        let kind = json!({ "type": "string", "enum": ["message", "sensory"], "description": "`message` when absent." });
        properties.insert("type".into(), kind);
        let id = json!({ "type": ["string", "null"], "maxLength": 255, "pattern": TEXT, "description": "Comes back in the answer." });
        properties.insert("id".into(), id);
    }
    put(
        &mut message,
        json!({ "description": "Something said or perceived.", "anyOf": [
            { "required": ["text"], "properties": { "text": { "type": "string", "pattern": WORDS } } },
            { "required": ["images"], "properties": { "images": { "type": "array", "minItems": 1 } } },
            { "required": ["audio"], "properties": { "audio": { "type": "array", "minItems": 1 } } },
        ] }),
    );
    schemas["PostMessage"] = message;
    let content = &mut value["paths"]["/threads/{thread}/messages"]["post"]["requestBody"]["content"];
    content["application/json"]["schema"] = json!({ "$ref": "#/components/schemas/PostMessage" });
}
