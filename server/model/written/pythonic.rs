//! Calls as Python writes them: `[reply(text="hi"), wait(seconds=3)]` (Llama).

use serde_json::{Map, Value};

use super::rest::{Rest, number};
use super::{Arguments, CALLS_MAX, Written};

/// Deepest nesting of lists and dictionaries.
const DEPTH_MAX: usize = 32;

/// A list of calls with arguments by name.
pub(super) fn list(rest: &mut Rest<'_>) -> Option<Vec<Written>> {
    if !rest.eat("[") {
        return None;
    }
    let mut calls = Vec::new();
    loop {
        calls.push(call(rest)?);
        if rest.eat("]") {
            return Some(calls);
        }
        if !rest.eat(",") || calls.len() > CALLS_MAX {
            return None;
        }
    }
}

/// A call with arguments by name.
pub(super) fn call(rest: &mut Rest<'_>) -> Option<Written> {
    let name = name(rest)?.to_owned();
    if !rest.eat("(") {
        return None;
    }
    let mut arguments = Map::new();
    while !rest.eat(")") {
        let key = name_of_argument(rest)?.to_owned();
        if !rest.eat("=") {
            return None;
        }
        if arguments.insert(key, value(rest, DEPTH_MAX)?).is_some() {
            return None;
        }
        if !rest.eat(",") && !rest.stands(")") {
            return None;
        }
    }
    Some(Written {
        name,
        arguments: Arguments::Values(arguments),
    })
}

fn name<'t>(rest: &mut Rest<'t>) -> Option<&'t str> {
    let name = rest.run(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.'));
    (!name.is_empty()).then_some(name)
}

fn name_of_argument<'t>(rest: &mut Rest<'t>) -> Option<&'t str> {
    let name = rest.run(|c| c.is_alphanumeric() || c == '_');
    (!name.is_empty()).then_some(name)
}

fn value(rest: &mut Rest<'_>, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    match rest.next()? {
        '"' | '\'' => text(rest).map(Value::String),
        '[' => items(rest, depth),
        '{' => members(rest, depth),
        _ => word(rest.run(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '+'))),
    }
}

fn word(word: &str) -> Option<Value> {
    match word {
        "True" | "true" => Some(Value::Bool(true)),
        "False" | "false" => Some(Value::Bool(false)),
        "None" | "null" => Some(Value::Null),
        other => number(other),
    }
}

fn items(rest: &mut Rest<'_>, depth: usize) -> Option<Value> {
    let mut items = Vec::new();
    rest.eat("[");
    while !rest.eat("]") {
        items.push(value(rest, depth)?);
        if !rest.eat(",") && !rest.stands("]") {
            return None;
        }
    }
    Some(Value::Array(items))
}

fn members(rest: &mut Rest<'_>, depth: usize) -> Option<Value> {
    let mut members = Map::new();
    rest.eat("{");
    while !rest.eat("}") {
        let key = text(rest)?;
        if !rest.eat(":") {
            return None;
        }
        members.insert(key, value(rest, depth)?);
        if !rest.eat(",") && !rest.stands("}") {
            return None;
        }
    }
    Some(Value::Object(members))
}

/// A text in quotation marks of either kind.
fn text(rest: &mut Rest<'_>) -> Option<String> {
    let quote = match rest.next()? {
        c @ ('"' | '\'') => c,
        _ => return None,
    };
    rest.eat(quote.encode_utf8(&mut [0; 4]));
    let mut text = String::new();
    loop {
        match rest.take()? {
            c if c == quote => return Some(text),
            '\\' => escaped(rest.take()?, rest, &mut text)?,
            c => text.push(c),
        }
    }
}

fn escaped(c: char, rest: &mut Rest<'_>, text: &mut String) -> Option<()> {
    let mut hex = |digits: usize| {
        let digits: String = (0..digits).map(|_| rest.take()).collect::<Option<_>>()?;
        char::from_u32(u32::from_str_radix(&digits, 16).ok()?)
    };
    let c = match c {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'x' => hex(2)?,
        'u' => hex(4)?,
        'U' => hex(8)?,
        '\\' | '\'' | '"' => c,
        // Python keeps a backslash that escapes nothing.
        other => {
            text.push('\\');
            other
        }
    };
    text.push(c);
    Some(())
}
