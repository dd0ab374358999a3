//! Decodes a JSON value into a type, strictly: finds every place that does not fit and describes it with its JSON pointer.
//! The description suits any reader (a client, a model, an operator): it never names a Rust type.

use std::fmt;
use std::sync::LazyLock;

use serde::de::value::StringDeserializer;
use serde::de::{
    self, DeserializeOwned, DeserializeSeed, Deserializer, Expected, IntoDeserializer, MapAccess,
    SeqAccess, Unexpected, Visitor,
};
use serde_json::Value;

/// Most places that are reported of one value.
pub const WRONGS_MAX: usize = 16;
/// Stands in the place of a fault, in a value that is read on for further faults: it fits
/// everywhere.
static HOLE: LazyLock<Value> = LazyLock::new(|| Value::from("\0"));

/// A place that does not fit, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The members and indexes that lead there.
    path: Vec<String>,
    /// Its text, for the writer of the document.
    pub detail: String,
    /// Its kind.
    pub fault: Fault,
}

/// Why a place does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A member that the type does not have.
    Unknown,
    /// A member that has to be there.
    Missing,
    /// A name that is not in a choice of names.
    Choice,
    /// A value of another kind, or out of range.
    Unfit,
}

/// Decodes a value, or returns all that is wrong with it.
pub fn decode<T: DeserializeOwned>(value: Value) -> Result<T, Vec<Wrong>> {
    let mut wrongs = Vec::new();
    let decoded = decode_on(value, &mut wrongs);
    decoded.filter(|_| wrongs.is_empty()).ok_or(wrongs)
}

/// Decodes as `decode` does, and returns a value where something is wrong, too, if it can: empty or false in the wrong places.
pub fn decode_on<T: DeserializeOwned>(mut value: Value, wrongs: &mut Vec<Wrong>) -> Option<T> {
    loop {
        let wrong = match T::deserialize(Node {
            value: &value,
            repairing: !wrongs.is_empty(),
        }) {
            Ok(decoded) => return Some(decoded),
            Err(wrong) => wrong,
        };
        let again = wrongs.iter().any(|known| known.path == wrong.path);
        if again || wrongs.len() >= WRONGS_MAX || !repair(&mut value, &wrong) {
            if !again {
                wrongs.push(wrong);
            }
            return None;
        }
        wrongs.push(wrong);
    }
}

/// Makes the place fit; false where it is not there to be made to.
fn repair(value: &mut Value, wrong: &Wrong) -> bool {
    let hole = || HOLE.clone();
    let Some((last, way)) = wrong.path.split_last() else {
        return false;
    };
    let parent = way.iter().try_fold(value, |value, step| match value {
        Value::Object(members) => members.get_mut(step),
        Value::Array(items) => step
            .parse::<usize>()
            .ok()
            .and_then(|index| items.get_mut(index)),
        _ => None,
    });
    match (parent, wrong.fault) {
        (Some(Value::Object(members)), Fault::Unknown) => members.remove(last).is_some(),
        (Some(Value::Object(members)), _) => {
            members.insert(last.clone(), hole());
            true
        }
        (Some(Value::Array(items)), _) => {
            let place = last
                .parse::<usize>()
                .ok()
                .and_then(|index| items.get_mut(index));
            place.map(|place| *place = hole()).is_some()
        }
        _ => false,
    }
}

/// Describes all that is wrong in one sentence.
pub fn sentence(wrongs: &[Wrong]) -> String {
    wrongs
        .iter()
        .map(Wrong::to_string)
        .collect::<Vec<_>>()
        .join("; ")
}

/// One step of a JSON pointer, cut to a readable length.
pub fn step(step: &str) -> String {
    let step: String = step.chars().take(64).collect();
    format!("/{}", step.replace('~', "~0").replace('/', "~1"))
}

impl Wrong {
    fn unfit(detail: String) -> Self {
        Self {
            path: Vec::new(),
            detail,
            fault: Fault::Unfit,
        }
    }

    fn below(mut self, step: String) -> Self {
        self.path.insert(0, step);
        self
    }

    /// Its place, as a JSON pointer (RFC 6901).
    pub fn pointer(&self) -> String {
        self.path.iter().map(|name| step(name)).collect()
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.path.is_empty() {
            true => f.write_str(&self.detail),
            false => write!(f, "{}: {}", self.pointer(), self.detail),
        }
    }
}

impl std::error::Error for Wrong {}

impl de::Error for Wrong {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::unfit(plain(message.to_string()))
    }

    fn invalid_type(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::unfit(format!(
            "{} is expected here, not {}",
            taken(&expected.to_string()),
            found(&unexpected)
        ))
    }

    fn invalid_value(unexpected: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(unexpected, expected)
    }

    fn invalid_length(length: usize, _: &dyn Expected) -> Self {
        Self::unfit(format!(
            "{length} items are not as many as are expected here"
        ))
    }

    fn unknown_variant(given: &str, expected: &'static [&'static str]) -> Self {
        let given: String = given.chars().take(40).collect();
        let detail = format!("{given:?} is none of {}", expected.join(", "));
        Self {
            fault: Fault::Choice,
            ..Self::unfit(detail)
        }
    }

    fn unknown_field(field: &str, expected: &'static [&'static str]) -> Self {
        let given: String = field.chars().take(40).collect();
        let detail = match expected {
            [] => "no members are taken here".to_owned(),
            known => format!("members are: {}; not {given:?}", known.join(", ")),
        };
        Self {
            path: vec![field.to_owned()],
            detail,
            fault: Fault::Unknown,
        }
    }

    fn missing_field(field: &'static str) -> Self {
        Self {
            path: vec![field.to_owned()],
            detail: format!("{field} is missing"),
            fault: Fault::Missing,
        }
    }

    fn duplicate_field(field: &'static str) -> Self {
        Self {
            path: vec![field.to_owned()],
            detail: format!("{field} stands here twice"),
            fault: Fault::Unfit,
        }
    }
}

/// Passes on serde's sentence unless it names a Rust type, as it does of types that have several forms.
pub fn plain(sentence: String) -> String {
    if sentence.contains("did not match any variant") {
        return "this has none of the forms that are taken here".to_owned();
    }
    sentence
}

/// Returns the expectation of serde, in the words of JSON.
pub fn taken(expected: &str) -> String {
    let range = |least: i128, most: i128| format!("a whole number from {least} to {most}");
    match expected.trim_matches('`') {
        "u8" => range(0, u8::MAX.into()),
        "u16" => range(0, u16::MAX.into()),
        "u32" => range(0, u32::MAX.into()),
        "i8" => range(i8::MIN.into(), i8::MAX.into()),
        "i16" => range(i16::MIN.into(), i16::MAX.into()),
        "i32" => range(i32::MIN.into(), i32::MAX.into()),
        "u64" | "u128" | "usize" => "a whole number, 0 or greater,".to_owned(),
        "i64" | "i128" | "isize" => "a whole number".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" | "bool" => "true or false".to_owned(),
        "unit" | "null" => "null".to_owned(),
        text if text.contains("string") => "a text".to_owned(),
        text if text.contains("sequence") || text.contains("tuple") || text.contains("array") => {
            "a list".to_owned()
        }
        text if text.starts_with("struct ") || text.contains("map") => "an object".to_owned(),
        text if text.starts_with("enum ") || text.contains("variant") => {
            "one of some words".to_owned()
        }
        text if text.contains("nonzero") => "a whole number other than 0".to_owned(),
        _ => "something else".to_owned(),
    }
}

fn found(unexpected: &Unexpected<'_>) -> String {
    match unexpected {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(number) => number.to_string(),
        Unexpected::Signed(number) => number.to_string(),
        Unexpected::Float(number) => number.to_string(),
        Unexpected::Unit | Unexpected::Option => "null".to_owned(),
        Unexpected::Str(text) => {
            format!("the text {:?}", text.chars().take(40).collect::<String>())
        }
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "an object".to_owned(),
        _ => "this".to_owned(),
    }
}

fn unexpected(value: &Value) -> Unexpected<'_> {
    match value {
        Value::Null => Unexpected::Unit,
        Value::Bool(value) => Unexpected::Bool(*value),
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
        Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
            (Some(number), _, _) => Unexpected::Unsigned(number),
            (_, Some(number), _) => Unexpected::Signed(number),
            (_, _, number) => Unexpected::Float(number.unwrap_or_default()),
        },
    }
}

/// A value on its way into a type.
struct Node<'v> {
    value: &'v Value,
    /// Something was wrong: holes fit everywhere.
    repairing: bool,
}

impl Node<'_> {
    fn is_hole(&self) -> bool {
        self.repairing && *self.value == *HOLE
    }
}

/// Methods that only matter for a hole: each visits a value that fits.
macro_rules! filling {
    ($($method:ident($($argument:ident: $kind:ty),*) $visitor:ident => $fill:expr;)*) => {$(
        fn $method<V: Visitor<'de>>(self, $($argument: $kind,)* $visitor: V) -> Result<V::Value, Wrong> {
            if self.is_hole() { $fill } else { self.deserialize_any($visitor) }
        }
    )*};
}

impl<'de> Deserializer<'de> for Node<'_> {
    type Error = Wrong;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        let repairing = self.repairing;
        match self.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value) => visitor.visit_bool(*value),
            Value::String(_) if self.is_hole() => visitor.visit_unit(),
            // Copied, however long it is: the value may be read once more to find what else is wrong, and this is right.
            Value::String(text) => visitor.visit_str(text),
            Value::Array(items) => visitor.visit_seq(Items {
                items: items.iter().enumerate(),
                repairing,
            }),
            Value::Object(members) => visitor.visit_map(Members::of(members, repairing)),
            Value::Number(number) => match (number.as_u64(), number.as_i64(), number.as_f64()) {
                (Some(number), _, _) => visitor.visit_u64(number),
                (_, Some(number), _) => visitor.visit_i64(number),
                (_, _, number) => visitor.visit_f64(number.unwrap_or_default()),
            },
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Wrong> {
        if self.value.is_null() || self.is_hole() {
            visitor.visit_none()
        } else {
            visitor.visit_some(self)
        }
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        let word = match self.value {
            Value::String(_) if self.is_hole() => {
                variants.first().copied().unwrap_or_default().to_owned()
            }
            Value::String(word) => word.clone(),
            _ => {
                return Err(Wrong::unfit(format!(
                    "one of these words is expected here: {}",
                    variants.join(", ")
                )));
            }
        };
        let word: StringDeserializer<Wrong> = word.into_deserializer();
        visitor.visit_enum(word)
    }

    /// An object only, and read by one piece of code whether it is a hole: there are very many types.
    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        let members = match self.value {
            Value::Object(members) => Members::of(members, self.repairing),
            _ if self.is_hole() => Members::holes(fields),
            other => return Err(de::Error::invalid_type(unexpected(other), &visitor)),
        };
        visitor.visit_map(members)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, Wrong> {
        visitor.visit_newtype_struct(self)
    }

    filling! {
        deserialize_bool() visitor => visitor.visit_bool(false);
        deserialize_i8() visitor => visitor.visit_u64(0);
        deserialize_i16() visitor => visitor.visit_u64(0);
        deserialize_i32() visitor => visitor.visit_u64(0);
        deserialize_i64() visitor => visitor.visit_u64(0);
        deserialize_u8() visitor => visitor.visit_u64(0);
        deserialize_u16() visitor => visitor.visit_u64(0);
        deserialize_u32() visitor => visitor.visit_u64(0);
        deserialize_u64() visitor => visitor.visit_u64(0);
        deserialize_f32() visitor => visitor.visit_f64(0.0);
        deserialize_f64() visitor => visitor.visit_f64(0.0);
        deserialize_str() visitor => visitor.visit_str("");
        deserialize_string() visitor => visitor.visit_str("");
        deserialize_seq() visitor => visitor.visit_seq(Items { items: [].iter().enumerate(), repairing: true });
        deserialize_map() visitor => visitor.visit_map(Members::holes(&[]));
    }

    serde::forward_to_deserialize_any! {
        char bytes byte_buf unit unit_struct tuple tuple_struct identifier ignored_any
    }
}

struct Items<'v> {
    items: std::iter::Enumerate<std::slice::Iter<'v, Value>>,
    repairing: bool,
}

impl<'de> SeqAccess<'de> for Items<'_> {
    type Error = Wrong;
    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Wrong> {
        let Some((index, value)) = self.items.next() else {
            return Ok(None);
        };
        let node = Node {
            value,
            repairing: self.repairing,
        };
        seed.deserialize(node)
            .map(Some)
            .map_err(|wrong| wrong.below(index.to_string()))
    }
}

/// The members of an object, or the fields of a hole.
struct Members<'v> {
    left: Box<dyn Iterator<Item = (&'v str, &'v Value)> + 'v>,
    /// The member of which the name was read.
    last: Option<(&'v str, &'v Value)>,
    repairing: bool,
}

impl<'v> Members<'v> {
    fn of(members: &'v serde_json::Map<String, Value>, repairing: bool) -> Self {
        let left = members.iter().map(|(name, value)| (name.as_str(), value));
        Self {
            left: Box::new(left),
            last: None,
            repairing,
        }
    }

    fn holes(names: &'static [&'static str]) -> Self {
        Self {
            left: Box::new(names.iter().map(|name| (*name, &*HOLE))),
            last: None,
            repairing: true,
        }
    }
}

impl<'de> MapAccess<'de> for Members<'_> {
    type Error = Wrong;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Wrong> {
        self.last = self.left.next();
        let Some((name, _)) = self.last else {
            return Ok(None);
        };
        let name: StringDeserializer<Wrong> = name.to_owned().into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Wrong> {
        // serde asks for a value only after its key.
        let Some((name, value)) = self.last.take() else {
            return Err(Wrong::unfit("a member has no value".into()));
        };
        let node = Node {
            value,
            repairing: self.repairing,
        };
        seed.deserialize(node)
            .map_err(|wrong| wrong.below(name.to_owned()))
    }
}
