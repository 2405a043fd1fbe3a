//! An admission request. Does not know webhooks or policies.

use crate::access::auth::User;
use crate::kinds::{Kind, NAMESPACE, Part, request_kind};
use crate::object::Object;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The operation of an admission request, as in webhook rules and AdmissionReviews.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// An object or subresource is created (`CREATE`).
    Create,
    /// An existing object is replaced or patched (`UPDATE`).
    Update,
    /// An object is deleted (`DELETE`).
    Delete,
}

/// The object or subresource that a request creates, updates or deletes.
#[derive(Clone)]
pub struct AdmissionTarget {
    /// The resource definition, in the version of the request.
    pub kind: Kind,
    /// Whether the request is about the object itself or a subresource.
    pub part: Part,
    /// Namespace of the object; empty for cluster-scoped objects. For a Namespace, its own name.
    pub namespace: String,
    /// Name of the object; empty if it is not generated yet.
    pub name: String,
}

/// The step of admission in which policies and webhooks are called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Mutating admission: webhooks and policies may change the object.
    Mutating,
    /// Reinvocation of mutating webhooks, given by index, after the object has changed.
    Reinvoke(BTreeSet<usize>),
    /// Validating admission: webhooks and policies may only reject the request.
    Validating,
    /// Admission of a deletion: mutating and validating webhooks are called in one step.
    Delete,
}

/// An admission request, which is passed to webhooks and policies.
#[derive(Clone)]
pub struct AdmissionRequest {
    /// Selects the policies and webhooks to call.
    pub phase: Phase,
    /// Whether an object is created, updated or deleted.
    pub operation: Operation,
    /// The object or subresource that the request writes.
    pub target: AdmissionTarget,
    /// Whether the request is a dry run, so that nothing will be stored.
    pub dry_run: bool,
    /// The new object in the version in which writes are validated.
    pub object: Option<Value>,
    /// The stored object before the request, in the version in which writes are validated. `None` for a creation.
    pub old: Option<Arc<Object>>,
}

/// The user who sends a request, and the options of the request.
pub struct Requester {
    /// The authenticated or impersonated user.
    pub user: Arc<User>,
    /// The request options, such as those of `CreateOptions`, without `kind` and `apiVersion`.
    pub options: Value,
}

impl Operation {
    /// The operation as spelled in webhook rules and AdmissionReviews.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }

    /// The kind of the request options, such as `CreateOptions`.
    pub fn options(self) -> &'static str {
        match self {
            Self::Create => "CreateOptions",
            Self::Update => "UpdateOptions",
            Self::Delete => "DeleteOptions",
        }
    }
}

impl AdmissionTarget {
    /// Group, version and kind of the object in an admission request: of the resource or, for a subresource such as `scale`, of its body.
    pub fn body_group_version_kind(&self, kind: &Kind) -> (&'static str, &'static str, &'static str) {
        let of = |kind: &Kind| (kind.group, kind.version, kind.kind);
        let own = of(kind);
        match self.part {
            Part::Main | Part::Status => own,
            Part::Sub(sub) => request_kind(sub).map_or(own, of),
        }
    }

    /// Whether the target is a Namespace or a subresource of one: then `namespace` is the name of that Namespace.
    pub fn is_namespace(&self) -> bool {
        self.kind == NAMESPACE
    }

    /// Whether the object in the admission request has the kind of the resource itself, not the kind of a subresource body.
    pub fn has_resource_kind(&self) -> bool {
        match self.part {
            Part::Main | Part::Status => true,
            Part::Sub(sub) => request_kind(sub).is_none(),
        }
    }
}

impl AdmissionRequest {
    /// Whether two admission requests have the same target, phase and operation, and equal objects.
    pub(super) fn equals(&self, other: &Self) -> bool {
        let same_old = match (&self.old, &other.old) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other) || one.value() == other.value(),
            _ => false,
        };
        self.target.name == other.target.name
            && self.target.namespace == other.target.namespace
            && self.phase == other.phase
            && self.operation == other.operation
            && same_old
            && self.object == other.object
    }
}
