//! Runs admission policies for verbs, with the store locked: policies call no network service.

use super::convert::{for_webhook, from_webhook};
use crate::admission::{AdmissionRequest, Mutated, PolicyContext, VersionConversion};
use crate::kinds::Kind;
use crate::machinery::status::Status;
use crate::store::Txn;
use serde_json::Value;
use std::collections::BTreeSet;

/// Conversion of the objects in an admission request to the versions in which policies match.
struct RequestConversion<'a>(&'a AdmissionRequest);

impl VersionConversion for RequestConversion<'_> {
    fn convert(&self, kind: &Kind, object: &Value) -> Value {
        for_webhook(kind, self.0.target.has_resource_kind(), object)
    }

    fn convert_back(&self, kind: &Kind, before: &Value, changed: Value) -> Result<Value, String> {
        match self.0.target.has_resource_kind() {
            true => from_webhook(kind, &self.0.target.kind, before, changed),
            false if changed.is_object() => Ok(changed),
            false => Err("the policy replaced the API object by a value that is no JSON object".to_owned()),
        }
    }
}

/// Runs mutating policies on the object of a request. `None` if no policies are configured.
pub(super) fn mutate(
    txn: &Txn<'_>,
    request: &AdmissionRequest,
    only: Option<&BTreeSet<String>>,
) -> Result<Option<Mutated>, Status> {
    let Some(session) = &txn.admission else {
        return Ok(None);
    };
    let (Some(policies), Some(object)) = (&session.registry.policies, &request.object) else {
        return Ok(None);
    };
    let context = PolicyContext {
        request,
        requester: &session.requester,
        state: txn,
        conversion: &RequestConversion(request),
    };
    policies.mutate(&context, object, only).transpose()
}

/// Runs validating policies on a request; returns warnings.
pub(super) fn validate(txn: &Txn<'_>, request: &AdmissionRequest) -> (Result<(), Status>, Vec<String>) {
    let nothing = (Ok(()), Vec::new());
    let Some(session) = &txn.admission else {
        return nothing;
    };
    let Some(policies) = &session.registry.policies else {
        return nothing;
    };
    let context = PolicyContext {
        request,
        requester: &session.requester,
        state: txn,
        conversion: &RequestConversion(request),
    };
    policies.validate(&context)
}
