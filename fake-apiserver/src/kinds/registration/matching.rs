//! Validation of the rules of a webhook or policy: operations and resources.

use crate::machinery::error_list::ErrorList;
use crate::machinery::json::texts;
use serde_json::Value;

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SCOPES: [&str; 3] = ["*", "Cluster", "Namespaced"];
/// The values of `failurePolicy`.
pub const FAILURES: [&str; 2] = ["Fail", "Ignore"];
/// The values of `matchPolicy`.
pub const MATCHES: [&str; 2] = ["Equivalent", "Exact"];

/// Validates a rule with operations.
pub fn operations(rule: &Value, at: &str, faults: &mut ErrorList) {
    let field = format!("{at}.operations");
    let asked = texts(&rule["operations"]);
    if asked.is_empty() {
        faults.required(field.as_str(), "");
    }
    if asked.len() > 1 && asked.contains(&"*") {
        let why = "if '*' is present, must not specify other operations";
        faults.invalid(field.as_str(), rule["operations"].clone(), why);
    }
    for (i, operation) in asked.iter().enumerate() {
        faults.one_of(&format!("{field}[{i}]"), operation, &OPERATIONS);
    }
    resources_of(rule, at, faults);
}

fn resources_of(rule: &Value, at: &str, faults: &mut ErrorList) {
    for name in ["apiGroups", "apiVersions", "resources"] {
        let (field, given) = (format!("{at}.{name}"), texts(&rule[name]));
        if given.is_empty() {
            faults.required(field.as_str(), "");
        }
    }
    if let Some(scope) = rule["scope"].as_str() {
        faults.one_of(&format!("{at}.scope"), scope, &SCOPES);
    }
}
