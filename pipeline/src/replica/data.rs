//! The encoding of arguments and answers as data.

use std::fmt;

use rmp_serde::config::BytesMode;
use serde::de::{DeserializeOwned, Error as _, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::replica::reader::{self, DataError};

/// Arguments and answers on their way: data, never code.
///
/// MessagePack, with the names of fields. Types with a readable form as text have it, as in JSON.
/// Yet bytes are bytes (`Vec<u8>`, `&[u8]`, wherever they stand), floats stay as they are, and the
/// keys of a map need not be strings.
///
/// ```
/// use unhurried::Data;
///
/// let data = Data::of(&(vec![255_u8; 1000], f64::INFINITY)).unwrap();
/// assert!(data.as_bytes().len() < 1020);
/// let (bytes, float): (Vec<u8>, f64) = data.read().unwrap();
/// assert_eq!((bytes.len(), float), (1000, f64::INFINITY));
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Data(Vec<u8>);

impl Data {
    /// A value as data.
    pub fn of(value: &(impl Serialize + ?Sized)) -> Result<Self, DataError> {
        let mut bytes = Vec::with_capacity(128);
        let mut writer = rmp_serde::Serializer::new(&mut bytes)
            .with_struct_map()
            .with_human_readable()
            .with_bytes(BytesMode::ForceAll);
        value.serialize(&mut writer).map_err(DataError::custom)?;
        Ok(Data(bytes))
    }

    /// The value again.
    pub fn read<T: DeserializeOwned>(&self) -> Result<T, DataError> {
        reader::read(&self.0)
    }

    #[cfg(feature = "grpc")]
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    /// As it travels.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

/// Prints its size: its content is the caller's.
impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Data({} bytes)", self.0.len())
    }
}

/// Within other data: as bytes that are not looked into.
impl Serialize for Data {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Bytes;

        impl<'de> Visitor<'de> for Bytes {
            type Value = Data;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E: serde::de::Error>(self, bytes: &[u8]) -> Result<Data, E> {
                Ok(Data(bytes.to_owned()))
            }
        }

        deserializer.deserialize_byte_buf(Bytes)
    }
}
