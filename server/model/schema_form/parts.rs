//! The parts of a schema: types, lists, alternatives. Pure.

use serde_json::{Map, Value, json};

/// The members of a schema.
pub type Members = Map<String, Value>;

/// Adds a part to the whole: properties and required names together, of all else the first.
pub fn merge(whole: &mut Members, part: Members) {
    for (key, value) in part {
        match (key.as_str(), whole.get_mut(&key)) {
            ("properties", Some(Value::Object(known))) => {
                let Value::Object(more) = value else { continue };
                for (name, schema) in more {
                    match known.get_mut(&name) {
                        None => drop(known.insert(name, schema)),
                        Some(one) if *one == schema => {}
                        Some(one) => *one = json!({ "anyOf": [one.take(), schema] }),
                    }
                }
            }
            ("required", Some(Value::Array(known))) => {
                let Value::Array(more) = value else { continue };
                let new: Vec<Value> = more.into_iter().filter(|it| !known.contains(it)).collect();
                known.extend(new);
            }
            (_, Some(_)) => {}
            (_, None) => drop(whole.insert(key, value)),
        }
    }
}

/// The types of a schema, by the names that JSON schema has for them.
pub fn kinds(schema: &Members) -> Vec<&'static str> {
    let named = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind.as_str()],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    let kind = |name: &str| match name.to_ascii_lowercase().as_str() {
        "string" | "str" => Some("string"),
        "integer" | "int" => Some("integer"),
        "number" | "float" | "double" => Some("number"),
        "boolean" | "bool" => Some("boolean"),
        "array" | "list" => Some("array"),
        "object" | "dict" => Some("object"),
        "null" | "none" => Some("null"),
        _ => None,
    };
    unique(named.into_iter().filter_map(kind))
}

/// The types that a schema without one means.
pub fn guessed(schema: &Members, values: &[Value]) -> Vec<&'static str> {
    let has = |keys: &[&str]| keys.iter().any(|key| schema.contains_key(*key));
    if !values.is_empty() {
        let kind = |value: &Value| match value {
            Value::String(_) => "string",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::Bool(_) => "boolean",
            Value::Array(_) => "array",
            Value::Object(_) | Value::Null => "object",
        };
        return unique(values.iter().map(kind));
    }
    let of = |kind| vec![kind];
    if has(&[
        "properties",
        "additionalProperties",
        "required",
        "patternProperties",
    ]) {
        of("object")
    } else if has(&["items", "prefixItems", "minItems", "maxItems"]) {
        of("array")
    } else if has(&["pattern", "minLength", "maxLength", "format"]) {
        of("string")
    } else if has(&[
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
    ]) {
        of("number")
    } else {
        Vec::new()
    }
}

/// The values that a schema lists.
pub fn values(schema: &mut Members) -> Vec<Value> {
    let one = schema.remove("const");
    let many = taken_list(schema, "enum");
    one.map_or(many, |one| vec![one])
}

pub fn or_null(schema: Members) -> Members {
    let mut options = match schema.get("anyOf").and_then(Value::as_array) {
        Some(options) => options.clone(),
        None => vec![Value::Object(schema)],
    };
    options.push(json!({ "type": "null" }));
    members(json!({ "anyOf": options }))
}

pub fn any_of(mut options: Vec<Members>) -> Members {
    if options.len() == 1 {
        return options.remove(0);
    }
    members(json!({ "anyOf": options }))
}

/// Options without those that say the same; words of several lists are one list.
pub fn together(options: Vec<Members>) -> Vec<Members> {
    let is_words =
        |option: &Members| option.contains_key("enum") && !option.contains_key("description");
    let mut all: Vec<Members> = Vec::new();
    for option in options {
        let list = all.iter_mut().find(|it| is_words(it) && is_words(&option));
        if let Some(known) = list {
            let both = [self::list(known, "enum"), self::list(&option, "enum")].concat();
            known.insert("enum".to_owned(), unique(both).into());
        } else if !all.contains(&option) {
            all.push(option);
        }
    }
    all
}

pub fn unique<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut unique = Vec::new();
    for value in values {
        if !unique.contains(&value) {
            unique.push(value);
        }
    }
    unique
}

/// True for a schema that takes null alone.
pub fn is_null(schema: &Value) -> bool {
    let is_listed = |key: &str| {
        let list = schema.get(key).and_then(Value::as_array);
        let is_null = |it: &Value| it.is_null() || it == "null";
        list.is_some_and(|list| !list.is_empty() && list.iter().all(is_null))
    };
    schema["type"] == "null"
        || schema.get("const").is_some_and(Value::is_null)
        || is_listed("type")
        || is_listed("enum")
}

pub fn list(schema: &Members, key: &str) -> Vec<Value> {
    let list = schema.get(key).and_then(Value::as_array);
    list.cloned().unwrap_or_default()
}

pub fn taken_list(schema: &mut Members, key: &str) -> Vec<Value> {
    match schema.remove(key) {
        Some(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}

pub fn members(schema: Value) -> Members {
    match schema {
        Value::Object(members) => members,
        _ => Map::new(),
    }
}
