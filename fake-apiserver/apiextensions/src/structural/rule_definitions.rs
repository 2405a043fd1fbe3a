//! Validation of the CEL rules in a CustomResourceDefinition.
//!
//! Owns which expressions are accepted: an expression must parse, use known variables and functions, and select members that the schema
//! declares. There is no type checker: a rule that does not evaluate to `bool` is reported when a custom resource is validated.

use super::read::read;
use fake_apiserver::extension::ErrorList;
use fake_apiserver::extension::json;
use fake_apiserver::extension::schema::{Additional, ListType, Schema};
use fake_apiserver_cel::Expression;
use serde_json::Value;
use std::cell::LazyCell;

const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

pub(crate) fn validate_expressions(text: &Value, at: &str, errors: &mut ErrorList) {
    visit(text, &read(text), at, (true, None), errors);
}

/// Validates the expressions of a schema and of its nested schemas. `is_root`: whether the schema is of a whole object. `lost`: the path of
/// the enclosing schema, if any, whose values cannot be correlated with the old object.
fn visit(
    text: &Value,
    schema: &Schema,
    at: &str,
    (is_root, lost): (bool, Option<&str>),
    errors: &mut ErrorList,
) {
    for (index, rule) in json::list(&text["x-kubernetes-validations"]).iter().enumerate() {
        let at = format!("{at}.x-kubernetes-validations[{index}]");
        expressions(rule, schema, &at, (is_root, lost), errors);
    }
    let within = |is_lost: bool| lost.or(is_lost.then_some(at));
    let mut below = |name: &str, inner: &Schema, at: String, is_lost: bool| {
        let text = text.pointer(name).unwrap_or(&Value::Null);
        visit(text, inner, &at, (inner.embedded, within(is_lost)), errors);
    };
    for (name, inner) in &schema.properties {
        let pointer = format!("/properties/{}", name.replace('~', "~0").replace('/', "~1"));
        below(&pointer, inner, format!("{at}.properties[{name}]"), schema.atomic);
    }
    if let Some(inner) = schema.additional_schema() {
        below(
            "/additionalProperties",
            inner,
            format!("{at}.additionalProperties"),
            schema.atomic,
        );
    }
    if let Some(inner) = schema.items.as_deref() {
        let is_lost = !matches!(schema.list, ListType::Map(_));
        below("/items", inner, format!("{at}.items"), is_lost);
    }
}

fn expressions(
    rule: &Value,
    schema: &Schema,
    at: &str,
    (is_root, lost): (bool, Option<&str>),
    errors: &mut ErrorList,
) {
    let read = |name: &str| {
        let expression = Expression::read(json::string(rule, name))?;
        expression.check_variables(&["self", "oldSelf"])?;
        let (of, why) = match name {
            "rule" => ("bool", "cel expression must evaluate to a bool"),
            _ => ("string", "must evaluate to a string"),
        };
        expression.check_type(&[of]).map_err(|_| why)?;
        let mut members = expression.members();
        let undefined = members.find_map(|path| undeclared_member_error(path, schema, is_root));
        drop(members);
        undefined.map_or(Ok(expression), Err)
    };
    let text = json::string(rule, "rule");
    let rule_at = format!("{at}.rule");
    let expression: Result<Expression, String> = read("rule");
    match &expression {
        Ok(expression) if expression.uses("oldSelf") => {
            if let Some(lost) = lost {
                let why = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within {lost}"
                );
                errors.invalid(rule_at, text, &why);
            }
        }
        Ok(_) => {
            if let Some(optional) = rule["optionalOldSelf"].as_bool() {
                let why = "may not be set if oldSelf is not used in rule";
                errors.invalid(format!("{at}.optionalOldSelf"), optional, why);
            }
        }
        Err(why) => errors.invalid(rule_at, text, why),
    }
    let text = json::string(rule, "messageExpression");
    if !text.is_empty()
        && let Err(why) = read("messageExpression")
    {
        let why = format!("messageExpression {why}");
        errors.invalid(format!("{at}.messageExpression"), text, &why);
    }
}

/// The error for the first member of a path that the schema does not declare. Members of values that preserve unknown fields are accepted.
fn undeclared_member_error(path: &[String], schema: &Schema, is_root: bool) -> Option<String> {
    let (variable, members) = path.split_first()?;
    if variable != "self" && variable != "oldSelf" {
        return None;
    }
    let (mut schema, mut is_object) = (schema, is_root);
    for (index, member) in members.iter().enumerate() {
        let rest = &members[index + 1..];
        let error = || Some(format!("compilation failed: undefined field '{member}'"));
        if is_object && ["apiVersion", "kind"].contains(&member.as_str()) {
            return None;
        }
        if is_object && member == "metadata" {
            let known = |name: &String| ["name", "generateName"].contains(&name.as_str());
            return rest
                .first()
                .filter(|name| !known(name))
                .map(|name| format!("compilation failed: undefined field '{name}'"));
        }
        schema = match schema.member(member) {
            Some(inner) => inner,
            None if schema.int_or_string || !matches!(schema.of, "object" | "array") => {
                return if schema.of.is_empty() { None } else { error() };
            }
            None if schema.preserve || matches!(schema.additional, Some(Additional::Any(true))) => {
                return None;
            }
            None => return error(),
        };
        is_object = schema.embedded;
    }
    None
}

/// Validates the fields of rules (`message`, `reason`, `fieldPath` …) except the expressions.
pub(crate) fn validate_rules(schema: &Value, at: &str, errors: &mut ErrorList) {
    // Parsed lazily, since only rules with `fieldPath` need the schema.
    let read = LazyCell::new(|| read(schema));
    let is_path = |path: &str| is_declared_path(path, &read);
    let rules = json::list(&schema["x-kubernetes-validations"]);
    for (index, rule) in rules.iter().enumerate() {
        let at = format!("{at}.x-kubernetes-validations[{index}]");
        fields(rule, is_path, &at, errors);
    }
}

fn fields(rule: &Value, is_path: impl Fn(&str) -> bool, at: &str, errors: &mut ErrorList) {
    let text = json::string(rule, "rule");
    let message = rule["message"].as_str();
    let trimmed = message.unwrap_or_default().trim();
    if text.trim().is_empty() {
        errors.required(format!("{at}.rule"), "rule is not specified");
    } else if message.is_some_and(|message| !message.is_empty()) && trimmed.is_empty() {
        errors.invalid(format!("{at}.message"), message, "must be non-empty if specified");
    } else if trimmed.contains(['\n', '\r']) {
        errors.invalid(format!("{at}.message"), message, "must not contain line breaks");
    } else if text.trim().contains(['\n', '\r']) && trimmed.is_empty() {
        let why = "message must be specified if rule contains line breaks";
        errors.required(format!("{at}.message"), why);
    }
    let expression = json::string(rule, "messageExpression");
    if !expression.is_empty() && expression.trim().is_empty() {
        let why = "messageExpression must be non-empty if specified";
        errors.required(format!("{at}.messageExpression"), why);
    }
    if let Some(reason) = rule["reason"].as_str() {
        errors.one_of(&format!("{at}.reason"), reason, &REASONS);
    }
    if let Some(path) = rule["fieldPath"].as_str() {
        let path_at = format!("{at}.fieldPath");
        if !path.is_empty() && path.trim().is_empty() {
            errors.invalid(path_at.clone(), path, "must be non-empty if specified");
        }
        if path.contains(['\n', '\r']) {
            errors.invalid(path_at.clone(), path, "must not contain line breaks");
        }
        if !path.is_empty() && !is_path(path) {
            errors.invalid(path_at, path, "must be a valid path");
        }
    }
}

/// Whether the path (`.name` or `['name']`) refers to a field that the schema declares.
fn is_declared_path(path: &str, schema: &Schema) -> bool {
    let mut schema = schema;
    let mut rest = path;
    while !rest.is_empty() {
        let name;
        if let Some(quoted) = rest.strip_prefix("['") {
            let Some((inner, after)) = quoted.split_once("']") else {
                return false;
            };
            (name, rest) = (inner, after);
        } else if let Some(plain) = rest.strip_prefix('.') {
            let end = plain.find(['.', '[', ']']).unwrap_or(plain.len());
            (name, rest) = plain.split_at(end);
        } else {
            return false;
        }
        let is_declared = !schema.properties.is_empty();
        let inner = match is_declared {
            true => schema.properties.get(name),
            false => schema.additional_schema(),
        };
        let Some(inner) = inner.filter(|_| !name.is_empty()) else {
            return false;
        };
        schema = inner;
    }
    true
}
