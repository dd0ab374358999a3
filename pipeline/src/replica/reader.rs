//! A reader of MessagePack. It gives bytes as a list of numbers unless bytes are asked for, as serde's buffered enums and
//! `Vec<u8>` expect: an untagged enum may take bytes for a text.

use std::fmt;

use serde::de::value::{BorrowedStrDeserializer, SeqDeserializer};
use serde::de::{
    DeserializeSeed, EnumAccess, Error as _, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};

/// Why a value is no data, or data is not the value that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct DataError(String);

impl serde::de::Error for DataError {
    fn custom<T: fmt::Display>(text: T) -> Self {
        DataError(text.to_string())
    }
}

/// As deep as JSON may be: a stack has an end.
const DEPTH_MAX: usize = 128;

/// The bytes left to be read.
pub(crate) struct Reader<'de> {
    rest: &'de [u8],
    depth: usize,
}

/// The next item: a value, or the head of several.
enum Item<'de> {
    Nil,
    Bool(bool),
    Unsigned(u64),
    Signed(i64),
    Single(f32),
    Double(f64),
    Text(&'de str),
    Bytes(&'de [u8]),
    List(usize),
    Map(usize),
}

/// Reads the one value that this is.
pub(crate) fn read<'de, T: Deserialize<'de>>(bytes: &'de [u8]) -> Result<T, DataError> {
    let mut reader = Reader {
        rest: bytes,
        depth: 0,
    };
    let value = T::deserialize(&mut reader)?;
    if reader.rest.is_empty() {
        Ok(value)
    } else {
        Err(DataError::custom("there is more than one value"))
    }
}

fn too_early() -> DataError {
    DataError::custom("it ends too early")
}

impl<'de> Reader<'de> {
    fn take(&mut self, n: usize) -> Result<&'de [u8], DataError> {
        let (taken, rest) = self.rest.split_at_checked(n).ok_or_else(too_early)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DataError> {
        let (taken, rest) = self.rest.split_first_chunk().ok_or_else(too_early)?;
        self.rest = rest;
        Ok(*taken)
    }

    /// A length or a number of so many bytes.
    fn number(&mut self, bytes: usize) -> Result<u64, DataError> {
        Ok(self
            .take(bytes)?
            .iter()
            .fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn text(&mut self, length: usize) -> Result<Item<'de>, DataError> {
        std::str::from_utf8(self.take(length)?)
            .map(Item::Text)
            .map_err(DataError::custom)
    }

    fn next(&mut self) -> Result<Item<'de>, DataError> {
        let marker = self.take(1)?[0];
        Ok(match marker {
            0x00..=0x7f => Item::Unsigned(marker.into()),
            0x80..=0x8f => Item::Map(usize::from(marker & 0x0f)),
            0x90..=0x9f => Item::List(usize::from(marker & 0x0f)),
            0xa0..=0xbf => self.text(usize::from(marker & 0x1f))?,
            0xc0 => Item::Nil,
            0xc2 | 0xc3 => Item::Bool(marker == 0xc3),
            0xc4..=0xc6 => {
                let length = self.number(1 << (marker - 0xc4))? as usize;
                Item::Bytes(self.take(length)?)
            }
            0xca => Item::Single(f32::from_be_bytes(self.array()?)),
            0xcb => Item::Double(f64::from_be_bytes(self.array()?)),
            0xcc..=0xcf => Item::Unsigned(self.number(1 << (marker - 0xcc))?),
            0xd0 => Item::Signed(i8::from_be_bytes(self.array()?).into()),
            0xd1 => Item::Signed(i16::from_be_bytes(self.array()?).into()),
            0xd2 => Item::Signed(i32::from_be_bytes(self.array()?).into()),
            0xd3 => Item::Signed(i64::from_be_bytes(self.array()?)),
            0xd9..=0xdb => {
                let length = self.number(1 << (marker - 0xd9))? as usize;
                self.text(length)?
            }
            0xdc | 0xdd => Item::List(self.number(2 << (marker - 0xdc))? as usize),
            0xde | 0xdf => Item::Map(self.number(2 << (marker - 0xde))? as usize),
            0xe0..=0xff => Item::Signed(i64::from(marker as i8)),
            0xc1 | 0xc7..=0xc9 | 0xd4..=0xd8 => {
                return Err(DataError::custom("nothing we write begins like this"));
            }
        })
    }

    /// Takes the next item, if it is wanted.
    fn next_if<T>(
        &mut self,
        wanted: impl FnOnce(Item<'de>) -> Option<T>,
    ) -> Result<Option<T>, DataError> {
        let mut ahead = Reader {
            rest: self.rest,
            depth: 0,
        };
        let taken = wanted(ahead.next()?);
        if taken.is_some() {
            self.rest = ahead.rest;
        }
        Ok(taken)
    }

    /// Takes bytes, if bytes come next.
    fn bytes(&mut self) -> Result<Option<&'de [u8]>, DataError> {
        self.next_if(|item| match item {
            Item::Bytes(value) => Some(value),
            _ => None,
        })
    }

    /// Takes a number of sixteen bytes, if one comes next.
    fn wide(&mut self) -> Result<Option<[u8; 16]>, DataError> {
        self.next_if(|item| match item {
            Item::Bytes(value) => value.try_into().ok(),
            _ => None,
        })
    }

    fn deeper<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, DataError>,
    ) -> Result<T, DataError> {
        if self.depth == DEPTH_MAX {
            return Err(DataError::custom(format_args!(
                "it is nested more than {DEPTH_MAX} deep"
            )));
        }
        self.depth += 1;
        let value = read(self)?; // after an error nothing more is read
        self.depth -= 1;
        Ok(value)
    }

    /// Reads several values, all of them.
    fn several<T>(
        &mut self,
        n: usize,
        read: impl FnOnce(&mut Several<'_, 'de>) -> Result<T, DataError>,
    ) -> Result<T, DataError> {
        self.deeper(|reader| {
            let mut several = Several { reader, left: n };
            let value = read(&mut several)?;
            match several.left {
                0 => Ok(value),
                left => Err(DataError::custom(format_args!(
                    "{n} values, and only {} were expected",
                    n - left
                ))),
            }
        })
    }
}

impl<'de> Deserializer<'de> for &mut Reader<'de> {
    type Error = DataError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DataError> {
        match self.next()? {
            Item::Nil => visitor.visit_unit(),
            Item::Bool(value) => visitor.visit_bool(value),
            Item::Unsigned(value) => visitor.visit_u64(value),
            Item::Signed(value) => visitor.visit_i64(value),
            Item::Single(value) => visitor.visit_f32(value),
            Item::Double(value) => visitor.visit_f64(value),
            Item::Text(value) => visitor.visit_borrowed_str(value),
            Item::Bytes(value) => {
                let mut list = SeqDeserializer::new(value.iter().copied());
                let value = visitor.visit_seq(&mut list)?;
                list.end().map(|()| value)
            }
            Item::List(n) => self.several(n, |several| visitor.visit_seq(several)),
            Item::Map(n) => self.several(n, |several| visitor.visit_map(several)),
        }
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DataError> {
        match self.bytes()? {
            Some(value) => visitor.visit_borrowed_bytes(value),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DataError> {
        self.deserialize_bytes(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DataError> {
        match self.next_if(|item| matches!(item, Item::Nil).then_some(()))? {
            Some(()) => visitor.visit_none(),
            None => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &str,
        visitor: V,
    ) -> Result<V::Value, DataError> {
        visitor.visit_newtype_struct(self)
    }

    /// Written as a list of nothing.
    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        _: &str,
        visitor: V,
    ) -> Result<V::Value, DataError> {
        match self.next_if(|item| matches!(item, Item::List(0)).then_some(()))? {
            Some(()) => visitor.visit_unit(),
            None => self.deserialize_any(visitor),
        }
    }

    /// A name, or a map of one name to the content of the variant.
    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &str,
        _: &[&str],
        visitor: V,
    ) -> Result<V::Value, DataError> {
        match self.next()? {
            Item::Text(name) => visitor.visit_enum(BorrowedStrDeserializer::new(name)),
            Item::Map(1) => self.deeper(|reader| visitor.visit_enum(reader)),
            _ => Err(DataError::custom("an enum is a name, or a map of one name")),
        }
    }

    fn deserialize_i128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DataError> {
        match self.wide()? {
            Some(bytes) => visitor.visit_i128(i128::from_be_bytes(bytes)),
            None => self.deserialize_any(visitor),
        }
    }

    fn deserialize_u128<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, DataError> {
        match self.wide()? {
            Some(bytes) => visitor.visit_u128(u128::from_be_bytes(bytes)),
            None => self.deserialize_any(visitor),
        }
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string unit seq tuple tuple_struct map struct identifier
        ignored_any
    }
}

/// The values of a list, or the keys and values of a map.
struct Several<'a, 'de> {
    reader: &'a mut Reader<'de>,
    left: usize,
}

impl<'de> SeqAccess<'de> for &mut Several<'_, 'de> {
    type Error = DataError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, DataError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        seed.deserialize(&mut *self.reader).map(Some)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

impl<'de> MapAccess<'de> for &mut Several<'_, 'de> {
    type Error = DataError;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, DataError> {
        self.next_element_seed(seed)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, DataError> {
        seed.deserialize(&mut *self.reader)
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.left)
    }
}

/// The map's head is read: the name of the variant follows, and then its content.
impl<'de> EnumAccess<'de> for &mut Reader<'de> {
    type Error = DataError;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), DataError> {
        Ok((seed.deserialize(&mut *self)?, self))
    }
}

impl<'de> VariantAccess<'de> for &mut Reader<'de> {
    type Error = DataError;

    fn unit_variant(self) -> Result<(), DataError> {
        <()>::deserialize(self)
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, DataError> {
        seed.deserialize(self)
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, DataError> {
        self.deserialize_any(visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _: &[&str],
        visitor: V,
    ) -> Result<V::Value, DataError> {
        self.deserialize_any(visitor)
    }
}
