//! Calls admission policies and webhooks: mutating ones before an object is prepared for storage, validating ones before it is written.
//! Deletions are in `deletion_admission`.
//!
//! Owns when admission runs and how its results are handled. A missing webhook response aborts the verb, which must not have changed
//! anything yet; the verb is retried with the response. The calls themselves are in `webhook`.

use super::call::Target;
use super::policies;
use crate::admission::{AdmissionRequest, AdmissionResponse, AdmissionTarget, Operation, Phase};
use crate::kinds::{Kind, NAMESPACE, Part, request_kind};
use crate::machinery::status::Status;
use crate::machinery::{json, metadata};
use crate::object::Object;
use crate::store::Txn;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A create or update for which admission is called: operation, target and stored object.
pub(super) struct WriteAdmission<'a> {
    pub(super) target: &'a Target,
    pub(super) operation: Operation,
    /// The stored object in the version in which writes are validated.
    pub(super) old: Option<&'a Arc<Object>>,
}

impl<'a> WriteAdmission<'a> {
    pub(super) fn create(target: &'a Target) -> Self {
        Self {
            target,
            operation: Operation::Create,
            old: None,
        }
    }

    pub(super) fn update(target: &'a Target, old: &'a Arc<Object>) -> Self {
        Self {
            target,
            operation: Operation::Update,
            old: Some(old),
        }
    }

    fn request(&self, txn: &Txn<'_>, phase: Phase, object: &Value) -> AdmissionRequest {
        let (kind, part) = (&self.target.kind, self.target.part);
        let mut object = object.clone();
        self.fill_in_type(&mut object);
        let name = self.target.name.clone();
        AdmissionRequest {
            phase,
            operation: self.operation,
            target: admission_target(
                kind,
                part,
                self.target.namespace.as_deref(),
                name.unwrap_or_else(|| metadata::text(&object, "name").to_owned()),
            ),
            dry_run: txn.dry_run,
            object: Some(object),
            old: self.old.cloned(),
        }
    }

    /// Fills in kind, apiVersion and namespace, which the body of a subresource may omit.
    fn fill_in_type(&self, object: &mut Value) {
        let Target {
            kind,
            part,
            namespace,
            ..
        } = self.target;
        let Part::Sub(sub) = part else { return };
        if !object.is_object() {
            return;
        }
        let Some(body) = request_kind(*sub) else {
            return;
        };
        json::default_member(object, "apiVersion", body.api_version());
        json::default_member(object, "kind", body.kind);
        if let Some(namespace) = namespace.as_deref().filter(|_| kind.namespaced) {
            metadata::map_mut(object)
                .entry("namespace")
                .or_insert_with(|| namespace.into());
        }
    }

    /// Mutates an object: first built-in admission (`complete`), then policies, then webhooks. If policies or webhooks changed the object,
    /// runs built-in admission again and reinvokes the policies and webhooks that require it. Returns whether policies or webhooks changed
    /// the object.
    pub(super) fn mutate(
        &self,
        txn: &mut Txn<'_>,
        object: &mut Value,
        mut complete: impl FnMut(&mut Txn<'_>, &mut Value) -> Result<(), Status>,
    ) -> Result<bool, Status> {
        complete(txn, object)?;
        if !self.is_subject_to_admission(txn) {
            return Ok(false);
        }
        let first = self.run_round(txn, object, None)?;
        if !first.changed {
            return Ok(false);
        }
        complete(txn, object)?;
        self.run_round(txn, object, Some(&first))?;
        Ok(true)
    }

    /// Runs all mutating policies and webhooks or, after the round `before`, only the policies and webhooks due for reinvocation.
    fn run_round(
        &self,
        txn: &mut Txn<'_>,
        object: &mut Value,
        before: Option<&Round>,
    ) -> Result<Round, Status> {
        let mut round = Round::default();
        let policies = before.map(|before| before.policies.due(object));
        let request = self.request(txn, Phase::Mutating, object);
        if let Some(mutated) = policies::mutate(txn, &request, policies.as_ref())? {
            object.clone_from(&mutated.object);
            round.changed = mutated.changed;
            round.policies = Reinvocations {
                result: mutated.object,
                always: mutated.reinvoke,
                if_changed: mutated.reinvoke_if_changed,
            };
        }
        let phase = match before {
            None => Phase::Mutating,
            Some(before) => Phase::Reinvoke(before.webhooks.due(object)),
        };
        if matches!(&phase, Phase::Reinvoke(due) if due.is_empty()) {
            return Ok(round);
        }
        if let Some(response) = webhook_response(txn, self.request(txn, phase, object))? {
            let result = response.outcome?.unwrap_or_default();
            object.clone_from(&result);
            round.changed |= response.changed;
            round.webhooks = Reinvocations {
                result,
                always: response.reinvoke,
                if_changed: response.reinvoke_if_changed,
            };
        }
        Ok(round)
    }

    /// Runs validating policies and webhooks on an object before it is written.
    pub(super) fn validate(&self, txn: &mut Txn<'_>, object: &Value) -> Result<(), Status> {
        if !self.is_subject_to_admission(txn) {
            return Ok(());
        }
        let request = self.request(txn, Phase::Validating, object);
        validate_request(txn, request)
    }

    fn is_subject_to_admission(&self, txn: &Txn<'_>) -> bool {
        txn.admission.is_some() && !self.target.kind.configures_admission
    }
}

/// Runs validating policies, then validating webhooks. Neither can change the object.
pub(super) fn validate_request(txn: &mut Txn<'_>, request: AdmissionRequest) -> Result<(), Status> {
    let (outcome, warnings) = policies::validate(txn, &request);
    txn.warnings.extend(warnings);
    outcome?;
    match webhook_response(txn, request)? {
        Some(response) => response.outcome.map(drop),
        None => Ok(()),
    }
}

/// Result of calling all due mutating policies and webhooks once.
#[derive(Default)]
struct Round {
    policies: Reinvocations<String>,
    webhooks: Reinvocations<usize>,
    changed: bool,
}

/// The policies (`T` is a string) or webhooks (`T` is an index) to reinvoke.
#[derive(Default)]
struct Reinvocations<T> {
    result: Value,
    /// Reinvoked because a later policy or webhook of the round changed the object.
    always: BTreeSet<T>,
    /// Reinvoked only if the object now differs from `result`.
    if_changed: BTreeSet<T>,
}

impl<T: Clone + Ord> Reinvocations<T> {
    /// The policies or webhooks to reinvoke for the current object.
    fn due(&self, object: &Value) -> BTreeSet<T> {
        let mut due = self.always.clone();
        if *object != self.result {
            due.extend(self.if_changed.iter().cloned());
        }
        due
    }
}

pub(super) fn admission_target(
    kind: &Kind,
    part: Part,
    namespace: Option<&str>,
    name: String,
) -> AdmissionTarget {
    let namespace = match *kind == NAMESPACE {
        true => &name,
        false => namespace.filter(|_| kind.namespaced).unwrap_or_default(),
    };
    AdmissionTarget {
        kind: kind.clone(),
        part,
        namespace: namespace.to_owned(),
        name,
    }
}

/// The response of the matching webhooks; `None` if no webhook matches. If the response is missing, records the request, so that the
/// webhooks are called, and returns an error.
pub(super) fn webhook_response(
    txn: &mut Txn<'_>,
    request: AdmissionRequest,
) -> Result<Option<AdmissionResponse>, Status> {
    if !matches_webhook(txn, &request) {
        return Ok(None);
    }
    let Some(session) = txn.admission.as_mut() else {
        return Ok(None);
    };
    let Some(response) = session.response(&request).cloned() else {
        session.pending.push(request);
        return Err(pending_error());
    };
    txn.warnings.extend(response.warnings.iter().cloned());
    Ok(Some(response))
}

pub(super) fn matches_webhook(txn: &Txn<'_>, request: &AdmissionRequest) -> bool {
    let session = txn.admission.as_ref();
    let webhooks = session.and_then(|session| session.registry.webhooks.as_ref());
    webhooks.is_some_and(|webhooks| webhooks.may_match(request))
}

/// Internal error that aborts a verb until webhooks have responded. Clients never receive it.
pub(super) fn pending_error() -> Status {
    Status::internal(
        "the request waits for a webhook response; a client that receives this internal error found a bug",
    )
}
