//! Reading JSON from outside: strictly, within the limits, and with a pointer to what is wrong.
//! Text becomes a value here (no member twice, nothing too deep, too long or too many), then a value becomes a type.

use std::fmt;

use serde::de::value::StringDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde_json::{Map, Value};

use super::limits::Limits;
use super::problem::{Problem, Slug};
use crate::id::INTEGER_MAX;

/// The value of a JSON text.
pub fn parse(text: &str, limits: &Limits) -> Result<Value, Problem> {
    let mut reader = Reader { limits, path: String::new(), depth: 0, problem: None };
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let value = (&mut reader).deserialize(&mut deserializer).and_then(|value| deserializer.end().map(|()| value));
    value.map_err(|error| {
        reader.problem.take().unwrap_or_else(|| Problem::new(Slug::MalformedJson, format!("not JSON: {error}")))
    })
}

/// The members of a JSON object.
pub fn object(value: Value) -> Result<Map<String, Value>, Problem> {
    match value {
        Value::Object(map) => Ok(map),
        _ => Err(Problem::at(Slug::InvalidFrame, "", "a JSON object is expected")),
    }
}

/// A value as a type. What does not fit is named by its pointer.
pub fn decode<T: DeserializeOwned>(value: Value) -> Result<T, Problem> {
    T::deserialize(Node(value)).map_err(|wrong| Problem::at(wrong.slug, wrong.pointer, wrong.detail))
}

/// Reads text into a value and watches the limits.
struct Reader<'l> {
    limits: &'l Limits,
    path: String,
    depth: usize,
    problem: Option<Problem>,
}

impl Reader<'_> {
    fn refuse<E: de::Error>(&mut self, slug: Slug, detail: String) -> E {
        self.problem.get_or_insert_with(|| Problem::at(slug, self.path.clone(), detail));
        E::custom("refused")
    }

    fn enter<E: de::Error>(&mut self) -> Result<(), E> {
        let limit = self.limits.json_depth;
        self.depth += 1;
        if self.depth > limit {
            return Err(self.refuse(Slug::InvalidFrame, format!("nested deeper than {limit}")));
        }
        Ok(())
    }

    /// Does something below a member or item.
    fn below<T>(&mut self, step: &str, work: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        self.path.push_str(&pointer(step));
        let result = work(self);
        self.path.truncate(length);
        result
    }

    /// Media are as long as a frame may be; every other text has a limit of its own.
    fn is_media(&self) -> bool {
        let mut steps = self.path.split('/').skip(1);
        matches!(steps.next(), Some("images" | "audio")) && steps.nth(1) == Some("data") && steps.next().is_none()
    }

    fn check<E: de::Error>(&mut self, text: &str) -> Result<(), E> {
        let (bytes, limit) = (text.len(), self.limits.text_bytes);
        if bytes > limit && !self.is_media() {
            let detail = format!("a text has at most {limit} bytes; this one has {bytes}");
            return Err(self.refuse(Slug::TextTooLarge, detail));
        }
        if text.contains('\0') {
            return Err(self.refuse(Slug::NulNotAllowed, "a text has a NUL in it".into()));
        }
        Ok(())
    }

    fn number<E: de::Error>(&mut self, value: Value) -> Result<Value, E> {
        if value.as_f64().is_some_and(|number| number.abs() > INTEGER_MAX as f64) {
            return Err(self.refuse(Slug::InvalidFrame, format!("a number beyond ±{INTEGER_MAX}")));
        }
        Ok(value)
    }
}

/// One step of a JSON pointer, cut to a readable length.
fn pointer(step: &str) -> String {
    let step: String = step.chars().take(64).collect();
    format!("/{}", step.replace('~', "~0").replace('/', "~1"))
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
        self.number(value.into())
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
        self.number(value.into())
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        self.number(value.into())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        self.check(text)?;
        Ok(Value::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        self.enter()?;
        let limit = self.limits.array_items;
        let mut items = Vec::new();
        while let Some(item) = self.below(&items.len().to_string(), |below| seq.next_element_seed(below))? {
            if items.len() == limit {
                return Err(self.refuse(Slug::InvalidFrame, format!("an array has at most {limit} items")));
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
            self.check(&key)?;
            if members.contains_key(&key) {
                let detail = format!("the member {key:?} stands here twice");
                return Err(self.below(&key, |below| below.refuse(Slug::InvalidFrame, detail)));
            }
            let value = self.below(&key, |below| map.next_value_seed(below))?;
            members.insert(key, value);
        }
        self.depth -= 1;
        Ok(Value::Object(members))
    }
}

/// What does not fit, and where: serde's errors with a pointer.
#[derive(Debug)]
struct Wrong {
    slug: Slug,
    pointer: String,
    detail: String,
}

impl Wrong {
    fn below(mut self, step: &str) -> Self {
        self.pointer.insert_str(0, &pointer(step));
        self
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.detail)
    }
}

impl std::error::Error for Wrong {}

impl de::Error for Wrong {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { slug: Slug::InvalidFrame, pointer: String::new(), detail: message.to_string() }
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let detail = match expected {
            [] => "no members are taken here".to_owned(),
            known => format!("members are: {}", known.join(", ")),
        };
        Self { slug: Slug::UnknownMember, pointer: pointer(field), detail }
    }

    fn missing_field(field: &'static str) -> Self {
        Self { slug: Slug::InvalidFrame, pointer: pointer(field), detail: format!("{field} is missing") }
    }
}

/// A value on its way into a type.
struct Node(Value);

impl<'de> Deserializer<'de> for Node {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.0 {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(value),
            Value::String(text) => visitor.visit_string(text),
            Value::Array(items) => visitor.visit_seq(Items(items.into_iter().enumerate())),
            Value::Object(members) => visitor.visit_map(Members(members.into_iter(), None)),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), _, _) => visitor.visit_u64(number),
                (_, Some(number), _) => visitor.visit_i64(number),
                (_, _, number) => visitor.visit_f64(number.unwrap_or_default()),
            },
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        match self.0 {
            Value::Null => visitor.visit_none(),
            value => visitor.visit_some(Node(value)),
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        match self.0 {
            Value::String(word) => {
                let word: StringDeserializer<Wrong> = word.into_deserializer();
                visitor.visit_enum(word)
            }
            _ => Err(de::Error::custom("a word is expected")),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

struct Items(std::iter::Enumerate<std::vec::IntoIter<Value>>);

impl<'de> SeqAccess<'de> for Items {
    type Error = Wrong;
    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, Wrong> {
        let Some((index, item)) = self.0.next() else { return Ok(None) };
        seed.deserialize(Node(item)).map(Some).map_err(|wrong| wrong.below(&index.to_string()))
    }
}

struct Members(serde_json::map::IntoIter, Option<(String, Value)>);

impl<'de> MapAccess<'de> for Members {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, Wrong> {
        let Some((key, value)) = self.0.next() else { return Ok(None) };
        let name: StringDeserializer<Wrong> = key.clone().into_deserializer();
        self.1 = Some((key, value));
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Wrong> {
        let (key, value) = self.1.take().unwrap_or_default();
        seed.deserialize(Node(value)).map_err(|wrong| wrong.below(&key))
    }
}
