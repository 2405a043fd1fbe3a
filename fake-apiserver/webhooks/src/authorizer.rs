//! The `authorizer` variable of CEL expressions.

use fake_apiserver::User;
use fake_apiserver::extension::{
    AdmissionTarget, AuthorizationAttributes, ResourceOrPath, StateReader, service_account_user,
};
use fake_apiserver_cel::{Authorizer, Check};

/// Authorizes the user of the request, or the service account that the expression names.
pub struct RequestAuthorizer<'a> {
    /// Decides the authorization checks of CEL expressions by the roles in the store.
    pub state: &'a dyn StateReader,
    /// The user of the admission request, unless the expression names a service account.
    pub user: &'a User,
}

impl Authorizer for RequestAuthorizer<'_> {
    fn authorize(&self, check: &Check) -> (bool, String) {
        let account = check.account.as_ref();
        let account = account.map(|(namespace, name)| service_account_user(namespace, name));
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
        let attributes = AuthorizationAttributes {
            verb: &check.verb,
            target,
        };
        let decision = self
            .state
            .authorize(account.as_deref().unwrap_or(self.user), attributes);
        (decision.allowed, decision.reason)
    }
}

/// The authorization check of `authorizer.requestResource`.
pub fn request_resource(target: &AdmissionTarget) -> Check {
    Check {
        group: Some(target.kind.group.to_owned()),
        resource: target.kind.plural.to_owned(),
        subresource: target.part.as_str().unwrap_or_default().to_owned(),
        namespace: target.namespace.clone(),
        name: target.name.clone(),
        ..Check::default()
    }
}
