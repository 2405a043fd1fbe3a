//! Mutating admission policies: run in order, each on the object that the previous policies produced.
//!
//! Owns the mutated object and the denial messages.

use super::matching::{Context, MatchingBinding, variables};
use super::policy::{CompiledExpression, Mutation, Policy, evaluate_expression};
use fake_apiserver::extension::{Kind, Mutated, json_patch, metadata, overlay};
use fake_apiserver::{Cause, Status};
use fake_apiserver_cel::Scope as Variables;
use serde_json::Value;
use std::collections::BTreeSet;

/// Runs mutating policies on an object. `only`: for a reinvocation, the evaluations (`POLICY/BINDING/PARAMETER`) to run.
pub(super) fn mutate(
    policies: &[Policy],
    context: Context<'_>,
    object: Value,
    only: Option<&BTreeSet<String>>,
) -> Result<Mutated, Status> {
    let mut mutated = Mutated {
        object,
        changed: false,
        reinvoke: BTreeSet::new(),
        reinvoke_if_changed: BTreeSet::new(),
    };
    let (mut objections, mut touched) = (Vec::new(), false);
    for policy in policies {
        let before = objections.len();
        match context.match_policy(policy, Some(&mutated.object)) {
            Ok(None) => {}
            Ok(Some((kind, cases))) => {
                for case in cases {
                    touched |=
                        apply_binding(policy, &kind, case, context, &mut mutated, only, &mut objections)?;
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
        mutated.reinvoke.append(&mut mutated.reinvoke_if_changed);
        mutated.changed = true;
    }
    match denial_status(context, objections) {
        Some(refusal) => Err(refusal),
        None => Ok(mutated),
    }
}

/// Runs the mutations of a policy for one binding. Returns whether a mutation was applied.
fn apply_binding(
    policy: &Policy,
    kind: &Kind,
    case: MatchingBinding<'_>,
    context: Context<'_>,
    mutated: &mut Mutated,
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
        match evaluate_conditions(policy, kind, context, &mutated.object, params)? {
            Ok(true) if is_due => {}
            Ok(_) => continue,
            Err(why) => {
                objections.push(format!("{title}: {why}"));
                continue;
            }
        }
        let before = mutated.object.clone();
        for mutation in &policy.mutations {
            match apply_mutation(policy, mutation, kind, context, &mutated.object, params)? {
                Ok(changed) => {
                    mutated.object = changed;
                    touched = true;
                }
                Err(why) => objections.push(format!("{title}: {why}")),
            }
        }
        if mutated.object != before {
            mutated.reinvoke.append(&mut mutated.reinvoke_if_changed);
        }
        if policy.reinvocable {
            mutated.reinvoke_if_changed.insert(key);
        }
    }
    Ok(touched)
}

fn evaluate_conditions(
    policy: &Policy,
    kind: &Kind,
    context: Context<'_>,
    object: &Value,
    params: &Value,
) -> Result<Result<bool, String>, Status> {
    if policy.conditions.is_empty() {
        return Ok(Ok(true));
    }
    let (view, authorizer) = (context.variable_values(kind, Some(object))?, context.authorizer());
    let activation = view.activation(policy, params, &authorizer);
    Ok(policy.conditions.all_true(&activation))
}

/// Applies one mutation of a policy to an API object. The inner error is a denial message.
fn apply_mutation(
    policy: &Policy,
    mutation: &Mutation,
    kind: &Kind,
    context: Context<'_>,
    object: &Value,
    params: &Value,
) -> Result<Result<Value, String>, Status> {
    let (view, authorizer) = (context.variable_values(kind, Some(object))?, context.authorizer());
    let activation = view.activation(policy, params, &authorizer);
    let variables = variables(policy, &activation);
    let document = view.object.clone();
    let changed = match mutation {
        Mutation::Apply(read) => merge_configuration(read, kind, document, &variables),
        Mutation::Patch(read) => apply_json_patch(read, document, &variables),
    };
    Ok(changed.and_then(|changed| context.conversion.convert_back(kind, object, changed)))
}

fn merge_configuration(
    read: &CompiledExpression,
    kind: &Kind,
    mut document: Value,
    variables: &Variables<'_>,
) -> Result<Value, String> {
    let made = evaluate_expression(read, variables)?;
    overlay(kind, &mut document, &made).map_err(|why| format!("error applying patch: {why}"))?;
    Ok(document)
}

fn apply_json_patch(
    read: &CompiledExpression,
    mut document: Value,
    variables: &Variables<'_>,
) -> Result<Value, String> {
    let patch = evaluate_expression(read, variables)?;
    let (operations, _) = json_patch::read(&patch).map_err(|why| format!("JSON Patch: {why}"))?;
    let before = document.clone();
    match json_patch::apply(&mut document, &operations) {
        Ok(()) => Ok(document),
        // As in kube-apiserver, a failed `test` operation makes the patch a no-op.
        Err(_) if json_patch::has_test(&operations) => Ok(before),
        Err(_) => Err("JSON Patch: the patch does not apply to the object".to_owned()),
    }
}

fn denial_status(context: Context<'_>, objections: Vec<String>) -> Option<Status> {
    let first = objections.first()?.clone();
    let mut status = Status::forbidden(context.request.target.kind.group_resource(), context.name(), "");
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
