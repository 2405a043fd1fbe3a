//! The storage behind a segment, as a case file says it: one of three layouts. Does not know how it is served.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Bytes, FromShort};

/// Raw storage that the nodes of one segment reach: exactly one of `capacity`, `filesystem` and `devices`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PoolSpec {
    /// Raw bytes of one store.
    pub capacity: Option<Bytes>,
    /// With `capacity`: bytes of the largest single volume, reported as maximum_volume_size; unset: not reported.
    pub largest: Option<Bytes>,
    /// With `capacity`: how many times these bytes volumes may have in all, as with thin provisioning (`overprovision-ratio` of TopoLVM),
    /// such as `2` or `1.5`; GetCapacity returns what is left of that. Unset: 1.
    pub overcommit: Option<f64>,
    /// A filesystem that holds other files too; what remains is reported, also as maximum_volume_size.
    pub filesystem: Option<FilesystemSpec>,
    /// Disks and volume groups by name; sum, largest and smallest of the free ones are reported.
    pub devices: Option<BTreeMap<String, Short>>,
}

type Short = super::Short<DeviceSpec>;

/// A filesystem with other files.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FilesystemSpec {
    /// Bytes in all.
    pub size: Bytes,
    /// Bytes that other files take.
    pub used: Bytes,
}

/// A disk, or a volume group.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeviceSpec {
    /// Raw bytes.
    pub size: Bytes,
    /// Only for classes that do not set one of these parameters to another value.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// A group is divided into volumes of at least 10Mi; a disk is taken as a whole.
    #[serde(default)]
    pub group: bool,
    /// The ways of use that it is good for.
    #[serde(default)]
    pub access: AccessSpec,
}

/// The ways of use that a device is good for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AccessSpec {
    /// Raw or mounted.
    #[default]
    Any,
    /// As a raw device only.
    Block,
    /// Mounted only.
    Mount,
}

impl FromShort for PoolSpec {
    const EXPECTING: &'static str = "a size such as 100Gi, or a map with `capacity`, `largest` and `overcommit`, with `filesystem`, or with `devices`";
    fn from_short(text: &str) -> Result<Self, String> {
        Ok(PoolSpec {
            capacity: Some(text.parse()?),
            ..PoolSpec::default()
        })
    }
}

impl FromShort for DeviceSpec {
    const EXPECTING: &'static str =
        "the size of a disk such as 100Gi, or a map with `size`, `parameters`, `group`, `access`";
    fn from_short(text: &str) -> Result<Self, String> {
        Ok(DeviceSpec {
            size: text.parse()?,
            parameters: BTreeMap::new(),
            group: false,
            access: AccessSpec::default(),
        })
    }
}
