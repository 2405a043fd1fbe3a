//! The API server: its release and the served version of CSIStorageCapacity.

use std::fmt;

/// A minor release of Kubernetes, 1.`minor`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Release {
    /// The minor version.
    pub minor: u8,
}

impl Release {
    /// The release of API server and scheduler, unless another release is configured.
    pub const DEFAULT: Release = Release { minor: 36 };

    /// The release 1.`minor`.
    pub const fn new(minor: u8) -> Self {
        Release { minor }
    }

    /// Whether CSIStorageCapacity has the field `maximumVolumeSize`: since 1.21.
    pub fn has_maximum(self) -> bool {
        self.minor >= 21
    }

    /// Whether CSIDriver has the field `storageCapacity`: since 1.19. An older server does not return a stored value.
    pub fn has_storage_capacity(self) -> bool {
        self.minor >= 19
    }

    /// Whether the feature gate CSIStorageCapacity is on. The gate exists since 1.19, is on by default since 1.21, and cannot be turned off
    /// since 1.24. `set`: its configured value.
    pub fn is_capacity_gate_on(self, set: Option<bool>) -> bool {
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
        Self::DEFAULT
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "1.{}", self.minor)
    }
}

/// Release and CSIStorageCapacity feature gate of the API server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Api {
    /// The release of kube-apiserver.
    pub release: Release,
    /// Feature gate CSIStorageCapacity. `None`: the default of the release.
    pub gate: Option<bool>,
}

impl Api {
    /// Whether the server stores `storageCapacity` of a new CSIDriver. With the gate off, the server drops the field.
    pub fn stores_storage_capacity(self) -> bool {
        self.release.is_capacity_gate_on(self.gate)
    }

    /// The newest served version of CSIStorageCapacity. `None`: not served. The gate affects only v1alpha1; v1beta1 is always served since
    /// 1.21, and v1 since 1.24.
    pub fn version(self) -> Option<&'static str> {
        match self.release.minor {
            19..=20 if self.release.is_capacity_gate_on(self.gate) => Some("v1alpha1"),
            ..=20 => None,
            21..=23 => Some("v1beta1"),
            _ => Some("v1"),
        }
    }
}
