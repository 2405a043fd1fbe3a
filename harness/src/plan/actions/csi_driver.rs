//! The `csiDriver` action: creates, changes or deletes the CSIDriver object.

use serde::Deserialize;
use serde_json::json;

use super::{Resolved, cluster_wide, create};
use crate::plan::scope::Scope;
use crate::plan::{Action, objects};

/// A change of the CSIDriver object.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CsiDriverAction {
    /// Set spec.storageCapacity: `csiDriver: {storageCapacity: true}`. The field is immutable up to release 1.22: delete and create the
    /// object instead.
    StorageCapacity(bool),
    /// Delete the CSIDriver object: `csiDriver: delete`.
    Delete,
    /// Create the CSIDriver object with this spec.storageCapacity: `csiDriver: {create: true}`. An API server whose feature gate is off
    /// drops the field.
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
