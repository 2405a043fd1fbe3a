//! OpenAPI schemas of custom resources.
//!
//! Adds standard properties to the schema in a CustomResourceDefinition, and removes keywords that OpenAPI v2 does not support. Does not
//! know paths or how a schema is evaluated.

use super::texts;
use crate::kinds::{CustomResourceVersion, Kind};
use crate::machinery::json;
use serde_json::{Map, Value, json};

/// The types that `x-kubernetes-int-or-string` permits.
const EITHER: [&str; 2] = ["integer", "string"];

/// The OpenAPI schema of a custom resource; `metadata` is a reference to the ObjectMeta schema.
pub(super) fn object(
    kind: &Kind,
    defined: &CustomResourceVersion,
    metadata: &Value,
    is_second: bool,
) -> Value {
    let mut schema = defined.text.as_ref().clone();
    // OpenAPI v2 clients reject members that a schema does not list, unless the schema lists no members at all.
    let is_open = is_second && defined.schema.preserve;
    if schema.is_null() || is_open {
        schema = json!({"type": "object"});
    } else {
        expand_int_or_string(&mut schema);
        if is_second {
            remove_unsupported_keywords(&mut schema);
        }
        complete_embedded_resources(&mut schema, metadata, is_second);
        let properties = json::member(&mut schema, "properties");
        properties.insert("metadata".to_owned(), metadata.clone());
        properties.extend(type_meta());
    }
    add_extensions(&mut schema, kind, kind.kind, defined);
    schema
}

/// The OpenAPI schema of a custom resource list; `items` and `metadata` are references to the schemas of an item and of ListMeta.
pub(super) fn list(kind: &Kind, defined: &CustomResourceVersion, items: &Value, metadata: &Value) -> Value {
    let mut properties = type_meta();
    let of_kind = format!("The objects of kind {}.", kind.kind);
    properties.insert(
        "items".to_owned(),
        json!({"type": "array", "items": items, "description": of_kind}),
    );
    properties.insert("metadata".to_owned(), metadata.clone());
    let mut schema = json!({
        "type": "object",
        "description": format!("{} is a list of {}", defined.list_kind, kind.kind),
        "required": ["items"],
        "properties": properties,
    });
    add_extensions(&mut schema, kind, &defined.list_kind, defined);
    schema
}

/// Adds the OpenAPI extensions for group, version and kind, and for selectable fields.
fn add_extensions(schema: &mut Value, kind: &Kind, name: &str, defined: &CustomResourceVersion) {
    schema["x-kubernetes-group-version-kind"] =
        json!([{"group": kind.group, "version": kind.version, "kind": name}]);
    if !defined.selectable.is_empty() {
        let fields = defined.selectable.iter();
        let fields: Vec<Value> = fields.map(|field| json!({"fieldPath": field.label})).collect();
        schema["x-kubernetes-selectable-fields"] = fields.into();
    }
}

fn type_meta() -> Map<String, Value> {
    let texts = [("apiVersion", texts::API_VERSION), ("kind", texts::KIND)];
    let properties =
        texts.map(|(name, text)| (name.to_owned(), json!({"type": "string", "description": text})));
    properties.into_iter().collect()
}

/// Visits a schema and its nested schemas, but not those in `allOf`, `anyOf`, `oneOf` and `not`.
fn visit_schemas(schema: &mut Value, change: &impl Fn(&mut Value)) {
    change(schema);
    for name in ["items", "additionalProperties"] {
        if let Some(inner) = schema.get_mut(name).filter(|inner| inner.is_object()) {
            visit_schemas(inner, change);
        }
    }
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties
            .values_mut()
            .for_each(|inner| visit_schemas(inner, change));
    }
}

fn has_flag(schema: &Value, flag: &str) -> bool {
    schema[flag] == true
}

/// Expands `x-kubernetes-int-or-string` to `anyOf: [integer, string]`.
fn expand_int_or_string(schema: &mut Value) {
    visit_schemas(schema, &|schema| {
        let types: Value = EITHER.iter().map(|of| json!({"type": of})).collect();
        let says = |schema: &Value| schema["anyOf"] == types;
        if !has_flag(schema, "x-kubernetes-int-or-string")
            || says(schema)
            || json::list(&schema["allOf"]).first().is_some_and(says)
        {
            return;
        }
        if schema["anyOf"].is_null() {
            schema["anyOf"] = types;
            return;
        }
        let mut all = vec![json!({ "anyOf": types })];
        all.extend_from_slice(json::list(&schema["allOf"]));
        schema["allOf"] = all.into();
    });
}

/// Removes keywords that OpenAPI v2 or OpenAPI v2 clients do not support.
fn remove_unsupported_keywords(schema: &mut Value) {
    visit_schemas(schema, &|schema| {
        let is_open = has_flag(schema, "x-kubernetes-preserve-unknown-fields");
        let is_nullable = has_flag(schema, "nullable");
        let Some(members) = schema.as_object_mut() else {
            return;
        };
        let mut removed = vec!["allOf", "oneOf", "anyOf", "not", "nullable"];
        if is_nullable {
            removed.push("type");
        }
        if is_nullable || is_open {
            removed.extend(["items", "properties"]);
        }
        removed.iter().for_each(|name| drop(members.remove(*name)));
        let of = members.get("type").and_then(Value::as_str).unwrap_or_default();
        if (of == "array" && !members.contains_key("items")) || (of == "object" && is_open) {
            members.remove("type");
        }
        require_no_null(members);
    });
}

/// Removes nullable properties from `required`: clients of OpenAPI v2 treat null as absent.
fn require_no_null(members: &mut Map<String, Value>) {
    let mut required: Vec<Value> = json::list(members.get("required").unwrap_or(&Value::Null)).to_vec();
    let properties = members.get("properties");
    let may_be_null = |name: &Value| {
        let name = name.as_str().unwrap_or_default();
        properties.is_some_and(|properties| has_flag(&properties[name], "nullable"))
    };
    required.retain(|name| !may_be_null(name));
    if members
        .get("additionalProperties")
        .is_some_and(|inner| has_flag(inner, "nullable"))
    {
        required.clear();
    }
    match required.is_empty() {
        true => drop(members.remove("required")),
        false => drop(members.insert("required".to_owned(), required.into())),
    }
}

/// Adds `apiVersion`, `kind` and `metadata` to embedded resources.
fn complete_embedded_resources(schema: &mut Value, metadata: &Value, is_second: bool) {
    visit_schemas(schema, &|schema| {
        let is_open = is_second && has_flag(schema, "x-kubernetes-preserve-unknown-fields");
        if is_open || !has_flag(schema, "x-kubernetes-embedded-resource") {
            return;
        }
        let properties = json::member(schema, "properties");
        properties.extend(type_meta());
        properties.insert("metadata".to_owned(), metadata.clone());
        let mut required = json::list(&schema["required"]).to_vec();
        for name in ["kind", "apiVersion"] {
            if !required.iter().any(|known| known == name) {
                required.push(name.into());
            }
        }
        schema["required"] = required.into();
    });
}
