//! The resources MutatingWebhookConfiguration and ValidatingWebhookConfiguration.

use crate::{defaults, validation};
use fake_apiserver::extension::resource::{
    AGE, Cell, Column, Generation, Hooks, MetadataChecks, NAME, NO_HOOKS, PLAIN, ResourceDefinition, integer,
};
use serde_json::Value;

/// Fields that all resource definitions of admissionregistration.k8s.io share.
pub const REGISTRATION: ResourceDefinition = ResourceDefinition {
    group: "admissionregistration.k8s.io",
    categories: &["api-extensions"],
    namespaced: false,
    generation: Generation::FromCreation,
    unconditional_update: false,
    configures_admission: true,
    ..PLAIN
};

pub(crate) static MUTATING_WEBHOOK_CONFIGURATION: ResourceDefinition = ResourceDefinition {
    generation_of: &["/webhooks"],
    kind: "MutatingWebhookConfiguration",
    metadata_checks: MetadataChecks::apimachinery_checks(1).without_comparison(),
    plural: "mutatingwebhookconfigurations",
    columns: WEBHOOKS,
    hooks: Hooks {
        default: |object| defaults::default_webhooks(object, true),
        validate_create: |new, errors| validation::validate(new, &Value::Null, true, errors),
        validate_update: |new, old, errors| validation::validate(new, old, true, errors),
        ..NO_HOOKS
    },
    ..REGISTRATION
};

pub(crate) static VALIDATING_WEBHOOK_CONFIGURATION: ResourceDefinition = ResourceDefinition {
    generation_of: &["/webhooks"],
    kind: "ValidatingWebhookConfiguration",
    metadata_checks: MetadataChecks::apimachinery_checks(1).without_comparison(),
    plural: "validatingwebhookconfigurations",
    columns: WEBHOOKS,
    hooks: Hooks {
        default: |object| defaults::default_webhooks(object, false),
        validate_create: |new, errors| validation::validate(new, &Value::Null, false, errors),
        validate_update: |new, old, errors| validation::validate(new, old, false, errors),
        ..NO_HOOKS
    },
    ..REGISTRATION
};

static WEBHOOKS: &[Column] = &[NAME, integer("Webhooks", Cell::Count("/webhooks")), AGE];
