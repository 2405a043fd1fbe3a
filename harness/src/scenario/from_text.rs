//! Deserializes values from strings. An invalid string is an error at its position in the file. Does not know any key.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use serde::de::{Deserialize, Deserializer, Error};

use super::bound::duration;

/// Parses an optional value from a string.
pub(crate) fn parsed<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(D::Error::custom)
}

/// Parses a duration such as `10s` or `500ms`.
pub(super) fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    duration(&text).map(Some).map_err(D::Error::custom)
}
