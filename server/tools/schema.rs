//! The JSON schema of a tool's arguments: types from the Rust type, descriptions from the tool's prompt.

use schemars::JsonSchema;
use serde_json::{Value, json};

use thinkd_model::prompt::{Error, ToolWords};
use thinkd_words::decode::WRONGS_MAX;

pub mod fit;
pub mod known;

/// Returns the schema of `T` as strict function calling wants it: every property required, nothing
/// else allowed, no `$schema`, no titles, no formats that providers refuse. Nor has it
/// descriptions: comments are for readers of the code, sentences for a model are prompts.
pub fn strict<T: JsonSchema>() -> Value {
    made_strict(generator().into_root_schema_for::<T>())
}

fn generator() -> schemars::SchemaGenerator {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|s| {
        s.inline_subschemas = true;
        s.meta_schema = None;
    });
    settings.into_generator()
}

fn made_strict(schema: schemars::Schema) -> Value {
    let mut schema = schema.to_value();
    make_strict(&mut schema);
    schema
}

/// The schema with the sentences of the prompt, which has a section for every argument and for nothing else.
pub fn explained(mut schema: Value, tool: &str, words: &ToolWords) -> Result<Value, Error> {
    let mut nothing = serde_json::Map::new();
    let properties = schema
        .get_mut("properties")
        .and_then(Value::as_object_mut)
        .unwrap_or(&mut nothing);
    let is_explained = properties.keys().eq(words.arguments.keys());
    if !is_explained {
        let expected: Vec<&str> = properties.keys().map(String::as_str).collect();
        let found: Vec<&str> = words.arguments.keys().map(String::as_str).collect();
        let expected = expected.join(", ");
        let found = found.join(", ");
        return Err(Error::Arguments {
            prompt: format!("tools/{tool}.md"),
            expected,
            found,
        });
    }
    for (name, sentence) in words
        .arguments
        .iter()
        .filter(|(_, sentence)| !sentence.is_empty())
    {
        properties[name.as_str()]["description"] = sentence.as_str().into();
    }
    Ok(schema)
}

/// Checks that a text of a model is a JSON schema that answers can be held against. No address in
/// it is ever fetched.
pub fn check(schema: &Value) -> Result<(), String> {
    validator(schema).map(drop)
}

/// Checks a value by its schema. The error says the first faults. A part of the schema that is not
/// understood checks nothing.
pub fn fits(schema: &Value, value: &Value) -> Result<(), String> {
    let Ok(validator) = validator(&known::known(schema).checks) else {
        return Ok(());
    };
    let wrongs: Vec<String> = validator
        .iter_errors(value)
        .take(WRONGS_MAX)
        .map(|wrong| wrong.to_string())
        .collect();
    if wrongs.is_empty() {
        Ok(())
    } else {
        Err(wrongs.join("; "))
    }
}

fn validator(schema: &Value) -> Result<jsonschema::Validator, String> {
    // The plain kind of patterns: of others a hostile one takes time without end.
    let options = jsonschema::options().with_pattern_options(jsonschema::PatternOptions::regex());
    options
        .build(schema)
        .map_err(|wrong| format!("the schema cannot be used: {wrong}"))
}

fn make_strict(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for key in [
                "title",
                "description",
                "format",
                "minimum",
                "maximum",
                "default",
                "$schema",
            ] {
                // A property may be called like a keyword: only keywords beside a `type` are dropped.
                if map.get(key).is_some_and(|v| !v.is_object()) {
                    map.remove(key);
                }
            }
            if let Some(words) = map.get("oneOf").and_then(words_of) {
                map.remove("oneOf");
                map.extend([
                    ("type".to_owned(), json!("string")),
                    ("enum".to_owned(), words),
                ]);
            }
            if map.get("type").is_some_and(|kind| kind == "object") {
                map.entry("properties").or_insert_with(|| json!({}));
            }
            if let Some(properties) = map.get("properties").and_then(Value::as_object) {
                let names: Vec<Value> = properties.keys().cloned().map(Value::from).collect();
                map.insert("required".into(), Value::from(names));
                map.insert("additionalProperties".into(), Value::from(false));
            }
            map.values_mut().for_each(make_strict);
        }
        Value::Array(items) => items.iter_mut().for_each(make_strict),
        _ => {}
    }
}

/// One of some words, which documented variants of an enum make a `oneOf` of constants.
fn words_of(options: &Value) -> Option<Value> {
    let word = |option: &Value| option.get("const").filter(|word| word.is_string()).cloned();
    options
        .as_array()?
        .iter()
        .map(word)
        .collect::<Option<Vec<Value>>>()
        .map(Value::from)
}
