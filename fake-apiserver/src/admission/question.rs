//! What is asked about a request, and what is answered. Does not know who is asked.

use crate::access::auth::User;
use crate::kinds::{Kind, Part, sent_to};
use crate::machinery::status::Status;
use crate::object::Object;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// What a request does, as rules name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    Create,
    Update,
    Delete,
}

/// What a request is about.
#[derive(Clone)]
pub(crate) struct Subject {
    /// The resource, in the version of the request.
    pub(crate) kind: Kind,
    pub(crate) part: Part,
    /// Empty where there is none; a namespace is in itself.
    pub(crate) namespace: String,
    /// Empty where it is not known yet.
    pub(crate) name: String,
}

/// Who is to answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Webhooks that change objects.
    Mutate,
    /// Those of them that were asked before, as their objects have changed since.
    MutateAgain(BTreeSet<usize>),
    /// Webhooks that look at objects.
    Validate,
    /// Both, about an object that is to go.
    Delete,
}

/// A question to webhooks.
#[derive(Clone)]
pub(crate) struct Question {
    pub(crate) stage: Stage,
    pub(crate) operation: Operation,
    pub(crate) subject: Subject,
    /// Nothing will be kept.
    pub(crate) dry_run: bool,
    /// The object as it would be written, in the form in which writes are judged.
    pub(crate) object: Option<Value>,
    /// The object as it is, in the same form.
    pub(crate) old: Option<Arc<Object>>,
}

/// What webhooks have made of an object, or why it is refused.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    pub(crate) outcome: Result<Option<Value>, Status>,
    pub(crate) warnings: Vec<String>,
    /// Some webhook has changed the object.
    pub(crate) changed: bool,
    /// Webhooks that want to be asked again, as others have changed the object after them.
    pub(crate) again: BTreeSet<usize>,
    /// Webhooks that want to be asked again if the server changes the object.
    pub(crate) watching: BTreeSet<usize>,
}

/// Who sends a request, and how.
pub(crate) struct Requester {
    pub(crate) user: Arc<User>,
    /// The options of the request, without their kind.
    pub(crate) options: Value,
}

impl Operation {
    /// As rules and reviews spell it.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
        }
    }

    /// The kind of the options of such a request.
    pub(crate) fn options(self) -> &'static str {
        match self {
            Self::Create => "CreateOptions",
            Self::Update => "UpdateOptions",
            Self::Delete => "DeleteOptions",
        }
    }
}

impl Subject {
    /// Group, version and kind of what is sent for a resource: that of its objects, or of the body of a subresource.
    pub(crate) fn body_of(&self, kind: &Kind) -> (&'static str, &'static str, &'static str) {
        let of = |kind: &Kind| (kind.group, kind.version, kind.kind);
        let own = of(kind);
        match self.part {
            Part::Main | Part::Status => own,
            Part::Sub(sub) => sent_to(sub).map_or(own, of),
        }
    }

    /// Whether objects of the resource itself are sent.
    pub(crate) fn is_whole(&self) -> bool {
        match self.part {
            Part::Main | Part::Status => true,
            Part::Sub(sub) => sent_to(sub).is_none(),
        }
    }
}

impl Question {
    /// Whether it is the same question about the same objects.
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
    /// Nobody objects.
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
