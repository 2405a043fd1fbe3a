//! Serialized form of pools, with exactly one of `capacity`, `filesystem` and `devices`. Does not know allocations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Size;
use crate::{Access, Device, Pool, Segment, Storage};

/// A pool that is serialized as a [`PoolText`].
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "PoolText", into = "PoolText")]
pub struct PoolSpec(pub Pool);

/// Serialized form of a storage pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PoolText {
    /// Topology segment from which the pool is accessible. Unset: the pool is accessible from everywhere.
    #[serde(default)]
    pub segment: Segment,
    /// Class parameters of the pool.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// Raw bytes of a pool with linear storage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Size>,
    /// With `capacity`: size of the largest contiguous extent.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "largest")]
    pub maximum: Option<Size>,
    /// A filesystem that contains the pool's volumes and files of other programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<FilesystemSpec>,
    /// Disks and volume groups of the pool, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub devices: Option<BTreeMap<String, DeviceSpec>>,
}

/// Serialized form of a pool's filesystem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FilesystemSpec {
    /// Size of the filesystem in bytes.
    pub size: Size,
    /// Bytes used by files of other programs.
    #[serde(default)]
    pub used: Size,
}

/// Serialized form of a pool's device.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeviceSpec {
    /// Size of the device in raw bytes.
    pub size: Size,
    /// Class parameters of the device.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// Whether the device is a volume group for many volumes. Otherwise one volume uses the whole device.
    #[serde(default)]
    pub group: bool,
    /// Access types that the device supports: `any`, `block` or `mount`.
    #[serde(default)]
    pub access: Access,
}

impl TryFrom<PoolText> for PoolSpec {
    type Error = String;

    fn try_from(text: PoolText) -> Result<PoolSpec, String> {
        if text.maximum.is_some() && text.capacity.is_none() {
            return Err("`maximum` requires `capacity`; add it, or remove `maximum`".to_owned());
        }
        let storage = match (text.capacity, text.filesystem, text.devices) {
            (Some(capacity), None, None) => Storage::Linear {
                capacity: capacity.0,
                largest: text.maximum.map(|size| size.0),
            },
            (None, Some(FilesystemSpec { size, used }), None) => Storage::Filesystem {
                size: size.0,
                used: used.0,
            },
            (None, None, Some(devices)) => {
                Storage::Devices(devices.into_iter().map(|(name, it)| (name, it.into())).collect())
            }
            _ => return Err("a pool has exactly one of `capacity`, `filesystem`, `devices`".to_owned()),
        };
        Ok(PoolSpec(Pool {
            segment: text.segment,
            parameters: text.parameters,
            storage,
        }))
    }
}

impl From<PoolSpec> for PoolText {
    fn from(PoolSpec(pool): PoolSpec) -> PoolText {
        let text = PoolText {
            segment: pool.segment,
            parameters: pool.parameters,
            ..PoolText::default()
        };
        match pool.storage {
            Storage::Linear { capacity, largest } => PoolText {
                capacity: Some(Size(capacity)),
                maximum: largest.map(Size),
                ..text
            },
            Storage::Filesystem { size, used } => PoolText {
                filesystem: Some(FilesystemSpec {
                    size: Size(size),
                    used: Size(used),
                }),
                ..text
            },
            Storage::Devices(devices) => PoolText {
                devices: Some(devices.into_iter().map(|(name, it)| (name, it.into())).collect()),
                ..text
            },
        }
    }
}

impl From<DeviceSpec> for Device {
    fn from(text: DeviceSpec) -> Device {
        Device {
            size: text.size.0,
            parameters: text.parameters,
            group: text.group,
            access: text.access,
        }
    }
}

impl From<Device> for DeviceSpec {
    fn from(device: Device) -> DeviceSpec {
        DeviceSpec {
            size: Size(device.size),
            parameters: device.parameters,
            group: device.group,
            access: device.access,
        }
    }
}
