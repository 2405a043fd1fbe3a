//! What a pool is: a small description of storage, and the extents that volumes are made on. Does not know what is taken from it.

use std::collections::BTreeMap;

use crate::Segment;

/// The smallest volume on a [`Device`] that is divided: 10 MiB (Dell CSI bare-metal proposal, minimum of LVM groups).
pub const GROUP_VOLUME_BYTES_MIN: u64 = 10 << 20;

/// Storage that is reachable from one topology segment.
///
/// A pool serves a request if every pair of its segment is in the requested topology, so that a request that is finer than the pool still
/// finds it. A request without topology finds all pools, and a pool with an empty segment is found by all requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// Where the storage is reachable.
    pub segment: Segment,
    /// Class parameters that it is for: a class that sets one of them to another value is not served, one that does not set it is.
    /// Pools of the same segment with other parameters are pools of their own.
    pub parameters: BTreeMap<String, String>,
    /// What there is.
    pub storage: Storage,
}

/// How the storage of a pool is laid out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Storage {
    /// One store from which volumes of any size are cut, such as a volume group or an array in the network.
    Linear {
        /// Raw storage in bytes, including what volumes take.
        capacity: u64,
        /// The largest single extent in bytes of raw storage: no volume can take more, as the free storage is in pieces. `None`: the
        /// driver reports no maximum volume size.
        largest: Option<u64>,
    },
    /// A filesystem that holds the volumes beside other files. What remains is free, and one volume can take all of it.
    Filesystem {
        /// Bytes of the filesystem.
        size: u64,
        /// Bytes that other files take.
        used: u64,
    },
    /// Disks and volume groups of one machine, by name. The driver chooses the smallest one that fits.
    Devices(BTreeMap<String, Device>),
}

/// A disk, or a volume group, of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Raw bytes.
    pub size: u64,
    /// Class parameters that it is for, such as `storageType: SSD`; read like those of a [`Pool`].
    pub parameters: BTreeMap<String, String>,
    /// Whether it is a group from which volumes of at least [`GROUP_VOLUME_BYTES_MIN`] are cut. If not, a volume takes all of it.
    pub group: bool,
    /// The ways of use that it is good for.
    pub access: Access,
}

/// The ways in which volumes of a device can be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Access {
    /// Raw or mounted.
    #[default]
    Any,
    /// As a raw device only.
    Block,
    /// Mounted only.
    Mount,
}

impl Pool {
    /// A pool of [`Storage::Linear`] for all classes.
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

    /// Whether classes with these parameters are served.
    pub(super) fn is_for(&self, parameters: &BTreeMap<String, String>) -> bool {
        agrees(&self.parameters, parameters)
    }

    /// Everything that a volume can be made on.
    pub(super) fn extents(&self) -> Vec<Extent<'_>> {
        match &self.storage {
            Storage::Linear { capacity, largest } => vec![Extent {
                largest: largest.unwrap_or(u64::MAX),
                tells_maximum: largest.is_some(),
                ..Extent::whole_store(*capacity)
            }],
            Storage::Filesystem { size, used } => vec![Extent::whole_store(size.saturating_sub(*used))],
            Storage::Devices(devices) => devices.iter().map(Extent::device).collect(),
        }
    }

    /// Raw bytes that volumes can take in all.
    pub(super) fn total(&self) -> u64 {
        self.extents()
            .iter()
            .fold(0, |sum, extent| sum.saturating_add(extent.capacity))
    }
}

/// What tells pools apart: segment and parameters.
pub(super) type PoolKey = (Segment, BTreeMap<String, String>);

/// Where a volume can be: a contiguous piece of a pool.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent<'p> {
    /// Name of the device, if the pool has any.
    pub(super) name: Option<&'p str>,
    /// The device of that name.
    pub(super) device: Option<&'p Device>,
    /// Raw bytes.
    pub(super) capacity: u64,
    /// Most raw bytes of one volume.
    pub(super) largest: u64,
    /// Whether the maximum volume size is reported.
    pub(super) tells_maximum: bool,
}

impl<'p> Extent<'p> {
    fn whole_store(capacity: u64) -> Extent<'p> {
        Extent {
            name: None,
            device: None,
            capacity,
            largest: u64::MAX,
            tells_maximum: true,
        }
    }

    fn device((name, device): (&'p String, &'p Device)) -> Extent<'p> {
        Extent {
            name: Some(name),
            device: Some(device),
            ..Extent::whole_store(device.size)
        }
    }

    /// Whether a volume takes all of it.
    pub(super) fn is_indivisible(&self) -> bool {
        self.device.is_some_and(|device| !device.group)
    }

    /// The smallest volume, in bytes of volume; `None` is no bound.
    pub(super) fn group_minimum(&self) -> Option<u64> {
        self.device
            .filter(|device| device.group)
            .map(|_| GROUP_VOLUME_BYTES_MIN)
    }

    /// Whether volumes with these parameters and uses can be on it; `blocks` holds, for each use, whether it is raw.
    pub(super) fn is_for(&self, parameters: &BTreeMap<String, String>, blocks: &[bool]) -> bool {
        let usable = |access: Access| match access {
            Access::Any => true,
            Access::Block => blocks.iter().all(|block| *block),
            Access::Mount => blocks.iter().all(|block| !block),
        };
        self.device
            .is_none_or(|device| agrees(&device.parameters, parameters) && usable(device.access))
    }
}

/// Whether no parameter has two values.
fn agrees(own: &BTreeMap<String, String>, asked: &BTreeMap<String, String>) -> bool {
    own.iter()
        .all(|(key, value)| asked.get(key).is_none_or(|asked| asked == value))
}
