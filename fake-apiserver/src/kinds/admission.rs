//! Resource definitions of webhook configurations in admissionregistration.k8s.io. Their validation is in `registration`.

use super::hooks::{Hooks, NO_HOOKS};
use super::{Generation, MetadataChecks, PLAIN, Row, registration};
use crate::kinds::columns::{AGE, Cell, Column, NAME, integer};
use serde_json::Value;

/// What the resources of admissionregistration.k8s.io have in common.
pub const REGISTRATION: Row = Row {
    group: "admissionregistration.k8s.io",
    categories: &["api-extensions"],
    namespaced: false,
    generation: Generation::FromCreation,
    unconditional_update: false,
    registers: true,
    ..PLAIN
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

static WEBHOOKS: &[Column] = &[NAME, integer("Webhooks", Cell::Count("/webhooks")), AGE];
