//! Resource definitions of admission policies and their bindings.

use super::{binding_validation, defaults, policy_validation};
use fake_apiserver::extension::json;
use fake_apiserver::extension::resource::Cell::{self, Of, Text};
use fake_apiserver::extension::resource::{
    AGE, Column, Hooks, MetadataChecks, NAME, NO_HOOKS, ResourceDefinition, ServedReleases, integer, text,
};
use fake_apiserver_webhooks::REGISTRATION;
use serde_json::Value;

pub(super) static MUTATING_ADMISSION_POLICY: ResourceDefinition = ResourceDefinition {
    // v1 is new in 1.36; kube-apiserver stores v1beta1, so that 1.35 can still read the objects.
    storage_version: Some("v1beta1"),
    kind: "MutatingAdmissionPolicy",
    metadata_checks: MetadataChecks::apimachinery_checks(1),
    plural: "mutatingadmissionpolicies",
    columns: &[
        NAME,
        integer("Mutations", Cell::Count("/spec/mutations")),
        text("ParamKind", Of(param_kind_cell)),
        AGE,
    ],
    life: ServedReleases::since(36),
    hooks: Hooks {
        default: defaults::default_policy,
        validate: policy_validation::validate_mutating_policy,
        ..NO_HOOKS
    },
    ..REGISTRATION
};

pub(super) static MUTATING_ADMISSION_POLICY_BINDING: ResourceDefinition = ResourceDefinition {
    // v1 is new in 1.36; kube-apiserver stores v1beta1, so that 1.35 can still read the objects.
    storage_version: Some("v1beta1"),
    kind: "MutatingAdmissionPolicyBinding",
    metadata_checks: MetadataChecks::apimachinery_checks(1),
    plural: "mutatingadmissionpolicybindings",
    columns: POLICY_BINDING,
    life: ServedReleases::since(36),
    hooks: Hooks {
        default: defaults::default_binding,
        validate: binding_validation::validate_mutating_binding,
        ..NO_HOOKS
    },
    ..REGISTRATION
};

pub(super) static VALIDATING_ADMISSION_POLICY: ResourceDefinition = ResourceDefinition {
    kind: "ValidatingAdmissionPolicy",
    metadata_checks: MetadataChecks::apimachinery_checks(1),
    plural: "validatingadmissionpolicies",
    status: true,
    columns: &[
        NAME,
        integer("Validations", Cell::Count("/spec/validations")),
        text("ParamKind", Of(param_kind_cell)),
        AGE,
    ],
    life: ServedReleases::since(30),
    hooks: Hooks {
        default: defaults::default_policy,
        validate: policy_validation::validate_validating_policy,
        validate_status: policy_validation::validate_policy_status,
        ..NO_HOOKS
    },
    ..REGISTRATION
};

pub(super) static VALIDATING_ADMISSION_POLICY_BINDING: ResourceDefinition = ResourceDefinition {
    kind: "ValidatingAdmissionPolicyBinding",
    metadata_checks: MetadataChecks::apimachinery_checks(1),
    plural: "validatingadmissionpolicybindings",
    columns: POLICY_BINDING,
    life: ServedReleases::since(30),
    hooks: Hooks {
        default: defaults::default_binding,
        validate: binding_validation::validate_validating_binding,
        ..NO_HOOKS
    },
    ..REGISTRATION
};

/// The value of a table column: `paramKind` of a policy, or `<unset>`.
fn param_kind_cell(policy: &Value) -> Value {
    let of = &policy["spec"]["paramKind"];
    if !of.is_object() {
        return "<unset>".into();
    }
    format!("{}/{}", json::string(of, "apiVersion"), json::string(of, "kind")).into()
}

static POLICY_BINDING: &[Column] = &[
    NAME,
    text("PolicyName", Text("/spec/policyName")),
    text("ParamRef", Of(param_ref_cell)),
    AGE,
];

fn param_ref_cell(binding: &Value) -> Value {
    let reference = &binding["spec"]["paramRef"];
    let word = |field: &str| reference[field].as_str().filter(|word| !word.is_empty());
    match (word("namespace"), word("name")) {
        (Some(namespace), name) => format!("{namespace}/{}", name.unwrap_or("*")).into(),
        (None, name) if reference.is_object() => name.unwrap_or("*").into(),
        (None, _) => "<unset>".into(),
    }
}
