//! The API server of a case, in the types of the specification.

use std::collections::BTreeMap;

use capacity_spec::world::{Api, Release};
use fake_apiserver::Release as ServerRelease;

/// Feature gate of CSIStorageCapacity in old releases.
pub(super) const GATE: &str = "CSIStorageCapacity";

/// An API server of this release with these feature gates.
pub(crate) fn api(release: ServerRelease, gates: &BTreeMap<String, bool>) -> Api {
    Api {
        release: Release::new(release.minor()),
        gate: gates.get(GATE).copied(),
    }
}
