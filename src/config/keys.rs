//! Which keys a row has, asked of the row itself, so that no second list can disagree with it.

use serde::{
    Deserialize, Deserializer,
    de::{self, Visitor},
};
use std::fmt;

/// The keys of `T`, in the order they are declared.
pub(super) fn of<'de, T: Deserialize<'de>>() -> &'static [&'static str] {
    match T::deserialize(Ask) {
        Err(Keys(keys)) => keys,
        Ok(_) => &[],
    }
}

/// A deserializer that only listens to what is asked of it.
struct Ask;

/// The answer travels as the error.
#[derive(Debug)]
struct Keys(&'static [&'static str]);

impl fmt::Display for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.join(", "))
    }
}

impl std::error::Error for Keys {}

impl de::Error for Keys {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(&[])
    }
}

impl<'de> Deserializer<'de> for Ask {
    type Error = Keys;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Keys> {
        Err(Keys(&[]))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Keys> {
        Err(Keys(fields))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}
