//! Calls as Gemma writes them: `call:reply{text:<|"|>hi<|"|>}`, with marks for quotes.

use serde_json::{Map, Value};

use super::rest::{Rest, number};
use super::{Arguments, Written};

/// Deepest nesting of lists and objects.
const DEPTH_MAX: usize = 32;

/// Marks that stand for quotes.
const QUOTES: [&str; 2] = ["<|\"|>", "<escape>"];

/// Marks that end a call.
const ENDS: [&str; 2] = ["<tool_call|>", "<end_function_call>"];

/// `call:name{…}`, behind the mark of a call.
pub(super) fn call(rest: &mut Rest<'_>) -> Option<Written> {
    if !rest.eat("call:") {
        return None;
    }
    let name = rest.run(is_name).to_owned();
    if !rest.eat("{") {
        return None;
    }
    let arguments = Arguments::Values(members(rest, DEPTH_MAX)?);
    rest.eat_any(&ENDS);
    Some(Written { name, arguments })
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

fn members(rest: &mut Rest<'_>, depth: usize) -> Option<Map<String, Value>> {
    let mut members = Map::new();
    while !rest.eat("}") {
        let key = match quoted(rest) {
            Some(key) => key,
            None => rest.run(is_name).to_owned(),
        };
        if key.is_empty() || !rest.eat(":") {
            return None;
        }
        members.insert(key, value(rest, depth)?);
        if !rest.eat(",") && !rest.stands("}") {
            return None;
        }
    }
    Some(members)
}

fn value(rest: &mut Rest<'_>, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    if let Some(text) = quoted(rest) {
        return Some(text.into());
    }
    if rest.eat("{") {
        return members(rest, depth).map(Value::Object);
    }
    if rest.eat("[") {
        let mut items = Vec::new();
        while !rest.eat("]") {
            items.push(value(rest, depth)?);
            if !rest.eat(",") && !rest.stands("]") {
                return None;
            }
        }
        return Some(items.into());
    }
    match rest.run(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '+')) {
        "true" | "True" => Some(true.into()),
        "false" | "False" => Some(false.into()),
        "null" | "None" => Some(Value::Null),
        word => number(word),
    }
}

/// A text between two marks of the same kind.
fn quoted(rest: &mut Rest<'_>) -> Option<String> {
    let quote = QUOTES.into_iter().find(|quote| rest.eat(quote))?;
    rest.until(&[quote]).map(str::to_owned)
}
