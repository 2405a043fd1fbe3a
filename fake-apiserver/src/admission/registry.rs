//! The configured admission webhooks and policies.
//!
//! Owns the registry built from objects of admissionregistration.k8s.io, and its invalidation. Does not read the store: callers pass the
//! objects.

use super::policies::Policies;
use super::webhooks::Webhooks;
use crate::kinds::{Kind, Part};
use crate::object::Objects;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A function that builds webhooks or policies from the objects that configure them. `objects` returns all objects of a resource of
/// admissionregistration.k8s.io, given its plural name.
///
/// Called with the store locked, after a change of an object that configures admission.
pub type BuildFromObjects<T> = fn(objects: &dyn Fn(&str) -> Objects) -> Arc<T>;

/// The configured webhooks and policies. `webhooks` is `None` if no webhook is configured, `policies` if no policy is.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    pub(crate) webhooks: Option<Arc<dyn Webhooks>>,
    pub(crate) policies: Option<Arc<dyn Policies>>,
}

/// Caches the registry of a server until a webhook or policy object changes.
#[derive(Default)]
pub(crate) struct RegistryCache {
    /// Number of changes of webhook and policy objects so far.
    changes: AtomicU64,
    /// The cached registry, and the value of `changes` when it was built.
    known: RwLock<(u64, Arc<Registry>)>,
}

impl Registry {
    pub(crate) fn new(webhooks: Option<Arc<dyn Webhooks>>, policies: Option<Arc<dyn Policies>>) -> Self {
        Self {
            webhooks: webhooks.filter(|webhooks| !webhooks.is_empty()),
            policies: policies.filter(|policies| !policies.is_empty()),
        }
    }

    fn is_empty(&self) -> bool {
        self.webhooks.is_none() && self.policies.is_none()
    }

    pub(crate) fn may_match(&self, kind: &Kind, part: Part) -> bool {
        let policies = self.policies.as_ref();
        self.may_match_webhook(kind, part)
            || policies.is_some_and(|policies| policies.may_match_resource(kind, part))
    }

    pub(crate) fn may_match_webhook(&self, kind: &Kind, part: Part) -> bool {
        let webhooks = self.webhooks.as_ref();
        webhooks.is_some_and(|webhooks| webhooks.may_match_resource(kind, part))
    }
}

impl RegistryCache {
    /// Marks the cached registry as outdated, after a change of webhook or policy objects. Called while the state is locked.
    pub(crate) fn invalidate(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// The current webhooks and policies; `None` if none are configured. Calls `read` only to rebuild an outdated registry.
    pub(crate) fn current(&self, read: impl FnOnce() -> Registry) -> Option<Arc<Registry>> {
        // `changes` is read before the webhook and policy objects, so that a concurrent object change makes the new registry outdated.
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
