//! Members of a JSON object as providers write them. Pure.

use serde_json::Value;

/// True where a value has anything but emptiness, zero or false.
pub fn is_something(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => false,
        Value::Bool(true) => true,
        Value::Number(number) => number.as_f64() != Some(0.0),
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => list.iter().any(is_something),
        Value::Object(members) => members.values().any(is_something),
    }
}

/// A member that is a text and has something in it.
pub fn text_at<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value
        .get(key)
        .and_then(Value::as_str)
        .filter(|text| !text.is_empty())
}

/// A count, which may be written as `3`, `3.0` or `"3"`; a lie of any size stays summable.
pub fn number_at(value: &Value, key: &str) -> Option<u64> {
    let number = match value.get(key)? {
        Value::Number(number) => number.as_f64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "clamped first"
    )]
    Some(number.clamp(0.0, f64::from(u32::MAX)) as u64)
}

/// A value as a text: its JSON where it is none, and nothing for null.
pub fn as_text(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// The answer in a body: in most the body itself, in those of some gateways a member of it.
pub fn answer_in(body: &Value) -> &Value {
    let has_choices = |it: &&Value| choices(it).next().is_some();
    let members = ["data", "result", "output", "response"];
    let mut inner = members.iter().filter_map(|name| body.get(name));
    match body.get("choices") {
        Some(_) => body,
        None => inner.find(has_choices).unwrap_or(body),
    }
}

/// The choices of a chunk with their numbers; one without a number has that of its place.
pub fn choices(chunk: &Value) -> impl Iterator<Item = (u64, &Value)> {
    let list = chunk.get("choices").and_then(Value::as_array);
    (0..)
        .zip(list.into_iter().flatten())
        .map(|(place, choice)| (number_at(choice, "index").unwrap_or(place), choice))
}
