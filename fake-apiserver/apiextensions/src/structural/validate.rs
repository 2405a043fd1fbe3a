//! Validation of a value against its schema, with the messages of kube-apiserver's validator (kube-openapi).
//!
//! Owns the order of the checks. Unchanged values are ratcheted: see `correlated`.

use super::alternatives;
use super::correlated::{self, OldValue};
use super::failure::{Failure, FailureKind};
use super::trail::Trail;
use super::verdict::Verdict;
use super::{formats, numbers};
use fake_apiserver::extension::schema::{Additional, Checks, Schema};
use serde_json::{Map, Value};

/// Members of the root object that are validated even if they are unchanged (no ratcheting).
const TYPE_META: [&str; 2] = ["kind", "apiVersion"];

/// The validation errors of a value. `before`: the value in the old object, for ratcheting.
pub(crate) fn validate(value: &Value, schema: &Schema, before: OldValue<'_>) -> Vec<Failure> {
    validate_with_ratcheting(value, schema, before, &mut Trail::default()).failures
}

fn validate_with_ratcheting(
    value: &Value,
    schema: &Schema,
    before: OldValue<'_>,
    trail: &mut Trail,
) -> Verdict {
    let mut verdict = validate_value(value, schema, before, trail);
    let is_old = |before: &&Value| correlated::is_same(value, before, Some(schema));
    if !verdict.is_valid() && before.as_ref().is_some_and(is_old) {
        verdict.failures.clear();
    }
    verdict
}

/// Validates a value, even if the value is unchanged. Only nested values are ratcheted.
fn validate_value(value: &Value, schema: &Schema, before: OldValue<'_>, trail: &mut Trail) -> Verdict {
    let mut verdict = Verdict::default();
    match wrong_type(value, schema, trail) {
        Some(failure) => verdict.fail(failure),
        None => verdict.fits += 1,
    }
    let checks = schema.checks.as_deref();
    if value.is_null() {
        verdict
            .failures
            .extend(checks.and_then(|checks| not_in_enum(value, checks, trail)));
        return verdict;
    }
    verdict.fits += 1;
    if let Some(checks) = checks {
        verdict.merge(alternatives::validate_alternatives(
            validate_value,
            value,
            checks,
            before,
            trail,
        ));
        match value {
            Value::String(text) => text_rules(text, checks, trail, &mut verdict),
            Value::Number(number) => {
                let failures = numbers::validate(number, schema, checks, trail);
                verdict.merge(Verdict { failures, fits: 1 });
            }
            _ => {}
        }
    }
    if let Value::Array(items) = value {
        verdict.merge(entries(items, schema, before, trail));
    }
    verdict
        .failures
        .extend(checks.and_then(|checks| not_in_enum(value, checks, trail)));
    if let Value::Object(members) = value {
        verdict.merge(object(members, schema, before, trail));
    }
    verdict
}

/// The JSON type of a value, and the Go type that error messages name as the format.
fn type_of(value: &Value) -> (&'static str, &'static str) {
    match value {
        Value::Null => ("null", ""),
        Value::Bool(_) => ("boolean", ""),
        Value::Number(number) if number.is_f64() => ("number", "float64"),
        Value::Number(_) => ("integer", "int64"),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    }
}

fn wrong_type(value: &Value, schema: &Schema, trail: &Trail) -> Option<Failure> {
    let wanted: &[&str] = match (schema.int_or_string, schema.of) {
        (true, _) => &["integer", "string"],
        (false, "") => return None,
        (false, _) => std::slice::from_ref(&schema.of),
    };
    let format = schema.checks.as_deref().map_or("", |checks| checks.format);
    let (found, go_format) = type_of(value);
    let fits = match value {
        Value::Null => schema.nullable,
        Value::Number(number) => {
            wanted.contains(&found)
                || (found == "integer" && wanted.contains(&"number"))
                || (wanted.contains(&"integer") && numbers::to_integer(number).is_some())
        }
        _ => wanted.contains(&found),
    };
    if fits {
        return None;
    }
    let (wanted, found) = match value {
        Value::String(_) | Value::Array(_) | Value::Null => (wanted.join(","), found),
        _ if format.is_empty() => (wanted.join(","), found),
        _ => (format.to_owned(), go_format),
    };
    let text = format!("{} in body must be of type {wanted}: {found:?}", trail.as_str());
    Some(Failure::at(
        trail.as_str(),
        FailureKind::Type(found.to_owned(), text),
    ))
}

/// Validates length, pattern and format of a string. If both length and pattern are violated, only the length is reported.
fn text_rules(text: &str, checks: &Checks, trail: &Trail, verdict: &mut Verdict) {
    let path = trail.as_str();
    let rule = |what: String| FailureKind::Rule(text.into(), format!("{path} in body should {what}"));
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let broken = match (checks.length_max, checks.length_min, &checks.pattern) {
        (Some(most), ..) if length > most => Some(FailureKind::TooLong(most)),
        (_, Some(least), _) if length < least => Some(rule(format!("be at least {least} chars long"))),
        (.., Some(pattern)) if !pattern.matcher.is_match(text) => {
            Some(rule(format!("match '{}'", pattern.text)))
        }
        _ => None,
    };
    if let Some(what) = broken {
        verdict.fail(Failure::at(path, what));
    }
    if !formats::fits(checks.format, text) {
        let what = format!("{path} in body must be of type {}: {text:?}", checks.format);
        verdict.fail(Failure::at(path, FailureKind::Type(text.to_owned(), what)));
    }
}

fn not_in_enum(value: &Value, checks: &Checks, trail: &Trail) -> Option<Failure> {
    let is_one = |one: &Value| one == value || (one.is_number() && one.as_f64() == value.as_f64());
    if checks.values.is_empty() || checks.values.iter().any(is_one) {
        return None;
    }
    let what = FailureKind::Enum(value.clone(), checks.values.clone());
    Some(Failure::at(trail.as_str(), what))
}

fn entries(items: &[Value], schema: &Schema, before: OldValue<'_>, trail: &mut Trail) -> Verdict {
    let mut verdict = Verdict::default();
    if let Some(inner) = schema.items.as_deref() {
        for (index, item) in items.iter().enumerate() {
            let before = correlated::entry(before, schema, item);
            let found = trail.entry(index, |trail| {
                validate_with_ratcheting(item, inner, before, trail)
            });
            verdict.merge(found);
        }
    }
    if let Some(checks) = schema.checks.as_deref() {
        count_entries(items, checks, trail, &mut verdict);
    }
    verdict.fits += 1;
    verdict
}

fn count_entries(items: &[Value], checks: &Checks, trail: &Trail, verdict: &mut Verdict) {
    let (path, count) = (trail.as_str(), items.len());
    let rule = |value: Value, what: String| FailureKind::Rule(value, format!("{path} in body {what}"));
    if let Some(least) = checks.items_min.filter(|least| (count as i64) < *least) {
        let what = rule(count.into(), format!("should have at least {least} items"));
        verdict.fail(Failure::at(path, what));
    }
    if let Some(most) = checks.items_max.filter(|most| count as i64 > *most) {
        verdict.fail(Failure::at(path, FailureKind::TooMany(count, most)));
    }
    let comes_twice = |(at, item): (usize, &Value)| items[..at].contains(item);
    if checks.unique && items.iter().enumerate().any(comes_twice) {
        let what = rule("".into(), "shouldn't contain duplicates".to_owned());
        verdict.fail(Failure::at(path, what));
    }
}

fn object(members: &Map<String, Value>, schema: &Schema, before: OldValue<'_>, trail: &mut Trail) -> Verdict {
    let mut verdict = Verdict::default();
    if let Some(checks) = schema.checks.as_deref() {
        count_members(members, checks, trail, &mut verdict);
    }
    for name in members
        .keys()
        .filter(|name| !schema.properties.contains_key(*name))
    {
        match &schema.additional {
            Some(Additional::Any(false)) => {
                let what = format!("{}.{name} in body is a forbidden property", trail.as_str());
                verdict.fail(Failure::at(
                    trail.as_str(),
                    FailureKind::Rule(name.as_str().into(), what),
                ));
            }
            Some(Additional::Schema(inner)) => {
                verdict.merge(member(members, name, inner, before, trail));
            }
            Some(Additional::Any(true)) | None => {}
        }
    }
    for (name, inner) in &schema.properties {
        if members.contains_key(name) {
            verdict.merge(member(members, name, inner, before, trail));
        }
    }
    let required = schema
        .checks
        .as_deref()
        .map_or(&[][..], |checks| &checks.required);
    for name in required.iter().filter(|name| !members.contains_key(*name)) {
        verdict.fail(Failure::at(&trail.member_path(name), FailureKind::Required));
    }
    verdict
}

fn member(
    members: &Map<String, Value>,
    name: &str,
    schema: &Schema,
    before: OldValue<'_>,
    trail: &mut Trail,
) -> Verdict {
    let is_type = trail.is_root() && TYPE_META.contains(&name);
    let before = correlated::member(before, name).filter(|_| !is_type);
    let Some(value) = members.get(name) else {
        return Verdict::default();
    };
    trail.member(name, |trail| {
        validate_with_ratcheting(value, schema, before, trail)
    })
}

fn count_members(members: &Map<String, Value>, checks: &Checks, trail: &Trail, verdict: &mut Verdict) {
    let (path, count) = (trail.as_str(), members.len());
    if let Some(least) = checks.properties_min.filter(|least| (count as i64) < *least) {
        let text = format!("{path} in body should have at least {least} properties");
        verdict.fail(Failure::at(path, FailureKind::Rule(count.into(), text)));
    }
    if let Some(most) = checks.properties_max.filter(|most| count as i64 > *most) {
        verdict.fail(Failure::at(path, FailureKind::TooMany(count, most)));
    }
}
