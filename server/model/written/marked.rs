//! Forms of calls that have marks of their own. Each function begins behind the mark that it is called for.

use serde_json::Map;

use super::json::arguments;
use super::rest::Rest;
use super::{Arguments, Written};

/// `name`, then pairs of `<arg_key>` and `<arg_value>` (GLM), or an object (Hunyuan), up to
/// `</tool_call>`.
pub(super) fn keyed(rest: &mut Rest<'_>) -> Option<Written> {
    let name = rest.name();
    if matches!(rest.next(), Some('{' | '`')) {
        return with_object(name, rest).filter(|_| rest.eat("</tool_call>"));
    }
    let mut texts = Vec::new();
    while rest.eat("<arg_key>") {
        let key = rest.until(&["</arg_key>"])?.trim().to_owned();
        if !rest.eat("<arg_value>") {
            return None;
        }
        texts.push((key, trimmed(rest.until(&["</arg_value>"])?)));
    }
    rest.eat("</tool_call>").then(|| named(name, texts))
}

/// `name>`, then `<parameter=key>` elements or a JSON object, up to `</function>` (Qwen's coders, Llama).
pub(super) fn function(rest: &mut Rest<'_>) -> Option<Written> {
    let name = rest.until(&[">"])?.trim();
    if rest.next() == Some('{') {
        return with_object(name, rest).filter(|_| rest.eat("</function>"));
    }
    let mut texts = Vec::new();
    while rest.eat("<parameter=") {
        let key = rest.until(&[">"])?.trim().to_owned();
        texts.push((key, parameter(rest, "</function>")?));
    }
    rest.eat("</function>").then(|| named(name, texts))
}

/// ` name="…">`, then `<parameter name="…">` elements, up to `</invoke>`.
pub(super) fn invoke(rest: &mut Rest<'_>) -> Option<Written> {
    let name = attribute(rest)?;
    let mut texts = Vec::new();
    while rest.eat("<parameter ") {
        let key = attribute(rest)?.to_owned();
        texts.push((key, parameter(rest, "</invoke>")?));
    }
    rest.eat("</invoke>").then(|| named(name, texts))
}

/// `name{…}`, `name[ARGS]{…}` or `name[CALL_ID]id[ARGS]{…}` (Mistral).
pub(super) fn mistral(rest: &mut Rest<'_>) -> Option<Written> {
    let name = rest.name();
    if rest.eat("[CALL_ID]") {
        rest.before("[ARGS]")?;
    }
    rest.eat("[ARGS]");
    with_object(name, rest)
}

/// ` name`, then `✿ARGS✿: {…}` (Qwen).
pub(super) fn qwen(rest: &mut Rest<'_>) -> Option<Written> {
    let name = rest.until(&["✿ARGS✿:"])?.trim();
    with_object(name, rest)
}

/// `name<｜tool▁sep｜>{…}`, or `function<｜tool▁sep｜>name` and a fenced object, up to `<｜tool▁call▁end｜>` (DeepSeek).
pub(super) fn deepseek(rest: &mut Rest<'_>) -> Option<Written> {
    let head = rest.until(&["<｜tool▁sep｜>", "<|tool▁sep|>"])?.trim();
    let name = match rest.next() {
        Some('{' | '`') => head,
        _ if head == "function" => rest.name(),
        _ => return None,
    };
    let ends = ["<｜tool▁call▁end｜>", "<|tool▁call▁end|>"];
    with_object(name, rest).filter(|_| rest.eat_any(&ends))
}

/// ` name`, then `Action Input: {…}` (ReAct).
pub(super) fn action(rest: &mut Rest<'_>) -> Option<Written> {
    let name = rest.until(&["Action Input:"])?.trim();
    let call = with_object(name.trim_matches('`'), rest)?;
    rest.eat_any(&["Observation:", "Observation"]);
    Some(call)
}

/// `<name>name</name>`, then `<arguments>` with an object or with an element for each (Claude
/// through proxies).
pub(super) fn elements(rest: &mut Rest<'_>) -> Option<Written> {
    let name = element(rest)?.1.trim();
    let lists = ["arguments", "parameters", "input", "args"];
    let Some(list) = lists.iter().find(|list| rest.eat(&format!("<{list}>"))) else {
        // A call that was cut off may have had some.
        return rest.stands("</").then(|| named(name, Vec::new()));
    };
    let close = format!("</{list}>");
    if rest.next() == Some('{') {
        return with_object(name, rest).filter(|_| rest.eat(&close));
    }
    let mut texts = Vec::new();
    while !rest.eat(&close) {
        let (key, text) = element(rest)?;
        texts.push((key.to_owned(), trimmed(text)));
    }
    Some(named(name, texts))
}

/// `<key>text</key>`.
fn element<'t>(rest: &mut Rest<'t>) -> Option<(&'t str, &'t str)> {
    rest.eat("<").then_some(())?;
    let key = rest.name();
    rest.eat(">").then_some(())?;
    Some((key, rest.until(&[&format!("</{key}>")])?))
}

/// `functions.name:0<|tool_call_argument_begin|>{…}<|tool_call_end|>` (Kimi).
pub(super) fn kimi(rest: &mut Rest<'_>) -> Option<Written> {
    let head = rest.until(&["<|tool_call_argument_begin|>"])?.trim();
    let head = head.strip_prefix("functions.").unwrap_or(head);
    let name = match head.rsplit_once(':') {
        Some((name, number)) if number.chars().all(|c| c.is_ascii_digit()) => name,
        _ => head,
    };
    with_object(name, rest).filter(|_| rest.eat("<|tool_call_end|>"))
}

/// `commentary to=functions.name <|constrain|>json<|message|>{…}<|call|>`, the same with the name
/// behind the role, or words before a call (`analysis<|message|>…<|end|>`) (gpt-oss).
pub(super) fn harmony(rest: &mut Rest<'_>) -> Option<Vec<Written>> {
    let head = rest.until(&["<|message|>"])?;
    let Some((_, to)) = head.split_once("to=") else {
        let is_thinking = matches!(head.trim(), "analysis" | "commentary");
        is_thinking.then(|| rest.until(&["<|end|>"]))??;
        return Some(Vec::new());
    };
    let call = with_object(Rest::new(to).name(), rest)?;
    rest.eat("<|call|>");
    Some(vec![call])
}

/// A call with arguments that are an object here.
fn with_object(name: &str, rest: &mut Rest<'_>) -> Option<Written> {
    Some(Written {
        name: name.to_owned(),
        arguments: arguments(rest)?,
    })
}

fn named(name: &str, texts: Vec<(String, String)>) -> Written {
    let arguments = match texts.is_empty() {
        true => Arguments::Values(Map::new()),
        false => Arguments::Texts(texts),
    };
    Written {
        name: name.to_owned(),
        arguments,
    }
}

/// ` name="…">`, with or without other attributes.
fn attribute<'t>(rest: &mut Rest<'t>) -> Option<&'t str> {
    if !rest.eat("name=\"") {
        return None;
    }
    let value = rest.until(&["\""])?;
    // DeepSeek says the type in one more: the schema has it.
    let others = rest.until(&[">"])?;
    (!others.contains(['<', '\n'])).then_some(value)
}

/// The text of a parameter, which ends where another begins or the call does: it may speak of such elements itself.
fn parameter(rest: &mut Rest<'_>, end: &str) -> Option<String> {
    let mut text = String::new();
    loop {
        text.push_str(rest.until(&["</parameter>"])?);
        if rest.stands("<parameter") || rest.stands(end) {
            return Some(trimmed(&text));
        }
        text.push_str("</parameter>");
    }
}

/// Without the line breaks between a value and its tags.
fn trimmed(text: &str) -> String {
    let text = text.strip_prefix('\n').unwrap_or(text);
    text.strip_suffix('\n').unwrap_or(text).to_owned()
}
