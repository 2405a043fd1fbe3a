//! Values that options may have, and how they are written. Knows no option.

use std::{collections::BTreeMap, time::Duration};

use k8s_openapi::jiff::SignedDuration;

/// What to do where KEP-1472 leaves a choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Profile {
    /// As the text of the KEP has it first: no object where there is no capacity; metrics with the driver, and the node where there is one.
    #[default]
    Kep,
    /// As external-provisioner does: zero capacity is an object with "0", objects go at once with the registration of the driver, and the
    /// metrics about objects have no labels.
    Upstream,
}

/// What happens to an object when GetCapacity fails for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum OnCapacityError {
    /// The last known capacity stays.
    #[default]
    Keep,
    /// The object is deleted until GetCapacity succeeds again.
    Withdraw,
}

/// How a publisher recognizes its objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum RecognizeBy {
    /// By the labels for driver and manager, by which the server filters.
    #[default]
    Labels,
    /// By the controlling owner; objects get no labels, and everything in the namespace is watched (external-provisioner 2.0.0).
    Owner,
}

/// Labels as a flag has them: `key:value,key:value`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels(pub BTreeMap<String, String>);

/// Reads durations as they are written elsewhere in Kubernetes: `500ms`, `10s`, `1m30s`.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let parsed: Result<SignedDuration, _> = text.parse();
    let duration = parsed.ok().and_then(|signed| Duration::try_from(signed).ok());
    // Go writes no time at all as a bare 0.
    duration
        .or_else(|| (text == "0").then_some(Duration::ZERO))
        .ok_or_else(|| format!("{text:?} is no duration; write it like 500ms, 10s or 1m30s"))
}

/// Reads a number from 0 to 1.
pub(super) fn fraction(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=1.0).contains(number));
    number.ok_or_else(|| format!("{text:?} is no number from 0 to 1; write it like 0.1"))
}

/// Reads a number that is not negative.
pub(super) fn rate(text: &str) -> Result<f64, String> {
    let number = text
        .parse()
        .ok()
        .filter(|number: &f64| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| format!("{text:?} is no rate; write it like 0.5 or 20, and 0 for no limit"))
}

/// Reads labels.
pub(super) fn labels(text: &str) -> Result<Labels, String> {
    let pair = |part: &str| {
        let (key, value) = part.split_once(':')?;
        Some((key.to_owned(), value.to_owned()))
    };
    let parts = text.split(',').filter(|part| !part.is_empty());
    let read: Option<BTreeMap<_, _>> = parts.map(pair).collect();
    read.map(Labels)
        .ok_or_else(|| format!("{text:?} are no labels; write them like team:storage,tier:gold"))
}
