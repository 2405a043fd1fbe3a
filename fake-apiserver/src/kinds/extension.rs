//! apiextensions.k8s.io and apiregistration.k8s.io: other APIs. They are stored and shown, and never served.

use super::{Generation, Kind, PLAIN};
use crate::kinds::columns;
use crate::machinery::names::Complaints;

const EXTENSION: Kind = Kind {
    categories: &["api-extensions"],
    namespaced: false,
    status: true,
    unconditional_update: false,
    ..PLAIN
};

/// Names of these have a form of their own, such as `v1.apps`; what is no segment of a path never comes here.
fn any_name(_: &str) -> Complaints {
    Complaints::new()
}

pub(super) static CUSTOM_RESOURCE_DEFINITION: Kind = Kind {
    kind: "CustomResourceDefinition",
    plural: "customresourcedefinitions",
    singular: "customresourcedefinition",
    group: "apiextensions.k8s.io",
    short_names: &["crd", "crds"],
    generation: Generation::FromCreation,
    printer: &columns::NAME_AND_CREATION,
    caveat: Some(
        "custom resources are not served here: the definition is stored, and will not be established",
    ),
    ..EXTENSION
};

pub(super) static API_SERVICE: Kind = Kind {
    kind: "APIService",
    plural: "apiservices",
    singular: "apiservice",
    group: "apiregistration.k8s.io",
    name_rule: any_name,
    printer: &columns::API_SERVICE,
    caveat: Some("aggregated APIs are not served here: the object is stored, and will not be available"),
    ..EXTENSION
};
