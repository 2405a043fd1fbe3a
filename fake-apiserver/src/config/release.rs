//! Kubernetes releases and their feature gates: which resource definitions a release serves.
//!
//! Owns the milestones of KEP-1472. Does not know objects: the resource definitions determine the effects of a release on objects. A change
//! of the release deletes no objects.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// A minor release of Kubernetes, from 1.18 to 1.37.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Release(u8);

/// Parse error: the text is not a release from `1.18` to `1.37`. Contains the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a Kubernetes release from {first} to {last}; write a release such as 1.23", first = Release::OLDEST, last = Release::NEWEST)]
pub struct UnknownRelease(String);

impl Release {
    /// The oldest supported release: the last one without CSIStorageCapacity.
    pub const OLDEST: Self = Self(18);
    /// The newest supported release. The default is 1.36.
    pub const NEWEST: Self = Self(37);

    /// The Kubernetes release 1.`minor`; `None` if this server does not support the release.
    pub fn new(minor: u8) -> Option<Self> {
        let release = Self(minor);
        (Self::OLDEST..=Self::NEWEST)
            .contains(&release)
            .then_some(release)
    }

    /// All supported releases, oldest first.
    pub fn all() -> impl Iterator<Item = Self> {
        (Self::OLDEST.0..=Self::NEWEST.0).map(Self)
    }

    /// The feature gates that have an effect in this server; other gates are accepted without effect.
    pub fn gates() -> impl Iterator<Item = &'static str> {
        GATES.into_iter().map(|gate| gate.name)
    }

    /// The number after `1.`, for example 36 for 1.36.
    pub fn minor(self) -> u8 {
        self.0
    }
}

impl Default for Release {
    fn default() -> Self {
        Self(36)
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.0)
    }
}

impl FromStr for Release {
    type Err = UnknownRelease;

    fn from_str(text: &str) -> Result<Self, UnknownRelease> {
        let minor = text.strip_prefix("1.").and_then(|minor| minor.parse().ok());
        minor
            .and_then(Self::new)
            .ok_or_else(|| UnknownRelease(text.to_owned()))
    }
}

impl TryFrom<String> for Release {
    type Error = UnknownRelease;

    fn try_from(text: String) -> Result<Self, UnknownRelease> {
        text.parse()
    }
}

impl From<Release> for String {
    fn from(release: Release) -> Self {
        release.to_string()
    }
}

/// A feature gate of kube-apiserver that has an effect in this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// `CSIStorageCapacity` (KEP-1472).
    CsiStorageCapacity,
}

struct GateStages {
    name: &'static str,
    /// First minor release that has the gate (alpha): the gate is off by default.
    known: u8,
    /// First minor release in which the gate is on by default (beta).
    on: u8,
    /// First minor release in which the gate is locked to on (GA).
    locked: u8,
}

/// The stages of each gate, indexed by [`Gate`].
const GATES: [GateStages; 1] = [GateStages {
    name: "CSIStorageCapacity",
    known: 19,
    on: 21,
    locked: 24,
}];

/// A release with the effective values of its feature gates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The Kubernetes release whose resources are served.
    pub release: Release,
    on: [bool; GATES.len()],
    /// Whether API versions that the release no longer serves remain available.
    removed: bool,
}

impl Profile {
    /// Creates a profile. A gate that the release does not have is off, and a gate that the release has locked is on, whatever `gates`
    /// contains; gates without effect in this server are accepted.
    pub(crate) fn new(release: Release, gates: &BTreeMap<String, bool>) -> Self {
        let on = GATES.map(|gate| {
            let minor = release.minor();
            let set = gates.get(gate.name).copied().unwrap_or(minor >= gate.on);
            minor >= gate.locked || (minor >= gate.known && set)
        });
        Self {
            release,
            on,
            removed: false,
        }
    }

    /// Sets whether API versions that the release no longer serves remain available.
    pub(crate) fn with_removed(self, removed: bool) -> Self {
        Self { removed, ..self }
    }

    pub(crate) fn has(self, gate: Gate) -> bool {
        self.on[gate as usize]
    }

    pub(crate) fn is_since(self, minor: u8) -> bool {
        self.release.minor() >= minor
    }
}

/// The releases that serve a resource version, and the feature gate that it requires.
#[derive(Clone, Copy, Debug)]
pub struct ServedReleases {
    first: u8,
    last: u8,
    gate: Option<Gate>,
}

impl ServedReleases {
    /// Served by every supported release.
    pub const ALWAYS: Self = Self::since(0);
    /// Served by no release.
    pub const NEVER: Self = Self::since(u8::MAX);

    /// Served from release 1.`first` on.
    pub const fn since(first: u8) -> Self {
        Self::during(first, u8::MAX)
    }

    /// Served from release 1.`first` to 1.`last`, both inclusive.
    pub const fn during(first: u8, last: u8) -> Self {
        Self {
            first,
            last,
            gate: None,
        }
    }

    /// Adds a condition: the release serves the resource version only if `gate` is on.
    pub const fn requiring_gate(self, gate: Gate) -> Self {
        Self {
            gate: Some(gate),
            ..self
        }
    }

    pub(crate) fn contains(self, profile: Profile) -> bool {
        let minor = profile.release.minor();
        minor >= self.first
            && (profile.removed || minor <= self.last)
            && self.gate.is_none_or(|gate| profile.has(gate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_round_trip_through_text() {
        for release in Release::all() {
            assert_eq!(release.to_string().parse(), Ok(release));
        }
        for text in ["1.17", "1.38", "2.20", "1.x", "20"] {
            assert!(text.parse::<Release>().is_err(), "{text}");
        }
    }

    #[test]
    fn the_gate_is_off_in_alpha_on_in_beta_and_locked_in_ga() {
        let on = |minor, set: Option<bool>| {
            let gates = set
                .map(|on| ("CSIStorageCapacity".to_owned(), on))
                .into_iter()
                .collect();
            Profile::new(Release::new(minor).unwrap(), &gates).has(Gate::CsiStorageCapacity)
        };
        for minor in 18..=37 {
            assert_eq!(on(minor, None), minor >= 21, "default in 1.{minor}");
            assert_eq!(on(minor, Some(true)), minor >= 19, "set in 1.{minor}");
            assert_eq!(on(minor, Some(false)), minor >= 24, "unset in 1.{minor}");
        }
    }
}
