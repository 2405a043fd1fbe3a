//! The API server of a case, in the specification's types.

use std::collections::BTreeMap;

use capacity_spec::world::{Api, Release};
use fake_apiserver::Release as ServerRelease;

/// The feature gate of CSIStorageCapacity in old releases.
pub(super) const GATE: &str = "CSIStorageCapacity";

/// The API server of this release with these gates.
pub(crate) fn api(release: ServerRelease, gates: &BTreeMap<String, bool>) -> Api {
    Api {
        release: Release::new(release.minor()),
        gate: gates.get(GATE).copied(),
    }
}
