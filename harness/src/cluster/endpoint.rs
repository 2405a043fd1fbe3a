//! A socket on which the cluster's driver listens.

use std::path::PathBuf;

use capacity_types::Segment;

/// A socket of the driver. Its path remains the same while the driver is stopped.
pub(super) struct Endpoint {
    pub(super) socket: PathBuf,
    /// Topology segment of the driver's node; `None` for a central driver.
    pub(super) segment: Option<Segment>,
    /// The running server; dropping it closes the socket. `None` while the driver is stopped.
    pub(super) running: Option<fake_csi::Running>,
}
