//! Storage of a topology segment in a case file, in one of three layouts. Does not know how the driver serves it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Bytes, FromShort};

/// Raw storage of one topology segment: exactly one of `capacity`, `filesystem` and `devices`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PoolSpec {
    /// Raw bytes of a single store.
    pub capacity: Option<Bytes>,
    /// With `capacity`: maximum volume size in bytes, reported as maximum_volume_size; unset: not reported.
    #[serde(alias = "largest")]
    pub maximum: Option<Bytes>,
    /// With `capacity`: overcommit factor for thin provisioning (`overprovision-ratio` of TopoLVM), such as `2` or `1.5`; GetCapacity
    /// returns the remainder of the multiplied capacity. Unset: 1.
    pub overcommit: Option<f64>,
    /// A filesystem that other files use too; its free space is reported, also as maximum_volume_size.
    pub filesystem: Option<FilesystemSpec>,
    /// Disks and volume groups by name; reports the sum, the largest and the smallest of the free ones.
    pub devices: Option<BTreeMap<String, Short>>,
}

type Short = super::Short<DeviceSpec>;

/// A filesystem that other files use too.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FilesystemSpec {
    /// Total bytes.
    pub size: Bytes,
    /// Bytes used by other files.
    pub used: Bytes,
}

/// A disk or a volume group.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeviceSpec {
    /// Raw bytes.
    pub size: Bytes,
    /// Excludes classes that set one of these parameters to another value.
    #[serde(default)]
    pub parameters: BTreeMap<String, String>,
    /// A group is divided into volumes of at least 10Mi; a disk is used as a whole.
    #[serde(default)]
    pub group: bool,
    /// Supported access types.
    #[serde(default)]
    pub access: AccessSpec,
}

/// Access types that a device supports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum AccessSpec {
    /// Raw or mounted.
    #[default]
    Any,
    /// Raw block device only.
    Block,
    /// Mounted only.
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
