//! Releases of the CSI specification, as far as they change the driver's behaviour.

use std::{fmt, str::FromStr};

/// A release of the CSI specification, 1.0 to 1.12; a driver of the release lacks fields and methods of later releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpecVersion {
    minor: u8,
}

/// The text is not a known release of the CSI specification.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no release of the CSI specification; use one from 1.0 to {newest}", newest = SpecVersion::NEWEST)]
pub struct UnknownVersion(String);

impl SpecVersion {
    /// The newest known release of the CSI specification: 1.12.
    pub const NEWEST: SpecVersion = SpecVersion { minor: 12 };

    /// Whether the release has ControllerExpandVolume, which was added in CSI 1.1.
    pub fn has_expansion(self) -> bool {
        self.minor >= 1
    }

    /// Whether the release has cloning of volumes, which was added in CSI 1.1.
    pub fn has_clones(self) -> bool {
        self.minor >= 1
    }

    /// Whether the release has mutable parameters and ControllerModifyVolume, which were added in CSI 1.9.
    pub fn has_mutable_parameters(self) -> bool {
        self.minor >= 9
    }

    /// Whether GetCapacity has `maximum_volume_size` and `minimum_volume_size`, which were added in CSI 1.4.
    pub fn has_volume_sizes(self) -> bool {
        self.minor >= 4
    }

    /// Whether the release has the access modes `SINGLE_NODE_SINGLE_WRITER` and `SINGLE_NODE_MULTI_WRITER`, which were added in CSI 1.5.
    pub fn has_single_node_modes(self) -> bool {
        self.minor >= 5
    }
}

impl Default for SpecVersion {
    fn default() -> SpecVersion {
        SpecVersion::NEWEST
    }
}

impl fmt::Display for SpecVersion {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "1.{}", self.minor)
    }
}

impl FromStr for SpecVersion {
    type Err = UnknownVersion;

    fn from_str(text: &str) -> Result<SpecVersion, UnknownVersion> {
        (0..=SpecVersion::NEWEST.minor)
            .map(|minor| SpecVersion { minor })
            .find(|version| version.to_string() == text)
            .ok_or_else(|| UnknownVersion(text.to_owned()))
    }
}
