//! A socket of the cluster's driver.

use std::path::PathBuf;

use capacity_types::Segment;

/// An endpoint of the driver. Its path does not change while the driver is stopped.
pub(super) struct Endpoint {
    pub(super) socket: PathBuf,
    /// Topology segment of its node.
    pub(super) segment: Option<Segment>,
    /// Dropping it closes the endpoint; `None` while the driver is stopped.
    pub(super) running: Option<fake_csi::Running>,
}
