//! The `capacity` action: a client other than the publisher creates, edits or deletes a CSIStorageCapacity object.

use serde::Deserialize;
use serde_json::Value;

use super::Resolved;
use crate::plan::scope::Scope;
use crate::plan::{Action, Target};
use crate::scenario::CapacitySpec;

/// A write to a CSIStorageCapacity object by a client other than the publisher.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CapacityAction {
    /// Create a CSIStorageCapacity object as in `cluster.capacityObjects`.
    Create(CapacitySpec),
    /// Edit a CSIStorageCapacity object, whichever client created it, with a JSON merge patch: `{class: fast, segment: n1, merge:
    /// {capacity: 5Gi}}`.
    Edit {
        /// storageClassName.
        class: String,
        /// The topology segment of the CSIStorageCapacity object.
        segment: String,
        /// A JSON merge patch for the object.
        merge: Value,
    },
    /// Delete a CSIStorageCapacity object, whichever client created it: `{class: fast, segment: n1}`.
    Delete {
        /// storageClassName.
        class: String,
        /// The topology segment of the CSIStorageCapacity object.
        segment: String,
    },
}

pub(super) fn resolve(scope: &mut Scope<'_>, action: &CapacityAction) -> Resolved {
    let target = |scope: &Scope<'_>, class: &str, segment: &str| {
        let segment = scope.segments.format(&scope.segments.parse(segment)?);
        Ok::<_, String>(Target::Capacity {
            class: class.to_owned(),
            segment,
        })
    };
    Ok(vec![match action {
        CapacityAction::Create(spec) => {
            let note = format!("by hand: capacity for class {}", spec.class);
            (Action::Create(scope.build_capacity(spec)?), note)
        }
        CapacityAction::Edit {
            class,
            segment,
            merge,
        } => {
            let note = format!("by hand: edit capacity of class {class}, segment {segment}: {merge}");
            (Action::Merge(target(scope, class, segment)?, merge.clone()), note)
        }
        CapacityAction::Delete { class, segment } => {
            let note = format!("by hand: delete capacity of class {class}, segment {segment}");
            (Action::Delete(target(scope, class, segment)?), note)
        }
    }])
}
