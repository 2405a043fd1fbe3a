//! Static configuration of a driver and its nodes, which does not change while the driver runs.

use std::{collections::BTreeMap, time::Duration};

use tonic::Code;

use crate::{Segment, SpecVersion};

/// A snapshot from which volumes can be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// Topology segment of the pool that contains the snapshot.
    pub segment: Segment,
    /// Minimum size of a volume created from the snapshot, in bytes (`Snapshot.size_bytes`).
    pub bytes: u64,
}

/// Static configuration of a driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DriverSpec {
    /// Name of the CSI driver, which is the `provisioner` of its StorageClasses.
    pub name: String,
    /// Topology keys of the driver's nodes. Empty: the driver has no topology and does not advertise `VOLUME_ACCESSIBILITY_CONSTRAINTS`.
    pub topology_keys: Vec<String>,
    /// Whether the controller advertises `GET_CAPACITY`; if not, GetCapacity returns `UNIMPLEMENTED`.
    pub advertise_get_capacity: bool,
    /// Whether the controller advertises `EXPAND_VOLUME`; if not, or before CSI 1.1, ControllerExpandVolume returns `UNIMPLEMENTED`.
    pub advertise_expand_volume: bool,
    /// Whether the controller advertises `CLONE_VOLUME`; if not, or before CSI 1.1, a clone request returns `INVALID_ARGUMENT`.
    pub advertise_clone_volume: bool,
    /// Snapshots that exist from the start, by `snapshot_id`. If not empty, and from CSI 1.0 on, the controller advertises
    /// `CREATE_DELETE_SNAPSHOT`; otherwise a request for a volume from a snapshot returns `INVALID_ARGUMENT`.
    pub snapshots: BTreeMap<String, Snapshot>,
    /// Names of the supported mutable parameters. Unlisted parameters return `INVALID_ARGUMENT`; before CSI 1.9 all parameters do.
    /// If the list is not empty, the controller advertises `MODIFY_VOLUME`.
    pub mutable_parameters: Vec<String>,
    /// Whether GetCapacity counts reserved storage as available. If false, the reservation that an extender makes for a pod can make the
    /// scheduler reject the node for that pod. If true, other pods see capacity that they cannot use.
    pub reports_reserved: bool,
    /// The gRPC code of CreateVolume if there is not enough storage. The CSI specification requires RESOURCE_EXHAUSTED; other codes show
    /// how clients react to a driver that violates the specification.
    pub exhausted: Code,
    /// Variation of GetCapacity responses in bytes: of every three calls, one returns the true values and two return less. Models storage
    /// on which programs other than the driver write a few blocks.
    pub capacity_variation: u64,
    /// Whether CreateVolume returns the optional `capacity_bytes`.
    pub reports_volume_size: bool,
    /// Whether to tolerate requests that violate the CSI specification, where possible: incomplete volume capabilities are dropped. The
    /// observer receives the violations in both cases.
    pub lenient: bool,
    /// Whether to create a file or folder at the target path when a volume is published; otherwise the path is only recorded.
    pub creates_target_paths: bool,
    /// Latency added to every call before the driver processes it.
    pub latency: Duration,
    /// The CSI release that the driver implements; the driver lacks fields and methods of later releases.
    pub version: SpecVersion,
}

impl DriverSpec {
    /// Creates the configuration of a driver without topology that supports everything except clones and mutable parameters.
    pub fn new(name: impl Into<String>) -> DriverSpec {
        DriverSpec {
            name: name.into(),
            topology_keys: Vec::new(),
            advertise_get_capacity: true,
            advertise_expand_volume: true,
            advertise_clone_volume: false,
            snapshots: BTreeMap::new(),
            mutable_parameters: Vec::new(),
            reports_reserved: true,
            exhausted: Code::ResourceExhausted,
            capacity_variation: 0,
            reports_volume_size: true,
            lenient: false,
            creates_target_paths: true,
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

    /// Whether the driver's CSI release defines the access mode.
    pub(crate) fn supports_access_mode(&self, mode: i32) -> bool {
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

/// The node that `NodeGetInfo` returns at an endpoint of the driver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeIdentity {
    /// Id of the node in the driver (`node_id`).
    pub node_id: String,
    /// The topology segment of the node; returned only by drivers with topology.
    pub segment: Segment,
}
