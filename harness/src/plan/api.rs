//! Converts release and feature gates of an API server to the specification's type `Api`.

use std::collections::BTreeMap;

use capacity_spec::world::{Api, Release};
use fake_apiserver::Release as ServerRelease;

/// Feature gate that enables CSIStorageCapacity objects in old Kubernetes releases.
pub(super) const GATE: &str = "CSIStorageCapacity";

/// The specification's description of an API server with this release and these feature gates.
pub(crate) fn api(release: ServerRelease, gates: &BTreeMap<String, bool>) -> Api {
    Api {
        release: Release::new(release.minor()),
        gate: gates.get(GATE).copied(),
    }
}
