//! The interface of admission webhooks, which another crate implements.
//!
//! Owns when webhooks are called and which context they receive. Does not know AdmissionReviews.

use super::request::{AdmissionRequest, Requester};
use super::state_reader::StateReader;
use crate::kinds::{Kind, Part};
use crate::machinery::status::Status;
use crate::outbound::WebhookClient;
use futures::future::BoxFuture;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Debug;

/// The configured admission webhooks, and how to call them.
pub trait Webhooks: Debug + Send + Sync {
    /// Whether no webhooks are configured.
    fn is_empty(&self) -> bool;

    /// Whether any webhook may match requests for this resource and subresource.
    fn may_match_resource(&self, kind: &Kind, part: Part) -> bool;

    /// Whether any webhook of the request's phase may match the request, regardless of labels. Called with the store locked.
    fn may_match(&self, request: &AdmissionRequest) -> bool;

    /// Calls the webhooks of the request's phase. The store is not locked.
    fn dispatch<'a>(&'a self, context: WebhookContext<'a>) -> BoxFuture<'a, AdmissionResponse>;
}

/// The request for which webhooks are called, and the interfaces that the calls use.
#[derive(Clone, Copy)]
pub struct WebhookContext<'a> {
    /// The request to admit, with the new and the old object.
    pub request: &'a AdmissionRequest,
    /// The user of the request, and its options such as `CreateOptions`.
    pub requester: &'a Requester,
    /// Reads objects, served resources and permissions.
    pub state: &'a (dyn StateReader + Sync),
    /// Converts the objects of the request between versions.
    pub converter: &'a dyn ObjectConverter,
    /// Sends HTTPS requests to webhooks.
    pub client: &'a dyn WebhookClient,
}

/// Conversion of the objects of an admission request between API versions, if necessary by conversion webhooks.
pub trait ObjectConverter: Sync {
    /// Converts an object to the version of `kind`, in which webhooks receive it.
    fn convert<'a>(&'a self, kind: &'a Kind, object: &'a Value) -> BoxFuture<'a, Result<Value, String>>;

    /// Converts `changed`, which a webhook returned in the version of `kind`, to the version in which writes are validated.
    fn convert_back<'a>(
        &'a self,
        kind: &'a Kind,
        before: &'a Value,
        changed: Value,
    ) -> BoxFuture<'a, Result<Value, String>>;
}

/// The combined response of all webhooks of a phase.
#[derive(Clone, Debug)]
pub struct AdmissionResponse {
    /// The object after all webhooks, or the error of the webhook that denied the request.
    pub outcome: Result<Option<Value>, Status>,
    /// Texts for the `Warning` headers of the client's response.
    pub warnings: Vec<String>,
    /// Whether a webhook changed the object. If so, built-in admission runs again on the changed object.
    pub changed: bool,
    /// Indexes of the webhooks to reinvoke because a later webhook changed the object.
    pub reinvoke: BTreeSet<usize>,
    /// Indexes of the webhooks to reinvoke if the server or a policy changes the object after all webhooks have run.
    pub reinvoke_if_changed: BTreeSet<usize>,
}

impl AdmissionResponse {
    /// The response that admits the request without changes.
    pub fn allowed() -> Self {
        Self {
            outcome: Ok(None),
            warnings: Vec::new(),
            changed: false,
            reinvoke: BTreeSet::new(),
            reinvoke_if_changed: BTreeSet::new(),
        }
    }
}
