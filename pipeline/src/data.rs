//! Values as data: JSON from which they are read again, and a hash by which a journal compares arguments.

use std::collections::BTreeMap;
use std::fmt;

use serde::ser::{self, Serialize, Serializer};
use serde_json::{Error, Value as Json};
use sha2::{Digest, Sha256};

/// The arguments of a call: the name of each, and a hash of its value.
///
/// The hash is of the value as JSON, the keys of every object in order, so it is the same in every process. Beside them stands the module of
/// the node's function: nodes of one name in two modules are two.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Arguments(BTreeMap<String, String>);

/// Stands among the names of arguments for the module of the node's function: no argument is called so.
const MODULE: &str = "(module)";

/// Why the arguments of a call cannot be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArgumentError {
    /// The argument's type has no form as data.
    #[error(
        "its argument `{0}` is not data: derive Serialize for its type, or leave it out by #[node(ignore({0}))]"
    )]
    NotData(String),
    /// This value of it has none.
    #[error("its argument `{name}` cannot be written as data: {source}")]
    Data {
        /// Name of the argument.
        name: String,
        /// Its fault.
        source: Error,
    },
}

impl Arguments {
    /// The names of the arguments in which these two differ, or that only one of them has.
    pub fn differing<'a>(&'a self, other: &'a Arguments) -> Vec<&'a str> {
        let differs = |name: &&String| *name != MODULE && self.0.get(*name) != other.0.get(*name);
        let names: std::collections::BTreeSet<&String> =
            self.0.keys().chain(other.0.keys()).collect();
        names
            .into_iter()
            .filter(differs)
            .map(String::as_str)
            .collect()
    }

    /// Returns the arguments with another name of the module, where `name` has one for it: code
    /// moves, and its records stay.
    #[must_use]
    pub fn with_module(mut self, name: impl FnOnce(&str) -> Option<String>) -> Self {
        if let Some(module) = self.0.get_mut(MODULE)
            && let Some(name) = name(module)
        {
            *module = name;
        }
        self
    }

    /// The modules of the nodes' functions, if they are two. A call that was kept before modules were has none.
    pub(crate) fn modules<'a>(&'a self, other: &'a Arguments) -> Option<(&'a str, &'a str)> {
        let one = self.0.get(MODULE)?;
        let other = other.0.get(MODULE)?;
        (one != other).then_some((one, other))
    }
}

/// The arguments of a call while they are gathered; the first that is no data is remembered.
#[doc(hidden)]
pub struct Gathering(Result<Arguments, ArgumentError>);

impl Gathering {
    pub(crate) fn new() -> Self {
        Gathering(Ok(Arguments::default()))
    }

    /// One more; `data` is none where the type is no data.
    pub fn add(&mut self, name: &str, data: Option<serde_json::Result<Json>>) {
        let Ok(arguments) = &mut self.0 else { return };
        let name = name.to_owned();
        match data {
            Some(Ok(data)) => drop(arguments.0.insert(name, hash(data))),
            Some(Err(source)) => self.0 = Err(ArgumentError::Data { name, source }),
            None => self.0 = Err(ArgumentError::NotData(name)),
        }
    }

    /// The module of the node's function.
    pub fn module(&mut self, path: &str) {
        if let Ok(arguments) = &mut self.0 {
            arguments.0.insert(MODULE.to_owned(), path.to_owned());
        }
    }

    pub(crate) fn end(self) -> Result<Arguments, ArgumentError> {
        self.0
    }
}

/// 128 bits of SHA-256: none meets another by chance, and records stay short.
fn hash(mut data: Json) -> String {
    data.sort_all_objects();
    let hash = Sha256::digest(data.to_string());
    hash.iter()
        .take(16)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Returns a value as JSON, if no part of it is lost: as JSON, infinity and NaN are `null`.
pub(crate) fn of<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Json> {
    value.serialize(Finite(serde_json::value::Serializer))
}

/// Hands all values on to a serializer or its compound, but refuses floats that JSON has no form
/// for.
struct Finite<S>(S);

/// Values within another one.
struct Within<'a, T: ?Sized>(&'a T);

impl<T: Serialize + ?Sized> Serialize for Within<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(Finite(serializer))
    }
}

/// Data without values is handed on as it is.
macro_rules! plain {
    ($($method:ident($($name:ident: $type:ty),*)),*) => { $(
        fn $method(self, $($name: $type),*) -> Result<S::Ok, S::Error> {
            self.0.$method($($name),*)
        }
    )* };
}

/// A beginning of data with values is handed on, and they are looked at.
macro_rules! begun {
    ($($method:ident($($name:ident: $type:ty),*) -> $begun:ident),*) => { $(
        fn $method(self, $($name: $type),*) -> Result<Self::$begun, S::Error> {
            self.0.$method($($name),*).map(Finite)
        }
    )* };
}

macro_rules! compound {
    ($($trait:ident::$method:ident($($name:ident)?)),*) => { $(
        impl<S: ser::$trait> ser::$trait for Finite<S> {
            type Ok = S::Ok;
            type Error = S::Error;

            fn $method<T: Serialize + ?Sized>(&mut self, $($name: &'static str,)? value: &T) -> Result<(), S::Error> {
                self.0.$method($($name,)? &Within(value))
            }

            fn end(self) -> Result<S::Ok, S::Error> {
                self.0.end()
            }
        }
    )* };
}

compound!(
    SerializeSeq::serialize_element(),
    SerializeTuple::serialize_element(),
    SerializeTupleStruct::serialize_field(),
    SerializeTupleVariant::serialize_field(),
    SerializeStruct::serialize_field(name),
    SerializeStructVariant::serialize_field(name)
);

impl<S: ser::SerializeMap> ser::SerializeMap for Finite<S> {
    type Ok = S::Ok;
    type Error = S::Error;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), S::Error> {
        self.0.serialize_key(key) // what no key can be, the serializer of JSON refuses
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), S::Error> {
        self.0.serialize_value(&Within(value))
    }

    fn end(self) -> Result<S::Ok, S::Error> {
        self.0.end()
    }
}

fn finite<E: ser::Error>(float: f64) -> Result<(), E> {
    if float.is_finite() {
        Ok(())
    } else {
        Err(E::custom(format!("JSON has no form for the float {float}")))
    }
}

impl<S: Serializer> Serializer for Finite<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = Finite<S::SerializeSeq>;
    type SerializeTuple = Finite<S::SerializeTuple>;
    type SerializeTupleStruct = Finite<S::SerializeTupleStruct>;
    type SerializeTupleVariant = Finite<S::SerializeTupleVariant>;
    type SerializeMap = Finite<S::SerializeMap>;
    type SerializeStruct = Finite<S::SerializeStruct>;
    type SerializeStructVariant = Finite<S::SerializeStructVariant>;

    plain!(
        serialize_bool(value: bool),
        serialize_i8(value: i8),
        serialize_i16(value: i16),
        serialize_i32(value: i32),
        serialize_i64(value: i64),
        serialize_i128(value: i128),
        serialize_u8(value: u8),
        serialize_u16(value: u16),
        serialize_u32(value: u32),
        serialize_u64(value: u64),
        serialize_u128(value: u128),
        serialize_char(value: char),
        serialize_str(value: &str),
        serialize_bytes(value: &[u8]),
        serialize_none(),
        serialize_unit(),
        serialize_unit_struct(name: &'static str),
        serialize_unit_variant(of: &'static str, i: u32, variant: &'static str)
    );

    begun!(
        serialize_seq(length: Option<usize>) -> SerializeSeq,
        serialize_tuple(length: usize) -> SerializeTuple,
        serialize_tuple_struct(name: &'static str, length: usize) -> SerializeTupleStruct,
        serialize_tuple_variant(of: &'static str, i: u32, variant: &'static str, length: usize)
            -> SerializeTupleVariant,
        serialize_map(length: Option<usize>) -> SerializeMap,
        serialize_struct(name: &'static str, length: usize) -> SerializeStruct,
        serialize_struct_variant(of: &'static str, i: u32, variant: &'static str, length: usize)
            -> SerializeStructVariant
    );

    fn serialize_f32(self, value: f32) -> Result<S::Ok, S::Error> {
        finite(value.into())?;
        self.0.serialize_f32(value)
    }

    fn serialize_f64(self, value: f64) -> Result<S::Ok, S::Error> {
        finite(value)?;
        self.0.serialize_f64(value)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.0.serialize_some(&Within(value))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_newtype_struct(name, &Within(value))
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        of: &'static str,
        i: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        self.0
            .serialize_newtype_variant(of, i, variant, &Within(value))
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.0.collect_str(value)
    }
}
