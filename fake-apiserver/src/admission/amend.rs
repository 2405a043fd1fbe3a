//! Mutating admission policies: called in order, each with the result of the previous ones.
//!
//! Owns the resulting object and the denial messages.

use super::inputs::evaluate;
use super::policy::{Mutation, Policy, Read};
use super::scene::{Case, Scene, variables};
use crate::cel::Scope as Variables;
use crate::kinds::Kind;
use crate::machinery::error_list::Cause;
use crate::machinery::metadata;
use crate::machinery::status::Status;
use crate::patch::{json_patch, managed};
use serde_json::Value;
use std::collections::BTreeSet;

/// Result of mutating policies.
pub(crate) struct Amended {
    pub(crate) object: Value,
    pub(crate) changed: bool,
    /// Policies to reinvoke because a later policy changed the object. Keys: policy, binding and parameter.
    pub(crate) again: BTreeSet<String>,
    /// Policies to reinvoke if a webhook or the server changes the object.
    pub(crate) watching: BTreeSet<String>,
}

/// Runs mutating policies on an object; with `only`, just those due for reinvocation.
pub(crate) fn amend(
    policies: &[Policy],
    scene: &Scene<'_>,
    object: Value,
    only: Option<&BTreeSet<String>>,
) -> Result<Amended, Status> {
    let mut amended = Amended {
        object,
        changed: false,
        again: BTreeSet::new(),
        watching: BTreeSet::new(),
    };
    let (mut objections, mut touched) = (Vec::new(), false);
    for policy in policies {
        let before = objections.len();
        match scene.cases(policy, Some(&amended.object)) {
            Ok(None) => {}
            Ok(Some((kind, cases))) => {
                for case in cases {
                    touched |= bound(policy, &kind, case, scene, &mut amended, only, &mut objections)?;
                }
            }
            Err(why) => objections.push(format!(
                "policy {:?} denied request: failed to configure policy: {why}",
                policy.name
            )),
        }
        if policy.ignores_failures {
            objections.truncate(before);
        }
    }
    if touched {
        amended.again.append(&mut amended.watching);
        amended.changed = true;
    }
    match refused(scene, objections) {
        Some(refusal) => Err(refusal),
        None => Ok(amended),
    }
}

/// Runs one binding of a policy. Returns whether a mutation was applied.
fn bound(
    policy: &Policy,
    kind: &Kind,
    case: Case<'_>,
    scene: &Scene<'_>,
    amended: &mut Amended,
    only: Option<&BTreeSet<String>>,
    objections: &mut Vec<String>,
) -> Result<bool, Status> {
    let title = format!(
        "policy '{}' with binding '{}' denied request",
        policy.name, case.binding.name
    );
    let params = match case.params {
        Ok(params) => params,
        Err(why) => {
            objections.push(format!("{title}: failed to configure binding: {why}"));
            return Ok(false);
        }
    };
    let mut touched = false;
    for params in &params {
        let name = [
            metadata::text(params, "namespace"),
            metadata::text(params, "name"),
        ]
        .join("/");
        let key = format!("{}/{}/{name}", policy.name, case.binding.name);
        let is_due = only.is_none_or(|only| only.contains(&key));
        match holds(policy, kind, scene, &amended.object, params)? {
            Ok(true) if is_due => {}
            Ok(_) => continue,
            Err(why) => {
                objections.push(format!("{title}: {why}"));
                continue;
            }
        }
        let before = amended.object.clone();
        for mutation in &policy.mutations {
            match step(policy, mutation, kind, scene, &amended.object, params)? {
                Ok(changed) => {
                    amended.object = changed;
                    touched = true;
                }
                Err(why) => objections.push(format!("{title}: {why}")),
            }
        }
        if amended.object != before {
            amended.again.append(&mut amended.watching);
        }
        if policy.again {
            amended.watching.insert(key);
        }
    }
    Ok(touched)
}

fn holds(
    policy: &Policy,
    kind: &Kind,
    scene: &Scene<'_>,
    object: &Value,
    params: &Value,
) -> Result<Result<bool, String>, Status> {
    if policy.conditions.is_empty() {
        return Ok(Ok(true));
    }
    let (view, asker) = (scene.view(kind, Some(object))?, scene.asker());
    let inputs = view.inputs(policy, params, &asker);
    Ok(policy.conditions.hold(&inputs))
}

/// Applies one mutation to an object. The inner error is a denial message.
fn step(
    policy: &Policy,
    mutation: &Mutation,
    kind: &Kind,
    scene: &Scene<'_>,
    object: &Value,
    params: &Value,
) -> Result<Result<Value, String>, Status> {
    let (view, asker) = (scene.view(kind, Some(object))?, scene.asker());
    let inputs = view.inputs(policy, params, &asker);
    let variables = variables(policy, &inputs);
    let document = view.object.clone();
    let changed = match mutation {
        Mutation::Apply(read) => applied(read, kind, document, &variables),
        Mutation::Patch(read) => patched(read, document, &variables),
    };
    Ok(changed.and_then(|changed| scene.forms.received(kind, object, changed)))
}

fn value(read: &Read, variables: &Variables<'_>) -> Result<Value, String> {
    evaluate(read.as_ref().map_err(Clone::clone)?, variables)
}

fn applied(
    read: &Read,
    kind: &Kind,
    mut document: Value,
    variables: &Variables<'_>,
) -> Result<Value, String> {
    let made = value(read, variables)?;
    managed::overlay(kind, &mut document, &made).map_err(|why| format!("error applying patch: {why}"))?;
    Ok(document)
}

fn patched(read: &Read, mut document: Value, variables: &Variables<'_>) -> Result<Value, String> {
    let patch = value(read, variables)?;
    let (operations, _) = json_patch::read(&patch).map_err(|why| format!("JSON Patch: {why}"))?;
    let before = document.clone();
    match json_patch::apply(&mut document, &operations) {
        Ok(()) => Ok(document),
        // As in kube-apiserver, a failed `test` operation makes the patch a no-op.
        Err(_) if json_patch::has_test(&operations) => Ok(before),
        Err(_) => Err("JSON Patch: the patch does not apply to the object".to_owned()),
    }
}

fn refused(scene: &Scene<'_>, objections: Vec<String>) -> Option<Status> {
    let first = objections.first()?.clone();
    let mut status = Status::forbidden(scene.question.subject.kind.resource(), scene.name(), "");
    status.message = first;
    status.reason = Some("Invalid");
    if let Some(details) = &mut status.details {
        details.causes = objections
            .into_iter()
            .map(|message| Cause {
                reason: "",
                message,
                field: String::new(),
            })
            .collect();
    }
    Some(status)
}
