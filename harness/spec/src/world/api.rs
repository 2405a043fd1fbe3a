//! The API server: which release it is, and which version of CSIStorageCapacity it serves.

use std::fmt;

/// A minor release of Kubernetes: 1.`minor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    /// The number after the point.
    pub minor: u8,
}

impl Release {
    /// The release that is known best.
    pub const USUAL: Release = Release { minor: 36 };

    /// 1.`minor`.
    pub const fn new(minor: u8) -> Self {
        Release { minor }
    }

    /// Whether CSIStorageCapacity has `maximumVolumeSize`: since 1.21.
    pub fn has_maximum(self) -> bool {
        self.minor >= 21
    }

    /// Whether CSIDriver has `storageCapacity`: since 1.19. An older server does not show it, though it may be stored.
    pub fn has_flag(self) -> bool {
        self.minor >= 19
    }

    /// Whether the gate CSIStorageCapacity is on: it exists since 1.19, is on by itself since 1.21, and cannot be switched off since
    /// 1.24. `set`: how it is set, if it is.
    pub fn tracks(self, set: Option<bool>) -> bool {
        match self.minor {
            ..=18 => false,
            19..=20 => set.unwrap_or(false),
            21..=23 => set.unwrap_or(true),
            _ => true,
        }
    }
}

impl Default for Release {
    fn default() -> Self {
        Self::USUAL
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.minor)
    }
}

/// The API server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Api {
    /// Its release.
    pub release: Release,
    /// Its gate CSIStorageCapacity; none: as the release has it by itself.
    pub gate: Option<bool>,
}

impl Api {
    /// Whether a CSIDriver that is created keeps `storageCapacity`: while the gate is off it is dropped.
    pub fn keeps_flag(self) -> bool {
        self.release.tracks(self.gate)
    }

    /// The best version of CSIStorageCapacity that is served; none: the type is not there. The gate governs v1alpha1 alone: v1beta1 is
    /// served from 1.21 on and v1 from 1.24 on, whatever it says.
    pub fn version(self) -> Option<&'static str> {
        match self.release.minor {
            19..=20 if self.release.tracks(self.gate) => Some("v1alpha1"),
            ..=20 => None,
            21..=23 => Some("v1beta1"),
            _ => Some("v1"),
        }
    }
}
