//! Resource definitions of admissionregistration.k8s.io: policies and webhooks. Their validation is in `registration`.

use super::hooks::{Hooks, NO_HOOKS};
use super::{Generation, MetadataChecks, PLAIN, Row, registration};
use crate::config::release::Life;
use crate::kinds::columns::Cell::{Of, Text};
use crate::kinds::columns::{AGE, Cell, Column, NAME, integer, text};
use crate::machinery::json;
use serde_json::Value;

const REGISTRATION: Row = Row {
    group: "admissionregistration.k8s.io",
    categories: &["api-extensions"],
    namespaced: false,
    generation: Generation::FromCreation,
    unconditional_update: false,
    registers: true,
    ..PLAIN
};

pub(super) static MUTATING_ADMISSION_POLICY: Row = Row {
    // v1 is new in 1.36; kube-apiserver stores v1beta1, so that 1.35 can still read the objects.
    storage_version: Some("v1beta1"),
    kind: "MutatingAdmissionPolicy",
    metadata_checks: MetadataChecks::machinery(1),
    plural: "mutatingadmissionpolicies",
    singular: "mutatingadmissionpolicy",
    columns: &[
        NAME,
        integer("Mutations", Cell::Count("/spec/mutations")),
        text("ParamKind", Of(parameters)),
        AGE,
    ],
    life: Life::since(36),
    hooks: Hooks {
        default: registration::default_policy,
        validate: registration::mutating_policy,
        ..NO_HOOKS
    },
    ..REGISTRATION
};

pub(super) static MUTATING_ADMISSION_POLICY_BINDING: Row = Row {
    // v1 is new in 1.36; kube-apiserver stores v1beta1, so that 1.35 can still read the objects.
    storage_version: Some("v1beta1"),
    kind: "MutatingAdmissionPolicyBinding",
    metadata_checks: MetadataChecks::machinery(1),
    plural: "mutatingadmissionpolicybindings",
    singular: "mutatingadmissionpolicybinding",
    columns: POLICY_BINDING,
    life: Life::since(36),
    hooks: Hooks {
        default: registration::default_binding,
        validate: registration::mutating_binding,
        ..NO_HOOKS
    },
    ..REGISTRATION
};

pub(super) static MUTATING_WEBHOOK_CONFIGURATION: Row = Row {
    generation_of: &["/webhooks"],
    kind: "MutatingWebhookConfiguration",
    metadata_checks: MetadataChecks::machinery(1).alone(),
    plural: "mutatingwebhookconfigurations",
    singular: "mutatingwebhookconfiguration",
    columns: WEBHOOKS,
    hooks: Hooks {
        default: |object| registration::default_webhooks(object, true),
        validate_create: |new, faults| registration::webhooks(new, &Value::Null, true, faults),
        validate_update: |new, old, faults| registration::webhooks(new, old, true, faults),
        ..NO_HOOKS
    },
    ..REGISTRATION
};

pub(super) static VALIDATING_ADMISSION_POLICY: Row = Row {
    kind: "ValidatingAdmissionPolicy",
    metadata_checks: MetadataChecks::machinery(1),
    plural: "validatingadmissionpolicies",
    singular: "validatingadmissionpolicy",
    status: true,
    columns: &[
        NAME,
        integer("Validations", Cell::Count("/spec/validations")),
        text("ParamKind", Of(parameters)),
        AGE,
    ],
    life: Life::since(30),
    hooks: Hooks {
        default: registration::default_policy,
        validate: registration::validating_policy,
        validate_status: registration::validating_status,
        ..NO_HOOKS
    },
    ..REGISTRATION
};

pub(super) static VALIDATING_ADMISSION_POLICY_BINDING: Row = Row {
    kind: "ValidatingAdmissionPolicyBinding",
    metadata_checks: MetadataChecks::machinery(1),
    plural: "validatingadmissionpolicybindings",
    singular: "validatingadmissionpolicybinding",
    columns: POLICY_BINDING,
    life: Life::since(30),
    hooks: Hooks {
        default: registration::default_binding,
        validate: registration::validating_binding,
        ..NO_HOOKS
    },
    ..REGISTRATION
};

pub(super) static VALIDATING_WEBHOOK_CONFIGURATION: Row = Row {
    generation_of: &["/webhooks"],
    kind: "ValidatingWebhookConfiguration",
    metadata_checks: MetadataChecks::machinery(1).alone(),
    plural: "validatingwebhookconfigurations",
    singular: "validatingwebhookconfiguration",
    columns: WEBHOOKS,
    hooks: Hooks {
        default: |object| registration::default_webhooks(object, false),
        validate_create: |new, faults| registration::webhooks(new, &Value::Null, false, faults),
        validate_update: |new, old, faults| registration::webhooks(new, old, false, faults),
        ..NO_HOOKS
    },
    ..REGISTRATION
};

/// The kind of a policy's parameters.
fn parameters(policy: &Value) -> Value {
    let of = &policy["spec"]["paramKind"];
    if !of.is_object() {
        return "<unset>".into();
    }
    format!("{}/{}", json::string(of, "apiVersion"), json::string(of, "kind")).into()
}

static POLICY_BINDING: &[Column] = &[
    NAME,
    text("PolicyName", Text("/spec/policyName")),
    text("ParamRef", Of(parameter_reference)),
    AGE,
];

static WEBHOOKS: &[Column] = &[NAME, integer("Webhooks", Cell::Count("/webhooks")), AGE];

fn parameter_reference(binding: &Value) -> Value {
    let reference = &binding["spec"]["paramRef"];
    let word = |field: &str| reference[field].as_str().filter(|word| !word.is_empty());
    match (word("namespace"), word("name")) {
        (Some(namespace), name) => format!("{namespace}/{}", name.unwrap_or("*")).into(),
        (None, name) if reference.is_object() => name.unwrap_or("*").into(),
        (None, _) => "<unset>".into(),
    }
}
