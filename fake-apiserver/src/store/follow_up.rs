//! Work for the controllers that results from a change.
//!
//! Owns which change requires which work. Does not do the work.

use super::history::Logged;
use crate::kinds::{Kind, SERVICE};
use crate::machinery::metadata;
use crate::object::Object;
use crate::observe::Change;
use serde_json::Value;
use std::sync::Arc;

/// Work for a controller.
#[derive(Debug)]
pub(crate) enum FollowUp {
    /// A namespace was created: add its default objects.
    NamespaceCreated(String),
    /// A namespace is being deleted: delete its content.
    NamespaceEnding(String),
    /// An object was deleted from a namespace: a terminating namespace may now be empty.
    Gone { namespace: String },
    /// A service was written or deleted: update the allocated addresses.
    Service {
        old: Option<Arc<Object>>,
        new: Option<Arc<Object>>,
    },
    /// A definition was written or deleted.
    Definition(String),
    /// A custom resource was deleted: its terminating definition may now be removable.
    InstanceGone {
        group: &'static str,
        plural: &'static str,
    },
}

impl FollowUp {
    /// The work that results from deleting an object.
    pub(crate) fn gone(object: &Value) -> Self {
        Self::Gone {
            namespace: metadata::text(object, "namespace").to_owned(),
        }
    }

    /// The work that results from a change.
    pub(super) fn of(kind: &Kind, logged: &Logged) -> Vec<Self> {
        let is_gone = logged.change == Change::Deleted;
        let key = || (*logged.key).to_owned();
        let now = || Some(logged.object()).filter(|_| !is_gone);
        let mut work = Vec::new();
        if *kind == SERVICE {
            let (old, new) = (logged.old(), now());
            work.push(Self::Service { old, new });
        }
        if kind.defines {
            work.push(Self::Definition(key()));
        }
        if kind.defined().is_some() && is_gone {
            let (group, plural) = (kind.group, kind.plural);
            work.push(Self::InstanceGone { group, plural });
        }
        work
    }
}
