//! Storage of a topology segment in a case file, in one of three layouts. Does not know how the driver creates volumes in it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Bytes, FromShort};

/// Raw storage of one topology segment. Write exactly one of `capacity`, `filesystem` and `devices`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PoolSpec {
    /// Raw size of storage that can be divided freely. Write exactly one of `capacity`, `filesystem` and `devices`.
    pub capacity: Option<Bytes>,
    /// With `capacity`: the maximum volume size, which GetCapacity returns as maximum_volume_size. Unset: not returned.
    #[serde(alias = "largest")]
    pub maximum: Option<Bytes>,
    /// With `capacity`: overcommit factor for thin provisioning (`overprovision-ratio` of TopoLVM), such as `2` or `1.5`. GetCapacity
    /// returns the free part of the multiplied capacity. Unset: 1.
    pub overcommit: Option<f64>,
    /// A filesystem that also contains other files. GetCapacity returns its free space, also as maximum_volume_size.
    pub filesystem: Option<FilesystemSpec>,
    /// Disks and volume groups by name: a map as below, or the size of a disk. GetCapacity returns the sum of the free ones, and the
    /// largest and smallest possible volume.
    pub devices: Option<BTreeMap<String, Short>>,
}

type Short = super::Short<DeviceSpec>;

/// A filesystem that also contains other files.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FilesystemSpec {
    /// Size of the filesystem.
    pub size: Bytes,
    /// Bytes that other files use.
    pub used: Bytes,
}

/// A disk or a volume group.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeviceSpec {
    /// Raw size.
    pub size: Bytes,
    /// Class parameters that the device supports: a class that sets one of them to another value cannot use the device.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// Whether the device is a volume group, which is divided into volumes of at least 10Mi. A disk is used as a whole by one volume.
    #[serde(default)]
    pub group: bool,
    /// Access type for which the device can be used: `any` (default), `mount` or `block`.
    #[serde(default)]
    pub access: AccessSpec,
}

/// Access types that a device supports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AccessSpec {
    /// Block and mount volumes.
    #[default]
    Any,
    /// Only block volumes.
    Block,
    /// Only mount volumes.
    Mount,
}

impl FromShort for PoolSpec {
    const EXPECTING: &'static str = "a size such as 100Gi, or a map with `capacity`, `maximum` and `overcommit`, with `filesystem`, or with `devices`";
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
