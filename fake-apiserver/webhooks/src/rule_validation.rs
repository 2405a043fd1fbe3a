//! Validation of the rules of a webhook or policy: operations and resources.

use fake_apiserver::extension::ErrorList;
use fake_apiserver::extension::json::texts;
use serde_json::Value;

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SCOPES: [&str; 3] = ["*", "Cluster", "Namespaced"];
/// The values of `failurePolicy`.
pub const FAILURE_POLICIES: [&str; 2] = ["Fail", "Ignore"];
/// The values of `matchPolicy`.
pub const MATCH_POLICIES: [&str; 2] = ["Equivalent", "Exact"];

/// Validates one entry of `rules` of a webhook or policy (`RuleWithOperations`).
pub fn validate_rule(rule: &Value, at: &str, errors: &mut ErrorList) {
    let field = format!("{at}.operations");
    let operations = texts(&rule["operations"]);
    if operations.is_empty() {
        errors.required(field.as_str(), "");
    }
    if operations.len() > 1 && operations.contains(&"*") {
        let why = "if '*' is present, must not specify other operations";
        errors.invalid(field.as_str(), rule["operations"].clone(), why);
    }
    for (i, operation) in operations.iter().enumerate() {
        errors.one_of(&format!("{field}[{i}]"), operation, &OPERATIONS);
    }
    resources(rule, at, errors);
}

fn resources(rule: &Value, at: &str, errors: &mut ErrorList) {
    for name in ["apiGroups", "apiVersions", "resources"] {
        let (field, given) = (format!("{at}.{name}"), texts(&rule[name]));
        if given.is_empty() {
            errors.required(field.as_str(), "");
        }
    }
    if let Some(scope) = rule["scope"].as_str() {
        errors.one_of(&format!("{at}.scope"), scope, &SCOPES);
    }
}
