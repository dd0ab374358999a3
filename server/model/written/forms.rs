//! The forms of written calls, one after the other as they stand in a text.

use super::json::calls_of;
use super::rest::Rest;
use super::{CALLS_MAX, Written, gemma, marked, pythonic};
use thinkd_words::marks::{FENCES, Place, marks};

/// Reads a text that is calls and nothing else.
pub(super) fn read(rest: &mut Rest<'_>) -> Option<Vec<Written>> {
    let mut calls = Vec::new();
    let mut is_marked = false;
    while !rest.is_empty() {
        let more = match marked(rest) {
            Some(more) => more,
            None if marks(Place::Around).any(|mark| rest.eat(mark)) || rest.eat_token() => {
                is_marked = true;
                continue;
            }
            None => bare(rest, is_marked),
        };
        calls.extend(more?);
        if calls.len() > CALLS_MAX {
            return None;
        }
        rest.eat(";");
    }
    (!calls.is_empty()).then_some(calls)
}

/// Calls behind a mark of their own: none where no such mark stands here, and none inside where it cannot be read.
fn marked(rest: &mut Rest<'_>) -> Option<Option<Vec<Written>>> {
    let one = |call: Option<Written>| call.map(|call| vec![call]);
    Some(if rest.eat("<tool_call>") {
        match rest.next() {
            Some('{' | '[') => object_or_list(rest),
            Some('<') => Some(Vec::new()),
            Some('`') => {
                rest.eat_any(&["```json", "```"]);
                object_or_list(rest).filter(|_| rest.eat("```"))
            }
            _ => one(marked::keyed(rest)),
        }
    } else if rest.eat("<function=") {
        one(marked::function(rest))
    } else if rest.eat("<invoke") {
        one(marked::invoke(rest))
    } else if rest.eat("[TOOL_CALLS]") {
        match rest.next() {
            Some('{' | '[') => object_or_list(rest),
            _ => one(marked::mistral(rest)),
        }
    } else if rest.eat("✿FUNCTION✿:") {
        one(marked::qwen(rest))
    } else if rest.eat_any(&["<｜tool▁call▁begin｜>", "<|tool▁call▁begin|>"]) {
        one(marked::deepseek(rest))
    } else if rest.eat("<|tool_call_begin|>") {
        one(marked::kimi(rest))
    } else if rest.eat_any(&["<|tool_call>", "<start_function_call>"]) {
        one(gemma::call(rest))
    } else if is_fence(rest) {
        fenced(rest)
    } else if rest.eat("Action:") {
        one(marked::action(rest))
    } else if rest.stands("<name>") || rest.stands("<tool_name>") {
        one(marked::elements(rest))
    } else if rest.eat("<|start|>assistant") || rest.stands("<|channel|>") {
        rest.eat("<|channel|>");
        marked::harmony(rest)
    } else {
        return None;
    })
}

/// Moves past the beginning of a code fence of calls, if that stands there.
fn is_fence(rest: &mut Rest<'_>) -> bool {
    let mut ahead = rest.clone();
    if !ahead.eat("```") || !FENCES.contains(&ahead.run(|c| c.is_alphanumeric() || c == '_')) {
        return false;
    }
    *rest = ahead;
    true
}

/// Calls up to the end of a code fence, as JSON or as Python prints them.
fn fenced(rest: &mut Rest<'_>) -> Option<Vec<Written>> {
    let mut calls = Vec::new();
    while !rest.eat("```") && !rest.is_empty() && calls.len() <= CALLS_MAX {
        let is_printed = rest.eat("print(");
        calls.extend(bare(rest, true)?);
        if is_printed && !rest.eat(")") {
            return None;
        }
        rest.eat(";");
    }
    Some(calls)
}

/// JSON, or calls of Python: a list of them, or, behind a mark, one.
fn bare(rest: &mut Rest<'_>, is_marked: bool) -> Option<Vec<Written>> {
    match rest.next()? {
        '{' => calls_of(rest.json()?, is_marked),
        '[' => {
            if let Some(list) = rest.strict_json() {
                return calls_of(list, is_marked);
            }
            let mut ahead = rest.clone();
            match pythonic::list(&mut ahead) {
                Some(calls) => {
                    *rest = ahead;
                    Some(calls)
                }
                None => calls_of(rest.json()?, is_marked),
            }
        }
        _ if is_marked => pythonic::call(rest).map(|call| vec![call]),
        _ => None,
    }
}

fn object_or_list(rest: &mut Rest<'_>) -> Option<Vec<Written>> {
    calls_of(rest.json()?, true)
}
