//! Builds the arguments of a call from attributes, content and lists, and reports unreadable parts.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::elements::{Argument, Element, Kind, Missing, same};
use super::tags::Attribute;

/// The arguments of one call, as far as they have been read.
#[derive(Debug)]
pub struct Arguments {
    element: &'static Element,
    values: Map<String, Value>,
    /// Arguments that are written, and unreadable.
    wrong: Vec<&'static str>,
    /// True if the call cannot be made.
    refused: bool,
    /// Parts that could not be read, one sentence each.
    pub unreadable: Vec<String>,
}

impl Arguments {
    /// Reads the attributes of an element.
    pub fn read(element: &'static Element, attributes: &[Attribute<'_>]) -> Self {
        let mut it = Self {
            element,
            values: Map::new(),
            wrong: Vec::new(),
            refused: false,
            unreadable: Vec::new(),
        };
        for (name, value) in attributes.iter().filter(|(name, _)| !is_namespace(name)) {
            it.attribute(name, *value);
        }
        it
    }

    fn attribute(&mut self, name: &str, value: Option<&str>) {
        let written =
            |argument: &&Argument| argument.written.iter().any(|written| same(written, name));
        let Some(argument) = self.element.arguments.iter().find(written) else {
            return self.say(format!("it has no attribute `{name}`; that was left out."));
        };
        if self.values.contains_key(argument.name) {
            return self.say(format!("`{name}` is given twice; only the first was used."));
        }
        match parse(argument.kind, value) {
            Ok(Value::Null) => {}
            Ok(value) => drop(self.values.insert(argument.name.to_owned(), value)),
            Err(rule) => {
                let given = short(value.unwrap_or_default());
                self.wrong.push(argument.name);
                self.say(format!("`{name}` is “{given}”; {rule}."));
            }
        }
    }

    /// Adds the words between the tags; they follow those of an attribute.
    pub fn words(&mut self, argument: &str, words: &str) {
        if words.trim().is_empty() {
            return;
        }
        let whole = match self.values.get(argument).and_then(Value::as_str) {
            Some(before) => format!("{before}\n{words}"),
            None => words.to_owned(),
        };
        self.values.insert(argument.to_owned(), whole.into());
    }

    /// Adds a list; an empty one is none.
    pub fn list(&mut self, argument: &str, inner: &str, items: Vec<Value>) {
        self.refused |= items.is_empty();
        if items.is_empty() {
            self.say(format!("there is no <{inner}> with words in it."));
        }
        self.values.insert(argument.to_owned(), items.into());
    }

    /// Returns true if a call needs no more words.
    pub fn complete(&self) -> bool {
        let given = |argument: &Argument| self.values.contains_key(argument.name);
        self.element
            .arguments
            .iter()
            .all(|argument| argument.missing != Missing::Refuse || given(argument))
    }

    /// Returns the arguments as JSON, unless the call cannot be made, and the reports on unreadable
    /// parts.
    pub fn end(mut self) -> (Option<String>, Vec<String>) {
        for argument in self.element.arguments {
            if !self.values.contains_key(argument.name) {
                let value = self.missing(argument);
                self.values.insert(argument.name.to_owned(), value);
            }
        }
        let call = (!self.refused).then(|| Value::Object(self.values).to_string());
        (call, self.unreadable)
    }

    fn missing(&mut self, argument: &Argument) -> Value {
        match argument.missing {
            Missing::Refuse => {
                if !self.wrong.contains(&argument.name) {
                    self.say(format!(
                        "`{}` is missing.",
                        argument.written.first().unwrap_or(&argument.name)
                    ));
                }
                self.refused = true;
                Value::Null
            }
            Missing::Null => Value::Null,
            Missing::Words(words) => words.into(),
            Missing::Flag(flag) => flag.into(),
            Missing::NoNames => Value::Array(Vec::new()),
        }
    }

    /// Reports an unreadable part.
    pub fn say(&mut self, what: String) {
        self.unreadable.push(what);
    }
}

/// Returns one step of a plan as JSON: its text, and true if it is done. Also returns a report if
/// `done` cannot be read.
pub fn step(text: String, done: Option<Option<&str>>) -> (Value, Option<String>) {
    let (done, wrong) = match done.map(|written| parse(Kind::Flag, written)) {
        None => (false, None),
        Some(Ok(flag)) => (flag == Value::Bool(true), None),
        Some(Err(rule)) => {
            let given = short(done.flatten().unwrap_or_default());
            (
                false,
                Some(format!(
                    "`done` of a step is “{given}”; {rule}. It was taken as not done."
                )),
            )
        }
    };
    (serde_json::json!({ "text": text, "done": done }), wrong)
}

/// Names of namespaces and of XML itself say nothing to us.
pub fn is_namespace(attribute: &str) -> bool {
    let prefix = attribute.split(':').next().unwrap_or_default();
    prefix.eq_ignore_ascii_case("xmlns")
        || (attribute.contains(':') && prefix.eq_ignore_ascii_case("xml"))
}

/// The value of an attribute; null if it is empty. An error is the rule.
fn parse(kind: Kind, written: Option<&str>) -> Result<Value, &'static str> {
    let written = match written {
        Some(written) => written,
        None if kind == Kind::Flag => return Ok(true.into()),
        None => return Err("it needs a value"),
    };
    let text = decode(written.trim());
    if text.is_empty() {
        return Ok(Value::Null);
    }
    match kind {
        Kind::Text => Ok(text.into()),
        Kind::Names => Ok(names(&text)),
        Kind::Whole => text
            .parse::<u64>()
            .map(Value::from)
            .map_err(|_| "it has to be a whole number from 0 up"),
        Kind::Seconds => seconds(&text).ok_or("it has to be a number of seconds from 0 up"),
        Kind::Flag => flag(&text)
            .map(Value::from)
            .ok_or("it has to be true or false"),
    }
}

fn names(text: &str) -> Value {
    let names: Vec<Value> = text
        .split([',', ';'])
        .map(str::trim)
        .filter(|n| !n.is_empty())
        .map(Value::from)
        .collect();
    match names.is_empty() {
        true => Value::Null,
        false => names.into(),
    }
}

fn seconds(text: &str) -> Option<Value> {
    let number = text.trim_end_matches(['s', 'S']).trim_end();
    if let Ok(whole) = number.parse::<u64>() {
        return Some(whole.into());
    }
    let fraction = number.parse::<f64>().ok()?;
    (fraction.is_finite() && fraction >= 0.0).then(|| fraction.into())
}

fn flag(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "y" | "1" | "x" | "on" | "done" | "✓" | "✔" => Some(true),
        "false" | "no" | "n" | "0" | "-" | "off" => Some(false),
        _ => None,
    }
}

/// The words of an element: character references decoded, CDATA taken as it is. Nothing else is ever replaced.
pub fn plain(text: &str) -> String {
    let mut words = String::with_capacity(text.len());
    let mut rest = text.trim();
    while let Some((before, after)) = rest.split_once("<![CDATA[") {
        words.push_str(&decode(before));
        let (inside, next) = after.split_once("]]>").unwrap_or((after, ""));
        words.push_str(inside);
        rest = next;
    }
    words.push_str(&decode(rest));
    words
}

/// Longest reference between `&` and `;`.
const REFERENCE_MAX: usize = 10;

/// Decodes the five entities of XML and numbers, once.
fn decode(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        decoded.push_str(before);
        let length = after
            .bytes()
            .take(REFERENCE_MAX)
            .position(|byte| byte == b';');
        match length.and_then(|length| Some((reference(&after[..length])?, length))) {
            Some((letter, length)) => {
                decoded.push(letter);
                rest = &after[length + 1..];
            }
            None => {
                decoded.push('&');
                rest = after;
            }
        }
    }
    decoded.push_str(rest);
    Cow::Owned(decoded)
}

fn reference(name: &str) -> Option<char> {
    match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let digits = name.strip_prefix('#')?;
            let number = match digits.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => digits.parse(),
            };
            // XML has no control characters.
            char::from_u32(number.ok()?)
                .filter(|letter| !letter.is_control() || matches!(letter, '\t' | '\n' | '\r'))
        }
    }
}

/// The beginning of a text on one line.
pub fn short(text: &str) -> String {
    const MOST: usize = 40;
    let mut words = text
        .chars()
        .take(4 * MOST)
        .collect::<String>()
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    if words.chars().count() > MOST {
        words = words.chars().take(MOST).chain(['…']).collect();
    }
    words
}
