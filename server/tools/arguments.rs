//! The reader of a tool call's arguments: from the text that a model wrote to the JSON that its tool's schema asks for.
//! Every mend is named, and nothing is made up: no missing member, no cut value, no name. Pure.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use serde_json::{Map, Value};

use thinkd_model::provider::ToolSpec;
use thinkd_words::lenient_json::{self, ROUNDED, Read};

mod digits;

/// Most layers of JSON text inside a JSON string.
const LAYERS_MAX: usize = 3;

/// Names that models wrap arguments in.
const WRAPPERS: [&str; 5] = ["arguments", "parameters", "args", "kwargs", "input"];

/// Reads the arguments of a call; `told` is the tool, where it is there. None: they cannot be read.
pub fn read(text: &str, told: Option<&ToolSpec>) -> Option<Read> {
    let text = lenient_json::visible(text);
    if text.is_empty() {
        let value = Value::Object(Map::new());
        return Some(Read {
            value,
            mends: BTreeSet::new(),
        });
    }
    let Some(told) = told else {
        let Read { value, mut mends } = lenient_json::read(text)?;
        let value = unlayered(value, &mut mends)?;
        return Some(Read { value, mends });
    };
    let schema = serde_json::from_str(told.parameters.as_str()).unwrap_or_default();
    let wants_text = |path: &[&str]| {
        let (name, wrappers) = path.split_last().unwrap_or((&"", &[]));
        let is_wrapper =
            |it: &&str| (WRAPPERS.contains(it) || *it == told.name) && own(&schema, it).is_none();
        let types = own(&schema, name).map(Types::of);
        wrappers.iter().all(is_wrapper) && types.is_some_and(|types| types.has_text_alone())
    };
    let Read { value, mut mends } = lenient_json::read(&digits::kept(text, wants_text))
        .or_else(|| lenient_json::read_keywords(text, &told.name).filter(|it| fits(it, &schema)))
        .or_else(|| within_words(text).filter(|it| fits(it, &schema)))?;
    let value = unlayered(value, &mut mends)?;
    let layers = (0..LAYERS_MAX).try_fold(value, |value, _| {
        match unwrapped(&value, &told.name, &schema, &mut mends) {
            Some(inner) => ControlFlow::Continue(inner),
            None => ControlFlow::Break(value),
        }
    });
    let (ControlFlow::Continue(value) | ControlFlow::Break(value)) = layers;
    let value = decoded(value, &schema, &mut mends);
    Some(Read { value, mends })
}

/// The schema of a member that a tool has.
fn own<'s>(schema: &'s Value, name: &str) -> Option<&'s Value> {
    schema.get("properties")?.get(name)
}

/// True for an object that has members, all of them the tool's.
fn fits(read: &Read, schema: &Value) -> bool {
    let members = read.value.as_object();
    members.is_some_and(|members| {
        !members.is_empty() && members.keys().all(|name| own(schema, name).is_some())
    })
}

/// Returns the one object in a text, where the words around it have no brackets and no quotation
/// marks.
fn within_words(text: &str) -> Option<Read> {
    let begin = text.find('{')?;
    let end = text.rfind('}')? + 1;
    let around = [&text[..begin], text.get(end..)?];
    let is_word = |c: char| !"{}[]<>\"`".contains(c);
    if !around.iter().all(|words| words.chars().all(is_word)) {
        return None;
    }
    let Read { value, mut mends } = lenient_json::read(text.get(begin..end)?)?;
    mends.insert("words around");
    Some(Read { value, mends })
}

/// The object in JSON text inside of JSON strings; `null` is no arguments.
fn unlayered(mut value: Value, mends: &mut BTreeSet<&'static str>) -> Option<Value> {
    for _ in 0..LAYERS_MAX {
        match value {
            Value::String(text) => {
                let Some(Read {
                    value: inner,
                    mends: more,
                }) = lenient_json::read(text.trim())
                else {
                    return Some(Value::String(text));
                };
                mends.insert("JSON in a string");
                mends.extend(more);
                value = inner;
            }
            Value::Null => {
                mends.insert("null");
                return Some(Value::Object(Map::new()));
            }
            Value::Array(mut list) if list.len() == 1 && list[0].is_object() => {
                mends.insert("a list of one");
                return list.pop();
            }
            other => return Some(other),
        }
    }
    Some(value)
}

/// The arguments inside `{"name": "reply", "arguments": {…}}`, `{"arguments": {…}}` or `{"reply": {…}}`, where the schema has no
/// such member. None: they are not wrapped.
fn unwrapped(
    value: &Value,
    tool: &str,
    schema: &Value,
    mends: &mut BTreeSet<&'static str>,
) -> Option<Value> {
    let members = value.as_object()?;
    let is_own = |name: &str| own(schema, name).is_some();
    let is_call = |name: &str| matches!(name, "name" | "tool" | "function" | "type" | "id");
    let names_tool = ["name", "tool", "function"]
        .iter()
        .all(|key| members.get(*key).is_none_or(|name| name == tool));
    let is_wrapper = |name: &str| (WRAPPERS.contains(&name) || name == tool) && !is_own(name);
    let (wrapper, inner) = members.iter().find(|(name, _)| is_wrapper(name))?;
    let is_all = members
        .keys()
        .all(|name| name == wrapper || (is_call(name) && !is_own(name)));
    if !is_all || !names_tool {
        return None;
    }
    let mut more = BTreeSet::new();
    let inner = unlayered(inner.clone(), &mut more).filter(Value::is_object)?;
    mends.extend(more);
    mends.insert("wrapped arguments");
    Some(inner)
}

/// The value with every parameter decoded to the type that its schema has, where there is one way to do so.
fn decoded(value: Value, schema: &Value, mends: &mut BTreeSet<&'static str>) -> Value {
    match value {
        Value::Object(members) => {
            let required = schema.get("required").and_then(Value::as_array);
            let is_required =
                |name: &str| required.is_some_and(|list| list.iter().any(|it| it == name));
            let mut kept = Map::new();
            for (name, value) in members {
                let Some(own) = own(schema, &name) else {
                    kept.insert(name, value);
                    continue;
                };
                let types = Types::of(own);
                if value.is_null() && !types.has("null") && !types.is_any() && !is_required(&name) {
                    mends.insert("null for nothing");
                    continue;
                }
                let value = listed(typed(value, &types, mends), own, &types, mends);
                kept.insert(name, decoded(value, own, mends));
            }
            Value::Object(kept)
        }
        Value::Array(list) => {
            let Some(items) = schema.get("items") else {
                return Value::Array(list);
            };
            let types = Types::of(items);
            let decode = |value| decoded(typed(value, &types, mends), items, mends);
            Value::Array(list.into_iter().map(decode).collect())
        }
        other => other,
    }
}

/// The types that a schema allows; empty: any.
struct Types<'s>(Vec<&'s str>);

impl<'s> Types<'s> {
    fn of(schema: &'s Value) -> Self {
        let mut types = Vec::new();
        match schema.get("type") {
            Some(Value::String(one)) => types.push(one.as_str()),
            Some(Value::Array(list)) => types.extend(list.iter().filter_map(Value::as_str)),
            _ => {
                let any_of = ["anyOf", "oneOf"]
                    .iter()
                    .find_map(|key| schema.get(key)?.as_array());
                for choice in any_of.into_iter().flatten() {
                    let Self(more) = Self::of(choice);
                    if more.is_empty() {
                        return Self(Vec::new());
                    }
                    types.extend(more);
                }
            }
        }
        Self(types)
    }

    fn has_text_alone(&self) -> bool {
        self.has("string") && !self.has("number") && !self.has("integer")
    }

    fn is_any(&self) -> bool {
        self.0.is_empty()
    }

    fn has(&self, name: &str) -> bool {
        self.0.contains(&name)
    }
}

fn typed(value: Value, types: &Types<'_>, mends: &mut BTreeSet<&'static str>) -> Value {
    let found = match &value {
        _ if types.is_any() => None,
        Value::String(text) if !types.has("string") => of_text(text, types, mends),
        Value::Number(number) if types.has_text_alone() => Some(Value::String(number.to_string())),
        Value::Bool(flag) if types.has("string") && !types.has("boolean") => {
            Some(Value::String(flag.to_string()))
        }
        Value::Number(number) if types.has("integer") && !types.has("number") => {
            whole(number.as_f64())
        }
        _ => None,
    };
    match found {
        Some(found) if found != value => {
            mends.insert("types");
            found
        }
        _ => value,
    }
}

/// A list of the one text that stands where a list of texts is wanted, and the text of a list of one where a text is.
fn listed(
    value: Value,
    schema: &Value,
    types: &Types<'_>,
    mends: &mut BTreeSet<&'static str>,
) -> Value {
    let is_of_texts = || {
        schema
            .get("items")
            .is_some_and(|items| Types::of(items).has("string"))
    };
    let found = match &value {
        // A comma may separate more than one.
        Value::String(text)
            if types.has("array") && !types.has("string") && !text.contains([',', '\n', '[']) =>
        {
            is_of_texts().then(|| Value::Array(vec![value.clone()]))
        }
        Value::Array(list) if types.has("string") && !types.has("array") => match list.as_slice() {
            [Value::String(text)] => Some(Value::String(text.clone())),
            _ => None,
        },
        _ => None,
    };
    if found.is_some() {
        mends.insert("types");
    }
    found.unwrap_or(value)
}

/// A value of one of the types that is written as text. None: there is none, or more than one.
fn of_text(text: &str, types: &Types<'_>, mends: &mut BTreeSet<&'static str>) -> Option<Value> {
    let Read { value, mends: more } = lenient_json::read(text.trim())?;
    let found = match &value {
        Value::Number(_) if types.has("number") => Some(value),
        Value::Number(number) if types.has("integer") => match number.is_f64() {
            true => whole(number.as_f64()),
            false => Some(value),
        },
        Value::Bool(_) if types.has("boolean") => Some(value),
        Value::Null if types.has("null") => Some(value),
        Value::Array(_) if types.has("array") => Some(value),
        Value::Object(_) if types.has("object") => Some(value),
        _ => None,
    };
    if found.is_some() && more.contains(ROUNDED) {
        mends.insert(ROUNDED);
    }
    found
}

/// A whole number that is written with a fraction of zero.
fn whole(number: Option<f64>) -> Option<Value> {
    let number = number.filter(|it| it.fract() == 0.0 && it.abs() < 9e15)?;
    #[expect(clippy::cast_possible_truncation, reason = "a whole number below 2^53")]
    Some(Value::from(number as i64))
}
