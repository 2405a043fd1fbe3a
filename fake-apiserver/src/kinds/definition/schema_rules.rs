//! The rules for the schema of a definition: what a schema may say at all.
//!
//! Owns the rules for every schema in it. Whether it is structural is judged in `structure_rules`, and whether defaults
//! fit in `default_rules`.

use super::super::internal_form;
use super::{default_rules, structure_rules};
use crate::machinery::faults::Faults;
use crate::machinery::json::{self, list, string};
use crate::structural::{self, TYPES, unreadable};
use serde_json::Value;

/// What may be said of a whole object that has a status of its own.
const AT_ROOT: [&str; 22] = [
    "description",
    "type",
    "format",
    "title",
    "maximum",
    "exclusiveMaximum",
    "minimum",
    "exclusiveMinimum",
    "maxLength",
    "minLength",
    "pattern",
    "maxItems",
    "minItems",
    "uniqueItems",
    "multipleOf",
    "required",
    "items",
    "properties",
    "externalDocs",
    "example",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-validations",
];
/// Words that the real server looks at before the type.
const BEFORE_TYPE: [&str; 3] = ["id", "$schema", "$ref"];
/// The names of those in the text that refuses others.
const AT_ROOT_SHOWN: &str = "[Description Type Format Title Maximum ExclusiveMaximum Minimum ExclusiveMinimum MaxLength \
    MinLength Pattern MaxItems MinItems UniqueItems MultipleOf Required Items Properties ExternalDocs Example \
    XPreserveUnknownFields XValidations]";

/// Words that JSON schemas have and these do not.
const FORBIDDEN: [&str; 6] = [
    "id",
    "additionalItems",
    "patternProperties",
    "definitions",
    "dependencies",
    "$ref",
];

/// Of these, those that count only where something is in them.
const MAPS: [&str; 2] = ["patternProperties", "definitions"];

/// The rules for the schema of one version.
pub(super) fn validate(schema: &Value, at: &str, has_status: bool, faults: &mut Faults) {
    let before = faults.len();
    if has_status {
        root_with_status(schema, at, faults);
    }
    if schema["nullable"] == true {
        faults.forbidden(format!("{at}.nullable"), "nullable cannot be true at the root");
    }
    let unreadable = unreadable(schema);
    if unreadable.is_none() {
        structure_rules::validate(schema, at, faults);
        if faults.len() == before {
            default_rules::validate(schema, at, faults);
        }
    }
    let place = Place {
        is_root: true,
        inside_meta: false,
        no_defaults: None,
    };
    visit(schema, at, &place, faults);
    if faults.len() > before {
        return;
    }
    match unreadable {
        Some(why) => faults.invalid(at, "", &why),
        None => structural::validate_expressions(schema, at, faults),
    }
}

fn root_with_status(schema: &Value, at: &str, faults: &mut Faults) {
    let is_set = |value: &Value| !(value.is_null() || *value == false || *value == "");
    let of = string(schema, "type");
    let comes_first = BEFORE_TYPE.iter().any(|word| is_set(&schema[*word]));
    if !of.is_empty() && of != "object" && !comes_first {
        let text = "only \"object\" is allowed as the type at the root of the schema if the status subresource is enabled";
        return faults.invalid(format!("{at}.type"), of, text);
    }
    let members = schema.as_object().into_iter().flatten();
    let mut set = members.filter(|(_, value)| is_set(value));
    if set.any(|(name, _)| !AT_ROOT.contains(&name.as_str())) {
        let text = format!(
            "only {AT_ROOT_SHOWN} fields are allowed at the root of the schema if the status subresource is enabled"
        );
        faults.invalid_as(at, &internal_form::shown("JSONSchemaProps", schema), &text);
    }
}

/// Where a schema is.
struct Place {
    is_root: bool,
    /// It is about type or metadata of an object.
    inside_meta: bool,
    /// There may be no defaults, and why.
    no_defaults: Option<String>,
}

impl Place {
    fn below(&self) -> Self {
        Self {
            is_root: false,
            inside_meta: self.inside_meta,
            no_defaults: self.no_defaults.clone(),
        }
    }
}

fn visit(schema: &Value, at: &str, place: &Place, faults: &mut Faults) {
    words(schema, at, place, faults);
    additional(schema, at, place, faults);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let mut below = place.below();
        let is_object = place.is_root || schema["x-kubernetes-embedded-resource"] == true;
        if is_object && ["metadata", "kind", "apiVersion"].contains(&name.as_str()) {
            below.inside_meta = true;
            if place.is_root {
                below.no_defaults = Some(format!("in top-level {name}"));
            }
        }
        visit(property, &format!("{at}.properties[{name}]"), &below, faults);
    }
    if schema["not"].is_object() {
        visit(&schema["not"], &format!("{at}.not"), &place.below(), faults);
    }
    for word in ["allOf", "oneOf", "anyOf"] {
        for (index, inner) in list(&schema[word]).iter().enumerate() {
            visit(inner, &format!("{at}.{word}[{index}]"), &place.below(), faults);
        }
    }
    for (name, inner) in schema["definitions"].as_object().into_iter().flatten() {
        visit(
            inner,
            &format!("{at}.definitions[{name}]"),
            &place.below(),
            faults,
        );
    }
    if schema["items"].is_object() {
        visit(&schema["items"], &format!("{at}.items"), &place.below(), faults);
    }
    for (index, inner) in list(&schema["items"]).iter().enumerate() {
        visit(inner, &format!("{at}.items[{index}]"), &place.below(), faults);
    }
    let dependencies = schema["dependencies"].as_object().into_iter().flatten();
    for (name, inner) in dependencies.filter(|(_, inner)| inner.is_object()) {
        visit(
            inner,
            &format!("{at}.dependencies[{name}]"),
            &place.below(),
            faults,
        );
    }
    if schema["x-kubernetes-preserve-unknown-fields"] == false {
        let place = format!("{at}.x-kubernetes-preserve-unknown-fields");
        faults.invalid(place, false, "must be true or undefined");
    }
    map_type(schema, at, faults);
    list_type(schema, at, faults);
    structural::validate_rules(schema, at, faults);
}

/// The rules for the words of one schema.
fn words(schema: &Value, at: &str, place: &Place, faults: &mut Faults) {
    let of = string(schema, "type");
    if !of.is_empty() && !TYPES.contains(&of) {
        faults.not_supported(format!("{at}.type"), of, &TYPES);
    }
    if let Some(why) = &place.no_defaults
        && schema.get("default").is_some()
    {
        faults.forbidden(format!("{at}.default"), &format!("must not be set {why}"));
    }
    let is_empty = |word: &str| {
        let members = schema[word].as_object();
        MAPS.contains(&word) && members.is_some_and(serde_json::Map::is_empty)
    };
    let forbidden = FORBIDDEN.iter().filter(|word| schema.get(**word).is_some());
    for word in forbidden.filter(|word| !is_empty(word)) {
        faults.forbidden(format!("{at}.{word}"), &format!("{word} is not supported"));
    }
    if of == "null" {
        let text = "type cannot be set to null, use nullable as an alternative";
        faults.forbidden(format!("{at}.type"), text);
    }
    if schema["items"].is_array() {
        faults.forbidden(
            format!("{at}.items"),
            "items must be a schema object and not an array",
        );
    }
    if place.inside_meta && schema["x-kubernetes-embedded-resource"] == true {
        let text = "must not be used inside of resource meta";
        faults.forbidden(format!("{at}.x-kubernetes-embedded-resource"), text);
    }
    if schema["uniqueItems"] == true {
        let text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        faults.forbidden(format!("{at}.uniqueItems"), text);
    }
}

fn additional(schema: &Value, at: &str, place: &Place, faults: &mut Faults) {
    let additional = &schema["additionalProperties"];
    if additional.is_null() {
        return;
    }
    let has_properties = schema["properties"]
        .as_object()
        .is_some_and(|all| !all.is_empty());
    if has_properties && additional != true {
        let text = "additionalProperties and properties are mutual exclusive";
        faults.forbidden(format!("{at}.additionalProperties"), text);
    }
    if additional.is_object() {
        let mut below = place.below();
        if place.inside_meta {
            let why = "inside additionalProperties applying to object metadata";
            below.no_defaults = Some(why.to_owned());
        }
        visit(additional, &format!("{at}.additionalProperties"), &below, faults);
    }
}

fn map_type(schema: &Value, at: &str, faults: &mut Faults) {
    let Some(map_type) = schema["x-kubernetes-map-type"].as_str() else {
        return;
    };
    typed(schema, "object", "x-kubernetes-map-type", at, faults);
    faults.one_of(
        &format!("{at}.x-kubernetes-map-type"),
        map_type,
        &["atomic", "granular"],
    );
}

/// A word of schemas of one type.
fn typed(schema: &Value, of: &str, word: &str, at: &str, faults: &mut Faults) {
    let text = format!("must be {of} if {word} is specified");
    match string(schema, "type") {
        "" => faults.required(format!("{at}.type"), &text),
        found if found != of => faults.invalid(format!("{at}.type"), found, &text),
        _ => {}
    }
}

fn list_type(schema: &Value, at: &str, faults: &mut Faults) {
    let keys = json::texts(&schema["x-kubernetes-list-map-keys"]);
    let (of_list, of_keys) = (
        format!("{at}.x-kubernetes-list-type"),
        format!("{at}.x-kubernetes-list-map-keys"),
    );
    let Some(list_type) = schema["x-kubernetes-list-type"].as_str() else {
        if !keys.is_empty() {
            faults.required(of_list, "must be map if x-kubernetes-list-map-keys is non-empty");
        }
        return;
    };
    typed(schema, "array", "x-kubernetes-list-type", at, faults);
    let items = &schema["items"];
    if list_type == "set" {
        atomic_items(items, at, faults);
    }
    faults.one_of(&of_list, list_type, &["atomic", "set", "map"]);
    if !keys.is_empty() && list_type != "map" {
        faults.invalid(
            of_list,
            list_type,
            "must be map if x-kubernetes-list-map-keys is non-empty",
        );
    }
    if list_type == "map" {
        if keys.is_empty() {
            faults.required(
                of_keys.as_str(),
                "must not be empty if x-kubernetes-list-type is map",
            );
        }
        map_items(schema, &keys, at, faults);
    }
    if ["set", "map"].contains(&list_type) && items.is_object() {
        always_there(items, list_type, &keys, &format!("{at}.items"), faults);
    }
}

fn atomic_items(items: &Value, at: &str, faults: &mut Faults) {
    let text = "must be atomic as item of a list with x-kubernetes-list-type=set";
    let (word, wanted) = match string(items, "type") {
        "array" => (
            "x-kubernetes-list-type",
            items.get("x-kubernetes-list-type").is_none(),
        ),
        "object" => ("x-kubernetes-map-type", false),
        _ => return,
    };
    if !wanted && items[word] != "atomic" {
        faults.invalid(format!("{at}.items.{word}"), items[word].clone(), text);
    }
}

/// The entries of a list with keys have these keys.
fn map_items(schema: &Value, keys: &[&str], at: &str, faults: &mut Faults) {
    let (items, place) = (&schema["items"], format!("{at}.items"));
    if items.is_null() {
        return faults.required(place, "must have a schema if x-kubernetes-list-type is map");
    }
    if items["type"] != "object" {
        let text = "must be object if parent array's x-kubernetes-list-type is map";
        return faults.invalid(format!("{place}.type"), string(items, "type"), text);
    }
    for (index, key) in keys.iter().enumerate() {
        let all = || schema["x-kubernetes-list-map-keys"].clone();
        let of_keys = format!("{at}.x-kubernetes-list-map-keys");
        let at = format!("{place}.properties[{key}]");
        let property = &items["properties"][*key];
        if property.is_null() {
            faults.invalid(
                of_keys.as_str(),
                all(),
                "entries must all be names of item properties",
            );
        } else if ["array", "object"].contains(&string(property, "type")) {
            let text = "must be a scalar type if parent array's x-kubernetes-list-type is map";
            faults.invalid(format!("{at}.type"), string(items, "type"), text);
        }
        if keys[..index].contains(key) {
            faults.invalid(of_keys, all(), "must not contain duplicate entries");
        }
    }
}

/// The entries of a list that are told apart are there, and their keys with them.
fn always_there(items: &Value, list_type: &str, keys: &[&str], at: &str, faults: &mut Faults) {
    if items["nullable"] == true {
        let text = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        faults.forbidden(format!("{at}.nullable"), &text);
    }
    let keys = keys.iter().filter(|_| list_type == "map");
    let required = json::texts(&items["required"]);
    for key in keys.filter(|key| !items["properties"][**key].is_null()) {
        let property = &items["properties"][*key];
        let at = format!("{at}.properties[{key}]");
        let why = "this property is in x-kubernetes-list-map-keys, so it";
        if !required.contains(key) && property.get("default").is_none() {
            let text = format!("{why} must have a default or be a required property");
            faults.required(format!("{at}.default"), &text);
        }
        if property["nullable"] == true {
            faults.forbidden(format!("{at}.nullable"), &format!("{why} cannot be nullable"));
        }
    }
}
