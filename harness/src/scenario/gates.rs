//! Deserializes feature gates of the API server. A gate that no release has is an error at its position in the file.

use std::collections::BTreeMap;

use fake_apiserver::Release;
use serde::de::{Deserialize, Deserializer, Error};

use crate::alike::did_you_mean;

/// A feature gate of the API server.
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

/// Deserializes a map of feature gates.
pub(crate) fn gates<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, bool>, D::Error> {
    let gates = BTreeMap::<Gate, bool>::deserialize(deserializer)?;
    Ok(gates.into_iter().map(|(gate, on)| (gate.0, on)).collect())
}
