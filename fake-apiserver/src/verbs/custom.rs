//! Custom resources: decoding and validation.
//!
//! Owns the order of steps and their messages. Schema semantics are in `structural`.

use super::decoded::{DecodeError, Decoded, strict_errors_for};
use crate::kinds::{Defined, Kind, Part, ScalePaths};
use crate::machinery::document::Document;
use crate::machinery::error_list::ErrorList;
use crate::machinery::json_path::member_at;
use crate::machinery::status::Status;
use crate::machinery::{json, metadata, names};
use crate::structural::{self, Before};
use serde_json::Value;

/// Error types after which CEL rules are not evaluated: they would fail or cost too much.
const FORM: [&str; 5] = [
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
    "FieldValueNotSupported",
];

/// Handling of `null` where the schema neither allows it nor has a default.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Nulls {
    /// Removed.
    Dropped,
    /// Retained, so that validation rejects it: an apply states an intent for each of its fields.
    Retained,
}

/// Decodes the body of a custom resource.
pub(super) fn decode(
    kind: &Kind,
    defined: &Defined,
    document: Document,
    nulls: Nulls,
) -> Result<Decoded, DecodeError> {
    let Document {
        value: mut object,
        duplicates,
        ..
    } = document;
    identify(kind, &object)?;
    let prune_and_coerce = prune_and_coerce(&mut object, defined, nulls)?;
    structural::default(&mut object, &defined.schema);
    let strict_errors = strict_errors_for(&duplicates, "duplicate")
        .chain(strict_errors_for(&prune_and_coerce, "unknown"))
        .collect();
    Ok(Decoded {
        object,
        strict_errors,
        empties: Vec::new(),
    })
}

/// Prunes and coerces an object by its schema. Returns the paths of pruned fields.
pub(super) fn prune_and_coerce(
    object: &mut Value,
    defined: &Defined,
    nulls: Nulls,
) -> Result<Vec<String>, DecodeError> {
    whole_numbers(object);
    let mut unknown = structural::coerce_metadata(object).map_err(DecodeError::Form)?;
    metadata::set(object, "selfLink", None);
    unknown.extend(structural::prune(object, &defined.schema, true));
    if nulls == Nulls::Dropped {
        structural::drop_nulls(object, &defined.schema);
    }
    let inside = structural::coerce(object, &defined.schema);
    unknown.extend(inside.map_err(|unfit| DecodeError::EmbeddedObject(Box::new(unfit)))?);
    Ok(unknown)
}

/// A stored object as it would be if written now, by the schema of its version. None if it would not change.
pub(crate) fn rewrite_stored(kinds: &[Kind], object: &Value) -> Option<Value> {
    let version = json::string(object, "apiVersion");
    let kind = kinds.iter().find(|kind| kind.has_version(version))?;
    let defined = kind.defined()?;
    let mut changed = object.clone();
    prune_and_coerce(&mut changed, defined, Nulls::Dropped).ok()?;
    structural::default(&mut changed, &defined.schema);
    (changed != *object).then_some(changed)
}

/// Converts integral floats to integers, as Go serializes them.
fn whole_numbers(value: &mut Value) {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    match value {
        Value::Number(number) if number.is_f64() => {
            let float = number.as_f64().unwrap_or_default();
            if float.fract() == 0.0 && float.abs() < EXACT {
                *value = (float as i64).into();
            }
        }
        // Go decodes an integer beyond int64 as a float.
        Value::Number(number) if number.as_i64().is_none() => {
            *value = number.as_f64().into();
        }
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Object(members) => members.values_mut().for_each(whole_numbers),
        _ => {}
    }
}

/// Checks that the body has a kind and the apiVersion of the request.
fn identify(kind: &Kind, object: &Value) -> Result<(), DecodeError> {
    if json::string(object, "kind").is_empty() {
        let why = format!("Object 'Kind' is missing in '{object}'");
        return Err(DecodeError::UnknownType(why, object.to_string()));
    }
    let (version, expected) = (json::string(object, "apiVersion"), kind.api_version());
    if version == expected {
        return Ok(());
    }
    Err(DecodeError::Version(Status::bad_request(format!(
        "the API version in the data ({version}) does not match the expected API version ({expected})"
    ))))
}

/// Validates a new object and returns warnings.
pub(super) fn validate(
    kind: &Kind,
    defined: &Defined,
    object: &Value,
    errors: &mut ErrorList,
) -> Vec<String> {
    if has_wrong_type(kind, object, errors) {
        return Vec::new();
    }
    metadata::validate_common(object, names::subdomain, errors);
    for failure in structural::validate(object, &defined.schema, None) {
        failure.report(None, errors);
    }
    if let Some(scale) = &defined.scale {
        replicas(object, scale, &scale.replicas, errors);
        replicas(object, scale, &scale.observed, errors);
    }
    structural::validate_embedded(object, &defined.schema, errors);
    structural::validate_lists(object, &defined.schema, errors);
    expressions(defined, object, None, errors)
}

/// Evaluates the CEL rules of the schema unless structural errors prevent it. Returns warnings.
fn expressions(defined: &Defined, new: &Value, old: Before<'_>, errors: &mut ErrorList) -> Vec<String> {
    if defined.rules.is_empty() {
        return Vec::new();
    }
    if errors.has_reason(&FORM) {
        let why = "some validation rules were not checked because the object was invalid; correct the existing errors to \
                   complete validation";
        errors.invalid("<nil>", Value::Null, why);
        return Vec::new();
    }
    defined.rules.validate(new, &defined.schema, old, errors)
}

/// Validates an update of an object or of its status, and returns warnings.
pub(super) fn validate_update(
    kind: &Kind,
    defined: &Defined,
    part: Part,
    (new, old): (&Value, &Value),
    errors: &mut ErrorList,
) -> Vec<String> {
    if has_wrong_type(kind, new, errors) {
        return Vec::new();
    }
    let is_status = part == Part::Status;
    if is_status {
        status(defined, new, old, errors);
    } else {
        for failure in structural::validate(new, &defined.schema, Some(old)) {
            failure.report(None, errors);
        }
    }
    if let Some(scale) = &defined.scale {
        if !is_status {
            replicas(new, scale, &scale.replicas, errors);
        }
        replicas(new, scale, &scale.observed, errors);
    }
    if !is_status {
        structural::validate_embedded(new, &defined.schema, errors);
    }
    // Duplicates in the old object allow duplicates in the new one (ratcheting).
    let mut before = ErrorList::default();
    structural::validate_lists(old, &defined.schema, &mut before);
    if before.is_empty() {
        structural::validate_lists(new, &defined.schema, errors);
    }
    expressions(defined, new, Some(old), errors)
}

/// Validates a status by the schema of the status alone.
fn status(defined: &Defined, new: &Value, old: &Value, errors: &mut ErrorList) {
    let schema = defined.schema.properties.get("status");
    let status = new.get("status").zip(schema);
    let before: Before<'_> = old.get("status");
    let failures = status.map(|(status, schema)| structural::validate(status, schema, before));
    for failure in failures.into_iter().flatten() {
        failure.report(Some("status"), errors);
    }
}

/// Whether kind or apiVersion differ from those of the resource; reports errors.
fn has_wrong_type(kind: &Kind, object: &Value, errors: &mut ErrorList) -> bool {
    let before = errors.len();
    for (field, expected) in [("kind", kind.kind.to_owned()), ("apiVersion", kind.api_version())] {
        let found = json::string(object, field);
        if found != expected {
            errors.invalid(field, found, &format!("must be {expected}"));
        }
    }
    errors.len() > before
}

/// Validates a replica count of `scale`, and with the observed count the selector.
fn replicas(object: &Value, scale: &ScalePaths, path: &[String], errors: &mut ErrorList) {
    let shown = |path: &[String]| format!(".{}", path.join("."));
    match member_at(object, path) {
        None => {}
        Some(found) => match found.as_i64() {
            None => {
                let why = format!(
                    "{} accessor error: {found} is of the type {}, expected int64",
                    shown(path),
                    go_type(found)
                );
                errors.invalid(shown(path), 0, &why);
            }
            Some(count) if count < 0 => {
                errors.invalid(shown(path), count, "should be a non-negative integer");
            }
            Some(count) if count > i64::from(i32::MAX) => {
                let why = format!("should be less than or equal to {}", i32::MAX);
                errors.invalid(shown(path), count, &why);
            }
            Some(_) => {}
        },
    }
    if path == scale.observed
        && let Some(path) = &scale.selector
        && let Some(found) = member_at(object, path).filter(|found| !found.is_string())
    {
        let why = format!(
            "{} accessor error: {found} is of the type {}, expected string",
            shown(path),
            go_type(found)
        );
        errors.invalid(shown(path), "", &why);
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Warnings about new finalizers whose names may conflict with those of other writers.
pub(super) fn warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let before = old.map(metadata::finalizers).unwrap_or_default();
    let mut added = metadata::finalizers(new);
    added.retain(|finalizer| !before.contains(finalizer));
    added.sort_unstable();
    added.dedup();
    added.into_iter().flat_map(about_finalizer).collect()
}

fn about_finalizer(finalizer: &str) -> Vec<String> {
    let mut told = names::qualified(finalizer);
    if !finalizer.contains('/') && !metadata::is_standard_finalizer(finalizer) {
        let path = if finalizer.contains('.') {
            " including a path (/)"
        } else {
            ""
        };
        told.push(format!(
            "prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other finalizer writers"
        ));
    }
    let told = told.into_iter();
    told.map(|text| format!("metadata.finalizers: {finalizer:?}: {text}"))
        .collect()
}
