//! What expressions of admission can ask about permissions: `authorizer` and what follows from it.
//!
//! Owns what is known on the way from `authorizer` to a decision. Does not know who decides.

use std::rc::Rc;

/// Decides what a user may do.
pub(crate) trait Authority {
    /// Decides about one action: whether it is allowed, and why.
    fn decide(&self, check: &Check) -> (bool, String);
}

/// An action that is asked about, as far as it is known yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Check {
    /// The service account that would act, instead of the user of the request.
    pub(crate) account: Option<(String, String)>,
    pub(crate) path: Option<String>,
    pub(crate) group: Option<String>,
    pub(crate) resource: String,
    pub(crate) subresource: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) verb: String,
}

/// A value on the way to a decision.
#[derive(Clone)]
pub(super) struct Permission<'a> {
    pub(super) authority: &'a dyn Authority,
    /// What the request is about.
    request: Rc<Check>,
    pub(super) check: Check,
    pub(super) decision: Option<(bool, Rc<str>)>,
}

impl<'a> Permission<'a> {
    /// `authorizer`, for a request that is about this.
    pub(super) fn new(authority: &'a dyn Authority, request: Check) -> Self {
        Self {
            authority,
            request: Rc::new(request),
            check: Check::default(),
            decision: None,
        }
    }

    /// `authorizer.requestResource`.
    pub(super) fn of_request(&self) -> Self {
        Self {
            check: Check::clone(&self.request),
            ..self.clone()
        }
    }
}

impl std::fmt::Debug for Permission<'_> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_tuple("Permission").field(&self.check).finish()
    }
}
