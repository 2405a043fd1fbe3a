//! Kinds that are sent, and never stored: to bind a pod, to evict it, to ask for a token, to scale a workload.
//!
//! Does not know what they bring about: `verbs` does. Only bindings are a resource; the others have no place but the
//! subresource that takes them.

use super::kind::Kind;
use super::part::Subresource;
use super::token_lifetime;
use super::{Hooks, NO_HOOKS, PLAIN, Row, Unstored};
use crate::machinery::json;
use serde_json::json;

pub(crate) static BINDING: Kind = Kind::table(&BINDING_ROW);
pub(crate) static EVICTION: Kind = Kind::table(&EVICTION_ROW);
pub(crate) static SCALE: Kind = Kind::table(&SCALE_ROW);
pub(crate) static TOKEN_REQUEST: Kind = Kind::table(&TOKEN_REQUEST_ROW);

/// The kind of what a subresource takes; none where that is the object itself.
pub(crate) fn body(of: Subresource) -> Option<&'static Kind> {
    match of {
        Subresource::Binding => Some(&BINDING),
        Subresource::Eviction => Some(&EVICTION),
        Subresource::Scale => Some(&SCALE),
        Subresource::Token => Some(&TOKEN_REQUEST),
        _ => None,
    }
}

/// Names a pod and the node that it is to run on, sent to `bindings` or to the pod's own `binding`.
pub(super) static BINDING_ROW: Row = Row {
    kind: "Binding",
    plural: "bindings",
    singular: "binding",
    unstored: Some(Unstored::Binding),
    deletes_collection: false,
    ..PLAIN
};

static EVICTION_ROW: Row = Row {
    group: "policy",
    kind: "Eviction",
    ..PLAIN
};

static TOKEN_REQUEST_ROW: Row = Row {
    group: "authentication.k8s.io",
    kind: "TokenRequest",
    hooks: Hooks {
        default: |request| {
            let spec = json::slot(request, "spec");
            if spec.is_null() {
                *spec = json!({});
            }
            json::default_member(spec, "expirationSeconds", token_lifetime::USUAL_SECONDS);
        },
        ..NO_HOOKS
    },
    ..PLAIN
};

/// How many pods a workload is to have.
static SCALE_ROW: Row = Row {
    group: "autoscaling",
    kind: "Scale",
    ..PLAIN
};
