//! Names of the built-in kinds that other crates serve, so that `ResourceRef` knows them without a server.

use super::resource_definition::{PLAIN, ResourceDefinition};

const REGISTRATION: &str = "admissionregistration.k8s.io";

const fn cluster_scoped(group: &'static str, kind: &'static str, plural: &'static str) -> ResourceDefinition {
    ResourceDefinition {
        group,
        kind,
        plural,
        namespaced: false,
        ..PLAIN
    }
}

/// Resource definitions with names only: a server gets the full definitions of these resources from its extensions.
pub(super) static ELSEWHERE: [ResourceDefinition; 7] = [
    cluster_scoped(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "customresourcedefinitions",
    ),
    cluster_scoped(
        REGISTRATION,
        "MutatingAdmissionPolicy",
        "mutatingadmissionpolicies",
    ),
    cluster_scoped(
        REGISTRATION,
        "MutatingAdmissionPolicyBinding",
        "mutatingadmissionpolicybindings",
    ),
    cluster_scoped(
        REGISTRATION,
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
    ),
    cluster_scoped(
        REGISTRATION,
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
    ),
    cluster_scoped(
        REGISTRATION,
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
    ),
    cluster_scoped(
        REGISTRATION,
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
    ),
];
