//! The `csiDriver` action: writes the CSIDriver object.

use serde::Deserialize;
use serde_json::json;

use super::{Resolved, cluster_wide, create};
use crate::plan::scope::Scope;
use crate::plan::{Action, objects};

/// A change of the CSIDriver object.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CsiDriverAction {
    /// Set spec.storageCapacity: `csiDriver: {storageCapacity: true}`. Immutable up to 1.22: delete and create the object instead.
    StorageCapacity(bool),
    /// Delete the object: `csiDriver: delete`.
    Delete,
    /// Create it with this spec.storageCapacity: `csiDriver: {create: true}`. An API server with the gate off drops the field.
    Create(Option<bool>),
}

pub(super) fn resolve(scope: &Scope<'_>, action: &CsiDriverAction) -> Resolved {
    let name = scope.driver();
    let target = cluster_wide("csidrivers", name);
    Ok(vec![match *action {
        CsiDriverAction::StorageCapacity(on) => {
            let merge = json!({"spec": {"storageCapacity": on}});
            (
                Action::Merge(target, merge),
                format!("CSIDriver {name}: storageCapacity {on}"),
            )
        }
        CsiDriverAction::Delete => (Action::Delete(target), format!("delete CSIDriver {name}")),
        CsiDriverAction::Create(on) => create(objects::csi_driver(name, on), "CSIDriver", name),
    }])
}
