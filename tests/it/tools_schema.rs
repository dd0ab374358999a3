//! The schemas of the tools, held against what strict function calling accepts.

use serde_json::{Value, json};
use thinkd::model::prompt::Prompts;
use thinkd::tools::catalogue;

/// Keywords that every provider of strict function calling knows.
const KEYWORDS: [&str; 9] =
    ["type", "description", "properties", "required", "additionalProperties", "items", "enum", "const", "anyOf"];
const TYPES: [&str; 7] = ["object", "array", "string", "integer", "number", "boolean", "null"];

/// What is wrong with a schema, with where.
fn faults(schema: &Value, at: &str, found: &mut Vec<String>) {
    let Some(members) = schema.as_object() else { return found.push(format!("{at}: no object")) };
    let unknown = members.keys().filter(|key| !KEYWORDS.contains(&key.as_str()));
    found.extend(unknown.map(|key| format!("{at}: the keyword {key}")));
    let types = match &schema["type"] {
        Value::Array(types) => types.clone(),
        Value::Null if schema.get("anyOf").is_some() || schema.get("const").is_some() => Vec::new(),
        one => vec![one.clone()],
    };
    let is_type = |name: &Value| name.as_str().is_some_and(|name| TYPES.contains(&name));
    found.extend(types.iter().filter(|name| !is_type(name)).map(|name| format!("{at}: the type {name}")));
    if types.contains(&json!("object")) {
        object_faults(schema, at, found);
    }
    if types.contains(&json!("array")) {
        faults(&schema["items"], &format!("{at}/items"), found);
    }
    for (index, option) in schema["anyOf"].as_array().into_iter().flatten().enumerate() {
        faults(option, &format!("{at}/anyOf/{index}"), found);
    }
}

fn object_faults(schema: &Value, at: &str, found: &mut Vec<String>) {
    let Some(properties) = schema["properties"].as_object() else { return found.push(format!("{at}: no properties")) };
    let mut names: Vec<&str> = properties.keys().map(String::as_str).collect();
    let mut required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    names.sort_unstable();
    required.sort_unstable();
    if names != required {
        found.push(format!("{at}: required are {required:?} of {names:?}"));
    }
    if schema["additionalProperties"] != json!(false) {
        found.push(format!("{at}: more properties are allowed"));
    }
    for (name, property) in properties {
        faults(property, &format!("{at}/{name}"), found);
    }
}

fn all_faults(schema: &Value) -> Vec<String> {
    let mut found = Vec::new();
    faults(schema, "", &mut found);
    found
}

#[test]
fn tool_schemas_are_strict() {
    let prompts = Prompts::load(None).unwrap();
    let specs = catalogue::built_in().specs(&prompts).unwrap();
    assert!(specs.len() > 20, "the control: there are tools");
    for spec in specs.into_iter().map(|spec| spec.told) {
        let schema: Value = serde_json::from_str(spec.parameters.as_str()).unwrap();
        assert_eq!(all_faults(&schema), Vec::<String>::new(), "{}: {schema:#}", spec.name);
        assert_eq!(schema["type"], "object", "{}", spec.name);
        let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        assert!((1..=64).contains(&spec.name.len()) && spec.name.chars().all(is_name), "{}", spec.name);
        assert!(!spec.description.trim().is_empty(), "{} says nothing of itself", spec.name);
    }
}

#[test]
fn what_is_not_strict_is_found() {
    let object = |properties: Value, required: Value| json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    let text = json!({ "type": ["string", "null"], "description": "words" });
    assert_eq!(all_faults(&object(json!({ "text": text }), json!(["text"]))), Vec::<String>::new(), "the control");
    let open = json!({ "type": "object", "properties": {}, "required": [] });
    for (schema, expected) in [
        (object(json!({ "text": text }), json!([])), ": required are [] of [\"text\"]"),
        (open.clone(), ": more properties are allowed"),
        (
            object(json!({ "list": { "type": "array", "items": open } }), json!(["list"])),
            "/list/items: more properties are allowed",
        ),
        (object(json!({ "n": { "type": "integer", "minimum": 1 } }), json!(["n"])), "/n: the keyword minimum"),
        (object(json!({ "n": { "type": "int" } }), json!(["n"])), "/n: the type \"int\""),
        (object(json!({ "n": {} }), json!(["n"])), "/n: the type null"),
        (object(json!({ "n": true }), json!(["n"])), "/n: no object"),
        (json!({ "type": "object" }), ": no properties"),
    ] {
        assert_eq!(all_faults(&schema), [expected]);
    }
}
