//! The resource definition of CustomResourceDefinitions.

use crate::definition;
use fake_apiserver::extension::Kind;
use fake_apiserver::extension::resource::{
    Generation, Hooks, MetadataChecks, NAME_AND_CREATION, NO_HOOKS, PLAIN, ResourceDefinition,
};

pub(crate) static CUSTOM_RESOURCE_DEFINITION: ResourceDefinition = ResourceDefinition {
    kind: "CustomResourceDefinition",
    metadata_checks: MetadataChecks::apimachinery_checks(1),
    plural: "customresourcedefinitions",
    registry: Some("apiextensions.k8s.io/customresourcedefinitions"),
    group: "apiextensions.k8s.io",
    short_names: &["crd", "crds"],
    categories: &["api-extensions"],
    namespaced: false,
    status: true,
    unconditional_update: false,
    generation: Generation::FromCreation,
    defines: Some(definition::mark_terminating),
    columns: NAME_AND_CREATION,
    hooks: Hooks {
        default: definition::default,
        create: |definition, _| definition::add_stored_version(definition),
        update: |definition, old, _| {
            // If the client changed the CRD status, the status in the request contains the intended `storedVersions`.
            if definition["status"] == old["status"] {
                definition::add_stored_version(definition);
            }
        },
        validate_name: definition::validate_name,
        validate: definition::validate,
        validate_create: definition::validate_create,
        validate_update: definition::validate_update,
        validate_status: definition::validate_status,
        warn: definition::warn,
        ..NO_HOOKS
    },
    ..PLAIN
};

pub(crate) fn is_definition(kind: &Kind) -> bool {
    kind.is_resource(
        CUSTOM_RESOURCE_DEFINITION.group,
        CUSTOM_RESOURCE_DEFINITION.plural,
    )
}
