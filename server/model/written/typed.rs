//! Arguments that were written as texts get the types of the tool's schema, and no other.

use serde_json::{Map, Value};

use super::super::provider::{ToolCall, ToolSpec};
use super::{Arguments, Written};
use thinkd_words::digits;
use thinkd_words::tool_name::undecorated;

/// Deepest nesting of `anyOf` that is looked into.
const DEPTH_MAX: usize = 8;

/// A written call as a provider would have sent it; none where its tool was not offered.
pub(super) fn call<'s>(
    call: Written,
    spec: impl Fn(&str) -> Option<&'s ToolSpec>,
) -> Option<ToolCall> {
    let spec = named(&call.name, spec)?;
    Some(of_tool(call, Some(spec)))
}

/// A written call, also of a tool that was not offered.
pub(super) fn call_of_any<'s>(
    call: Written,
    spec: impl Fn(&str) -> Option<&'s ToolSpec>,
) -> ToolCall {
    let spec = named(&call.name, spec);
    of_tool(call, spec)
}

/// The tool that a name means, without the decoration of templates where no tool has all of it.
fn named<'s>(written: &str, spec: impl Fn(&str) -> Option<&'s ToolSpec>) -> Option<&'s ToolSpec> {
    spec(written).or_else(|| spec(undecorated(written)))
}

/// A call of a tool, or of one that is not known.
fn of_tool(call: Written, spec: Option<&ToolSpec>) -> ToolCall {
    let arguments = match call.arguments {
        Arguments::Values(values) => values,
        Arguments::Texts(texts) => {
            let schema = spec.map_or("null", |spec| spec.parameters.as_str());
            let schema: Value = serde_json::from_str(schema).unwrap_or_default();
            let properties = &schema["properties"];
            let value = |(key, text): (String, String)| {
                let value = typed(&text, &properties[key.as_str()]);
                (key, value)
            };
            texts.into_iter().map(value).collect::<Map<_, _>>()
        }
    };
    let name = spec.map_or(call.name, |spec| spec.name.clone());
    ToolCall::new(name, &Value::Object(arguments))
}

/// A text as a value of a type that the schema has. A text stays one where the schema takes texts, or the text is none of its types.
fn typed(text: &str, schema: &Value) -> Value {
    let mut types = Vec::new();
    collect(schema, &mut types, DEPTH_MAX);
    let word = text.trim();
    let has = |name: &str| types.contains(&name);
    if word == "null" && has("null") {
        return Value::Null;
    }
    if types.is_empty() || has("string") {
        return text.into();
    }
    let value = match word {
        "True" => Value::Bool(true),
        "False" => Value::Bool(false),
        _ => serde_json::from_str(word).unwrap_or_default(),
    };
    // Whoever reads the arguments sees the digits, and makes the number of them.
    if digits::unkept(word).is_some() {
        return text.into();
    }
    let fits = match &value {
        Value::Null => false,
        Value::Bool(_) => has("boolean"),
        Value::Number(number) => has("number") || (has("integer") && !number.is_f64()),
        Value::String(_) => false,
        Value::Array(_) => has("array"),
        Value::Object(_) => has("object"),
    };
    if fits { value } else { text.into() }
}

/// The types that a schema names, of its alternatives too.
fn collect<'s>(schema: &'s Value, types: &mut Vec<&'s str>, depth: usize) {
    match &schema["type"] {
        Value::String(name) => types.push(name),
        Value::Array(names) => types.extend(names.iter().filter_map(Value::as_str)),
        _ => {}
    }
    let Some(depth) = depth.checked_sub(1) else {
        return;
    };
    for key in ["anyOf", "oneOf"] {
        let alternatives = schema[key].as_array().into_iter().flatten();
        alternatives.for_each(|schema| collect(schema, types, depth));
    }
}
