//! Calls as JSON objects: `{"name": …, "arguments": {…}}` and its relatives.

use serde_json::{Map, Value};

use super::rest::Rest;
use super::{Arguments, Written};
use thinkd_words::lenient_json;

/// Members that an object has which is a call.
const MEMBERS: [&str; 11] = [
    "name",
    "tool_name",
    "tool_call_id",
    "arguments",
    "parameters",
    "input",
    "type",
    "function",
    "id",
    "call_id",
    "index",
];

/// The calls that a JSON value is. A call behind a mark may leave its arguments out; without one, the object need not be a call.
pub(super) fn calls_of(value: Value, is_marked: bool) -> Option<Vec<Written>> {
    match value {
        Value::Array(list) => list
            .into_iter()
            .map(|value| one(object(value)?, is_marked))
            .collect(),
        Value::Object(mut object) => {
            if let Some(Value::Array(list)) = object.remove("tool_calls") {
                let is_message = object.iter().all(|(key, value)| {
                    matches!(key.as_str(), "role" | "content")
                        && (value.is_null() || value == "" || value == "assistant")
                });
                return if is_message {
                    calls_of(Value::Array(list), is_marked)
                } else {
                    None
                };
            }
            Some(vec![one(object, is_marked)?])
        }
        _ => None,
    }
}

/// A JSON object.
pub(super) fn object(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(object) => Some(object),
        _ => None,
    }
}

fn one(mut call: Map<String, Value>, is_marked: bool) -> Option<Written> {
    // Apertus writes the name as the only member.
    if let Some((name, Value::Object(arguments))) = call.iter().next()
        && is_marked
        && call.len() == 1
        && !MEMBERS.contains(&name.as_str())
    {
        return Some(Written {
            name: name.clone(),
            arguments: Arguments::Values(arguments.clone()),
        });
    }
    let has_other = call.keys().any(|key| !MEMBERS.contains(&key.as_str()));
    let kind = call
        .get("type")
        .map(|kind| kind.as_str().unwrap_or_default());
    let is_use = kind == Some("tool_use");
    if has_other || kind.is_some_and(|kind| kind != "function" && !is_use) {
        return None;
    }
    if let Some(Value::Object(function)) = call.remove("function") {
        return if function.contains_key("function") || call.contains_key("name") {
            None
        } else {
            one(function, is_marked)
        };
    }
    let name = call.remove("name");
    let Some(Value::String(name)) = name.or_else(|| call.remove("tool_name")) else {
        return None;
    };
    // Claude's word, which is too common to say it alone.
    if call.contains_key("input") && !is_marked && !is_use {
        return None;
    }
    let names = ["arguments", "parameters", "input"];
    let mut given = names.iter().filter_map(|name| call.remove(*name));
    let arguments = match (given.next(), given.next()) {
        (Some(arguments), None) => arguments_of(arguments)?,
        (None, None) if is_marked => Map::new(),
        _ => return None,
    };
    // What the model was told of the tool, once more.
    if arguments.contains_key("properties") && arguments.get("type") == Some(&"object".into()) {
        return None;
    }
    Some(Written {
        name,
        arguments: Arguments::Values(arguments),
    })
}

/// The arguments, which may be a text that holds them.
fn arguments_of(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::String(text) => object(lenient_json::read(&text)?.value),
        value => object(value),
    }
}

/// The arguments of a call as a JSON object, which some models fence.
pub(super) fn arguments(rest: &mut Rest<'_>) -> Option<Arguments> {
    let is_fenced = rest.eat("```json") || rest.eat("```");
    let arguments = object(rest.json()?)?;
    if is_fenced && !rest.eat("```") {
        return None;
    }
    Some(Arguments::Values(arguments))
}
