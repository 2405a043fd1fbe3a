//! Kinds of request bodies that are not stored: Binding, Eviction, TokenRequest and Scale.
//!
//! The requests are executed by `verbs`. Only Binding is also a resource; the other kinds are used by subresources only.

use super::kind::Kind;
use super::part::Subresource;
use super::token_lifetime;
use super::{Hooks, NO_HOOKS, PLAIN, ResourceDefinition, UnstoredAction};
use crate::machinery::json;
use serde_json::json;

pub(crate) static BINDING: Kind = Kind::built_in(&BINDING_DEFINITION);
pub(crate) static EVICTION: Kind = Kind::built_in(&EVICTION_DEFINITION);
pub(crate) static SCALE: Kind = Kind::built_in(&SCALE_DEFINITION);
pub(crate) static TOKEN_REQUEST: Kind = Kind::built_in(&TOKEN_REQUEST_DEFINITION);

/// The kind of a subresource's request body; `None` if it is the kind of the object itself.
pub(crate) fn request_kind(of: Subresource) -> Option<&'static Kind> {
    match of {
        Subresource::Binding => Some(&BINDING),
        Subresource::Eviction => Some(&EVICTION),
        Subresource::Scale => Some(&SCALE),
        Subresource::Token => Some(&TOKEN_REQUEST),
        _ => None,
    }
}

/// Binding assigns a pod to a node. Clients create it at `bindings` or at `pods/binding`.
pub(super) static BINDING_DEFINITION: ResourceDefinition = ResourceDefinition {
    kind: "Binding",
    plural: "bindings",
    unstored: Some(UnstoredAction::Binding),
    deletes_collection: false,
    ..PLAIN
};

static EVICTION_DEFINITION: ResourceDefinition = ResourceDefinition {
    group: "policy",
    kind: "Eviction",
    ..PLAIN
};

static TOKEN_REQUEST_DEFINITION: ResourceDefinition = ResourceDefinition {
    group: "authentication.k8s.io",
    kind: "TokenRequest",
    hooks: Hooks {
        default: |request| {
            let spec = json::member_or_insert_null(request, "spec");
            if spec.is_null() {
                *spec = json!({});
            }
            json::default_member(spec, "expirationSeconds", token_lifetime::USUAL_SECONDS);
        },
        ..NO_HOOKS
    },
    ..PLAIN
};

static SCALE_DEFINITION: ResourceDefinition = ResourceDefinition {
    group: "autoscaling",
    kind: "Scale",
    ..PLAIN
};
