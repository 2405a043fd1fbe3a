//! Types as OpenAPI schemas.
//!
//! Owns how a type of the table is written down, and which types a document needs: those that it refers to, and all
//! that these refer to. Does not know paths.

use crate::schema::{Field, Form, Ownership, Presence, Type};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Where references lead.
const COMPONENTS: &str = "#/components/schemas/";
/// The package of types that all groups share.
const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
/// Packages that are not beside those of the built-in groups.
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

/// Fields whose patches say which members are to stay, because their members exclude each other.
const RETAINING: [(&str, &str); 4] = [
    ("apps.v1.DeploymentSpec", "strategy"),
    ("core.v1.PodSpec", "resourceClaims"),
    ("core.v1.PodSpec", "volumes"),
    ("core.v1.PodStatus", "resourceClaimStatuses"),
];

/// The schemas of a document.
#[derive(Default)]
pub(super) struct Schemas {
    found: BTreeMap<String, Value>,
}

impl Schemas {
    /// A reference to the type of a kind.
    pub(super) fn kind(&mut self, group: &str, version: &str, kind: &str) -> Value {
        let api_version = if group.is_empty() {
            version.to_owned()
        } else {
            format!("{group}/{version}")
        };
        let Some(of) = Type::find(&api_version, kind) else {
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
                schema["properties"][field] = json!({
                    "type": "string", "description": "What the object is, as in every object of the API.",
                });
            }
        }
        reference(&name)
    }

    /// A reference to the type of patches, which are of any form.
    pub(super) fn patch(&mut self) -> Value {
        self.scalar(
            &format!("{META}.Patch"),
            || json!({"type": "object", "description": "The body of a patch; its form follows from its media type."}),
        )
    }

    /// All that were needed.
    pub(super) fn finish(self) -> Map<String, Value> {
        self.found.into_iter().collect()
    }

    fn add(&mut self, of: &'static Type) {
        let name = name(of);
        if self.found.contains_key(&name) {
            return;
        }
        // Types may contain themselves.
        self.found.insert(name.clone(), Value::Null);
        let mut properties = Map::new();
        let mut required = Vec::new();
        for field in &of.fields {
            let mut property = self.property(field);
            if RETAINING.contains(&(of.name, field.name)) {
                property["x-kubernetes-patch-strategy"] = if field.strategy.merge {
                    "merge,retainKeys".into()
                } else {
                    "retainKeys".into()
                };
            }
            properties.insert(field.name.to_owned(), guarded(property));
            if field.presence == Presence::Always {
                required.push(field.name);
            }
        }
        let mut schema = json!({"type": "object"});
        if !properties.is_empty() {
            schema["properties"] = properties.into();
        }
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        self.found.insert(name, schema);
    }

    fn property(&mut self, field: &'static Field) -> Value {
        let mut schema = self.form(&field.form);
        let strategy = field.strategy;
        if strategy.merge {
            schema["x-kubernetes-patch-strategy"] = "merge".into();
        }
        if let Some(key) = strategy.key {
            schema["x-kubernetes-patch-merge-key"] = key.into();
        }
        match (&field.ownership, &field.form) {
            // A list is divided among owners only where that is said.
            (Ownership::Natural, Form::List(_)) if strategy.merge => {}
            (Ownership::Natural | Ownership::Atomic, Form::List(_)) => {
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
        schema
    }

    fn form(&mut self, form: &'static Form) -> Value {
        const RESOURCE: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
        const INT_OR_STRING: &str = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
        let either = |other: &str| json!([{"type": "string"}, {"type": other}]);
        match form {
            Form::Raw => json!({"type": "object"}),
            Form::Bool => json!({"type": "boolean"}),
            Form::Int32 => json!({"type": "integer", "format": "int32"}),
            Form::Int64 => json!({"type": "integer", "format": "int64"}),
            Form::Text(_) => json!({"type": "string"}),
            Form::Bytes => json!({"type": "string", "format": "byte"}),
            Form::Quantity => self.scalar(RESOURCE, || json!({"oneOf": either("number")})),
            Form::IntOrString => self.scalar(
                INT_OR_STRING,
                || json!({"format": "int-or-string", "oneOf": either("integer")}),
            ),
            Form::Time => self.scalar(&format!("{META}.Time"), instant),
            Form::MicroTime => self.scalar(&format!("{META}.MicroTime"), instant),
            Form::Struct(id) => {
                self.add(id.get());
                reference(&name(id.get()))
            }
            Form::List(inner) => json!({"type": "array", "items": self.form(inner)}),
            Form::Map(inner) => json!({"type": "object", "additionalProperties": self.form(inner)}),
        }
    }

    /// A type that is no struct and yet has a name.
    fn scalar(&mut self, name: &str, schema: impl FnOnce() -> Value) -> Value {
        self.found.entry(name.to_owned()).or_insert_with(schema);
        reference(name)
    }
}

fn instant() -> Value {
    json!({"type": "string", "format": "date-time"})
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("{COMPONENTS}{name}")})
}

/// A property as it may be written: nothing may stand beside a reference.
fn guarded(mut schema: Value) -> Value {
    if let Some(members) = schema.as_object_mut()
        && members.len() > 1
        && let Some(target) = members.remove("$ref")
    {
        members.insert("allOf".to_owned(), json!([{"$ref": target}]));
    }
    schema
}

/// The name of a type: `io.k8s.api.core.v1.PodSpec`.
fn name(of: &Type) -> String {
    let (package, rest) = of.name.split_once('.').unwrap_or(("", of.name));
    match PACKAGES.iter().find(|(short, _)| *short == package) {
        Some((_, long)) => format!("{long}.{rest}"),
        None => format!("io.k8s.api.{}", of.name),
    }
}
