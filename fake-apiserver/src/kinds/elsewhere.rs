//! Names of the built-in kinds that other crates serve, for references to their objects without a server.

use super::admission::REGISTRATION;
use super::row::{PLAIN, Row};

const fn cluster_scoped(group: &'static str, kind: &'static str, plural: &'static str) -> Row {
    Row {
        group,
        kind,
        plural,
        namespaced: false,
        ..PLAIN
    }
}

/// Names only: a server has them from its extensions.
pub(super) static ELSEWHERE: [Row; 5] = [
    cluster_scoped(
        "apiextensions.k8s.io",
        "CustomResourceDefinition",
        "customresourcedefinitions",
    ),
    cluster_scoped(
        REGISTRATION.group,
        "MutatingAdmissionPolicy",
        "mutatingadmissionpolicies",
    ),
    cluster_scoped(
        REGISTRATION.group,
        "MutatingAdmissionPolicyBinding",
        "mutatingadmissionpolicybindings",
    ),
    cluster_scoped(
        REGISTRATION.group,
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
    ),
    cluster_scoped(
        REGISTRATION.group,
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
    ),
];
