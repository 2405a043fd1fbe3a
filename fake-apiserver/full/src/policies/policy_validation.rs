//! Validation of admission policies.

use super::constraints::{self, validate_enum};
use fake_apiserver::extension::json::{list, string, texts};
use fake_apiserver::extension::{ErrorList, metadata, names, validate_conditions};
use fake_apiserver_cel::RESERVED;
use fake_apiserver_webhooks::{
    FAILURE_POLICIES, admission_variables, validate_expression, validate_match_conditions,
};
use serde_json::Value;
use std::collections::HashSet;

const REASONS: [&str; 3] = ["Forbidden", "Invalid", "RequestEntityTooLarge"];
const REINVOCATIONS: [&str; 2] = ["IfNeeded", "Never"];
const CHANGING: [&str; 4] = ["*", "CONNECT", "CREATE", "UPDATE"];
/// A reserved word of CEL that is not in [`RESERVED`]: a field can be named `while`, but a variable cannot.
const LOOP: &str = "while";
const PATCHES: [&str; 2] = ["ApplyConfiguration", "JSONPatch"];
const NOTES_MAX: usize = 20;
const NOTE_BYTES_MAX: usize = 5 * 1024;
const SOMETHING: &str = "validations or auditAnnotations must contain at least one item";

/// Validates `status.typeChecking` of a ValidatingAdmissionPolicy.
pub(super) fn validate_policy_status(policy: &Value, _: &Value, errors: &mut ErrorList) {
    let status = &policy["status"];
    for (i, one) in list(&status["typeChecking"]["expressionWarnings"])
        .iter()
        .enumerate()
    {
        for field in ["warning", "fieldRef"] {
            if string(one, field).trim().is_empty() {
                errors.required(format!("status.typeChecking.expressionWarnings[{i}].{field}"), "");
            }
        }
    }
    validate_conditions(&status["conditions"], "status.conditions", errors);
}

pub(super) fn validate_validating_policy(policy: &Value, errors: &mut ErrorList) {
    let known = validate_common_fields(policy, errors);
    let spec = &policy["spec"];
    let (validations, notes) = (list(&spec["validations"]), list(&spec["auditAnnotations"]));
    if validations.is_empty() && notes.is_empty() {
        errors.required("spec.validations", SOMETHING);
        errors.required("spec.auditAnnotations", SOMETHING);
    }
    for (i, one) in validations.iter().enumerate() {
        validate_validation(one, &known, &format!("spec.validations[{i}]"), errors);
    }
    if notes.len() > NOTES_MAX {
        let why = format!("must not have more than {NOTES_MAX} auditAnnotations");
        errors.invalid("spec.auditAnnotations", spec["auditAnnotations"].clone(), &why);
    }
    let mut keys = HashSet::new();
    for (i, one) in notes.iter().enumerate() {
        let at = format!("spec.auditAnnotations[{i}]");
        validate_audit_annotation(one, metadata::text(policy, "name"), &known, &at, errors);
        if !keys.insert(string(one, "key")) {
            errors.duplicate(format!("{at}.key"), string(one, "key"));
        }
    }
}

pub(super) fn validate_mutating_policy(policy: &Value, errors: &mut ErrorList) {
    let mut known = validate_common_fields(policy, errors);
    let spec = &policy["spec"];
    let rules = list(&spec["matchConstraints"]["resourceRules"]).iter();
    for operation in rules.flat_map(|rule| texts(&rule["operations"])) {
        let at = "spec.matchConstraints.resourceRules.operations";
        errors.one_of(at, operation, &CHANGING);
    }
    let mutations = list(&spec["mutations"]);
    if mutations.is_empty() {
        errors.required("spec.mutations", "mutations must contain at least one item");
    }
    // The types of the objects that mutation expressions construct.
    known.extend(["Object", "JSONPatch"].map(str::to_owned));
    for (i, one) in mutations.iter().enumerate() {
        validate_mutation(one, &known, &format!("spec.mutations[{i}]"), errors);
    }
    validate_enum(spec, "reinvocationPolicy", "spec", &REINVOCATIONS, errors);
}

/// Validates the fields that validating and mutating policies share. Returns the variables that expressions may use.
fn validate_common_fields(policy: &Value, errors: &mut ErrorList) -> Vec<String> {
    let mut known = admission_variables();
    let spec = &policy["spec"];
    validate_enum(spec, "failurePolicy", "spec", &FAILURE_POLICIES, errors);
    if spec["paramKind"].is_object() {
        constraints::validate_param_kind(&spec["paramKind"], "spec.paramKind", errors);
        known.push("params".to_owned());
    }
    let matched = &spec["matchConstraints"];
    if matched.is_object() {
        constraints::validate(matched, "spec.matchConstraints", errors);
        if list(&matched["resourceRules"]).is_empty() {
            errors.required("spec.matchConstraints.resourceRules", "");
        }
    } else {
        errors.required("spec.matchConstraints", "");
    }
    validate_match_conditions(&spec["matchConditions"], &known, "spec.matchConditions", errors);
    for (i, variable) in list(&spec["variables"]).iter().enumerate() {
        let (name, text) = (string(variable, "name"), string(variable, "expression"));
        let at = format!("spec.variables[{i}]");
        if name.trim().is_empty() {
            errors.required(format!("{at}.name"), "name is not specified");
        } else if !is_identifier(name) {
            errors.invalid(format!("{at}.name"), name, "must be a valid CEL identifier");
        }
        if text.trim().is_empty() {
            errors.required(format!("{at}.expression"), "expression is not specified");
            continue;
        }
        validate_expression(text, &known, &[], &format!("{at}.expression"), errors);
        known.push(format!("variables.{name}"));
    }
    known
}

fn is_identifier(name: &str) -> bool {
    let mut letters = name.chars();
    let begins = letters
        .next()
        .is_some_and(|c| c.is_ascii_alphabetic() || c == '_');
    begins
        && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !RESERVED.contains(&name)
        && name != LOOP
}

fn validate_validation(of: &Value, known: &[String], at: &str, errors: &mut ErrorList) {
    let text = string(of, "expression");
    if text.trim().is_empty() {
        errors.required(format!("{at}.expression"), "expression is not specified");
    } else {
        validate_expression(text, known, &["bool"], &format!("{at}.expression"), errors);
    }
    let text = string(of, "messageExpression");
    if !text.is_empty() && text.trim().is_empty() {
        let why = "must be non-empty if specified";
        errors.invalid(format!("{at}.messageExpression"), text, why);
    } else if !text.is_empty() {
        let field = format!("{at}.messageExpression");
        let known = known.iter().filter(|name| !name.starts_with("authorizer"));
        let known: Vec<String> = known.cloned().collect();
        validate_expression(text, &known, &["string"], &field, errors);
    }
    let text = string(of, "message");
    if !text.is_empty() && text.trim().is_empty() {
        errors.invalid(format!("{at}.message"), text, "must be non-empty if specified");
    } else if text.trim().contains(['\n', '\r']) {
        errors.invalid(format!("{at}.message"), text, "must not contain line breaks");
    }
    if let Some(reason) = of["reason"].as_str() {
        errors.one_of(&format!("{at}.reason"), reason, &REASONS);
    }
}

fn validate_audit_annotation(of: &Value, policy: &str, known: &[String], at: &str, errors: &mut ErrorList) {
    let key = string(of, "key");
    if policy.is_empty() {
        errors.invalid(format!("{at}.key"), key, "requires metadata.name be non-empty");
    } else {
        let whole = format!("{policy}/{key}");
        errors.invalid_all(&format!("{at}.key"), &whole, names::qualified_name(&whole));
    }
    let (text, field) = (
        string(of, "valueExpression").trim(),
        format!("{at}.valueExpression"),
    );
    if text.is_empty() {
        errors.required(field, "valueExpression is not specified");
    } else if text.len() > NOTE_BYTES_MAX {
        let why = format!("must not exceed {NOTE_BYTES_MAX} bytes in length");
        errors.required(field, &why);
    } else {
        validate_expression(text, known, &["string", "null_type"], &field, errors);
    }
}

fn validate_mutation(of: &Value, known: &[String], at: &str, errors: &mut ErrorList) {
    let (style, field) = (string(of, "patchType"), format!("{at}.patchType"));
    let (own, other, made) = match style {
        "" => return errors.required(field, ""),
        "JSONPatch" => (
            "jsonPatch",
            "applyConfiguration",
            &["list(JSONPatch)", "list"][..],
        ),
        "ApplyConfiguration" => ("applyConfiguration", "jsonPatch", &["Object"][..]),
        _ => return errors.not_supported(field, style, &PATCHES),
    };
    let field = format!("{at}.{own}.expression");
    let text = string(&of[own], "expression").trim();
    if of[own].is_null() {
        let why = format!("must be specified when patchType is {style}");
        errors.required(format!("{at}.{own}"), &why);
    } else if text.is_empty() {
        errors.required(field, "");
    } else {
        validate_expression(text, known, made, &field, errors);
    }
    if !of[other].is_null() {
        let why = format!("must not be specified when patchType is {style}");
        errors.invalid(format!("{at}.{other}"), format!("{{{other}}}"), &why);
    }
}
