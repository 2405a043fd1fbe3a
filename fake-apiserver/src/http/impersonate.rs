//! Impersonation: requests on behalf of another user (`kubectl --as`).
//!
//! Owns the `Impersonate-` headers and the permissions that they require. Does not decide on permissions.

use crate::access::auth::{ANONYMOUS, UNAUTHENTICATED, User, account_groups, account_of};
use crate::access::rbac::{Attributes, ResourceOrPath};
use crate::machinery::status::Status;
use crate::store::Store;
use hyper::HeaderMap;
use percent_encoding::percent_decode_str;
use std::sync::Arc;

const USER: &str = "impersonate-user";
const GROUP: &str = "impersonate-group";
const UID: &str = "impersonate-uid";
const EXTRA: &str = "impersonate-extra-";

const AUTHENTICATION: &str = "authentication.k8s.io";

/// The effective user: the user in the impersonation headers, or without these headers the authenticated user.
pub(super) fn resolve(store: &Store, headers: &HeaderMap, user: Arc<User>) -> Result<Arc<User>, Status> {
    if !headers
        .keys()
        .any(|name| name.as_str().starts_with("impersonate-"))
    {
        return Ok(user);
    }
    let wanted = impersonated_user(headers);
    if wanted.name.is_empty() {
        let is_nobody = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        return match is_nobody {
            true => Ok(user),
            false => Err(Status::bad_request(
                "requested impersonation of groups, a uid or extra without impersonating a user name",
            )),
        };
    }
    check(store, &user, &wanted)?;
    Ok(add_implied_groups(wanted))
}

fn impersonated_user(headers: &HeaderMap) -> User {
    let all = |name: &str| -> Vec<String> {
        let values = headers.get_all(name).iter();
        values
            .filter_map(|value| value.to_str().ok())
            .map(str::to_owned)
            .collect()
    };
    let name = all(USER).into_iter().next().unwrap_or_default();
    let mut user = User {
        uid: all(UID).into_iter().next().unwrap_or_default(),
        groups: all(GROUP),
        ..User::new(&name)
    };
    for header in headers.keys() {
        if let Some(key) = header.as_str().strip_prefix(EXTRA) {
            let key = percent_decode_str(key).decode_utf8_lossy().into_owned();
            user.extra.insert(key, all(header.as_str()));
        }
    }
    user
}

/// Checks that the user may impersonate each part of the wanted identity: user name, groups, uid and extra.
fn check(store: &Store, user: &User, wanted: &User) -> Result<(), Status> {
    let need = |group, resource, subresource, namespace, name| {
        let target = ResourceOrPath::Resource {
            group,
            resource,
            subresource,
            namespace,
            name,
        };
        let attributes = Attributes {
            verb: "impersonate",
            target,
        };
        store.authorize(user, attributes).require(&attributes, user)
    };
    match account_of(&wanted.name) {
        Some((namespace, name)) => need("", "serviceaccounts", "", namespace, name)?,
        None => need("", "users", "", "", &wanted.name)?,
    }
    for group in &wanted.groups {
        need("", "groups", "", "", group)?;
    }
    if !wanted.uid.is_empty() {
        need(AUTHENTICATION, "uids", "", "", &wanted.uid)?;
    }
    for (key, values) in &wanted.extra {
        for value in values {
            need(AUTHENTICATION, "userextras", key, "", value)?;
        }
    }
    Ok(())
}

/// Adds the groups that the user name implies: of a service account, the anonymous user, or all authenticated users.
fn add_implied_groups(mut user: User) -> Arc<User> {
    if let Some((namespace, _)) = account_of(&user.name)
        && user.groups.is_empty()
    {
        user.groups = account_groups(namespace);
    }
    if &*user.name == ANONYMOUS && !user.is_in(UNAUTHENTICATED) {
        return Arc::new(user.in_group(UNAUTHENTICATED));
    }
    user.authenticated()
}
