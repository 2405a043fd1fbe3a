//! RBAC decisions in CEL expressions.
//!
//! CEL functions must not borrow from the request, so an evaluation only records the authorization checks. After the evaluation, the
//! checks are decided, and the expression is evaluated again with the decisions.

use kube_cel::cel::objects::Opaque;
use parking_lot::Mutex;
use std::collections::HashMap;

/// Decides the authorization checks of an expression.
pub trait Authorizer {
    /// Returns whether the check is allowed, and the reason.
    fn authorize(&self, check: &Check) -> (bool, String);
}

/// The attributes of an authorization check, collected by calls on `authorizer`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Check {
    /// Namespace and name of the service account to check instead of the request's user.
    pub account: Option<(String, String)>,
    /// The non-resource path in `authorizer.path(…)`.
    pub path: Option<String>,
    /// The API group in `authorizer.group(…)`.
    pub group: Option<String>,
    /// Plural resource name of the checked request.
    pub resource: String,
    /// The subresource; empty for the main resource.
    pub subresource: String,
    /// Namespace of the checked request; empty for all namespaces.
    pub namespace: String,
    /// Object name of the checked request; empty for all names.
    pub name: String,
    /// Verb of the checked request, given to the method `check`.
    pub verb: String,
}

/// The authorization checks of an evaluation, each with its decision; `None` until decided.
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
    /// Decides the authorization checks that the evaluation recorded; returns whether there were any. If so, the expression must be
    /// evaluated again.
    pub(super) fn decide(&self, authorizer: Option<&dyn Authorizer>) -> bool {
        let mut any = false;
        for (check, decision) in self.0.lock().iter_mut().filter(|(_, known)| known.is_none()) {
            any = true;
            let (allowed, reason) = match authorizer {
                Some(authorizer) => authorizer.authorize(check),
                None => (false, String::new()),
            };
            *decision = Some(Decision { allowed, reason });
        }
        any
    }

    /// The decision of an authorization check; None if undecided, and then the check is recorded.
    pub(super) fn find(&self, check: Check) -> Option<Decision> {
        self.0.lock().entry(check).or_default().clone()
    }
}
