//! Where a verb has policies and webhooks asked: about an object before it is prepared, and before it is written. What is
//! asked before it goes is in `consult_deletion`.
//!
//! Owns what is asked at which point, and what becomes of the answer. A question without an answer ends the verb, which
//! must not have changed anything yet; it is carried out again when the answer is there. Does not ask itself.

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

/// What a write does to which object.
pub(super) struct Write<'a> {
    pub(super) target: &'a Target,
    pub(super) operation: Operation,
    /// The object as it is, in the form in which writes are judged.
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

    /// Fills in what a body of a subresource need not say of itself.
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

    /// Completes an object: what the server itself does to it (`complete`), then policies, then webhooks; and the server
    /// once more, and those of the others that want it, where an object was changed. True if they changed it.
    pub(super) fn mutate(
        &self,
        txn: &mut Txn<'_>,
        object: &mut Value,
        mut complete: impl FnMut(&mut Txn<'_>, &mut Value) -> Result<(), Status>,
    ) -> Result<bool, Status> {
        complete(txn, object)?;
        if !self.is_asked_about(txn) {
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

    /// Has policies and webhooks change an object; after a first round, only those that want to be asked again.
    fn round(&self, txn: &mut Txn<'_>, object: &mut Value, before: Option<&Round>) -> Result<Round, Status> {
        let mut round = Round::default();
        let policies = before.map(|before| before.policies.due(object));
        let question = self.question(txn, Stage::Mutate, object);
        if let Some(amended) = policies::changed(txn, &question, policies.as_ref())? {
            object.clone_from(&amended.object);
            round.changed = amended.changed;
            round.policies = Asked {
                made: amended.object,
                again: amended.again,
                watching: amended.watching,
            };
        }
        let stage = match before {
            None => Stage::Mutate,
            Some(before) => Stage::MutateAgain(before.webhooks.due(object)),
        };
        if matches!(&stage, Stage::MutateAgain(due) if due.is_empty()) {
            return Ok(round);
        }
        if let Some(verdict) = ask(txn, self.question(txn, stage, object))? {
            let made = verdict.outcome?.unwrap_or_default();
            object.clone_from(&made);
            round.changed |= verdict.changed;
            round.webhooks = Asked {
                made,
                again: verdict.again,
                watching: verdict.watching,
            };
        }
        Ok(round)
    }

    /// Lets policies and webhooks look at an object that is about to be written.
    pub(super) fn approve(&self, txn: &mut Txn<'_>, object: &Value) -> Result<(), Status> {
        if !self.is_asked_about(txn) {
            return Ok(());
        }
        let question = self.question(txn, Stage::Validate, object);
        approved(txn, question)
    }

    fn is_asked_about(&self, txn: &Txn<'_>) -> bool {
        txn.consultation.is_some() && !self.target.kind.registers
    }
}

/// Puts a question to which there is only yes or no: to policies, and then to webhooks.
pub(super) fn approved(txn: &mut Txn<'_>, question: Question) -> Result<(), Status> {
    let (outcome, warnings) = policies::judged(txn, &question);
    txn.warnings.extend(warnings);
    outcome?;
    match ask(txn, question)? {
        Some(verdict) => verdict.outcome.map(drop),
        None => Ok(()),
    }
}

/// What was asked once about an object, and what came of it.
#[derive(Default)]
struct Round {
    policies: Asked<String>,
    webhooks: Asked<usize>,
    changed: bool,
}

/// Who was asked, and wants to be asked again.
struct Asked<T> {
    made: Value,
    /// In any case.
    again: BTreeSet<T>,
    /// If the object is another one than they have left it.
    watching: BTreeSet<T>,
}

impl<T> Default for Asked<T> {
    fn default() -> Self {
        Self {
            made: Value::Null,
            again: BTreeSet::new(),
            watching: BTreeSet::new(),
        }
    }
}

impl<T: Clone + Ord> Asked<T> {
    /// Who is to be asked again about what the object is now.
    fn due(&self, object: &Value) -> BTreeSet<T> {
        let mut due = self.again.clone();
        if *object != self.made {
            due.extend(self.watching.iter().cloned());
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

/// The answer to a question; none where nobody wants to be asked. A question without an answer is kept for whoever asks.
pub(super) fn ask(txn: &mut Txn<'_>, question: Question) -> Result<Option<Verdict>, Status> {
    if !is_concerned(txn, &question) {
        return Ok(None);
    }
    let Some(consultation) = txn.consultation.as_mut() else {
        return Ok(None);
    };
    let Some(verdict) = consultation.answer(&question).cloned() else {
        consultation.asked.push(question);
        return Err(waiting());
    };
    txn.warnings.extend(verdict.warnings.iter().cloned());
    Ok(Some(verdict))
}

pub(super) fn is_concerned(txn: &Txn<'_>, question: &Question) -> bool {
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

/// What ends a verb that waits. Nobody sees it.
pub(super) fn waiting() -> Status {
    Status::internal("the request waits for the answer of a webhook; this is a bug if anybody reads it")
}
