//! Schemas of tools for servers that know little of them: without alternatives and without
//! additional properties. The tool checks its arguments by its own schema.

use serde_json::Value;

/// Members of a formed schema that some servers do not know.
const MORE: [&str; 2] = ["anyOf", "additionalProperties"];

/// Returns whether tools of a request have members of schemas that `plain` takes off.
pub fn has_more_than_plain(tools: &Value) -> bool {
    schemas(tools).any(has_more)
}

/// Makes the schemas of the tools of a request plain. Of alternatives the first one stays that is not null.
pub fn plain(tools: &mut Value) {
    let tools = tools.as_array_mut().into_iter().flatten();
    for tool in tools {
        let schema = tool.pointer_mut("/function/parameters");
        schema.into_iter().for_each(make_plain);
    }
}

fn schemas(tools: &Value) -> impl Iterator<Item = &Value> {
    let tools = tools.as_array().into_iter().flatten();
    tools.filter_map(|tool| tool.pointer("/function/parameters"))
}

fn has_more(schema: &Value) -> bool {
    let parts = schema["properties"].as_object().into_iter().flatten();
    MORE.iter().any(|name| schema.get(name).is_some())
        || parts.map(|(_, part)| part).any(has_more)
        || schema.get("items").is_some_and(has_more)
}

fn make_plain(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else {
        return;
    };
    members.remove("additionalProperties");
    if let Some(Value::Array(options)) = members.remove("anyOf")
        && let Some(Value::Object(first)) = options.into_iter().find(|it| it["type"] != "null")
    {
        for (name, value) in first {
            members.entry(name).or_insert(value);
        }
        members.remove("anyOf");
        members.remove("additionalProperties");
    }
    let parts = members.get_mut("properties").and_then(Value::as_object_mut);
    parts
        .into_iter()
        .flatten()
        .for_each(|(_, part)| make_plain(part));
    members.get_mut("items").into_iter().for_each(make_plain);
}
