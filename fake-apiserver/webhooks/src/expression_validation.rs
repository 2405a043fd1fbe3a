//! Validation of match conditions, and of CEL expressions in general.

use fake_apiserver::extension::json::{list, string};
use fake_apiserver::extension::{ErrorList, names};
use fake_apiserver_cel::Expression;
use serde_json::Value;
use std::collections::HashSet;

const MATCH_CONDITIONS_MAX: usize = 64;

/// Validates match conditions; `known` are the variables that expressions may use.
pub fn validate_match_conditions(all: &Value, known: &[String], at: &str, errors: &mut ErrorList) {
    let all = list(all);
    if all.len() > MATCH_CONDITIONS_MAX {
        errors.too_many(at, all.len(), MATCH_CONDITIONS_MAX);
    }
    let mut known_names = HashSet::new();
    for (i, condition) in all.iter().enumerate() {
        let (text, field) = (
            string(condition, "expression").trim(),
            format!("{at}[{i}].expression"),
        );
        if text.is_empty() {
            errors.required(field, "");
        } else {
            validate_expression(text, known, &["bool"], &field, errors);
        }
        let (name, field) = (string(condition, "name"), format!("{at}[{i}].name"));
        if name.is_empty() {
            errors.required(field, "");
            continue;
        }
        errors.invalid_all(&field, name, names::qualified_name(name));
        if !known_names.insert(name) {
            errors.duplicate(field, name);
        }
    }
}

/// Validates an expression. `known`: the variables that the expression may use; `types`: its permitted result types (empty: any).
pub fn validate_expression(text: &str, known: &[String], types: &[&str], at: &str, errors: &mut ErrorList) {
    let checked = Expression::read(text).and_then(|expression| {
        expression.check_variables(known)?;
        let wrong = expression.check_type(types);
        wrong.map_err(|of| match types {
            [one] => format!("must evaluate to {one} but got {of}"),
            several => format!("must evaluate to one of [{}] but got {of}", several.join(" ")),
        })
    });
    if let Err(why) = checked {
        errors.invalid(at, text, &why);
    }
}

/// The variables that expressions of all webhooks and policies may use.
pub fn admission_variables() -> Vec<String> {
    let names = [
        "object",
        "oldObject",
        "request",
        "namespaceObject",
        "authorizer",
        "authorizer.requestResource",
    ];
    names.map(str::to_owned).into()
}
