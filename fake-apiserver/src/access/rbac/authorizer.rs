//! The authorizer of a server: the compiled RBAC policy, and the permissions that need no RBAC rule.
//!
//! Owns the compiled policy and its invalidation. Does not read the store: callers pass the objects.

use super::rule::PolicyRule;
use super::{Attributes, Decision, Policy, ResourceOrPath, Sources};
use crate::access::auth::{MASTERS, UNAUTHENTICATED, User};
use crate::config::options::Authorization;
use parking_lot::RwLock;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Non-resource paths that anonymous users can read, as granted by the ClusterRole `system:public-info-viewer`.
const PUBLIC: [&str; 5] = ["/healthz", "/livez", "/readyz", "/version", "/version/"];

/// All users may access this path and the paths below it, in any authorization mode.
const WELL_KNOWN: &str = "/.well-known";

pub(crate) struct Authorizer {
    mode: Authorization,
    /// Number of changes of roles and bindings since the start of the server.
    changes: AtomicU64,
    /// The compiled policy, and the value of `changes` when it was compiled.
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

    /// Invalidates the policy after a change of roles or bindings. The caller holds the store lock.
    pub(crate) fn invalidate(&self) {
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// Authorizes a request. Calls `sources` only to recompile an outdated policy.
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
            Authorization::Rbac => self.current_policy(sources).decide(user, attributes),
        }
    }

    /// The RBAC rules that apply to a user in a namespace, and errors for missing roles.
    pub(crate) fn rules_for(
        &self,
        user: &User,
        namespace: &str,
        sources: impl FnOnce() -> Sources,
    ) -> (Vec<PolicyRule>, Option<String>) {
        match self.mode {
            Authorization::AlwaysAllow => (PolicyRule::allow_all().to_vec(), None),
            Authorization::Rbac => {
                let policy = self.current_policy(sources);
                let (rules, failure) = policy.rules_for(user, namespace);
                (rules.into_iter().cloned().collect(), failure)
            }
        }
    }

    fn current_policy(&self, sources: impl FnOnce() -> Sources) -> Arc<Policy> {
        // The change counter is read before the roles and bindings, so that a concurrent change makes the new policy outdated.
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

/// Whether a path is below `/.well-known` (RFC 8615).
fn is_well_known(attributes: Attributes<'_>) -> bool {
    let ResourceOrPath::Path(path) = attributes.target else {
        return false;
    };
    let below = path.strip_prefix(WELL_KNOWN);
    below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

fn is_public(attributes: Attributes<'_>) -> bool {
    matches!(attributes.target, ResourceOrPath::Path(path) if attributes.verb == "get" && PUBLIC.contains(&path))
}
