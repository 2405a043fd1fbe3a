//! The head of a request: user, verb, resource, and the accepted media type of the response.

use super::authorize::{self, OwnedAttributes};
use super::endpoint::ConnectionContext;
use super::negotiate::{Accept, ResponseForm};
use super::route::Route;
use super::service::Service;
use super::{body_reader, gzip, respond};
use crate::access::auth::User;
use crate::execute;
use crate::machinery::status::Status;
use crate::request::{ResourcePath, Verb};
use crate::verbs::call::Params;
use hyper::Request;
use hyper::body::Incoming;
use std::sync::Arc;
use tokio::time::Instant;

pub(super) struct RequestHead {
    pub(super) user: Arc<User>,
    pub(super) verb: Verb,
    pub(super) resource: Option<ResourcePath>,
    /// The path of a discovery request for a group or version; `None` for other paths.
    pub(super) group_path: Option<String>,
    pub(super) accept: Accept,
    /// The 406 to send if a successful response is not available in the accepted form, for example list metadata of a single object.
    pub(super) metadata_mismatch: Option<Status>,
    pub(super) pretty: bool,
    pub(super) accepts_gzip: bool,
    pub(super) began: Instant,
}

impl RequestHead {
    /// Reads user, verb, resource and accepted response form. Returns an error if the request can be rejected without its body.
    pub(super) fn read(
        endpoint: &ConnectionContext,
        request: &Request<Incoming>,
        route: &Route,
        params: &Params,
    ) -> (Self, Result<(), Status>) {
        let authenticated = authorize::authenticate(endpoint, request);
        let user = authenticated
            .clone()
            .and_then(|user| authorize::effective_user(endpoint, request, user));
        let anonymous = || endpoint.service.store.authenticator().anonymous().clone();
        let accept = Accept::parse(request.headers(), route.available_forms());
        let metadata_mismatch = accept
            .as_ref()
            .ok()
            .and_then(|form| form.form_mismatch(request.headers(), route.available_forms()));
        let attributes = OwnedAttributes::of(route, request, params);
        let head = Self {
            metadata_mismatch,
            user: user.clone().or(authenticated).unwrap_or_else(|_| anonymous()),
            verb: route.verb(),
            resource: route.resource(),
            group_path: group_path(request.uri().path()),
            accept: accept.as_ref().map_or_else(|(form, _)| *form, |form| *form),
            pretty: respond::wants_pretty(params, request.headers()),
            accepts_gzip: gzip::is_accepted(request.headers()),
            began: Instant::now(),
        };
        // A request that is rejected for a reason other than its `Accept` header gets that error instead of a 406, in an available form.
        let acceptable = match accept {
            Err((_, status))
                if !route.is_rejected_for_all_users(&body_reader::content_type(request.headers())) =>
            {
                Err(status)
            }
            _ => Ok(()),
        };
        let authorized = user.and_then(|user| attributes.authorize(endpoint, &user));
        (head, authorized.and(acceptable))
    }

    pub(super) fn form(&self, include_object: String) -> ResponseForm {
        ResponseForm {
            accept: self.accept,
            include_object,
            pretty: self.pretty,
        }
    }

    /// Reports to the observer a response that was produced without a store transaction.
    pub(super) fn report(&self, service: &Service, code: u16, failure: Option<&Status>) {
        let resource = self.resource.clone();
        let unknown = self
            .group_path
            .as_ref()
            .filter(|_| resource.is_none() && code == 404);
        // Adds the path to the reported message only: the message in the response contains no path, as in kube-apiserver.
        let named = unknown.zip(failure).map(|(path, failure)| {
            let message = format!("{}: {path}", failure.message);
            Status {
                message,
                ..failure.clone()
            }
        });
        let failure = named.as_ref().or(failure);
        execute::report(
            &service.store,
            &self.user.name,
            self.verb,
            resource,
            (code, failure),
            self.began,
        );
    }
}

/// The path of a discovery request for a group or version, to be reported to the observer; `None` for other paths.
fn group_path(path: &str) -> Option<String> {
    /// Maximum length of a reported path; existing groups and versions have shorter names.
    const LONGEST: usize = 128;
    let is_group = path.starts_with("/apis/")
        && path.len() <= LONGEST
        && path.trim_end_matches('/').split('/').count() <= 4;
    is_group.then(|| path.to_owned())
}
