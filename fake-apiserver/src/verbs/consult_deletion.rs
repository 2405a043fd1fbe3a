//! Calls of validating admission policies and webhooks before deletions.
//!
//! Owns how many objects of a collection may be deleted. The calls are in `consult`.

use super::consult::{approved, is_concerned, subject, waiting};
use super::convert::judged;
use super::policies;
use crate::admission::{Consultation, Operation, Question, Stage};
use crate::kinds::{Kind, Part};
use crate::machinery::metadata;
use crate::machinery::status::Status;
use crate::object::Object;
use crate::store::Txn;
use std::sync::Arc;

/// Runs admission on objects to delete, in order. Returns how many are allowed, and the error of the first denied one.
pub(super) fn before_deletion(
    txn: &mut Txn<'_>,
    kind: &Kind,
    objects: &[Arc<Object>],
) -> Result<(usize, Option<Status>), Status> {
    let all = (objects.len(), None);
    if txn.consultation.is_none() || kind.registers {
        return Ok(all);
    }
    let objects = judged_all(txn, kind, objects)?;
    let Some(consultation) = txn.consultation.as_ref() else {
        return Ok(all);
    };
    let (mut unanswered, mut warnings, mut refused) = (Vec::new(), Vec::new(), None);
    for (count, object) in objects.iter().enumerate() {
        let question = deletion(txn, kind, object);
        let (judged, told) = policies::judged(txn, &question);
        warnings.extend(told);
        if let Err(refusal) = judged {
            refused = Some((count, Some(refusal)));
            break;
        }
        match consultation.answer(&question) {
            Some(verdict) => {
                warnings.extend(verdict.warnings.iter().cloned());
                if let Err(refusal) = &verdict.outcome {
                    refused = Some((count, Some(refusal.clone())));
                    break;
                }
            }
            None if is_concerned(txn, &question) => unanswered.push(question),
            None => {}
        }
    }
    if unanswered.is_empty() {
        txn.warnings.extend(warnings);
        return Ok(refused.unwrap_or(all));
    }
    if let Some(consultation) = txn.consultation.as_mut() {
        consultation.asked = unanswered;
    }
    Err(waiting())
}

/// Runs admission on the deletion of one object.
pub(super) fn may_go(txn: &mut Txn<'_>, kind: &Kind, object: &Arc<Object>) -> Result<(), Status> {
    if txn.consultation.is_none() || kind.registers {
        return Ok(());
    }
    if !concerns_deletion(txn, kind, object) {
        return Ok(());
    }
    let object = judged(txn, kind, object)?;
    let question = deletion(txn, kind, &object);
    approved(txn, question)
}

/// Objects in the version in which writes are validated. Requests all missing webhook conversions together.
fn judged_all(txn: &mut Txn<'_>, kind: &Kind, objects: &[Arc<Object>]) -> Result<Vec<Arc<Object>>, Status> {
    if !objects
        .first()
        .is_some_and(|object| concerns_deletion(txn, kind, object))
    {
        return Ok(objects.to_vec());
    }
    let all: Vec<_> = objects.iter().map(|object| judged(txn, kind, object)).collect();
    all.into_iter().collect()
}

fn concerns_deletion(txn: &Txn<'_>, kind: &Kind, object: &Arc<Object>) -> bool {
    let has_policies = |consultation: &Consultation| !consultation.registry.validating_policies.is_empty();
    txn.consultation.as_deref().is_some_and(has_policies) || is_concerned(txn, &deletion(txn, kind, object))
}

fn deletion(txn: &Txn<'_>, kind: &Kind, object: &Arc<Object>) -> Question {
    let text = |field: &str| metadata::text(object.value(), field);
    Question {
        stage: Stage::Delete,
        operation: Operation::Delete,
        subject: subject(kind, Part::Main, Some(text("namespace")), text("name").to_owned()),
        dry_run: txn.dry_run,
        object: None,
        old: Some(object.clone()),
    }
}
