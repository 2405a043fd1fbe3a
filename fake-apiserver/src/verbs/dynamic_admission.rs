//! Calls of admission policies and webhooks by verbs: mutating ones before an object is prepared, validating ones
//! before it is written. Deletions are in `deletion_admission`.
//!
//! Owns the points of these calls and the handling of results. A missing webhook response aborts the verb, which must
//! not have changed anything yet; it is repeated with the response. Does not call webhooks itself.

use super::call::Target;
use super::policies;
use crate::admission::{Operation, Question, Registry, Stage, Subject, Verdict};
use crate::kinds::{Kind, NAMESPACE, Part, sent_to};
use crate::machinery::status::Status;
use crate::machinery::{json, metadata};
use crate::object::Object;
use crate::store::Txn;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// A write operation on an object, for admission.
pub(super) struct Write<'a> {
    pub(super) target: &'a Target,
    pub(super) operation: Operation,
    /// The current object, in the version in which writes are validated.
    pub(super) old: Option<&'a Arc<Object>>,
}

impl<'a> Write<'a> {
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

    fn question(&self, txn: &Txn<'_>, stage: Stage, object: &Value) -> Question {
        let (kind, part) = (&self.target.kind, self.target.part);
        let mut object = object.clone();
        self.identify(&mut object);
        let name = self.target.name.clone();
        Question {
            stage,
            operation: self.operation,
            subject: subject(
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

    /// Fills in type and namespace, which the body of a subresource may omit.
    fn identify(&self, object: &mut Value) {
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
        let Some(body) = sent_to(*sub) else {
            return;
        };
        json::default_member(object, "apiVersion", body.api_version());
        json::default_member(object, "kind", body.kind);
        if let Some(namespace) = namespace.as_deref().filter(|_| kind.namespaced) {
            metadata::edit(object)
                .entry("namespace")
                .or_insert_with(|| namespace.into());
        }
    }

    /// Mutates an object: first built-in admission (`complete`), then policies, then webhooks. If these changed it, runs built-in admission
    /// again and reinvokes policies and webhooks that request it. Returns true if policies or webhooks changed the object.
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
        let first = self.round(txn, object, None)?;
        if !first.changed {
            return Ok(false);
        }
        complete(txn, object)?;
        self.round(txn, object, Some(&first))?;
        Ok(true)
    }

    /// One round of mutating policies and webhooks. After a first round, only those due for reinvocation.
    fn round(&self, txn: &mut Txn<'_>, object: &mut Value, before: Option<&Round>) -> Result<Round, Status> {
        let mut round = Round::default();
        let policies = before.map(|before| before.policies.due(object));
        let question = self.question(txn, Stage::Mutate, object);
        if let Some(amended) = policies::mutate(txn, &question, policies.as_ref())? {
            object.clone_from(&amended.object);
            round.changed = amended.changed;
            round.policies = Reinvocations {
                result: amended.object,
                always: amended.again,
                if_changed: amended.watching,
            };
        }
        let stage = match before {
            None => Stage::Mutate,
            Some(before) => Stage::MutateAgain(before.webhooks.due(object)),
        };
        if matches!(&stage, Stage::MutateAgain(due) if due.is_empty()) {
            return Ok(round);
        }
        if let Some(verdict) = webhook_verdict(txn, self.question(txn, stage, object))? {
            let result = verdict.outcome?.unwrap_or_default();
            object.clone_from(&result);
            round.changed |= verdict.changed;
            round.webhooks = Reinvocations {
                result,
                always: verdict.again,
                if_changed: verdict.watching,
            };
        }
        Ok(round)
    }

    /// Runs validating policies and webhooks on an object about to be written.
    pub(super) fn validate(&self, txn: &mut Txn<'_>, object: &Value) -> Result<(), Status> {
        if !self.is_subject_to_admission(txn) {
            return Ok(());
        }
        let question = self.question(txn, Stage::Validate, object);
        validate_request(txn, question)
    }

    fn is_subject_to_admission(&self, txn: &Txn<'_>) -> bool {
        txn.consultation.is_some() && !self.target.kind.registers
    }
}

/// Runs validating policies, then webhooks, which can only allow or deny.
pub(super) fn validate_request(txn: &mut Txn<'_>, question: Question) -> Result<(), Status> {
    let (outcome, warnings) = policies::validate(txn, &question);
    txn.warnings.extend(warnings);
    outcome?;
    match webhook_verdict(txn, question)? {
        Some(verdict) => verdict.outcome.map(drop),
        None => Ok(()),
    }
}

/// Result of one round of mutating admission.
#[derive(Default)]
struct Round {
    policies: Reinvocations<String>,
    webhooks: Reinvocations<usize>,
    changed: bool,
}

/// Policies or webhooks to reinvoke, identified by `T`.
struct Reinvocations<T> {
    result: Value,
    /// Reinvoked in any case.
    always: BTreeSet<T>,
    /// Reinvoked only if the object has changed since.
    if_changed: BTreeSet<T>,
}

impl<T> Default for Reinvocations<T> {
    fn default() -> Self {
        Self {
            result: Value::Null,
            always: BTreeSet::new(),
            if_changed: BTreeSet::new(),
        }
    }
}

impl<T: Clone + Ord> Reinvocations<T> {
    /// Policies or webhooks to reinvoke, given the current object.
    fn due(&self, object: &Value) -> BTreeSet<T> {
        let mut due = self.always.clone();
        if *object != self.result {
            due.extend(self.if_changed.iter().cloned());
        }
        due
    }
}

pub(super) fn subject(kind: &Kind, part: Part, namespace: Option<&str>, name: String) -> Subject {
    let namespace = match *kind == NAMESPACE {
        true => &name,
        false => namespace.filter(|_| kind.namespaced).unwrap_or_default(),
    };
    Subject {
        kind: kind.clone(),
        part,
        namespace: namespace.to_owned(),
        name,
    }
}

/// The verdict of webhooks; None if none matches. If it is missing, records the request for its webhooks to be called and returns an error.
pub(super) fn webhook_verdict(txn: &mut Txn<'_>, question: Question) -> Result<Option<Verdict>, Status> {
    if !matches_webhook(txn, &question) {
        return Ok(None);
    }
    let Some(consultation) = txn.consultation.as_mut() else {
        return Ok(None);
    };
    let Some(verdict) = consultation.answer(&question).cloned() else {
        consultation.asked.push(question);
        return Err(pending_error());
    };
    txn.warnings.extend(verdict.warnings.iter().cloned());
    Ok(Some(verdict))
}

pub(super) fn matches_webhook(txn: &Txn<'_>, question: &Question) -> bool {
    let Some(consultation) = &txn.consultation else {
        return false;
    };
    let Registry {
        mutating, validating, ..
    } = &*consultation.registry;
    let concerns = |hooks| Registry::concerns(hooks, question.operation, &question.subject);
    match question.stage {
        Stage::Mutate | Stage::MutateAgain(_) => concerns(mutating),
        Stage::Validate => concerns(validating),
        Stage::Delete => concerns(mutating) || concerns(validating),
    }
}

/// Internal error that aborts a verb until webhooks respond. Clients never see it.
pub(super) fn pending_error() -> Status {
    Status::internal(
        "the request waits for the response of a webhook; no client must receive this error, so it is a bug",
    )
}
