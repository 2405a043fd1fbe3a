//! Types of option values and their parsers.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::jiff::SignedDuration;

/// Defaults where KEP-1472 allows several behaviours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Profile {
    /// As the KEP's text suggests: no object for zero capacity. Object metrics have a driver label, and in distributed mode a node label.
    #[default]
    Kep,
    /// As external-provisioner: an object with capacity "0" for zero capacity. Objects are deleted as soon as the driver unregisters.
    /// Object metrics have neither a driver nor a node label.
    Upstream,
}

/// What happens to a CSIStorageCapacity object whose GetCapacity call failed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum OnCapacityError {
    /// The object retains the last known capacity.
    #[default]
    Keep,
    /// The object is deleted until GetCapacity succeeds again.
    Withdraw,
}

/// How a publisher recognizes its objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum RecognizeBy {
    /// By the driver and managed-by labels, with a label selector.
    #[default]
    Labels,
    /// By the controlling owner: objects have no labels, and the whole namespace is watched (external-provisioner 2.0.0).
    Owner,
}

/// Labels, as written in a flag: `key:value,key:value`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(pub BTreeMap<String, String>);

/// Parses a Go duration: `500ms`, `10s`, `1m30s`.
pub(super) fn parse_duration(text: &str) -> Result<Duration, String> {
    let parsed: Result<SignedDuration, _> = text.parse();
    let duration = parsed.ok().and_then(|signed| Duration::try_from(signed).ok());
    // Go accepts `0` without a unit.
    duration
        .or_else(|| (text == "0").then_some(Duration::ZERO))
        .ok_or_else(|| format!("{text:?} is not a duration; use a value like 500ms, 10s or 1m30s"))
}

/// Parses a number from 0 to 1.
pub(super) fn parse_fraction(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| format!("{text:?} is not a number from 0 to 1; use a value like 0.1"))
}

/// Parses a non-negative number.
pub(super) fn parse_rate(text: &str) -> Result<f64, String> {
    let number = text
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| format!("{text:?} is not a rate; use a value like 0.5 or 20, or 0 for no limit"))
}

pub(super) fn parse_labels(text: &str) -> Result<Labels, String> {
    let pair = |part: &str| {
        let (key, value) = part.split_once(':')?;
        Some((key.to_owned(), value.to_owned()))
    };
    let parts = text.split(',').filter(|part| !part.is_empty());
    let read: Option<BTreeMap<_, _>> = parts.map(pair).collect();
    read.map(Labels).ok_or_else(|| {
        format!("{text:?} is not a list of labels; use KEY:VALUE pairs like team:storage,tier:gold")
    })
}
