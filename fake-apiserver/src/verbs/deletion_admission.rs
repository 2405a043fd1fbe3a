//! Calls validating admission policies and webhooks before deletions.
//!
//! A deletecollection deletes the objects before the first denied one. Individual calls are in `dynamic_admission`.

use super::convert::to_validated_version;
use super::dynamic_admission::{admission_target, matches_webhook, pending_error, validate_request};
use super::policies;
use crate::admission::{AdmissionRequest, AdmissionSession, Operation, Phase};
use crate::kinds::{Kind, Part};
use crate::machinery::metadata;
use crate::machinery::status::Status;
use crate::object::Object;
use crate::store::Txn;
use std::sync::Arc;

/// Runs admission on objects to delete, in order. Returns the number of objects before the first denied one, and the error of the denial.
pub(super) fn admit_deletions(
    txn: &mut Txn<'_>,
    kind: &Kind,
    objects: &[Arc<Object>],
) -> Result<(usize, Option<Status>), Status> {
    let all = (objects.len(), None);
    if txn.admission.is_none() || kind.configures_admission {
        return Ok(all);
    }
    let objects = all_to_validated_version(txn, kind, objects)?;
    let Some(session) = txn.admission.as_ref() else {
        return Ok(all);
    };
    let (mut pending, mut warnings, mut refused) = (Vec::new(), Vec::new(), None);
    for (count, object) in objects.iter().enumerate() {
        let request = deletion_request(txn, kind, object);
        let (outcome, policy_warnings) = policies::validate(txn, &request);
        warnings.extend(policy_warnings);
        if let Err(refusal) = outcome {
            refused = Some((count, Some(refusal)));
            break;
        }
        match session.response(&request) {
            Some(response) => {
                warnings.extend(response.warnings.iter().cloned());
                if let Err(refusal) = &response.outcome {
                    refused = Some((count, Some(refusal.clone())));
                    break;
                }
            }
            None if matches_webhook(txn, &request) => pending.push(request),
            None => {}
        }
    }
    if pending.is_empty() {
        txn.warnings.extend(warnings);
        return Ok(refused.unwrap_or(all));
    }
    if let Some(session) = txn.admission.as_mut() {
        session.pending = pending;
    }
    Err(pending_error())
}

pub(super) fn admit_deletion(txn: &mut Txn<'_>, kind: &Kind, object: &Arc<Object>) -> Result<(), Status> {
    if txn.admission.is_none() || kind.configures_admission {
        return Ok(());
    }
    if !deletion_is_matched(txn, kind, object) {
        return Ok(());
    }
    let object = to_validated_version(txn, kind, object)?;
    let request = deletion_request(txn, kind, &object);
    validate_request(txn, request)
}

/// Converts objects to the version in which writes are validated. Enqueues all missing webhook conversions before it returns an error.
fn all_to_validated_version(
    txn: &mut Txn<'_>,
    kind: &Kind,
    objects: &[Arc<Object>],
) -> Result<Vec<Arc<Object>>, Status> {
    if !objects
        .first()
        .is_some_and(|object| deletion_is_matched(txn, kind, object))
    {
        return Ok(objects.to_vec());
    }
    let all: Vec<_> = objects
        .iter()
        .map(|object| to_validated_version(txn, kind, object))
        .collect();
    all.into_iter().collect()
}

fn deletion_is_matched(txn: &Txn<'_>, kind: &Kind, object: &Arc<Object>) -> bool {
    let has_policies = |session: &AdmissionSession| {
        let policies = session.registry.policies.as_ref();
        policies.is_some_and(|policies| policies.has_validating())
    };
    txn.admission.as_deref().is_some_and(has_policies)
        || matches_webhook(txn, &deletion_request(txn, kind, object))
}

fn deletion_request(txn: &Txn<'_>, kind: &Kind, object: &Arc<Object>) -> AdmissionRequest {
    let text = |field: &str| metadata::text(object.value(), field);
    AdmissionRequest {
        phase: Phase::Delete,
        operation: Operation::Delete,
        target: admission_target(kind, Part::Main, Some(text("namespace")), text("name").to_owned()),
        dry_run: txn.dry_run,
        object: None,
        old: Some(object.clone()),
    }
}
