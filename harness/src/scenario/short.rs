//! A value that a case file can contain in a short form (a scalar) and a full form (a map).
//!
//! Not a serde untagged enum, because its errors contain neither the key nor the expected type.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use serde::Deserialize;
use serde::de::{self, Deserializer, MapAccess, SeqAccess, Visitor};

/// A type that a case file can contain as a scalar.
pub trait FromShort: Sized {
    /// Completes the text "expected …" in errors.
    const EXPECTING: &'static str;
    /// Parses the short form, a scalar.
    fn from_short(text: &str) -> Result<Self, String>;
    /// Parses a list of scalars. Returns an error unless the type supports lists.
    fn from_list(_list: Vec<String>) -> Result<Self, String> {
        Err(format!("a list is not possible here; write {}", Self::EXPECTING))
    }
}

/// Deserializes `T` from a scalar or from a map.
#[derive(Debug, Clone, PartialEq)]
pub struct Short<T>(pub T);

impl<T> Deref for Short<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<'de, T: FromShort + Deserialize<'de>> Deserialize<'de> for Short<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShortVisitor(PhantomData)).map(Short)
    }
}

struct ShortVisitor<T>(PhantomData<T>);

impl<'de, T: FromShort + Deserialize<'de>> Visitor<'de> for ShortVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(T::EXPECTING)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        T::from_short(text).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<T, E> {
        T::from_short(&number.to_string()).map_err(E::custom)
    }

    fn visit_i64<E: de::Error>(self, number: i64) -> Result<T, E> {
        T::from_short(&number.to_string()).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::deserialize(de::value::MapAccessDeserializer::new(map))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<T, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = seq.next_element::<String>()? {
            list.push(item);
        }
        T::from_list(list).map_err(de::Error::custom)
    }
}
