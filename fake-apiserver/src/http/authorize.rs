//! Authentication and authorization of a request.
//!
//! Owns the mapping from a route to authorization attributes. Does not know tokens or roles.

use super::endpoint::ConnectionContext;
use super::impersonate;
use super::route::{Route, fallback_verb};
use crate::access::auth::User;
use crate::access::rbac::{Attributes, ResourceOrPath};
use crate::machinery::status::Status;
use crate::request::{ResourcePath, Verb};
use crate::verbs::call::Params;
use hyper::body::Incoming;
use hyper::header::AUTHORIZATION;
use hyper::{Method, Request};
use std::sync::Arc;

/// The user of the bearer token, else of the client certificate, else the default user of the listener.
pub(super) fn authenticate(
    endpoint: &ConnectionContext,
    request: &Request<Incoming>,
) -> Result<Arc<User>, Status> {
    let store = &endpoint.service.store;
    let header = request
        .headers()
        .get(AUTHORIZATION)
        .and_then(|header| header.to_str().ok());
    let known = header.and_then(|header| store.identify(header));
    let default_user = || {
        endpoint
            .default_user
            .clone()
            .unwrap_or_else(|| store.authenticator().anonymous().clone())
    };
    match (known, &endpoint.certificate_user) {
        (Some(known), _) => known,
        (None, Some(user)) => user.clone().ok_or_else(Status::unauthorized),
        (None, None) => Ok(default_user()),
    }
}

pub(super) fn effective_user(
    endpoint: &ConnectionContext,
    request: &Request<Incoming>,
    authenticated: Arc<User>,
) -> Result<Arc<User>, Status> {
    impersonate::resolve(&endpoint.service.store, request.headers(), authenticated)
}

pub(super) struct OwnedAttributes {
    verb: &'static str,
    resource: Option<ResourcePath>,
    path: String,
}

impl OwnedAttributes {
    pub(super) fn of(route: &Route, request: &Request<Incoming>, params: &Params) -> Self {
        let known = route.resource();
        let is_known = known.is_some();
        let mut resource = known.or_else(|| parse_unknown_resource(request.uri().path()));
        let verb = match &resource {
            Some(_) if is_known => route.verb(),
            Some(path) => resource_verb(request.method(), path),
            None => Verb::Get,
        };
        if let Some(path) = &mut resource {
            set_namespace_and_name(path, verb, params);
        }
        let verb = match resource {
            Some(_) => verb.as_str(),
            None => method_verb(request.method()),
        };
        Self {
            verb,
            resource,
            path: request.uri().path().to_owned(),
        }
    }

    pub(super) fn attributes(&self) -> Attributes<'_> {
        let target = match &self.resource {
            None => ResourceOrPath::Path(&self.path),
            Some(path) => ResourceOrPath::Resource {
                group: &path.group,
                resource: &path.resource,
                subresource: path.subresource.as_deref().unwrap_or_default(),
                namespace: path.namespace.as_deref().unwrap_or_default(),
                name: path.name.as_deref().unwrap_or_default(),
            },
        };
        Attributes {
            verb: self.verb,
            target,
        }
    }

    /// Authorizes the request and records the permission in the usage log. Returns an error if the request is denied.
    pub(super) fn authorize(&self, endpoint: &ConnectionContext, user: &User) -> Result<(), Status> {
        let attributes = self.attributes();
        let decision = endpoint.service.store.authorize(user, attributes);
        let usage = &endpoint.service.usage;
        usage.record(&user.name, attributes, decision.allowed);
        decision.require(&attributes, user)
    }
}

/// Sets the namespace of Namespace objects, and the name from a `metadata.name` field selector, as kube-apiserver's `RequestInfo` does.
fn set_namespace_and_name(path: &mut ResourcePath, verb: Verb, params: &Params) {
    // The namespace of a request for a Namespace object is the name of that object.
    if path.group.is_empty() && path.resource == "namespaces" && path.name.is_some() {
        path.namespace.clone_from(&path.name);
    }
    // A list or watch with the field selector `metadata.name=NAME` counts as a request for that object.
    if path.name.is_none() && matches!(verb, Verb::List | Verb::Watch) {
        let selector = params.get("fieldSelector");
        let mut terms = selector.split(',');
        let exact = terms.find_map(|term| {
            let value = term.strip_prefix("metadata.name=")?;
            Some(value.strip_prefix('=').unwrap_or(value))
        });
        path.name = exact
            .filter(|name| !name.is_empty() && !name.contains('\\'))
            .map(str::to_owned);
    }
}

/// The resource in a path below `/api/VERSION` or `/apis/GROUP/VERSION`. The resource need not exist.
fn parse_unknown_resource(path: &str) -> Option<ResourcePath> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let (group, version, rest) = match parts.as_slice() {
        ["api", version, rest @ ..] => ("", version, rest),
        ["apis", group, version, rest @ ..] => (*group, version, rest),
        _ => return None,
    };
    let (namespace, rest) = match rest {
        ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (Some(*namespace), rest),
        rest => (None, rest),
    };
    Some(ResourcePath {
        group: group.to_owned(),
        version: (*version).to_owned(),
        resource: (*rest.first()?).to_owned(),
        subresource: rest.get(2).map(|part| (*part).to_owned()),
        namespace: namespace.map(str::to_owned),
        name: rest.get(1).map(|part| (*part).to_owned()),
    })
}

/// The verb that corresponds to a method on a path whose resource is unknown.
fn resource_verb(method: &Method, path: &ResourcePath) -> Verb {
    match fallback_verb(method) {
        Verb::Delete if path.name.is_none() => Verb::DeleteCollection,
        Verb::Get if path.name.is_none() => Verb::List,
        verb => verb,
    }
}

/// The verb of a non-resource request: the HTTP method in lower case.
fn method_verb(method: &Method) -> &'static str {
    match *method {
        Method::GET => "get",
        Method::HEAD => "head",
        Method::POST => "post",
        Method::PUT => "put",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        Method::OPTIONS => "options",
        _ => "connect",
    }
}
