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
        /// Which argument.
        name: String,
        /// What is wrong with it.
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

    /// The modules of the nodes' functions, if they are two. A call that was kept before modules were has none.
    pub(crate) fn modules<'a>(&'a self, other: &'a Arguments) -> Option<(&'a str, &'a str)> {
        let (one, other) = (self.0.get(MODULE)?, other.0.get(MODULE)?);
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

/// A value as JSON, if nothing of it is lost: as JSON, infinity and what is not a number are `null`.
pub(crate) fn of<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<Json> {
    value.serialize(Finite(serde_json::value::Serializer))
}

/// Hands everything on, to a serializer or to what it has begun, but floats that JSON has no form for: those it refuses.
struct Finite<S>(S);

/// What is within another value.
struct Within<'a, T: ?Sized>(&'a T);

impl<T: Serialize + ?Sized> Serialize for Within<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(Finite(serializer))
    }
}

macro_rules! plain {
    ($($method:ident($type:ty)),*) => { $(
        fn $method(self, value: $type) -> Result<S::Ok, S::Error> {
            self.0.$method(value)
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
        serialize_bool(bool),
        serialize_i8(i8),
        serialize_i16(i16),
        serialize_i32(i32),
        serialize_i64(i64),
        serialize_i128(i128),
        serialize_u8(u8),
        serialize_u16(u16),
        serialize_u32(u32),
        serialize_u64(u64),
        serialize_u128(u128),
        serialize_char(char),
        serialize_str(&str),
        serialize_bytes(&[u8]),
        serialize_unit_struct(&'static str)
    );

    fn serialize_f32(self, value: f32) -> Result<S::Ok, S::Error> {
        finite(value.into())?;
        self.0.serialize_f32(value)
    }

    fn serialize_f64(self, value: f64) -> Result<S::Ok, S::Error> {
        finite(value)?;
        self.0.serialize_f64(value)
    }

    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        self.0.serialize_none()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.0.serialize_some(&Within(value))
    }

    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.0.serialize_unit()
    }

    fn serialize_unit_variant(
        self,
        of: &'static str,
        i: u32,
        variant: &'static str,
    ) -> Result<S::Ok, S::Error> {
        self.0.serialize_unit_variant(of, i, variant)
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

    fn serialize_seq(self, length: Option<usize>) -> Result<Self::SerializeSeq, S::Error> {
        self.0.serialize_seq(length).map(Finite)
    }

    fn serialize_tuple(self, length: usize) -> Result<Self::SerializeTuple, S::Error> {
        self.0.serialize_tuple(length).map(Finite)
    }

    fn serialize_tuple_struct(
        self,
        name: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleStruct, S::Error> {
        self.0.serialize_tuple_struct(name, length).map(Finite)
    }

    fn serialize_tuple_variant(
        self,
        of: &'static str,
        i: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeTupleVariant, S::Error> {
        self.0
            .serialize_tuple_variant(of, i, variant, length)
            .map(Finite)
    }

    fn serialize_map(self, length: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        self.0.serialize_map(length).map(Finite)
    }

    fn serialize_struct(
        self,
        name: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStruct, S::Error> {
        self.0.serialize_struct(name, length).map(Finite)
    }

    fn serialize_struct_variant(
        self,
        of: &'static str,
        i: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<Self::SerializeStructVariant, S::Error> {
        self.0
            .serialize_struct_variant(of, i, variant, length)
            .map(Finite)
    }

    fn collect_str<T: fmt::Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.0.collect_str(value)
    }
}
