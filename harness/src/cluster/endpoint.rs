//! A socket at which the driver of a cluster can be reached.

use std::path::PathBuf;

use capacity_types::Segment;

/// One that was ever opened: it keeps its path while the driver is stopped.
pub(super) struct Endpoint {
    pub(super) socket: PathBuf,
    /// Of the node that it is on.
    pub(super) segment: Option<Segment>,
    /// The endpoint ends with it; none while the driver is stopped.
    pub(super) running: Option<fake_csi::Running>,
}
