//! Calls as Gemma writes them: `call:reply{text:<|"|>hi<|"|>}`, with marks for quotes.

use super::literal::Literals;
use super::rest::Rest;
use super::{Arguments, Written};

/// Marks that stand for quotes.
const QUOTES: [&str; 2] = ["<|\"|>", "<escape>"];

/// Marks that end a call.
const ENDS: [&str; 2] = ["<tool_call|>", "<end_function_call>"];

/// Texts between marks, and keys between them or bare.
const LITERALS: Literals = Literals {
    text: |rest| quoted(rest).map(Some),
    key: |rest| {
        let key = quoted(rest).unwrap_or_else(|| rest.name().to_owned());
        Some(key).filter(|key| !key.is_empty())
    },
};

/// `call:name{…}`, behind the mark of a call.
pub(super) fn call(rest: &mut Rest<'_>) -> Option<Written> {
    if !rest.eat("call:") {
        return None;
    }
    let name = rest.name().to_owned();
    if !rest.eat("{") {
        return None;
    }
    let arguments = Arguments::Values(LITERALS.members(rest)?);
    rest.eat_any(&ENDS);
    Some(Written { name, arguments })
}

/// A text between two marks of the same kind.
fn quoted(rest: &mut Rest<'_>) -> Option<String> {
    let quote = QUOTES.into_iter().find(|quote| rest.eat(quote))?;
    rest.until(&[quote]).map(str::to_owned)
}
