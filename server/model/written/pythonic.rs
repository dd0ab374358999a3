//! Calls as Python writes them: `[reply(text="hi"), wait(seconds=3)]` (Llama).

use serde_json::Map;

use super::literal::Literals;
use super::rest::Rest;
use super::{Arguments, CALLS_MAX, Written};

/// Texts in quotation marks, and keys that are such texts.
const LITERALS: Literals = Literals {
    text: |rest| matches!(rest.next(), Some('"' | '\'')).then(|| text(rest)),
    key: text,
};

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
    let name = rest.name().to_owned();
    if name.is_empty() || !rest.eat("(") {
        return None;
    }
    let mut arguments = Map::new();
    while !rest.eat(")") {
        let key = rest.run(|c| c.is_alphanumeric() || c == '_').to_owned();
        if key.is_empty() || !rest.eat("=") {
            return None;
        }
        if arguments.insert(key, LITERALS.value(rest)?).is_some() {
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

/// A text in quotation marks of either kind.
fn text(rest: &mut Rest<'_>) -> Option<String> {
    let quote = rest.next().filter(|c| matches!(c, '"' | '\''))?;
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
