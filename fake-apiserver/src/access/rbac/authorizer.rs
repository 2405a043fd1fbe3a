//! The authorizer of a server: which policy holds now, and what goes beyond it.
//!
//! Owns the compiled policy and knows when it is out of date. Does not read the store: it is handed the sources.

use super::rule::PolicyRule;
use super::{Attributes, Decision, Policy, ResourceOrPath, Sources};
use crate::access::auth::{MASTERS, UNAUTHENTICATED, User};
use crate::config::options::Authorization;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Paths that anonymous users may read, as `system:public-info-viewer` grants them.
const PUBLIC: [&str; 5] = ["/healthz", "/livez", "/readyz", "/version", "/version/"];

/// What anybody may read, whoever decides about all else.
const WELL_KNOWN: &str = "/.well-known";

/// Decides who may do what.
pub(crate) struct Authorizer {
    mode: Authorization,
    /// Counts the changes of roles and bindings.
    changes: AtomicU64,
    /// The policy, and how many changes it knows of.
    policy: RwLock<(u64, Arc<Policy>)>,
}

impl Authorizer {
    pub(crate) fn new(mode: Authorization) -> Self {
        Self {
            mode,
            changes: AtomicU64::new(0),
            policy: RwLock::default(),
        }
    }

    /// Notes that roles or bindings have changed. Called while the state is locked.
    pub(crate) fn outdate(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// Decides about one request; `sources` is called only when the policy is out of date.
    pub(crate) fn decide(
        &self,
        user: &User,
        attributes: Attributes<'_>,
        sources: impl FnOnce() -> Sources,
    ) -> Decision {
        let without_reason = |allowed| Decision {
            allowed,
            reason: String::new(),
        };
        if is_well_known(attributes) {
            return without_reason(true);
        }
        match self.mode {
            Authorization::AlwaysAllow => {
                without_reason(!user.is_in(UNAUTHENTICATED) || is_public(attributes))
            }
            Authorization::Rbac if user.is_in(MASTERS) => without_reason(true),
            Authorization::Rbac => self.current(sources).decide(user, attributes),
        }
    }

    /// What a user may do in a namespace, and what could not be resolved.
    pub(crate) fn rules_for(
        &self,
        user: &User,
        namespace: &str,
        sources: impl FnOnce() -> Sources,
    ) -> (Vec<PolicyRule>, Option<String>) {
        match self.mode {
            Authorization::AlwaysAllow => (PolicyRule::everything().to_vec(), None),
            Authorization::Rbac => {
                let policy = self.current(sources);
                let (rules, failure) = policy.rules_for(user, namespace);
                (rules.into_iter().cloned().collect(), failure)
            }
        }
    }

    fn current(&self, sources: impl FnOnce() -> Sources) -> Arc<Policy> {
        // The count is read before the sources: a change in between makes the policy look older than it is, never newer.
        let changes = self.changes.load(Ordering::Acquire);
        {
            let known = self.policy.read();
            if known.0 == changes {
                return known.1.clone();
            }
        }
        let policy = Arc::new(Policy::compile(&sources()));
        let mut known = self.policy.write();
        if known.0 < changes {
            *known = (changes, policy.clone());
        }
        policy
    }
}

/// Whether a path is one of those that hosts are known by (RFC 8615).
fn is_well_known(attributes: Attributes<'_>) -> bool {
    let ResourceOrPath::Path(path) = attributes.asked else {
        return false;
    };
    let below = path.strip_prefix(WELL_KNOWN);
    below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

fn is_public(attributes: Attributes<'_>) -> bool {
    matches!(attributes.asked, ResourceOrPath::Path(path) if attributes.verb == "get" && PUBLIC.contains(&path))
}
