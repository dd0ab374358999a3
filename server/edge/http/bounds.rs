//! Bounds writes the limits and patterns that the server enforces into the OpenAPI document: a
//! value that its schema admits is not refused for its form. Types say which members there are. The
//! bound of a parameter is given here by its name, once for every place that has it. The bound of a
//! body's member is given beside its type, in the words of this file.

use serde_json::{Value, json};

use super::params;
use super::path::{TASK_DIGITS, TOOL_MAX};
use crate::limits::Limits;
use thinkd_words::id::{INTEGER_MAX, THREAD_ID_MAX};

/// A text that may be empty. NUL is refused everywhere.
pub const TEXT: &str = r"^[^\u0000]*$";
/// A text with something in it.
pub const WORDS: &str = r"^[^\u0000]*[^\u0000\s\u0085][^\u0000]*$";
/// The form of a name.
pub const NAME: &str = "^[a-z0-9_-]{1,32}$";
const LABEL: &str = "^[a-z0-9_-]{1,36}$";
const THREAD: &str = r"^[a-z0-9_-]{1,36}(\.[a-z0-9_-]{1,36})*$";
const SHA256: &str = "^[0-9a-f]{64}$";

/// Writes the bounds of all parameters into a document.
pub fn of_parameters(document: &mut Value) {
    for (_, item) in document["paths"].as_object_mut().into_iter().flatten() {
        for (_, operation) in item.as_object_mut().into_iter().flatten() {
            // Asking by index would put a null where there are none.
            let parameters = operation
                .get_mut("parameters")
                .and_then(Value::as_array_mut);
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
}

/// Writes the bounds of the members of a body into a document.
pub fn of_body<const N: usize>(document: &mut Value, schema: &str, members: [(&str, Value); N]) {
    for (member, bound) in members {
        put(
            &mut document["components"]["schemas"][schema]["properties"][member],
            bound,
        );
    }
}

/// Writes the bounds of the parameters of a reading of `path` into a document.
pub fn of_query<const N: usize>(document: &mut Value, path: &str, bounds: [(&str, Value); N]) {
    let parameters = document["paths"][path]["get"]["parameters"].as_array_mut();
    for parameter in parameters.into_iter().flatten() {
        let known = bounds.iter().find(|(name, _)| parameter["name"] == *name);
        if let Some((_, bound)) = known {
            put(&mut parameter["schema"], bound.clone());
        }
    }
}

/// Adds the members of `bound` to a schema.
pub fn put(schema: &mut Value, bound: Value) {
    if let (Some(schema), Value::Object(bound)) = (schema.as_object_mut(), bound) {
        schema.extend(bound);
    }
}

/// A text of this form.
pub fn text(pattern: &str) -> Value {
    json!({ "pattern": pattern, "maxLength": Limits::default().text_bytes })
}

/// A text with something in it, of at most so many characters.
pub fn words(most: usize) -> Value {
    json!({ "pattern": WORDS, "maxLength": most })
}

/// A parameter that is a text with something in it.
pub fn asked() -> Value {
    json!({ "pattern": WORDS, "minLength": 1, "maxLength": params::WORDS_MAX })
}

/// The id of a thread.
pub fn thread() -> Value {
    json!({ "pattern": THREAD, "maxLength": THREAD_ID_MAX })
}

/// A part of a thread's id.
pub fn label() -> Value {
    json!({ "pattern": LABEL })
}

/// A name: of a contact, of a submodule.
pub fn name() -> Value {
    json!({ "pattern": NAME })
}

/// A list.
pub fn list() -> Value {
    json!({ "maxItems": Limits::default().array_items })
}

/// The name of a tool, this server's or another's.
pub fn tool() -> Value {
    json!({ "pattern": format!("^[a-zA-Z0-9_-]{{1,{TOOL_MAX}}}$") })
}

/// The hash of a blob.
pub fn sha256() -> Value {
    json!({ "pattern": SHA256 })
}

/// Returns the bound of a parameter by its name and place; some names are bounded only in the path.
fn bound_of(parameter: &str, place: &str) -> Option<Value> {
    Some(match (parameter, place) {
        // Where `subtree` is true or false, a pattern says nothing.
        ("thread" | "parent" | "subtree" | "forked_from", _) => thread(),
        ("status", _) => {
            json!({ "enum": ["idle", "thinking", "waiting", "done", "failed", "stopped"] })
        }
        ("name", "path") => name(),
        ("run" | "id" | "event_id", "path") => json!({ "format": "uuid" }),
        ("task", "path") => json!({ "pattern": format!("^t[0-9]{{1,{TASK_DIGITS}}}$") }),
        ("sha256", "path") => sha256(),
        ("key", "path") => json!({ "pattern": r"^[^\u0000]+$" }),
        ("after" | "before" | "expected_seq", _) => json!({ "maximum": INTEGER_MAX }),
        ("Last-Event-ID", _) => json!({ "pattern": "^[0-9]{1,16}(@[0-9a-fA-F-]{36})?$" }),
        ("q", _) => asked(),
        ("tags", _) => {
            json!({ "maxItems": Limits::default().filter_tags, "items": { "type": "string", "pattern": TEXT } })
        }
        ("cursor", _) => json!({ "pattern": "^[A-Za-z0-9_-]{16,}$" }),
        ("by", _) => json!({ "enum": ["module", "thread", "model", "purpose"] }),
        ("order", _) => json!({ "enum": ["desc", "asc"] }),
        ("wait", _) => json!({ "maximum": Limits::default().wait_ms / 1000 }),
        _ => return None,
    })
}
