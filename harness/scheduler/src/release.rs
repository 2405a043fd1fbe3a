//! The Kubernetes release that the scheduler emulates: its feature gates and their defaults, which capacity field is compared, and the
//! wording of messages.
//!
//! Decides whether a setting is allowed in a release; the effect of settings is implemented elsewhere.

use std::fmt;
use std::str::FromStr;

use capacity_types::ByteConversion;

use crate::message::TaintWording;
use crate::message::Wording;

/// A Kubernetes release from 1.19, the first with storage capacity tracking (KEP-1472), to 1.37.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    minor: u8,
}

const FIRST: u8 = 19;
const LAST: u8 = 37;

/// The release is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("release {text:?} is unknown: choose one from 1.{FIRST} to 1.{LAST}")]
pub struct UnknownRelease {
    text: String,
}

/// The feature gates for storage capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Gate {
    /// `CSIStorageCapacity` (KEP-1472): whether capacity is checked.
    Capacity,
    /// `VolumeCapacityPriority` (KEP-1845): scores only static bindings, and prefers the one that leaves the least space unused.
    Priority,
    /// `StorageCapacityScoring` (KEP-4049), the successor of `VolumeCapacityPriority`.
    Scoring,
}

/// The default of a feature gate from the release `since` on.
struct Stage {
    gate: Gate,
    name: &'static str,
    since: u8,
    /// The default value. `None`: the gate does not exist.
    default: Option<bool>,
    locked: bool,
}

const fn stage(gate: Gate, name: &'static str, since: u8, default: Option<bool>, locked: bool) -> Stage {
    Stage {
        gate,
        name,
        since,
        default,
        locked,
    }
}

/// Stages, sorted by gate and release. The last stage at or before a release applies.
const STAGES: [Stage; 8] = [
    stage(Gate::Capacity, CAPACITY, 19, Some(false), false),
    stage(Gate::Capacity, CAPACITY, 21, Some(true), false),
    stage(Gate::Capacity, CAPACITY, 24, Some(true), true),
    stage(Gate::Capacity, CAPACITY, 36, None, true),
    stage(Gate::Priority, PRIORITY, 21, Some(false), false),
    stage(Gate::Priority, PRIORITY, 33, None, false),
    stage(Gate::Scoring, SCORING, 33, Some(false), false),
    stage(Gate::Scoring, SCORING, 37, Some(true), false),
];
const CAPACITY: &str = "CSIStorageCapacity";
const PRIORITY: &str = "VolumeCapacityPriority";
const SCORING: &str = "StorageCapacityScoring";

/// Why a feature gate cannot be set. The wording is that of Kubernetes.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum GateError {
    /// The release does not have the feature gate with this name.
    #[error("unrecognized feature gate: {0}")]
    Unknown(String),
    /// The feature gate is locked to its default value.
    #[error("cannot set feature gate {0} to {1}, feature is locked to true")]
    Locked(&'static str, bool),
    /// The text is not `NAME=true|false`.
    #[error("{0}")]
    Malformed(String),
}

/// The values of the feature gates in one release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gates {
    /// Whether capacity is checked.
    pub capacity: bool,
    /// Whether static bindings are scored (KEP-1845).
    pub priority: bool,
    /// Whether nodes are scored by capacity (KEP-4049).
    pub scoring: bool,
}

impl Release {
    /// The release that is emulated by default. Its behaviour was compared with kube-scheduler in most detail.
    pub const DEFAULT: Self = Self { minor: 36 };

    /// Whether CSIStorageCapacity has the field `maximumVolumeSize`. Before 1.21 requests are compared with `capacity` alone.
    pub fn has_maximum(self) -> bool {
        self.minor >= 21
    }

    /// The wording of messages.
    pub fn wording(self) -> Wording {
        match self.minor {
            ..24 => Wording::Plain,
            24..=25 => Wording::WithPreemption,
            26..=29 => Wording::TwoPeriods,
            34..=36 => Wording::DynamicResources,
            _ => Wording::OnePeriod,
        }
    }

    /// The wording for an untolerated taint: shorter since 1.24 (kubernetes/kubernetes#109119), and since 1.34 without key and value, which
    /// may be confidential (#134740).
    pub fn taint_wording(self) -> TaintWording {
        match self.minor {
            ..24 => TaintWording::Long,
            24..=33 => TaintWording::KeyValue,
            _ => TaintWording::Generic,
        }
    }

    /// The arithmetic for quantities beyond int64: they overflow until 1.36 and are capped since 1.37 (kubernetes/kubernetes#141305).
    pub fn upstream_arithmetic(self) -> ByteConversion {
        if self.minor >= 37 {
            ByteConversion::Saturating
        } else {
            ByteConversion::Wrapping
        }
    }

    /// The values of the feature gates: defaults, overridden by `NAME=true|false` settings. As upstream, the last setting of a gate takes
    /// precedence.
    pub fn gates<'a>(self, settings: impl IntoIterator<Item = &'a str>) -> Result<Gates, GateError> {
        let default = |gate| self.stage(gate).and_then(|stage| stage.default);
        let mut gates = Gates {
            // Releases without the gate, which was removed after graduation, always check capacity.
            capacity: default(Gate::Capacity).unwrap_or(true),
            priority: default(Gate::Priority).unwrap_or(false),
            scoring: default(Gate::Scoring).unwrap_or(false),
        };
        for setting in settings {
            let (gate, on) = self.setting(setting)?;
            match gate {
                Gate::Capacity => gates.capacity = on,
                Gate::Priority => gates.priority = on,
                Gate::Scoring => gates.scoring = on,
            }
        }
        Ok(gates)
    }

    fn setting(self, text: &str) -> Result<(Gate, bool), GateError> {
        let (name, value) = text
            .split_once('=')
            .ok_or_else(|| GateError::Malformed(format!("missing bool value for {text}")))?;
        let on: bool = value.parse().map_err(|_| {
            GateError::Malformed(format!("invalid value of {name}={value}, write true or false"))
        })?;
        let known = STAGES.iter().find(|stage| stage.name == name);
        let reached = known.and_then(|known| self.stage(known.gate));
        match reached.filter(|stage| stage.default.is_some()) {
            None => Err(GateError::Unknown(name.to_owned())),
            Some(stage) if stage.locked && !on => Err(GateError::Locked(stage.name, on)),
            Some(stage) => Ok((stage.gate, on)),
        }
    }

    fn stage(self, gate: Gate) -> Option<&'static Stage> {
        let stages = STAGES.iter().rev();
        stages
            .filter(|stage| stage.gate == gate)
            .find(|stage| stage.since <= self.minor)
    }

    /// Whether the release accepts this API version of KubeSchedulerConfiguration.
    pub fn accepts_configuration(self, version: &str) -> bool {
        let minors = match version {
            "v1" => 25..=LAST,
            "v1beta3" => 23..=28,
            "v1beta2" => 22..=27,
            "v1beta1" => 19..=22,
            _ => return false,
        };
        minors.contains(&self.minor)
    }
}

impl Default for Release {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.minor)
    }
}

impl FromStr for Release {
    type Err = UnknownRelease;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let minor = text.trim_start_matches('v').strip_prefix("1.");
        let minor = minor.and_then(|minor| minor.parse().ok());
        let known = minor.filter(|minor| (FIRST..=LAST).contains(minor));
        known.map(|minor| Self { minor }).ok_or_else(|| UnknownRelease {
            text: text.to_owned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gates(release: &str, settings: &[&str]) -> Result<[bool; 3], String> {
        let release: Release = release.parse().unwrap();
        let gates = release.gates(settings.iter().copied());
        gates
            .map(|gates| [gates.capacity, gates.priority, gates.scoring])
            .map_err(|error| error.to_string())
    }

    #[test]
    fn gate_defaults_match_the_release() {
        for (release, expected) in [
            ("1.19", [false, false, false]),
            ("1.20", [false, false, false]),
            ("1.21", [true, false, false]),
            ("v1.24", [true, false, false]),
            ("1.36", [true, false, false]),
            ("1.37", [true, false, true]),
        ] {
            assert_eq!(gates(release, &[]), Ok(expected), "{release}");
        }
    }

    #[test]
    fn gates_can_be_set_while_the_release_has_them() {
        let unknown = |name: &str| Err(format!("unrecognized feature gate: {name}"));
        assert_eq!(
            gates("1.19", &["CSIStorageCapacity=true"]),
            Ok([true, false, false])
        );
        assert_eq!(
            gates("1.23", &["CSIStorageCapacity=true", "CSIStorageCapacity=false"]),
            Ok([false, false, false])
        );
        assert_eq!(
            gates("1.24", &["CSIStorageCapacity=false"]),
            Err("cannot set feature gate CSIStorageCapacity to false, feature is locked to true".to_owned())
        );
        assert_eq!(
            gates("1.36", &["CSIStorageCapacity=true"]),
            unknown("CSIStorageCapacity")
        );
        assert_eq!(
            gates("1.32", &["VolumeCapacityPriority=true"]),
            Ok([true, true, false])
        );
        assert_eq!(
            gates("1.33", &["VolumeCapacityPriority=true"]),
            unknown("VolumeCapacityPriority")
        );
        assert_eq!(
            gates("1.32", &["StorageCapacityScoring=true"]),
            unknown("StorageCapacityScoring")
        );
        assert_eq!(
            gates("1.33", &["StorageCapacityScoring=true"]),
            Ok([true, false, true])
        );
        assert_eq!(gates("1.36", &["Typo=true"]), unknown("Typo"));
        assert!(gates("1.36", &["StorageCapacityScoring"]).is_err());
        assert!(gates("1.36", &["StorageCapacityScoring=maybe"]).is_err());
    }

    #[test]
    fn wording_and_arithmetic_match_the_release() {
        for (release, wording, taints, arithmetic) in [
            (
                "1.19",
                Wording::Plain,
                TaintWording::Long,
                ByteConversion::Wrapping,
            ),
            (
                "1.23",
                Wording::Plain,
                TaintWording::Long,
                ByteConversion::Wrapping,
            ),
            (
                "1.24",
                Wording::WithPreemption,
                TaintWording::KeyValue,
                ByteConversion::Wrapping,
            ),
            (
                "1.25",
                Wording::WithPreemption,
                TaintWording::KeyValue,
                ByteConversion::Wrapping,
            ),
            (
                "1.26",
                Wording::TwoPeriods,
                TaintWording::KeyValue,
                ByteConversion::Wrapping,
            ),
            (
                "1.29",
                Wording::TwoPeriods,
                TaintWording::KeyValue,
                ByteConversion::Wrapping,
            ),
            (
                "1.30",
                Wording::OnePeriod,
                TaintWording::KeyValue,
                ByteConversion::Wrapping,
            ),
            (
                "1.34",
                Wording::DynamicResources,
                TaintWording::Generic,
                ByteConversion::Wrapping,
            ),
            (
                "1.36",
                Wording::DynamicResources,
                TaintWording::Generic,
                ByteConversion::Wrapping,
            ),
            (
                "1.37",
                Wording::OnePeriod,
                TaintWording::Generic,
                ByteConversion::Saturating,
            ),
        ] {
            let release: Release = release.parse().unwrap();
            let found = (
                release.wording(),
                release.taint_wording(),
                release.upstream_arithmetic(),
            );
            assert_eq!(found, (wording, taints, arithmetic), "{release}");
        }
    }

    #[test]
    fn unknown_releases_are_errors() {
        for text in ["1.18", "1.38", "2.21", "1", "", "1.x"] {
            assert!(text.parse::<Release>().is_err(), "{text}");
        }
        assert_eq!("v1.21".parse::<Release>().unwrap().to_string(), "1.21");
    }
}
