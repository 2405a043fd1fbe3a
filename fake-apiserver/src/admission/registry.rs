//! Everyone who is asked about requests, in the order in which they are asked.
//!
//! Owns the registry that is made of the objects of admissionregistration.k8s.io, and knows when it is out of date. Does
//! not read the store: it is handed the sources.

use super::policy::{Policy, policies};
use super::question::{Operation, Subject};
use super::webhook::Webhook;
use crate::kinds::{
    Kind, MUTATING_ADMISSION_POLICY, MUTATING_ADMISSION_POLICY_BINDING, MUTATING_WEBHOOK_CONFIGURATION, Part,
    VALIDATING_ADMISSION_POLICY, VALIDATING_ADMISSION_POLICY_BINDING, VALIDATING_WEBHOOK_CONFIGURATION,
};
use crate::machinery::json::list;
use crate::object::Objects;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Everyone who is asked about requests.
#[derive(Debug, Default)]
pub(crate) struct Registry {
    /// Webhooks that change objects, by the names of their configurations.
    pub(crate) mutating: Vec<Webhook>,
    /// Webhooks that look at objects.
    pub(crate) validating: Vec<Webhook>,
    /// Policies that change objects, by name; those that nothing binds excepted.
    pub(crate) mutating_policies: Vec<Policy>,
    /// Policies that look at objects.
    pub(crate) validating_policies: Vec<Policy>,
}

/// The objects that a registry is made of.
pub(crate) struct Sources {
    mutating_webhooks: Objects,
    validating_webhooks: Objects,
    mutating_policies: [Objects; 2],
    validating_policies: [Objects; 2],
}

/// Keeps the registry of a server.
#[derive(Default)]
pub(crate) struct Registrar {
    /// Counts the changes of objects that register somebody.
    changes: AtomicU64,
    /// The registry, and how many changes it knows of.
    known: RwLock<(u64, Arc<Registry>)>,
}

impl Sources {
    /// Reads the objects through `read`.
    pub(crate) fn read(read: impl Fn(&Kind) -> Objects) -> Self {
        Self {
            mutating_webhooks: read(&MUTATING_WEBHOOK_CONFIGURATION),
            validating_webhooks: read(&VALIDATING_WEBHOOK_CONFIGURATION),
            mutating_policies: [&MUTATING_ADMISSION_POLICY, &MUTATING_ADMISSION_POLICY_BINDING].map(&read),
            validating_policies: [&VALIDATING_ADMISSION_POLICY, &VALIDATING_ADMISSION_POLICY_BINDING]
                .map(&read),
        }
    }
}

impl Registry {
    fn new(sources: &Sources) -> Self {
        Self {
            mutating: webhooks(&sources.mutating_webhooks),
            validating: webhooks(&sources.validating_webhooks),
            mutating_policies: policies(&sources.mutating_policies),
            validating_policies: policies(&sources.validating_policies),
        }
    }

    fn is_empty(&self) -> bool {
        self.mutating.is_empty()
            && self.validating.is_empty()
            && self.mutating_policies.is_empty()
            && self.validating_policies.is_empty()
    }

    /// Whether anybody may want to be asked about requests for a part of such objects.
    pub(crate) fn may_name(&self, kind: &Kind, part: Part) -> bool {
        let mut policies = self.mutating_policies.iter().chain(&self.validating_policies);
        self.may_ask(kind, part) || policies.any(|policy| policy.selection.may_name(kind, part))
    }

    /// Whether webhooks are among them.
    pub(crate) fn may_ask(&self, kind: &Kind, part: Part) -> bool {
        let mut hooks = self.mutating.iter().chain(&self.validating);
        hooks.any(|hook| hook.selection.may_name(kind, part))
    }

    /// Whether webhooks may want to be asked, whatever the labels are.
    pub(crate) fn concerns(hooks: &[Webhook], operation: Operation, subject: &Subject) -> bool {
        hooks
            .iter()
            .any(|hook| hook.selection.may_concern(operation, subject))
    }
}

/// The webhooks of configurations. Objects are in the order of their names.
fn webhooks(configurations: &Objects) -> Vec<Webhook> {
    let hooks = configurations
        .values()
        .flat_map(|configuration| list(&configuration.value()["webhooks"]));
    hooks.map(Webhook::read).collect()
}

impl Registrar {
    /// Notes that somebody was registered, or is no longer. Called while the state is locked.
    pub(crate) fn outdate(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// The registry; none if there is nobody in it. `sources` is called only where it is out of date.
    pub(crate) fn current(&self, sources: impl FnOnce() -> Sources) -> Option<Arc<Registry>> {
        // The count is read before the sources: a change in between makes the registry look older than it is.
        let changes = self.changes.load(Ordering::Acquire);
        if changes == 0 {
            return None;
        }
        let known = {
            let known = self.known.read();
            (known.0 == changes).then(|| known.1.clone())
        };
        let registry = known.unwrap_or_else(|| {
            let registry = Arc::new(Registry::new(&sources()));
            let mut known = self.known.write();
            if known.0 < changes {
                *known = (changes, registry.clone());
            }
            registry
        });
        Some(registry).filter(|registry| !registry.is_empty())
    }
}
