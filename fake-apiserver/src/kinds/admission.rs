//! admissionregistration.k8s.io: policies and webhooks, stored and shown. None of them is ever asked.

use super::{Generation, Kind, PLAIN};
use crate::config::release::Life;
use crate::kinds::columns;

const REGISTRATION: Kind = Kind {
    group: "admissionregistration.k8s.io",
    categories: &["api-extensions"],
    namespaced: false,
    generation: Generation::FromCreation,
    unconditional_update: false,
    caveat: Some("admission policies and webhooks are stored here, and never asked"),
    ..PLAIN
};

pub(super) static MUTATING_ADMISSION_POLICY: Kind = Kind {
    // New in 1.36, and stored so that 1.35 can still read it.
    storage_version: Some("v1beta1"),
    kind: "MutatingAdmissionPolicy",
    plural: "mutatingadmissionpolicies",
    singular: "mutatingadmissionpolicy",
    printer: &columns::MUTATING_POLICY,
    life: Life::since(36),
    ..REGISTRATION
};

pub(super) static MUTATING_ADMISSION_POLICY_BINDING: Kind = Kind {
    // New in 1.36, and stored so that 1.35 can still read it.
    storage_version: Some("v1beta1"),
    kind: "MutatingAdmissionPolicyBinding",
    plural: "mutatingadmissionpolicybindings",
    singular: "mutatingadmissionpolicybinding",
    printer: &columns::POLICY_BINDING,
    life: Life::since(36),
    ..REGISTRATION
};

pub(super) static MUTATING_WEBHOOK_CONFIGURATION: Kind = Kind {
    generation_of: &["webhooks"],
    kind: "MutatingWebhookConfiguration",
    plural: "mutatingwebhookconfigurations",
    singular: "mutatingwebhookconfiguration",
    printer: &columns::WEBHOOKS,
    ..REGISTRATION
};

pub(super) static VALIDATING_ADMISSION_POLICY: Kind = Kind {
    kind: "ValidatingAdmissionPolicy",
    plural: "validatingadmissionpolicies",
    singular: "validatingadmissionpolicy",
    status: true,
    printer: &columns::VALIDATING_POLICY,
    life: Life::since(30),
    ..REGISTRATION
};

pub(super) static VALIDATING_ADMISSION_POLICY_BINDING: Kind = Kind {
    kind: "ValidatingAdmissionPolicyBinding",
    plural: "validatingadmissionpolicybindings",
    singular: "validatingadmissionpolicybinding",
    printer: &columns::POLICY_BINDING,
    life: Life::since(30),
    ..REGISTRATION
};

pub(super) static VALIDATING_WEBHOOK_CONFIGURATION: Kind = Kind {
    generation_of: &["webhooks"],
    kind: "ValidatingWebhookConfiguration",
    plural: "validatingwebhookconfigurations",
    singular: "validatingwebhookconfiguration",
    printer: &columns::WEBHOOKS,
    ..REGISTRATION
};
