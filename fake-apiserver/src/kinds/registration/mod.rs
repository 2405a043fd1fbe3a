//! Defaults and validation of objects of admissionregistration.k8s.io.
//!
//! Does not know how webhooks are called and policies evaluated.

mod bindings;
mod clients;
mod conditions;
mod defaults;
mod matching;
mod policies;
mod webhooks;

pub(super) use bindings::{mutating as mutating_binding, validating as validating_binding};
pub(super) use clients::place as client_place;
pub(super) use defaults::{
    binding as default_binding, policy as default_policy, webhooks as default_webhooks,
};
pub(super) use policies::{mutating as mutating_policy, validating as validating_policy, validating_status};
pub(super) use webhooks::validate as webhooks;
