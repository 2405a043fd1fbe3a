//! OpenAPI v3 schemas of the API kinds and of the types of their fields.
//!
//! Owns the conversion of a field to a schema. Does not know paths. Descriptions are in `texts`, and properties that the server publishes
//! but does not enforce in `facts`.

use super::facts::{self, OpenApiProperties};
use super::{custom, texts};
use crate::kinds::{CustomResourceVersion, Kind};
use crate::machinery::versions::group_version;
use crate::schema::{Field, Ownership, Presence, Type, ValueType};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

pub(super) const COMPONENTS: &str = "#/components/schemas/";
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
/// OpenAPI name prefixes of types outside of `io.k8s.api`.
const PACKAGES: [(&str, &str); 3] = [
    ("meta", "io.k8s.apimachinery.pkg.apis.meta"),
    (
        "apiextensions",
        "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
    ),
    (
        "apiregistration",
        "io.k8s.kube-aggregator.pkg.apis.apiregistration",
    ),
];
/// The type of the `/version` document: name, required members, optional members.
const VERSION: (&str, [&str; 9], [&str; 4]) = (
    "io.k8s.apimachinery.pkg.version.Info",
    [
        "major",
        "minor",
        "gitVersion",
        "gitCommit",
        "gitTreeState",
        "buildDate",
        "goVersion",
        "compiler",
        "platform",
    ],
    [
        "emulationMajor",
        "emulationMinor",
        "minCompatibilityMajor",
        "minCompatibilityMinor",
    ],
);

/// The schemas in a document, collected while its operations refer to them.
pub(super) struct Schemas {
    found: BTreeMap<String, Value>,
    /// Whether the schemas will be converted to OpenAPI v2.
    is_second: bool,
}

impl Schemas {
    pub(super) fn new(is_second: bool) -> Self {
        Self {
            found: BTreeMap::new(),
            is_second,
        }
    }

    /// A reference to the schema of a custom resource.
    pub(super) fn object(&mut self, kind: &Kind, defined: &CustomResourceVersion) -> Value {
        let metadata = self.metadata(Type::object_meta());
        let is_second = self.is_second;
        self.add_named_schema(&custom_name(kind, kind.kind), || {
            custom::object(kind, defined, &metadata, is_second)
        })
    }

    /// A reference to the schema of a list of custom resources.
    pub(super) fn list(&mut self, kind: &Kind, defined: &CustomResourceVersion) -> Value {
        let items = self.object(kind, defined);
        let metadata = self.metadata(Type::list_meta());
        self.add_named_schema(&custom_name(kind, &defined.list_kind), || {
            custom::list(kind, defined, &items, &metadata)
        })
    }

    fn metadata(&mut self, of: &'static Type) -> Value {
        self.add(of);
        let description = json!({"description": texts::METADATA});
        wrap_reference(merged(reference(&name(of)), description))
    }

    /// A reference to the schema of a kind. Adds the schema if the document does not contain it yet.
    pub(super) fn kind(&mut self, group: &str, version: &str, kind: &str) -> Value {
        let Some(of) = Type::find(&group_version(group, version), kind) else {
            return json!({"type": "object"});
        };
        self.add(of);
        let name = name(of);
        if let Some(schema) = self.found.get_mut(&name)
            && schema.get("x-kubernetes-group-version-kind").is_none()
        {
            let (group, version) = if of.name.starts_with("meta.") {
                ("", "v1")
            } else {
                (group, version)
            };
            schema["x-kubernetes-group-version-kind"] =
                json!([{"group": group, "version": version, "kind": kind}]);
            for field in ["apiVersion", "kind"] {
                schema["properties"][field] = json!({"type": "string", "description": texts::field_description(of, field).unwrap_or_default()});
            }
        }
        reference(&name)
    }

    /// A reference to the schema of a patch, which permits any object.
    pub(super) fn patch(&mut self) -> Value {
        self.add_named_schema(
            &format!("{META}.Patch"),
            || json!({"type": "object", "description": texts::PATCH}),
        )
    }

    pub(super) fn watch_event(&mut self) -> Value {
        let raw = "io.k8s.apimachinery.pkg.runtime.RawExtension";
        let object = self.add_named_schema(raw, || json!({"type": "object", "description": texts::RAW}));
        self.add_named_schema(&format!("{META}.WatchEvent"), || {
            json!({
                "type": "object",
                "description": texts::WATCH_EVENT,
                "required": ["type", "object"],
                "properties": {
                    "type": {"type": "string", "default": "", "description": texts::WATCH_EVENT_TYPE},
                    "object": wrap_reference(merged(object, json!({"description": texts::WATCH_EVENT_OBJECT}))),
                },
                "x-kubernetes-group-version-kind": [{"group": "", "version": "v1", "kind": "WatchEvent"}],
            })
        })
    }

    pub(super) fn version(&mut self) -> Value {
        let (name, always, optional) = VERSION;
        self.add_named_schema(name, || {
            let mut properties: Map<String, Value> = always
                .iter()
                .map(|member| ((*member).to_owned(), json!({"type": "string", "default": ""})))
                .collect();
            properties.extend(
                optional
                    .iter()
                    .map(|member| ((*member).to_owned(), json!({"type": "string"}))),
            );
            json!({"type": "object", "description": texts::VERSION, "required": always, "properties": properties})
        })
    }

    pub(super) fn into_schemas(self) -> Map<String, Value> {
        self.found.into_iter().collect()
    }

    fn add(&mut self, of: &'static Type) {
        let name = name(of);
        if self.found.contains_key(&name) {
            return;
        }
        // The type is registered before its fields are converted, because types can be recursive.
        self.found.insert(name.clone(), Value::Null);
        if of.either {
            self.found.insert(name, json!({"description": texts::EITHER}));
            return;
        }
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in &of.fields {
            properties.insert(field.name.to_owned(), wrap_reference(self.property(of, field)));
            let always = field.presence == Presence::Always;
            if facts::properties_of(of.name, field.name)
                .required
                .unwrap_or(always)
            {
                required.push(field.name);
            }
        }
        let mut schema = json!({"type": "object"});
        if let Some(text) = texts::type_description(of) {
            schema["description"] = text.into();
        }
        if !properties.is_empty() {
            schema["properties"] = properties.into();
        }
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        if of.atomic {
            schema["x-kubernetes-map-type"] = "atomic".into();
        }
        if let Some(members) = &facts::properties_of(of.name, "").union {
            schema["x-kubernetes-unions"] = union(members, facts::properties_of(of.name, "").by);
        }
        self.found.insert(name, schema);
    }

    fn property(&mut self, owner: &'static Type, field: &'static Field) -> Value {
        let facts = facts::properties_of(owner.name, field.name);
        let mut schema = match facts.of {
            Some(name) => {
                let schema = match facts.any {
                    true => json!({"description": texts::RAW}),
                    false => json!({"type": "object", "description": texts::RAW}),
                };
                let named = self.add_named_schema(name, || schema);
                match field.form.element() {
                    Some(_) => json!({"type": "array", "items": named}),
                    None => named,
                }
            }
            None => self.type_schema(&field.form),
        };
        let always = matches!(field.presence, Presence::Always);
        let is_pointer = matches!(field.presence, Presence::Set | Presence::Nullable);
        if let Some(default) = facts.default {
            schema["default"] = serde_json::from_str(default).unwrap_or_else(|_| default.into());
        } else if always || (!is_pointer && matches!(field.form, ValueType::Struct(_))) {
            add_zero_default(&field.form, &mut schema);
        }
        if let Some(values) = &facts.values {
            enumerate(&mut schema, values);
        }
        if let Some(text) = texts::field_description(owner, field.name) {
            schema["description"] = text.into();
        }
        add_patch_strategy(&mut schema, field, facts);
        // The `items` field of a list type has no `x-kubernetes-list-type`.
        if !(facts.silent || field.name == "items" && owner.name.ends_with("List")) {
            add_list_or_map_type(&mut schema, field, facts.atomic);
        }
        if facts.granular {
            schema["x-kubernetes-map-type"] = "granular".into();
        }
        schema
    }

    fn type_schema(&mut self, form: &'static ValueType) -> Value {
        let either = |one: &str, other: &str| json!([{"type": one}, {"type": other}]);
        match form {
            ValueType::Raw => json!({"type": "object"}),
            ValueType::Bool => json!({"type": "boolean"}),
            ValueType::Double => json!({"type": "number", "format": "double"}),
            ValueType::Int32 => json!({"type": "integer", "format": "int32"}),
            ValueType::Int64 => json!({"type": "integer", "format": "int64"}),
            ValueType::Text(_) => json!({"type": "string"}),
            ValueType::Bytes => json!({"type": "string", "format": "byte"}),
            ValueType::Quantity => self.add_named_schema(
                QUANTITY,
                || json!({"oneOf": either("string", "number"), "description": texts::QUANTITY}),
            ),
            ValueType::IntOrString => self.add_named_schema(INT_OR_STRING, || {
                json!({
                    "format": "int-or-string", "oneOf": either("integer", "string"),
                    "description": texts::INT_OR_STRING,
                })
            }),
            ValueType::Time => self.add_named_schema(&format!("{META}.Time"), || time_schema(texts::TIME)),
            ValueType::MicroTime => {
                self.add_named_schema(&format!("{META}.MicroTime"), || time_schema(texts::MICRO_TIME))
            }
            ValueType::Struct(id) => {
                self.add(id.get());
                reference(&name(id.get()))
            }
            ValueType::List(inner) => json!({"type": "array", "items": self.type_schema(inner)}),
            ValueType::Map(inner) => {
                json!({"type": "object", "additionalProperties": self.type_schema(inner)})
            }
        }
    }

    /// A reference to the schema with this name, which is added if it is missing. For types outside of the type table.
    fn add_named_schema(&mut self, name: &str, schema: impl FnOnce() -> Value) -> Value {
        self.found.entry(name.to_owned()).or_insert_with(schema);
        reference(name)
    }
}

/// Adds the OpenAPI extensions for strategic merge patch: patch strategy and merge key.
fn add_patch_strategy(schema: &mut Value, field: &Field, facts: &OpenApiProperties) {
    let strategy = field.strategy;
    if let Some(patch) = facts.patch.or(strategy.merge.then_some("merge")) {
        schema["x-kubernetes-patch-strategy"] = patch.into();
    }
    if let Some(key) = strategy.key {
        schema["x-kubernetes-patch-merge-key"] = key.into();
    }
}

fn add_list_or_map_type(schema: &mut Value, field: &Field, is_atomic: bool) {
    let strategy = field.strategy;
    match (&field.ownership, &field.form) {
        _ if is_atomic => schema["x-kubernetes-list-type"] = "atomic".into(),
        // A field with a patch strategy has no list type unless the type table sets one.
        (Ownership::Natural, ValueType::List(_)) if strategy.merge => {}
        (Ownership::Natural | Ownership::Atomic, ValueType::List(_)) => {
            schema["x-kubernetes-list-type"] = "atomic".into();
        }
        (Ownership::Natural, _) => {}
        (Ownership::Atomic, _) => schema["x-kubernetes-map-type"] = "atomic".into(),
        (Ownership::Granular, _) => schema["x-kubernetes-map-type"] = "granular".into(),
        (Ownership::Set, _) => schema["x-kubernetes-list-type"] = "set".into(),
        (Ownership::Keyed(keys), _) => {
            schema["x-kubernetes-list-type"] = "map".into();
            schema["x-kubernetes-list-map-keys"] = json!(keys);
        }
    }
}

/// Adds Go's zero value of the type as default. Types whose zero value is not published get no default.
fn add_zero_default(form: &ValueType, schema: &mut Value) {
    schema["default"] = match form {
        ValueType::Bool => false.into(),
        ValueType::Int32 | ValueType::Int64 => 0.into(),
        ValueType::Text(_) => "".into(),
        ValueType::Struct(_) => json!({}),
        _ => return,
    };
}

/// Adds the enum `values` to the schema, or for a list or map to the schema of its items or values.
fn enumerate(schema: &mut Value, values: &[String]) {
    for of in ["items", "additionalProperties"] {
        if let Some(entry) = schema.get_mut(of) {
            entry["enum"] = json!(values);
            return;
        }
    }
    schema["enum"] = json!(values);
}

/// The `x-kubernetes-unions` extension, with the Go names of the members.
fn union(members: &[&str], by: Option<&str>) -> Value {
    let names: Map<String, Value> = members
        .iter()
        .map(|member| {
            let (first, rest) = member.split_at(1);
            ((*member).to_owned(), (first.to_ascii_uppercase() + rest).into())
        })
        .collect();
    let mut union = json!({"fields-to-discriminateBy": names});
    if let Some(by) = by {
        union["discriminator"] = by.into();
    }
    json!([union])
}

fn time_schema(text: &str) -> Value {
    json!({"type": "string", "format": "date-time", "description": text})
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("{COMPONENTS}{name}")})
}

fn merged(mut one: Value, other: Value) -> Value {
    if let (Some(one), Value::Object(other)) = (one.as_object_mut(), other) {
        one.extend(other);
    }
    one
}

/// Wraps a `$ref` that has siblings in `allOf`: OpenAPI v3.0 ignores siblings of `$ref`.
fn wrap_reference(mut schema: Value) -> Value {
    if let Some(members) = schema.as_object_mut()
        && members.len() > 1
        && let Some(target) = members.remove("$ref")
    {
        members.insert("allOf".to_owned(), json!([{"$ref": target}]));
    }
    schema
}

/// The schema name of a custom resource: `com.example.v1.Foo`.
fn custom_name(kind: &Kind, name: &str) -> String {
    let group: Vec<&str> = kind.group.rsplit('.').collect();
    format!("{}.{}.{name}", group.join("."), kind.version)
}

/// The schema name of a type: `io.k8s.api.core.v1.PodSpec`.
fn name(of: &Type) -> String {
    let (package, rest) = of.name.split_once('.').unwrap_or(("", of.name));
    match PACKAGES.iter().find(|(short, _)| *short == package) {
        Some((_, long)) => format!("{long}.{rest}"),
        None => format!("io.k8s.api.{}", of.name),
    }
}
