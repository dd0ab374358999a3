//! Reading JSON from outside: strictly, within the limits, and with a pointer to everything that is wrong.
//! Text becomes a value here (no member twice, nothing too deep, too long or too many), then a value becomes a type (`words/decode.rs`).

use std::fmt;

use serde::Deserialize;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess,
    Visitor,
};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::limits::Limits;
use super::problem::{Problem, Slug, Wrongs};
use thinkd_words::decode::{self, Fault};
use thinkd_words::digits;
use thinkd_words::id::INTEGER_MAX;
use thinkd_words::text::unmarked;

/// A body or frame: the members that are read of it, and the conditions that they have to meet
/// besides its shape.
pub trait Body: DeserializeOwned {
    /// Names the conditions that are not met.
    fn check(&self, _wrongs: &mut Wrongs) {}
}

/// Returns the members of a JSON text that is an object. Errors in it are named, and read over; a
/// text that is no object or cannot be read is refused.
pub fn members(
    text: &str,
    limits: &Limits,
    wrongs: &mut Wrongs,
) -> Result<Map<String, Value>, Problem> {
    let mut reader = Reader {
        limits,
        path: String::new(),
        depth: 0,
        wrongs,
    };
    let mut deserializer = serde_json::Deserializer::from_str(unmarked(text));
    let unkept = unkept_argument(text);
    let value = (&mut reader)
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    match value {
        Ok(Value::Object(members)) => {
            if let Some(number) = unkept {
                wrongs.add(Slug::InvalidFrame, "/arguments", digits::wrong(number));
            }
            Ok(members)
        }
        Ok(_) => {
            let detail = "a JSON object is expected";
            Err(Problem::at(Slug::InvalidFrame, "", detail))
        }
        Err(error) if reader.depth > limits.json_depth => {
            Err(reader.wrongs.take().unwrap_or_else(|| malformed(&error)))
        }
        Err(error) => Err(unkept
            .filter(|number| digits::is_beyond(number))
            .map_or_else(
                || malformed(&error),
                |number| Problem::at(Slug::InvalidFrame, "/arguments", digits::wrong(number)),
            )),
    }
}

/// Returns the first number in the arguments of a call that would run as another number.
fn unkept_argument(text: &str) -> Option<&str> {
    #[derive(Deserialize)]
    struct Call<'t> {
        #[serde(borrow)]
        arguments: &'t RawValue,
    }
    // A text that is read for nothing may have a whole conversation in it.
    let text = text.contains("\"arguments\"").then(|| unmarked(text))?;
    let Call { arguments } = serde_json::from_str(text).ok()?;
    digits::unkept(arguments.get())
}

fn malformed(error: &serde_json::Error) -> Problem {
    Problem::new(Slug::MalformedJson, format!("not JSON: {error}"))
}

/// An object as a body. All that is wrong with it, in its shape and beyond, is named.
pub fn body<T: Body>(members: Map<String, Value>, wrongs: &mut Wrongs) -> Option<T> {
    let mut unfit = Vec::new();
    let body = decode::decode_on::<T>(Value::Object(members), &mut unfit);
    // Objects in which a choice is wrong: their other members may be right for the one that was meant.
    let mut repaired = Vec::new();
    for wrong in unfit {
        let pointer = wrong.pointer();
        let parent = pointer.rsplit_once('/').map_or("", |(parent, _)| parent);
        if wrong.fault == Fault::Choice && !parent.is_empty() {
            repaired.push(parent.to_owned());
        }
        let slug = match wrong.fault {
            Fault::Unknown => Slug::UnknownMember,
            _ => Slug::InvalidFrame,
        };
        wrongs.add(slug, wrong.pointer(), wrong.detail);
    }
    if let Some(body) = &body {
        let mut further = Wrongs::default();
        body.check(&mut further);
        wrongs.add_outside(further, &repaired);
    }
    body
}

/// Reads text into a value and watches the limits.
struct Reader<'l> {
    limits: &'l Limits,
    path: String,
    depth: usize,
    wrongs: &'l mut Wrongs,
}

impl Reader<'_> {
    fn wrong(&mut self, slug: Slug, detail: String) {
        self.wrongs.add(slug, self.path.clone(), detail);
    }

    fn enter<E: de::Error>(&mut self) -> Result<(), E> {
        let limit = self.limits.json_depth;
        self.depth += 1;
        if self.depth > limit {
            // The end of reading: what is below may be anything.
            *self.wrongs = Wrongs::default();
            self.wrong(Slug::InvalidFrame, format!("nested deeper than {limit}"));
            return Err(E::custom("nested too deep"));
        }
        Ok(())
    }

    /// Does something below a member or item.
    fn below<T>(&mut self, step: &str, work: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        // Most steps are short words and numbers, and there are as many as values.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        match step.len() <= 64 && step.bytes().all(is_plain) {
            true => self.path.extend(["/", step]),
            false => self.path.push_str(&decode::step(step)),
        }
        let result = work(self);
        self.path.truncate(length);
        result
    }

    /// Media are as long as a frame may be; every other text has a limit of its own.
    fn is_media(&self) -> bool {
        let mut steps = self.path.split('/').skip(1);
        matches!(steps.next(), Some("images" | "audio"))
            && steps.nth(1) == Some("data")
            && steps.next().is_none()
    }

    /// Returns true if the text can be taken; otherwise its error is named.
    fn is_fit(&mut self, text: &str) -> bool {
        let bytes = text.len();
        let limit = self.limits.text_bytes;
        if bytes > limit && !self.is_media() {
            let detail = format!("a text has at most {limit} bytes; this one has {bytes}");
            self.wrong(Slug::TextTooLarge, detail);
            return false;
        }
        if text.contains('\0') {
            self.wrong(Slug::NulNotAllowed, "a text has a NUL in it".into());
            return false;
        }
        true
    }

    fn number(&mut self, value: Value) -> Value {
        // The arguments of a call are a tool's, and are sent back as they were shown.
        let is_argument = self.path.split('/').nth(1) == Some("arguments");
        let is_far = |number: f64| number.abs() > INTEGER_MAX as f64;
        if !is_argument && value.as_f64().is_some_and(is_far) {
            let detail = format!("a number beyond ±{INTEGER_MAX}");
            self.wrong(Slug::InvalidFrame, detail);
            return Value::from(0);
        }
        value
    }
}

impl<'de> DeserializeSeed<'de> for &mut Reader<'_> {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Reader<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<Value, E> {
        Ok(self.number(value.into()))
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        Ok(self.number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Ok(self.number(value.into()))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        let text = if self.is_fit(text) { text } else { "" };
        Ok(Value::from(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        self.enter()?;
        let limit = self.limits.array_items;
        let mut items = Vec::new();
        while let Some(item) = self.below(&items.len().to_string(), |below| {
            seq.next_element_seed(below)
        })? {
            if items.len() == limit {
                let detail = format!("an array has at most {limit} items");
                self.wrong(Slug::InvalidFrame, detail);
                while seq.next_element::<IgnoredAny>()?.is_some() {}
                break;
            }
            items.push(item);
        }
        self.depth -= 1;
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        self.enter()?;
        let mut members = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            if !self.is_fit(&key) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let twice = members.contains_key(&key);
            let value = self.below(&key, |below| {
                if twice {
                    let detail = "this member stands here twice".to_owned();
                    below.wrong(Slug::InvalidFrame, detail);
                }
                map.next_value_seed(below)
            })?;
            members.entry(key).or_insert(value);
        }
        self.depth -= 1;
        Ok(Value::Object(members))
    }
}
