//! VolumeAttributesClass: validation of driver name and parameters.

use super::storage_class::parameters;
use super::volume::add_protection_finalizer;
use super::{Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition};
use crate::config::release::ServedReleases;
use crate::kinds::columns::Cell::Text;
use crate::kinds::columns::{AGE, NAME, text};
use crate::machinery::error_list::ErrorList;
use crate::machinery::names;
use serde_json::Value;

pub(super) static VOLUME_ATTRIBUTES_CLASS: ResourceDefinition = ResourceDefinition {
    group: "storage.k8s.io",
    kind: "VolumeAttributesClass",
    metadata_checks: MetadataChecks::core_v1_checks(2),
    plural: "volumeattributesclasses",
    short_names: &["vac"],
    namespaced: false,
    returns_deleted: true,
    hooks: Hooks {
        create: |object, setting| add_protection_finalizer(object, setting, "kubernetes.io/vac-protection"),
        validate_create: attributes_validate,
        validate_update: |new, old, errors| {
            for field in ["driverName", "parameters"] {
                if new[field] != old[field] {
                    errors.forbidden(field, &format!("updates to {field} are forbidden."));
                }
            }
            attributes_validate(new, errors);
        },
        ..NO_HOOKS
    },
    columns: &[NAME, text("DriverName", Text("/driverName")), AGE],
    life: ServedReleases::since(34),
    ..PLAIN
};

fn attributes_validate(object: &Value, errors: &mut ErrorList) {
    let driver = object["driverName"].as_str().unwrap_or_default();
    if driver.is_empty() {
        errors.required("driverName", "");
    } else {
        let driver = driver.to_lowercase();
        errors.invalid_all("driverName", &driver, names::qualified_name(&driver));
    }
    parameters(&object["parameters"], false, errors);
}
