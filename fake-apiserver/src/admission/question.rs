//! An admission request and its verdict. Does not know webhooks.

use crate::access::auth::User;
use crate::kinds::{Kind, Part, sent_to};
use crate::machinery::status::Status;
use crate::object::Object;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The operation of a request, as in rules and AdmissionReviews.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `CREATE`.
    Create,
    /// `UPDATE`.
    Update,
    /// `DELETE`.
    Delete,
}

/// The object or subresource of a request.
#[derive(Clone)]
pub struct Subject {
    /// The resource, in the version of the request.
    pub kind: Kind,
    /// The object itself or a subresource.
    pub part: Part,
    /// Empty for cluster-scoped objects. For a Namespace, its own name.
    pub namespace: String,
    /// Empty if it is not generated yet.
    pub name: String,
}

/// The phase of admission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Mutating webhooks.
    Mutate,
    /// Reinvocation of mutating webhooks, by index, after the object has changed.
    MutateAgain(BTreeSet<usize>),
    /// Validating webhooks.
    Validate,
    /// Mutating and validating webhooks on a deletion.
    Delete,
}

/// An admission request, for which webhooks are called.
#[derive(Clone)]
pub struct Question {
    /// The phase of admission.
    pub stage: Stage,
    /// The operation.
    pub operation: Operation,
    /// The object of the operation.
    pub subject: Subject,
    /// Nothing will be stored.
    pub dry_run: bool,
    /// The new object, in the version in which writes are validated.
    pub object: Option<Value>,
    /// The current object, in the same version.
    pub old: Option<Arc<Object>>,
}

/// Result of the webhooks: the mutated object or the denial.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    pub outcome: Result<Option<Value>, Status>,
    pub warnings: Vec<String>,
    /// Whether a webhook changed the object.
    pub changed: bool,
    /// Webhooks to reinvoke because a later webhook changed the object.
    pub again: BTreeSet<usize>,
    /// Webhooks to reinvoke if the server or a policy changes the object.
    pub watching: BTreeSet<usize>,
}

/// User and options of a request.
pub struct Requester {
    /// The user of the request.
    pub user: Arc<User>,
    /// The options of the request without their kind.
    pub options: Value,
}

impl Operation {
    /// The name in rules and AdmissionReviews.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }

    /// The kind of the request options.
    pub fn options(self) -> &'static str {
        match self {
            Self::Create => "CreateOptions",
            Self::Update => "UpdateOptions",
            Self::Delete => "DeleteOptions",
        }
    }
}

impl Subject {
    /// Group, version and kind of the object in a request: those of the resource, or of the subresource's body.
    pub fn body_of(&self, kind: &Kind) -> (&'static str, &'static str, &'static str) {
        let of = |kind: &Kind| (kind.group, kind.version, kind.kind);
        let own = of(kind);
        match self.part {
            Part::Main | Part::Status => own,
            Part::Sub(sub) => sent_to(sub).map_or(own, of),
        }
    }

    /// Whether the object of the request has the kind of the resource itself.
    pub fn is_whole(&self) -> bool {
        match self.part {
            Part::Main | Part::Status => true,
            Part::Sub(sub) => sent_to(sub).is_none(),
        }
    }
}

impl Question {
    /// Whether it is the same request on equal objects.
    pub(super) fn is(&self, other: &Self) -> bool {
        let same_old = match (&self.old, &other.old) {
            (None, None) => true,
            (Some(one), Some(other)) => Arc::ptr_eq(one, other) || one.value() == other.value(),
            _ => false,
        };
        self.subject.name == other.subject.name
            && self.subject.namespace == other.subject.namespace
            && self.stage == other.stage
            && self.operation == other.operation
            && same_old
            && self.object == other.object
    }
}

impl Verdict {
    /// Admitted without change.
    pub(crate) fn unchanged(object: Option<Value>) -> Self {
        Self {
            outcome: Ok(object),
            warnings: Vec::new(),
            changed: false,
            again: BTreeSet::new(),
            watching: BTreeSet::new(),
        }
    }
}
