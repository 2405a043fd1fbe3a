//! The `authorizer` variable of CEL expressions.

use super::question::Subject;
use super::state_reader::StateReader;
use crate::access::auth::{User, account_groups, account_user};
use crate::access::rbac::{Attributes, ResourceOrPath};
use crate::cel::{Authority, Check};

/// Authorizes the user of the request, or the service account in an expression.
pub struct Asker<'a> {
    /// The state of the server.
    pub around: &'a dyn StateReader,
    /// The user of the request.
    pub user: &'a User,
}

impl Authority for Asker<'_> {
    fn decide(&self, check: &Check) -> (bool, String) {
        let account = check.account.as_ref().map(|(namespace, name)| {
            let account = User {
                groups: account_groups(namespace),
                ..User::new(&account_user(namespace, name))
            };
            account.authenticated()
        });
        let target = match &check.path {
            Some(path) => ResourceOrPath::Path(path),
            None => ResourceOrPath::Resource {
                group: check.group.as_deref().unwrap_or_default(),
                resource: &check.resource,
                subresource: &check.subresource,
                namespace: &check.namespace,
                name: &check.name,
            },
        };
        let attributes = Attributes {
            verb: &check.verb,
            target,
        };
        let decision = self
            .around
            .judge(account.as_deref().unwrap_or(self.user), attributes);
        (decision.allowed, decision.reason)
    }
}

impl Subject {
    /// The check of `authorizer.requestResource`.
    pub fn check(&self) -> Check {
        Check {
            group: Some(self.kind.group.to_owned()),
            resource: self.kind.plural.to_owned(),
            subresource: self.part.as_str().unwrap_or_default().to_owned(),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            ..Check::default()
        }
    }
}
