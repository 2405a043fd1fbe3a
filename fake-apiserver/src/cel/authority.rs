//! Decisions of RBAC that expressions use.
//!
//! Functions outlive the request that they are called for, so a check is only noted during evaluation. The decision is made between
//! two evaluations of the expression, and the second one finds it.

use kube_cel::cel::objects::Opaque;
use parking_lot::Mutex;
use std::collections::HashMap;

/// Decides what a user may do.
pub(crate) trait Authority {
    /// Decides about one action: whether it is allowed, and why.
    fn decide(&self, check: &Check) -> (bool, String);
}

/// An action, as far as the calls on `authorizer` have named it yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Check {
    /// Namespace and name of the service account that acts instead of the user of the request.
    pub(crate) account: Option<(String, String)>,
    pub(crate) path: Option<String>,
    pub(crate) group: Option<String>,
    pub(crate) resource: String,
    pub(crate) subresource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) verb: String,
}

/// The decisions of one evaluation; `None` for those that are to be made before the next.
#[derive(Debug, Default)]
pub(super) struct Decisions(Mutex<HashMap<Check, Option<Decision>>>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) allowed: bool,
    pub(super) reason: String,
}

impl Opaque for Check {
    fn runtime_type_name(&self) -> &str {
        "kubernetes.authorization.Authorizer"
    }
}

impl Opaque for Decision {
    fn runtime_type_name(&self) -> &str {
        "kubernetes.authorization.Decision"
    }
}

impl Decisions {
    /// Makes the decisions that are missing; returns whether there were any.
    pub(super) fn decide(&self, authority: Option<&dyn Authority>) -> bool {
        let mut any = false;
        for (check, decision) in self.0.lock().iter_mut().filter(|(_, known)| known.is_none()) {
            any = true;
            let (allowed, reason) = match authority {
                Some(authority) => authority.decide(check),
                None => (false, String::new()),
            };
            *decision = Some(Decision { allowed, reason });
        }
        any
    }

    /// The decision about an action; none before it is made.
    pub(super) fn find(&self, check: Check) -> Option<Decision> {
        self.0.lock().entry(check).or_default().clone()
    }
}
