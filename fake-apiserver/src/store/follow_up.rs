//! Controller work that results from a change.
//!
//! Owns the kinds of work, and which controllers a change concerns. Does not perform the work.

use super::history::LoggedChange;
use crate::kinds::Kind;
use crate::machinery::metadata;
use crate::observe::Change;
use crate::plugin::Controller;
use serde_json::Value;
use std::sync::Arc;

pub(crate) enum ControllerWork {
    /// A namespace was created: add its default objects.
    NamespaceCreated(String),
    /// A namespace is terminating: delete its content.
    NamespaceEnding(String),
    /// An object was deleted from this namespace: if the namespace is terminating, it may now be empty.
    Deleted { namespace: String },
    /// An object was written or deleted, and a controller in another crate watches its resource.
    Reconcile {
        controller: Arc<dyn Controller>,
        kind: Kind,
        key: Arc<str>,
        is_deleted: bool,
    },
}

impl ControllerWork {
    /// The work that results from deleting an object.
    pub(crate) fn deleted(object: &Value) -> Self {
        Self::Deleted {
            namespace: metadata::text(object, "namespace").to_owned(),
        }
    }

    /// Reconcile work for the controllers of other crates that watch the resource of the changed object.
    pub(super) fn for_change(
        kind: &Kind,
        logged: &LoggedChange,
        controllers: &[Arc<dyn Controller>],
    ) -> Vec<Self> {
        let is_deleted = logged.change == Change::Deleted;
        let watching = controllers.iter().filter(|controller| controller.watches(kind));
        let reconcile = watching.map(|controller| Self::Reconcile {
            controller: controller.clone(),
            kind: kind.clone(),
            key: logged.key.clone(),
            is_deleted,
        });
        reconcile.collect()
    }
}
