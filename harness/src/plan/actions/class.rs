//! The `class` action: creates or deletes a StorageClass.

use serde::Deserialize;

use super::{Resolved, cluster_wide, create};
use crate::plan::Action;
use crate::plan::scope::Scope;
use crate::scenario::{ClassSpec, Short};

/// Creates or deletes a StorageClass.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ClassAction {
    /// Create a StorageClass as in `cluster.classes`: `class: {create: slow}`.
    Create(Short<ClassSpec>),
    /// Delete the StorageClass with this name: `class: {delete: fast}`.
    Delete(String),
}

pub(super) fn resolve(scope: &mut Scope<'_>, action: &ClassAction) -> Resolved {
    Ok(vec![match action {
        ClassAction::Create(spec) => create(scope.build_class(spec), "class", &spec.name),
        ClassAction::Delete(name) => {
            scope.defined.check_deleted_class(name)?;
            let target = cluster_wide("storageclasses", name);
            (Action::Delete(target), format!("delete class {name}"))
        }
    }])
}
