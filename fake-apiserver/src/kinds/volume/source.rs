//! The source of a PersistentVolume: exactly one is required. Validates the sources that are not implemented by in-tree plugins.
//!
//! Sources of in-tree plugins are in `plugins`.

use super::plugins::{self, Owner};
use crate::machinery::error_list::ErrorList;
use crate::machinery::json::string as text;
use crate::machinery::names;
use serde_json::Value;

/// Volume sources, in the order in which kube-apiserver validates them.
const SOURCES: [&str; 22] = [
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "glusterfs",
    "flocker",
    "nfs",
    "rbd",
    "quobyte",
    "cephfs",
    "iscsi",
    "cinder",
    "fc",
    "flexVolume",
    "azureFile",
    "vsphereVolume",
    "photonPersistentDisk",
    "portworxVolume",
    "azureDisk",
    "scaleIO",
    "local",
    "storageos",
    "csi",
];

const HOST_PATH_TYPES: [&str; 8] = [
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
];

/// Validation function of a volume source: source, field path of the source, and errors.
pub(in crate::kinds) type SourceRule = fn(&Value, &str, &mut ErrorList);

const RULES: [(&str, SourceRule); 3] = [("csi", csi), ("hostPath", host_path), ("local", local)];

/// The volume source in the spec of a PersistentVolume, without the other fields of the spec.
pub(super) fn source_fields(spec: &Value) -> Value {
    let members = spec.as_object().into_iter().flatten();
    let source = members.filter(|(name, _)| SOURCES.contains(&name.as_str()));
    source
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// Adds an error unless the spec has exactly one source; validates that source.
pub(super) fn validate(spec: &Value, at: &str, errors: &mut ErrorList) {
    let mut is_taken = false;
    for name in SOURCES.into_iter().filter(|name| !spec[*name].is_null()) {
        // kube-apiserver accepts `flexVolume` in addition to another source.
        if is_taken && name != "flexVolume" {
            reject_second_source(name, at, errors);
            continue;
        }
        is_taken = true;
        validate_source(&RULES, Owner::Volume, spec, name, at, errors);
        if name == "local" && spec["nodeAffinity"].is_null() {
            let why = "Local volume requires node affinity";
            errors.required(format!("{at}.nodeAffinity"), why);
        }
    }
    if !is_taken {
        errors.required(at, "must specify a volume type");
    }
}

/// Validates the source `name` in `sources`: by its function in `rules`, or else by its in-tree plugin.
pub(in crate::kinds) fn validate_source(
    rules: &[(&str, SourceRule)],
    owner: Owner,
    sources: &Value,
    name: &str,
    at: &str,
    errors: &mut ErrorList,
) {
    let source = &sources[name];
    if let Some((_, rule)) = rules.iter().find(|(of, _)| *of == name) {
        rule(source, &format!("{at}.{name}"), errors);
    } else {
        plugins::validate(owner, name, source, at, errors);
    }
}

/// Adds the error for a volume with two sources. kube-apiserver misspells two of the field names.
pub(in crate::kinds) fn reject_second_source(name: &str, at: &str, errors: &mut ErrorList) {
    let field = match name {
        "cephfs" => "cephFS",
        "downwardAPI" => "downwarAPI",
        other => other,
    };
    errors.forbidden(format!("{at}.{field}"), "may not specify more than 1 volume type");
}

pub(in crate::kinds) fn driver_name(name: &str, field: &str, errors: &mut ErrorList) {
    if name.is_empty() {
        errors.required(field, "");
        return;
    }
    if name.len() > 63 {
        errors.too_long(field, 63);
    }
    errors.invalid_all(field, name, names::subdomain(&name.to_lowercase()));
}

fn csi(source: &Value, at: &str, errors: &mut ErrorList) {
    driver_name(text(source, "driver"), &format!("{at}.driver"), errors);
    if text(source, "volumeHandle").is_empty() {
        errors.required(format!("{at}.volumeHandle"), "");
    }
    for secret in [
        "controllerPublishSecretRef",
        "controllerExpandSecretRef",
        "nodePublishSecretRef",
        "nodeExpandSecretRef",
    ] {
        if !source[secret].is_null() {
            let rules: [(&str, names::NameRule); 2] =
                [("name", names::subdomain), ("namespace", names::dns_label)];
            for (part, rule) in rules {
                let field = format!("{at}.{secret}.{part}");
                errors.require_valid(&field, text(&source[secret], part), rule);
            }
        }
    }
}

pub(in crate::kinds) fn host_path(source: &Value, at: &str, errors: &mut ErrorList) {
    local(source, at, errors);
    if let Some(kind) = source["type"]
        .as_str()
        .filter(|_| !text(source, "path").is_empty())
    {
        errors.one_of(&format!("{at}.type"), kind, &HOST_PATH_TYPES);
    }
}

fn local(source: &Value, at: &str, errors: &mut ErrorList) {
    let (path, field) = (text(source, "path"), format!("{at}.path"));
    if path.is_empty() {
        errors.required(field, "");
    } else if path.split('/').any(|part| part == "..") {
        errors.invalid(field, path, "must not contain '..'");
    }
}
