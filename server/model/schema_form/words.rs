//! The words of a schema: its description, and the limits that stand there because providers refuse them as keywords. Pure.

use serde_json::Value;

use super::parts::Members;

/// Most characters of a tool's description.
const DESCRIPTION_MAX: usize = 1024;

/// Most characters of the limits in a description, and of one of them.
const LIMITS_MAX: usize = 300;
const LIMIT_MAX: usize = 100;

/// Limits that providers refuse as keywords, in the order in which a description names them.
const LIMITS: [&str; 18] = [
    "default",
    "format",
    "pattern",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "uniqueItems",
    "minProperties",
    "maxProperties",
    "example",
    "examples",
    "patternProperties",
];

/// The part of a description that fits, up to the end of a sentence or a word, and the rest.
pub fn split(description: &str) -> (&str, &str) {
    let Some((most, _)) = description.char_indices().nth(DESCRIPTION_MAX) else {
        return (description, "");
    };
    let fits = &description[..most];
    let sentence = fits.rfind(['\n', '.', '!', '?']).map(|at| at + 1);
    let word = fits.rfind(char::is_whitespace);
    let is_far = |at: &usize| *at > most / 2;
    let end = sentence.filter(is_far).or(word.filter(is_far));
    let end = end.unwrap_or(most);
    let (fits, rest) = description.split_at(end);
    (fits.trim_end(), rest.trim_start())
}

/// The words for values that are no `enum`: providers take only words there.
pub fn said(values: &[Value]) -> String {
    match values {
        [] => String::new(),
        [one] => format!("Always {one}."),
        many => {
            let many: Vec<String> = many.iter().map(Value::to_string).collect();
            format!("One of {}.", cut(&many.join(", "), LIMITS_MAX))
        }
    }
}

/// The words of a schema: its description, and its limits.
pub fn words_of(schema: &Members) -> String {
    let description = schema.get("description").and_then(Value::as_str);
    let limits: Vec<String> = LIMITS
        .iter()
        .filter_map(|key| Some((key, schema.get(*key)?)))
        .filter(|(key, value)| !value.is_null() && (**key != "uniqueItems" || **value == true))
        .map(|(key, value)| {
            let value = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            format!("{key}: {}", cut(&value, LIMIT_MAX))
        })
        .collect();
    let limits = cut(&limits.join(", "), LIMITS_MAX);
    match (description.unwrap_or_default().trim(), limits.as_str()) {
        (words, "") => words.to_owned(),
        ("", limits) => limits.to_owned(),
        (words, limits) => format!("{words} ({limits})"),
    }
}

/// Adds words to a description. They stand in the first of several options, since some providers refuse anything beside
/// `anyOf`.
pub fn describe(schema: &mut Members, words: &str, is_first: bool) {
    if words.is_empty() {
        return;
    }
    let options = schema.get_mut("anyOf");
    let first = options.and_then(|options| options.get_mut(0));
    let at = match first.and_then(Value::as_object_mut) {
        Some(first) => first,
        None => schema,
    };
    let known = at.get("description").and_then(Value::as_str);
    let words = match (known.unwrap_or_default(), is_first) {
        ("", _) => words.to_owned(),
        (known, true) => format!("{words} {known}"),
        (known, false) => format!("{known} {words}"),
    };
    at.insert("description".to_owned(), words.into());
}

pub fn cut(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
