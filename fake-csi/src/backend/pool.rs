//! Owns the description of a storage pool, and the extents on which its volumes are created. Does not know allocations.

use std::collections::BTreeMap;

use crate::Segment;

/// Size of the smallest volume on a [`Device`] with `group`: 10 MiB (Dell CSI bare-metal proposal, minimum of LVM groups).
pub const GROUP_VOLUME_BYTES_MIN: u64 = 10 << 20;

/// A storage pool: storage that is accessible from one topology segment.
///
/// A pool matches a request if the requested topology contains every key and value of the pool's segment, so it also matches finer
/// segments. All pools match a request without topology. A pool with an empty segment matches every request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Topology segment from which the pool is accessible.
    pub segment: Segment,
    /// Class parameters of the pool. A class matches if it sets none of the parameters to a different value; it may omit them. Pools of one
    /// segment with different parameters are distinct.
    pub parameters: BTreeMap<String, String>,
    /// Layout and size of the pool's storage.
    pub storage: Storage,
}

/// How the storage of a pool is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Storage {
    /// One store for volumes of any size, such as a volume group or a network array.
    Linear {
        /// Raw storage in bytes, including the storage that volumes have allocated.
        capacity: u64,
        /// Largest contiguous extent in raw bytes: fragmentation limits the size of a volume. `None`: GetCapacity returns no maximum volume
        /// size.
        largest: Option<u64>,
    },
    /// A filesystem that contains volumes and files of other programs. One volume can use all of the free space.
    Filesystem {
        /// Size of the filesystem in bytes.
        size: u64,
        /// Bytes used by files of other programs.
        used: u64,
    },
    /// Disks and volume groups of one node, by name. A volume is created on the smallest device that fits.
    Devices(BTreeMap<String, Device>),
}

/// A disk or volume group of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Size of the device in raw bytes.
    pub size: u64,
    /// Class parameters of the device, such as `storageType: SSD`; matched like those of a [`Pool`].
    pub parameters: BTreeMap<String, String>,
    /// Whether the device is a volume group for volumes of at least [`GROUP_VOLUME_BYTES_MIN`]. Otherwise one volume uses the whole device.
    pub group: bool,
    /// Access types that the device supports.
    pub access: Access,
}

/// Access types (block or mount) that a device supports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "control",
    derive(serde::Deserialize, serde::Serialize),
    serde(rename_all = "lowercase")
)]
pub enum Access {
    /// Block and mount access.
    #[default]
    Any,
    /// Only access as a raw block device.
    Block,
    /// Only access as a mounted filesystem.
    Mount,
}

impl Pool {
    /// Creates a pool with [`Storage::Linear`] for classes with any parameters.
    pub fn linear(segment: Segment, capacity: u64, largest: Option<u64>) -> Pool {
        Pool {
            segment,
            parameters: BTreeMap::new(),
            storage: Storage::Linear { capacity, largest },
        }
    }

    pub(super) fn key(&self) -> PoolKey {
        (self.segment.clone(), self.parameters.clone())
    }

    pub(super) fn matches_class(&self, parameters: &BTreeMap<String, String>) -> bool {
        are_compatible(&self.parameters, parameters)
    }

    pub(super) fn extents(&self) -> Vec<Extent<'_>> {
        match &self.storage {
            Storage::Linear { capacity, largest } => vec![Extent {
                largest: largest.unwrap_or(u64::MAX),
                reports_maximum: largest.is_some(),
                ..Extent::whole_store(*capacity)
            }],
            Storage::Filesystem { size, used } => vec![Extent::whole_store(size.saturating_sub(*used))],
            Storage::Devices(devices) => devices.iter().map(Extent::device).collect(),
        }
    }

    /// Total raw bytes of all extents of the pool.
    pub(super) fn total(&self) -> u64 {
        self.extents()
            .iter()
            .fold(0, |sum, extent| sum.saturating_add(extent.capacity))
    }
}

/// Identifies a pool by its segment and its class parameters.
pub(super) type PoolKey = (Segment, BTreeMap<String, String>);

/// A contiguous part of a pool on which a volume can be created.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent<'p> {
    /// Name of the device that is the extent, if the pool has devices.
    pub(super) name: Option<&'p str>,
    /// The device that is the extent, if the pool has devices.
    pub(super) device: Option<&'p Device>,
    /// Size of the extent in raw bytes.
    pub(super) capacity: u64,
    /// Maximum raw bytes of one volume on the extent.
    pub(super) largest: u64,
    pub(super) reports_maximum: bool,
}

impl<'p> Extent<'p> {
    fn whole_store(capacity: u64) -> Extent<'p> {
        Extent {
            name: None,
            device: None,
            capacity,
            largest: u64::MAX,
            reports_maximum: true,
        }
    }

    fn device((name, device): (&'p String, &'p Device)) -> Extent<'p> {
        Extent {
            name: Some(name),
            device: Some(device),
            ..Extent::whole_store(device.size)
        }
    }

    /// Whether a volume always uses the whole extent.
    pub(super) fn is_indivisible(&self) -> bool {
        self.device.is_some_and(|device| !device.group)
    }

    /// Size of the smallest volume on a volume group, in volume bytes; `None` for extents that are no volume group.
    pub(super) fn group_minimum(&self) -> Option<u64> {
        self.device
            .filter(|device| device.group)
            .map(|_| GROUP_VOLUME_BYTES_MIN)
    }

    /// Whether the extent matches the class parameters and supports the access types. `blocks`: for each volume capability, whether its
    /// access type is block.
    pub(super) fn serves(&self, parameters: &BTreeMap<String, String>, blocks: &[bool]) -> bool {
        let usable = |access: Access| match access {
            Access::Any => true,
            Access::Block => blocks.iter().all(|block| *block),
            Access::Mount => blocks.iter().all(|block| !block),
        };
        self.device
            .is_none_or(|device| are_compatible(&device.parameters, parameters) && usable(device.access))
    }
}

/// Whether no parameter has different values in the two maps.
fn are_compatible(own: &BTreeMap<String, String>, requested: &BTreeMap<String, String>) -> bool {
    own.iter()
        .all(|(key, value)| requested.get(key).is_none_or(|requested| requested == value))
}
