//! CSIStorageCapacity (KEP-1472).
//!
//! Validation and messages follow kube-apiserver 1.36.

use super::{
    Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition, StorageConversion, internal_form, selectors,
};
use crate::config::release::{Gate, ServedReleases};
use crate::kinds::columns;
use crate::machinery::error_list::ErrorList;
use crate::machinery::names;
use crate::machinery::quantity::Quantity;
use serde_json::Value;

/// Properties of CSIStorageCapacity in all versions. KEP-1472: an unset, an empty and a non-empty `nodeTopology` differ in meaning.
const ALL_VERSIONS: ResourceDefinition = ResourceDefinition {
    group: "storage.k8s.io",
    kind: "CSIStorageCapacity",
    metadata_checks: MetadataChecks::core_v1_checks(2),
    plural: "csistoragecapacities",
    unconditional_update: false,
    hooks: Hooks {
        validate: capacity_validate,
        validate_update: |new, old, errors| {
            if new["nodeTopology"] != old["nodeTopology"] {
                let shown = internal_form::format_compact("*LabelSelector", &new["nodeTopology"]);
                errors.invalid_as("nodeTopology", &shown, "field is immutable");
            }
            errors.require_members_unchanged(new, old, &["storageClassName"]);
        },
        ..NO_HOOKS
    },
    columns: columns::NAME_AND_CREATION,
    ..PLAIN
};

/// CSIStorageCapacity v1, the storage version in all releases, even in releases that do not serve v1.
pub(super) static CSI_STORAGE_CAPACITY: ResourceDefinition = ResourceDefinition {
    life: ServedReleases::since(24),
    ..ALL_VERSIONS
};

pub(super) static V1BETA1: ResourceDefinition = ResourceDefinition {
    version: "v1beta1",
    life: ServedReleases::during(21, 26),
    view: Some(StorageConversion {
        stored: &CSI_STORAGE_CAPACITY,
        from_stored: |object| convert_to_version(object, &V1BETA1),
        to_stored: |object| convert_to_version(object, &CSI_STORAGE_CAPACITY),
        renamed: &[],
    }),
    ..ALL_VERSIONS
};

/// CSIStorageCapacity v1alpha1 in releases that have the field `maximumVolumeSize`.
pub(super) static V1ALPHA1: ResourceDefinition = ResourceDefinition {
    version: "v1alpha1",
    life: ServedReleases::during(21, 23).requiring_gate(Gate::CsiStorageCapacity),
    view: Some(StorageConversion {
        stored: &CSI_STORAGE_CAPACITY,
        from_stored: |object| convert_to_version(object, &V1ALPHA1),
        to_stored: |object| convert_to_version(object, &CSI_STORAGE_CAPACITY),
        renamed: &[],
    }),
    ..ALL_VERSIONS
};

/// CSIStorageCapacity v1alpha1 in its first releases, without `maximumVolumeSize`: the field is neither stored nor returned.
pub(super) static V1ALPHA1_FIRST: ResourceDefinition = ResourceDefinition {
    version: "v1alpha1",
    life: ServedReleases::during(19, 20).requiring_gate(Gate::CsiStorageCapacity),
    view: Some(StorageConversion {
        stored: &CSI_STORAGE_CAPACITY,
        from_stored: |object| without_maximum(convert_to_version(object, &V1ALPHA1_FIRST)),
        to_stored: |object| without_maximum(convert_to_version(object, &CSI_STORAGE_CAPACITY)),
        renamed: &[],
    }),
    ..ALL_VERSIONS
};

fn convert_to_version(object: &Value, kind: &ResourceDefinition) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = kind.api_version().into();
    object
}

fn without_maximum(mut object: Value) -> Value {
    if let Some(members) = object.as_object_mut() {
        members.remove("maximumVolumeSize");
    }
    object
}

/// `maximumVolumeSize` is not validated, as in kube-apiserver.
fn capacity_validate(object: &Value, errors: &mut ErrorList) {
    selectors::labels(&object["nodeTopology"], "nodeTopology", errors);
    let class = object["storageClassName"].as_str().unwrap_or_default();
    errors.invalid_all("storageClassName", class, names::subdomain(class));
    if let Some(text) = object["capacity"].as_str()
        && text.parse::<Quantity>().is_ok_and(|q| q.is_negative())
    {
        errors.invalid("capacity", text, "must be greater than or equal to 0");
    }
}
