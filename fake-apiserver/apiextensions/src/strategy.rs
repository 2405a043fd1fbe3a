//! Decoding and validation of custom resources.
//!
//! Owns the order of the steps and the messages. Schema semantics are in `structural`.

use crate::structural::{self, OldValue, Rules};
use fake_apiserver::extension::json_path::member_at;
use fake_apiserver::extension::resource::ResourceDefinition;
use fake_apiserver::extension::{
    CustomResourceStrategy, CustomResourceVersion, ErrorList, NullHandling, Part, ScalePaths, SchemaMismatch,
    conform_metadata, go, json, metadata, names,
};
use serde_json::Value;

/// Error types after which CEL rules are not evaluated, because the rules would fail or cost too much.
const FORM: [&str; 5] = [
    "FieldValueRequired",
    "FieldValueTooLong",
    "FieldValueTooMany",
    "FieldValueTypeInvalid",
    "FieldValueNotSupported",
];

/// Decodes and validates custom resources by a structural schema and its CEL rules.
pub(crate) struct SchemaStrategy {
    rules: Rules,
}

impl SchemaStrategy {
    /// Parses the CEL rules of a schema.
    pub(crate) fn read(schema: &Value) -> Self {
        Self {
            rules: Rules::read(schema),
        }
    }

    /// Evaluates the CEL rules of the schema, unless there are errors of a type in `FORM`. Returns warnings.
    fn evaluate_rules(
        &self,
        defined: &CustomResourceVersion,
        new: &Value,
        old: OldValue<'_>,
        errors: &mut ErrorList,
    ) -> Vec<String> {
        if self.rules.is_empty() {
            return Vec::new();
        }
        if errors.has_reason(&FORM) {
            let why = "some validation rules were not checked because the object was invalid; correct the existing errors to \
                   complete validation";
            errors.invalid("<nil>", Value::Null, why);
            return Vec::new();
        }
        self.rules.validate(new, &defined.schema, old, errors)
    }
}

impl CustomResourceStrategy for SchemaStrategy {
    fn prune_and_coerce(
        &self,
        defined: &CustomResourceVersion,
        object: &mut Value,
        nulls: NullHandling,
    ) -> Result<Vec<String>, SchemaMismatch> {
        whole_numbers(object);
        let mut unknown = conform_metadata(object).map_err(SchemaMismatch::Form)?;
        metadata::set(object, "selfLink", None);
        unknown.extend(structural::prune(object, &defined.schema, true));
        if nulls == NullHandling::Dropped {
            structural::drop_nulls(object, &defined.schema);
        }
        let inside = structural::coerce(object, &defined.schema);
        unknown.extend(inside.map_err(|unfit| SchemaMismatch::EmbeddedObject(Box::new(unfit)))?);
        Ok(unknown)
    }

    fn default(&self, defined: &CustomResourceVersion, object: &mut Value) {
        structural::default(object, &defined.schema);
    }

    fn validate(
        &self,
        defined: &CustomResourceVersion,
        object: &Value,
        errors: &mut ErrorList,
    ) -> Vec<String> {
        if has_wrong_type(&defined.definition, object, errors) {
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
        self.evaluate_rules(defined, object, None, errors)
    }

    fn validate_update(
        &self,
        defined: &CustomResourceVersion,
        part: Part,
        (new, old): (&Value, &Value),
        errors: &mut ErrorList,
    ) -> Vec<String> {
        if has_wrong_type(&defined.definition, new, errors) {
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
        // Duplicate list items in the old object permit duplicates in the new object (ratcheting).
        let mut before = ErrorList::default();
        structural::validate_lists(old, &defined.schema, &mut before);
        if before.is_empty() {
            structural::validate_lists(new, &defined.schema, errors);
        }
        self.evaluate_rules(defined, new, Some(old), errors)
    }
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

/// Validates the status of a custom resource by the schema of the status alone.
fn status(defined: &CustomResourceVersion, new: &Value, old: &Value, errors: &mut ErrorList) {
    let schema = defined.schema.properties.get("status");
    let status = new.get("status").zip(schema);
    let before: OldValue<'_> = old.get("status");
    let failures = status.map(|(status, schema)| structural::validate(status, schema, before));
    for failure in failures.into_iter().flatten() {
        failure.report(Some("status"), errors);
    }
}

/// Reports an error if kind or apiVersion of the object differ from those of the resource. Returns whether they differ.
fn has_wrong_type(definition: &ResourceDefinition, object: &Value, errors: &mut ErrorList) -> bool {
    let before = errors.len();
    for (field, expected) in [
        ("kind", definition.kind.to_owned()),
        ("apiVersion", definition.api_version()),
    ] {
        let found = json::string(object, field);
        if found != expected {
            errors.invalid(field, found, &format!("must be {expected}"));
        }
    }
    errors.len() > before
}

/// Validates the replica count at `path` of the `scale` subresource. If `path` is that of the observed count, also validates the selector.
fn replicas(object: &Value, scale: &ScalePaths, path: &[String], errors: &mut ErrorList) {
    let shown = |path: &[String]| format!(".{}", path.join("."));
    match member_at(object, path) {
        None => {}
        Some(found) => match found.as_i64() {
            None => {
                let why = format!(
                    "{} accessor error: {found} is of the type {}, expected int64",
                    shown(path),
                    go::type_name(found)
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
            go::type_name(found)
        );
        errors.invalid(shown(path), "", &why);
    }
}
