//! All configured webhooks and policies, in the order of calls.
//!
//! Owns the registry built from objects of admissionregistration.k8s.io, and its invalidation. Does not read the store:
//! the caller passes the objects.

use super::policies::Policies;
use super::question::{Operation, Subject};
use super::webhook::Webhook;
use crate::kinds::{Kind, Part};
use crate::machinery::json::list;
use crate::object::Objects;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// All configured webhooks and policies.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    /// Mutating webhooks, ordered by the names of their configurations.
    pub(crate) mutating: Vec<Webhook>,
    /// Validating webhooks, in the same order.
    pub(crate) validating: Vec<Webhook>,
    /// The policies with bindings. None if there are none.
    pub(crate) policies: Option<Arc<dyn Policies>>,
}

/// The cached registry of a server.
#[derive(Default)]
pub(crate) struct Registrar {
    /// Number of changes of webhook and policy objects.
    changes: AtomicU64,
    /// The registry, and the number of changes that it includes.
    known: RwLock<(u64, Arc<Registry>)>,
}

impl Registry {
    /// The registry of the webhooks in mutating and validating configurations, and of policies.
    pub(crate) fn new([mutating, validating]: [Objects; 2], policies: Option<Arc<dyn Policies>>) -> Self {
        Self {
            mutating: webhooks(&mutating),
            validating: webhooks(&validating),
            policies: policies.filter(|policies| !policies.is_empty()),
        }
    }

    fn is_empty(&self) -> bool {
        self.mutating.is_empty() && self.validating.is_empty() && self.policies.is_none()
    }

    /// Whether any webhook or policy may match requests for this resource and subresource.
    pub(crate) fn may_name(&self, kind: &Kind, part: Part) -> bool {
        let policies = self.policies.as_ref();
        self.may_ask(kind, part) || policies.is_some_and(|policies| policies.may_name(kind, part))
    }

    /// The same for webhooks only.
    pub(crate) fn may_ask(&self, kind: &Kind, part: Part) -> bool {
        let mut hooks = self.mutating.iter().chain(&self.validating);
        hooks.any(|hook| hook.selection.may_name(kind, part))
    }

    /// Whether any of the webhooks may match a request, regardless of labels.
    pub(crate) fn concerns(hooks: &[Webhook], operation: Operation, subject: &Subject) -> bool {
        hooks
            .iter()
            .any(|hook| hook.selection.may_concern(operation, subject))
    }
}

/// The webhooks of all configurations, in the order of their names.
fn webhooks(configurations: &Objects) -> Vec<Webhook> {
    let hooks = configurations
        .values()
        .flat_map(|configuration| list(&configuration.value()["webhooks"]));
    hooks.map(Webhook::read).collect()
}

impl Registrar {
    /// Invalidates the registry after a change of its objects. Called while the state is locked.
    pub(crate) fn invalidate(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// The registry. None if it is empty. Calls `read` only if the cached registry is outdated.
    pub(crate) fn current(&self, read: impl FnOnce() -> Registry) -> Option<Arc<Registry>> {
        // The count is read before the objects: after a concurrent change, the registry counts as outdated.
        let changes = self.changes.load(Ordering::Acquire);
        if changes == 0 {
            return None;
        }
        let known = {
            let known = self.known.read();
            (known.0 == changes).then(|| known.1.clone())
        };
        let registry = known.unwrap_or_else(|| {
            let registry = Arc::new(read());
            let mut known = self.known.write();
            if known.0 < changes {
                *known = (changes, registry.clone());
            }
            registry
        });
        Some(registry).filter(|registry| !registry.is_empty())
    }
}
