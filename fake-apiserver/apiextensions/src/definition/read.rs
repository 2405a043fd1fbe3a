//! Builds the resources that a CRD defines, one for each version.
//!
//! The CRD was validated when it was written; a missing field counts as empty.

use super::conditions::is_true;
use crate::conversion;
use crate::strategy::SchemaStrategy;
use crate::structural;
use fake_apiserver::extension::json_path::JsonPath;
use fake_apiserver::extension::resource::{
    Generation, MetadataChecks, NAME_AND_AGE, NO_HOOKS, PLAIN, ResourceDefinition, Selectable,
    ServedReleases, StatusMetadata, not_supported, selectable,
};
use fake_apiserver::extension::{CustomResourceVersion, Kind, PrinterColumn, ScalePaths, Subresource};
use fake_apiserver::extension::{intern, json, versions};
use serde_json::{Value, json};
use std::sync::Arc;

/// The resources that a CRD defines, the preferred version first. `table_index`: index of the custom resource's table in the store.
pub(crate) fn kinds(definition: &Value, table_index: usize) -> Vec<Kind> {
    let spec = &definition["spec"];
    let mut all: Vec<&Value> = json::list(&spec["versions"]).iter().collect();
    all.sort_by(|a, b| versions::compare(json::string(a, "name"), json::string(b, "name")));
    let names = all
        .iter()
        .map(|version| intern::name(json::string(version, "name")));
    let names: Arc<[&'static str]> = names.collect();
    let Some(storage) = all.iter().find(|version| version["storage"] == true) else {
        return Vec::new();
    };
    let origin = Arc::new(origin(definition));
    let conversion = conversion::read(&spec["conversion"]);
    let make = |version: &Value| {
        let mut made = defined(definition, version, table_index, names.clone(), origin.clone());
        made.conversion.clone_from(&conversion);
        Arc::new(made)
    };
    let stored = make(storage);
    let kinds = all.iter().map(|version| match std::ptr::eq(version, storage) {
        true => Kind::of(stored.clone(), None),
        false => Kind::of(make(version), Some(stored.clone())),
    });
    kinds.collect()
}

/// The fields of a CRD from which its resource definitions are built. A change of these fields requires new resource definitions.
fn origin(definition: &Value) -> Value {
    json!({
        "uid": definition["metadata"]["uid"],
        "spec": definition["spec"],
        "names": definition["status"]["acceptedNames"],
        "isEnding": is_true(definition, "Terminating"),
    })
}

/// Whether `defined` is still the resource that the CRD defines, so that it need not be rebuilt.
pub(crate) fn is_up_to_date(defined: &CustomResourceVersion, definition: &Value) -> bool {
    has_same_spec(defined, definition)
        && defined.origin["names"] == definition["status"]["acceptedNames"]
        && defined.origin["isEnding"] == is_true(definition, "Terminating")
}

/// Whether uid and spec of the CRD have not changed since `defined` was built, so that stored objects need not be rewritten.
pub(crate) fn has_same_spec(defined: &CustomResourceVersion, definition: &Value) -> bool {
    defined.origin["uid"] == definition["metadata"]["uid"] && defined.origin["spec"] == definition["spec"]
}

fn defined(
    definition: &Value,
    version: &Value,
    table_index: usize,
    versions: Arc<[&'static str]>,
    origin: Arc<Value>,
) -> CustomResourceVersion {
    let text = &version["schema"]["openAPIV3Schema"];
    let mut schema = structural::read(text);
    schema.preserve |= definition["spec"]["preserveUnknownFields"] == true;
    CustomResourceVersion {
        definition: resource_definition(definition, version),
        table_index,
        versions,
        list_kind: json::string(&definition["status"]["acceptedNames"], "listKind").to_owned(),
        schema,
        strategy: Arc::new(SchemaStrategy::read(text)),
        text: Arc::new(text.clone()),
        columns: columns(version),
        selectable: json::list(&version["selectableFields"])
            .iter()
            .map(selectable_field)
            .collect(),
        scale: scale(&version["subresources"]["scale"]),
        deprecation: deprecation(definition, version),
        origin,
        conversion: None,
        is_ending: is_true(definition, "Terminating"),
    }
}

fn resource_definition(definition: &Value, version: &Value) -> ResourceDefinition {
    let names = &definition["status"]["acceptedNames"];
    let name = |field: &str| intern::name(json::string(names, field));
    let is_served = version["served"] == true;
    ResourceDefinition {
        group: intern::name(json::string(&definition["spec"], "group")),
        version: intern::name(json::string(version, "name")),
        kind: name("kind"),
        plural: name("plural"),
        singular: Some(name("singular")),
        short_names: intern::names(&json::texts(&names["shortNames"])),
        categories: intern::names(&json::texts(&names["categories"])),
        namespaced: definition["spec"]["scope"] == "Namespaced",
        status: version["subresources"]["status"].is_object(),
        subresources: match version["subresources"]["scale"].is_object() {
            true => &[Subresource::Scale],
            false => &[],
        },
        generation: Generation::FromCreation,
        status_metadata: StatusMetadata::Unchanged,
        status_resets: &[&["metadata"], &["spec"]],
        unconditional_update: false,
        hooks: NO_HOOKS,
        unknown_label: not_supported,
        columns: NAME_AND_AGE,
        life: if is_served {
            ServedReleases::ALWAYS
        } else {
            ServedReleases::NEVER
        },
        metadata_checks: MetadataChecks::apimachinery_checks(1),
        ..PLAIN
    }
}

/// The printer columns of a CRD version, by default the age column. No columns if the JSONPath of one column is invalid.
fn columns(version: &Value) -> Vec<PrinterColumn> {
    let wanted = json::list(&version["additionalPrinterColumns"]);
    let age = json!([{
        "name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp",
        "description": "Time since the object was created.",
    }]);
    let wanted = if wanted.is_empty() {
        json::list(&age)
    } else {
        wanted
    };
    let columns = wanted.iter().map(|column| {
        let text = |field: &str| json::string(column, field).to_owned();
        let description = match json::string(column, "description") {
            "" => format!(
                "Custom resource definition column (in JSONPath format): {}",
                text("jsonPath")
            ),
            description => description.to_owned(),
        };
        Some(PrinterColumn {
            name: text("name"),
            of: text("type"),
            format: text("format"),
            description,
            priority: column["priority"].as_i64().unwrap_or_default(),
            path: JsonPath::parse(json::string(column, "jsonPath"))?,
        })
    });
    columns.collect::<Option<_>>().unwrap_or_default()
}

/// The member names of a JSONPath such as `.spec.replicas`.
fn members(path: &str) -> Vec<String> {
    path.trim_start_matches('.')
        .split('.')
        .map(str::to_owned)
        .collect()
}

fn selectable_field(field: &Value) -> Selectable {
    let path = json::string(field, "jsonPath");
    let pointer = intern::name(&format!("/{}", members(path).join("/")));
    selectable(
        intern::name(path.trim_start_matches('.')),
        intern::names(&[pointer]),
    )
}

fn scale(scale: &Value) -> Option<ScalePaths> {
    let path = |field: &str| Some(json::string(scale, field)).filter(|path| !path.is_empty());
    Some(ScalePaths {
        replicas: members(path("specReplicasPath")?),
        observed: members(path("statusReplicasPath")?),
        selector: path("labelSelectorPath").map(members),
    })
}

/// The deprecation warning of a CRD version; None if the version is not deprecated.
fn deprecation(definition: &Value, version: &Value) -> Option<String> {
    if version["deprecated"] != true {
        return None;
    }
    if let Some(text) = version["deprecationWarning"].as_str() {
        return Some(text.to_owned());
    }
    let (group, kind) = (
        json::string(&definition["spec"], "group"),
        json::string(&definition["spec"]["names"], "kind"),
    );
    let name = json::string(version, "name");
    let text = format!("{group}/{name} {kind} is deprecated");
    let all = json::list(&definition["spec"]["versions"]).iter();
    let better = all
        .filter(|other| other["served"] == true && other["deprecated"] != true)
        .map(|other| json::string(other, "name"))
        .filter(|other| versions::compare(other, name).is_lt());
    let best = better.min_by(|a, b| versions::compare(a, b));
    Some(best.map_or(text.clone(), |best| format!("{text}; use {group}/{best} {kind}")))
}
