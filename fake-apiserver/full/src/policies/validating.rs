//! Evaluation of validating admission policies.
//!
//! Owns the decision of each policy and the messages of denied requests.

use super::matching::{Context, VariableValues, variables};
use super::policy::{Policy, Validation, evaluate_expression};
use fake_apiserver::{Cause, Status};
use fake_apiserver_cel::Scope as Variables;
use serde_json::Value;

/// Maximum size, in bytes, of an evaluated `messageExpression`.
const MESSAGE_MAX: usize = 5 * 1024;

/// A failed validation of a policy, or an error of its evaluation.
struct Failure {
    message: String,
    reason: &'static str,
    /// Whether the failure denies the request, whatever the `validationActions` of the binding.
    always: bool,
}

impl Failure {
    fn invalid(message: String) -> Self {
        Self {
            message,
            reason: "Invalid",
            always: false,
        }
    }
}

/// Runs all validating policies. Returns the first denial of the request, and the warnings of all policies.
pub(super) fn validate(policies: &[Policy], context: Context<'_>) -> (Result<(), Status>, Vec<String>) {
    let (mut refusal, mut warnings) = (None, Vec::new());
    for policy in policies {
        if let Err(status) = run_policy(policy, context, &mut refusal, &mut warnings) {
            return (Err(status), warnings);
        }
    }
    (refusal.map_or(Ok(()), Err), warnings)
}

/// Runs one validating policy. Stores its denial in `refusal`, unless `refusal` contains the denial of an earlier policy.
fn run_policy(
    policy: &Policy,
    context: Context<'_>,
    refusal: &mut Option<Status>,
    warnings: &mut Vec<String>,
) -> Result<(), Status> {
    let object = context.request.object.as_ref();
    let title = format!("ValidatingAdmissionPolicy '{}'", policy.name);
    let broken = |why: &str, what: &str| Failure::invalid(format!("failed to configure {what}: {why}"));
    let mut refuse = |title: &str, failure: &Failure| {
        refusal.get_or_insert_with(|| denial_status(context, title, failure));
    };
    let (kind, cases) = match context.match_policy(policy, object) {
        Ok(Some(found)) => found,
        Ok(None) => return Ok(()),
        Err(_) if policy.ignores_failures => return Ok(()),
        Err(why) => {
            refuse(&title, &broken(&why, "policy"));
            return Ok(());
        }
    };
    if cases.is_empty() {
        return Ok(());
    }
    let view = context.variable_values(&kind, object)?;
    for case in cases {
        let title = format!("{title} with binding '{}'", case.binding.name);
        let params = match case.params {
            Ok(params) => params,
            Err(_) if policy.ignores_failures => continue,
            Err(why) => {
                refuse(&title, &broken(&why, "binding"));
                continue;
            }
        };
        for failure in params
            .iter()
            .flat_map(|params| evaluate_policy(policy, context, &view, params))
        {
            if case.binding.denies || failure.always {
                refuse(&title, &failure);
            }
            if case.binding.warns && !failure.always {
                warnings.push(format!("Validation failed for {title}: {}", failure.message));
            }
        }
    }
    Ok(())
}

/// The failed validations and evaluation errors of one policy, for one parameter object.
fn evaluate_policy(
    policy: &Policy,
    context: Context<'_>,
    view: &VariableValues,
    params: &Value,
) -> Vec<Failure> {
    let authorizer = context.authorizer();
    let activation = view.activation(policy, params, &authorizer);
    let failed = |why: String| match policy.ignores_failures {
        true => None,
        false => Some(Failure::invalid(why)),
    };
    match policy.conditions.all_true(&activation) {
        Ok(true) => {}
        Ok(false) => return Vec::new(),
        Err(why) => return failed(why).into_iter().collect(),
    }
    let variables = variables(policy, &activation);
    let mut failures = Vec::new();
    for validation in &policy.validations {
        match evaluate_expression(&validation.expression, &variables) {
            Ok(Value::Bool(true)) => {}
            Ok(_) => failures.push(Failure {
                message: denial_message(validation, &variables),
                reason: validation.reason,
                always: false,
            }),
            Err(why) => failures.extend(failed(why)),
        }
    }
    for note in &policy.notes {
        if let Err(why) = evaluate_expression(note, &variables) {
            failures.extend(failed(why).map(|failure| Failure {
                always: true,
                ..failure
            }));
        }
    }
    failures
}

/// The message of a failed validation: the evaluated `messageExpression`, else `message`, else the text of the expression.
fn denial_message(validation: &Validation, variables: &Variables<'_>) -> String {
    let message = validation.message_expression.as_ref();
    let message = message.and_then(|expression| expression.evaluate(variables).ok());
    let message = message.as_ref().and_then(Value::as_str).map(str::trim);
    let fits = |text: &&str| !text.is_empty() && text.len() <= MESSAGE_MAX && !text.contains('\n');
    match message.filter(fits) {
        Some(text) => text.to_owned(),
        None if !validation.message.is_empty() => validation.message.clone(),
        None => format!("failed expression: {}", validation.text),
    }
}

fn denial_status(context: Context<'_>, title: &str, failure: &Failure) -> Status {
    let message = format!("{title} denied request: {}", failure.message);
    let mut status = Status::forbidden(
        context.request.target.kind.group_resource(),
        context.name(),
        &message,
    );
    status.reason = Some(failure.reason);
    status.code = match failure.reason {
        "Forbidden" => 403,
        "Unauthorized" => 401,
        "RequestEntityTooLarge" => 413,
        _ => 422,
    };
    if let Some(details) = &mut status.details {
        details.causes.push(Cause {
            reason: "",
            message,
            field: String::new(),
        });
    }
    status
}
