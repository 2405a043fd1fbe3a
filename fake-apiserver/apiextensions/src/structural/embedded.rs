//! Embedded resources (`x-kubernetes-embedded-resource`): their type and metadata are decoded and validated as in any object.
//!
//! Owns which values are embedded resources. The `fake-apiserver` crate decodes and validates their metadata.

use super::trail::Trail;
use fake_apiserver::extension::ErrorList;
use fake_apiserver::extension::schema::Schema;
use fake_apiserver::extension::{EmbeddedObjectError, conform_metadata, json, metadata, names};
use serde_json::{Map, Value};

/// Decodes type and metadata of all embedded resources. Returns the sorted paths of the unknown fields that were dropped.
pub(crate) fn coerce(value: &mut Value, schema: &Schema) -> Result<Vec<String>, EmbeddedObjectError> {
    let mut unknown = Vec::new();
    visit(value, schema, &mut Trail::default(), &mut unknown)?;
    unknown.sort();
    Ok(unknown)
}

fn visit(
    value: &mut Value,
    schema: &Schema,
    trail: &mut Trail,
    unknown: &mut Vec<String>,
) -> Result<(), EmbeddedObjectError> {
    if schema.embedded {
        decode_embedded_object(value, trail, unknown)?;
    }
    match value {
        Value::Object(members) => members.iter_mut().try_for_each(|(name, member)| {
            if let Some(inner) = schema.properties.get(name) {
                return trail.member(name, |trail| visit(member, inner, trail, unknown));
            }
            schema.additional_schema().map_or(Ok(()), |inner| {
                trail.key(name, |trail| visit(member, inner, trail, unknown))
            })
        }),
        Value::Array(items) => schema.items.as_deref().map_or(Ok(()), |inner| {
            items
                .iter_mut()
                .enumerate()
                .try_for_each(|(index, item)| trail.entry(index, |trail| visit(item, inner, trail, unknown)))
        }),
        _ => Ok(()),
    }
}

fn decode_embedded_object(
    value: &mut Value,
    trail: &Trail,
    unknown: &mut Vec<String>,
) -> Result<(), EmbeddedObjectError> {
    let unfit = |name: &str, value: &Value, why: String| EmbeddedObjectError {
        path: trail.member_path(name),
        value: value.clone(),
        why,
    };
    if !value.is_object() {
        return Ok(());
    }
    for name in ["apiVersion", "kind"] {
        if let Some(wrong) = value.get(name).filter(|value| !value.is_string()) {
            return Err(unfit(name, wrong, "must be a string".to_owned()));
        }
    }
    let dropped =
        conform_metadata(value).map_err(|why| unfit("metadata", &value["metadata"], why.to_string()))?;
    unknown.extend(dropped.iter().map(|path| trail.member_path(path)));
    if let Some(metadata) = value.get_mut("metadata")
        && metadata["creationTimestamp"].is_null()
    {
        json::assign(metadata, "creationTimestamp", Value::Null);
    }
    Ok(())
}

/// Validates the type and metadata of all embedded resources.
pub(crate) fn validate(value: &Value, schema: &Schema, errors: &mut ErrorList) {
    validate_nested(value, schema, &mut Trail::default(), errors);
}

fn validate_nested(value: &Value, schema: &Schema, trail: &mut Trail, errors: &mut ErrorList) {
    match value {
        Value::Object(members) => {
            if schema.embedded {
                validate_embedded_object(members, value, trail, errors);
            }
            for (name, member) in members {
                if let Some(inner) = schema.properties.get(name) {
                    trail.member(name, |trail| validate_nested(member, inner, trail, errors));
                } else if let Some(inner) = schema.additional_schema() {
                    trail.key(name, |trail| validate_nested(member, inner, trail, errors));
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                if let Some(inner) = schema.items.as_deref() {
                    trail.entry(index, |trail| validate_nested(item, inner, trail, errors));
                }
            }
        }
        _ => {}
    }
}

fn validate_embedded_object(
    members: &Map<String, Value>,
    value: &Value,
    trail: &Trail,
    errors: &mut ErrorList,
) {
    for name in ["apiVersion", "kind"] {
        match members.get(name) {
            None => errors.required(trail.member_path(name), ""),
            Some(Value::String(text)) if text.is_empty() => {
                errors.invalid(trail.member_path(name), "", "must not be empty");
            }
            Some(Value::String(text)) if name == "kind" => kind(text, trail, errors),
            Some(Value::String(text)) if text.matches('/').count() > 1 => {
                let why = format!("unexpected GroupVersion string: {text}");
                errors.invalid(trail.member_path(name), text.as_str(), &why);
            }
            Some(Value::String(_)) => {}
            Some(other) => errors.invalid(trail.member_path(name), other.clone(), "must be a string"),
        }
    }
    if members.contains_key("metadata") {
        let mut named = value.clone();
        if metadata::text(value, "name").is_empty() {
            // The name of an embedded resource is optional, so a valid name replaces a missing one for the validation.
            metadata::set(&mut named, "name", Some("fakename".into()));
        }
        let mut found = ErrorList::default();
        metadata::validate_common(&named, names::path_segment, &mut found);
        errors.extend_with_prefix(trail.as_str(), found);
    }
}

fn kind(text: &str, trail: &Trail, errors: &mut ErrorList) {
    let complaints = names::dns_label_1035(&text.to_lowercase());
    if !complaints.is_empty() {
        let why = format!(
            "may have mixed case, but should otherwise match: {}",
            complaints.join(",")
        );
        errors.invalid(trail.member_path("kind"), text, &why);
    }
}
