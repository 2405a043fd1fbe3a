//! What a driver and its nodes say about themselves. Knows no state: nothing here changes while the driver runs.

use std::{collections::BTreeMap, time::Duration};

use tonic::Code;

use crate::{Segment, SpecVersion};

/// A snapshot from which volumes can be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Segment of the pool that holds it.
    pub segment: Segment,
    /// Minimum size of a volume created from it, in bytes (`Snapshot.size_bytes`).
    pub bytes: u64,
}

/// What the driver says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverSpec {
    /// Name of the plugin, the provisioner of its storage classes.
    pub name: String,
    /// Topology keys of its nodes. Empty: the driver knows no topology, and does not advertise `VOLUME_ACCESSIBILITY_CONSTRAINTS`.
    pub topology_keys: Vec<String>,
    /// Whether the controller advertises `GET_CAPACITY`; if not, the call answers `UNIMPLEMENTED`.
    pub advertise_get_capacity: bool,
    /// Whether the controller advertises `EXPAND_VOLUME`; if not, or before CSI 1.1, the call answers `UNIMPLEMENTED`.
    pub advertise_expand_volume: bool,
    /// Whether the controller advertises `CLONE_VOLUME`; if not, or before CSI 1.1, a request for a copy answers `INVALID_ARGUMENT`.
    pub advertise_clone_volume: bool,
    /// Snapshots that exist from the start, by `snapshot_id`. With some, and from CSI 1.0 on, the controller advertises
    /// `CREATE_DELETE_SNAPSHOT`; without, a request for a volume from a snapshot answers `INVALID_ARGUMENT`.
    pub snapshots: BTreeMap<String, Snapshot>,
    /// Names of the mutable parameters that it knows; any other, and before CSI 1.9 each, answers `INVALID_ARGUMENT`. With some, the
    /// controller advertises `MODIFY_VOLUME`.
    pub mutable_parameters: Vec<String>,
    /// Whether GetCapacity still counts what is reserved: without, an extender that reserves for a pod may take the node away from it; with,
    /// others are promised room that they do not get.
    pub tells_reserved: bool,
    /// The code of a CreateVolume for which there is no room. The specification has RESOURCE_EXHAUSTED; any other shows what a driver
    /// does to its callers that has it wrong.
    pub exhausted: Code,
    /// How far the answers of GetCapacity vary from call to call, in bytes: each of three calls has another figure, the largest is the truth.
    /// So do those of storage in which others write a few blocks.
    pub varies_by: u64,
    /// Whether CreateVolume answers `capacity_bytes`, which is optional.
    pub tells_volume_size: bool,
    /// Whether requests that the specification does not allow are answered as if they were complete, where that can be: an incomplete
    /// volume capability is none. The observer hears of them either way.
    pub lenient: bool,
    /// Whether a file or folder is made at the path where a volume is published; otherwise the path is only remembered.
    pub makes_targets: bool,
    /// How long every call is on its way before the driver sees it.
    pub latency: Duration,
    /// The release of the specification that the driver was made for: it knows nothing that came later.
    pub version: SpecVersion,
}

impl DriverSpec {
    /// A driver without topology that can do everything but copies and mutable parameters.
    pub fn new(name: impl Into<String>) -> DriverSpec {
        DriverSpec {
            name: name.into(),
            topology_keys: Vec::new(),
            advertise_get_capacity: true,
            advertise_expand_volume: true,
            advertise_clone_volume: false,
            snapshots: BTreeMap::new(),
            mutable_parameters: Vec::new(),
            tells_reserved: true,
            exhausted: Code::ResourceExhausted,
            varies_by: 0,
            tells_volume_size: true,
            lenient: false,
            makes_targets: true,
            latency: Duration::ZERO,
            version: SpecVersion::NEWEST,
        }
    }

    pub(crate) fn has_expansion(&self) -> bool {
        self.advertise_expand_volume && self.version.has_expansion()
    }

    pub(crate) fn has_clones(&self) -> bool {
        self.advertise_clone_volume && self.version.has_clones()
    }

    pub(crate) fn has_mutable_parameters(&self) -> bool {
        !self.mutable_parameters.is_empty() && self.version.has_mutable_parameters()
    }

    /// Whether the access mode of that number was there already.
    pub(crate) fn knows(&self, mode: i32) -> bool {
        use csi_proto::v1::volume_capability::access_mode::Mode;
        match Mode::try_from(mode) {
            Ok(Mode::SingleNodeSingleWriter | Mode::SingleNodeMultiWriter) => {
                self.version.has_single_node_modes()
            }
            Ok(_) => true,
            Err(_) => false,
        }
    }
}

/// What `NodeGetInfo` answers at an endpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeIdentity {
    /// Name of the node for the driver.
    pub node_id: String,
    /// The segment that the node is in; reported only by drivers with topology.
    pub segment: Segment,
}
