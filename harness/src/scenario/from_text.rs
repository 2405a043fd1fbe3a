//! Deserializes values and feature gates from strings; an invalid string is an error at its position. Does not know any key.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use fake_apiserver::Release;
use serde::de::{Deserialize, Deserializer, Error};

use super::bound::duration;
use crate::alike::did_you_mean;

/// Deserializes an optional value by parsing a string.
pub(crate) fn parsed<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err: Display>,
{
    let text = String::deserialize(deserializer)?;
    text.parse().map(Some).map_err(D::Error::custom)
}

/// Deserializes a duration such as `10s` or `500ms`.
pub(super) fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    duration(&text).map(Some).map_err(D::Error::custom)
}

/// Name of a feature gate of the API server.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Gate(String);

impl<'de> Deserialize<'de> for Gate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let known: Vec<&str> = Release::gates().collect();
        if known.contains(&name.as_str()) {
            return Ok(Gate(name));
        }
        Err(D::Error::custom(format!(
            "`{name}` is no feature gate of the API server that a case can set{}; gates: {}",
            did_you_mean(&name, known.iter().copied()),
            known.join(", ")
        )))
    }
}

pub(crate) fn gates<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, bool>, D::Error> {
    let gates = BTreeMap::<Gate, bool>::deserialize(deserializer)?;
    Ok(gates.into_iter().map(|(gate, on)| (gate.0, on)).collect())
}
