//! StorageClass.
//!
//! Validation and messages follow kube-apiserver 1.36.

use super::{Hooks, MetadataChecks, NO_HOOKS, PLAIN, ResourceDefinition};
use crate::kinds::columns::Cell::{Flag, Of, Text};
use crate::kinds::columns::{AGE, name, text};
use crate::machinery::error_list::ErrorList;
use crate::machinery::{json, metadata, names};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

pub(super) static STORAGE_CLASS: ResourceDefinition = ResourceDefinition {
    group: "storage.k8s.io",
    kind: "StorageClass",
    metadata_checks: MetadataChecks::core_v1_checks(2),
    plural: "storageclasses",
    short_names: &["sc"],
    namespaced: false,
    returns_deleted: true,
    hooks: Hooks {
        default: class_default,
        validate: class_validate,
        validate_update: |new, old, errors| {
            errors.require_members_unchanged(
                new,
                old,
                &["parameters", "provisioner", "reclaimPolicy", "volumeBindingMode"],
            );
        },
        ..NO_HOOKS
    },
    columns: &[
        name("Name", Of(class_name)),
        text("Provisioner", Text("/provisioner")),
        text("ReclaimPolicy", Text("/reclaimPolicy")),
        text("VolumeBindingMode", Text("/volumeBindingMode")),
        text("AllowVolumeExpansion", Flag("/allowVolumeExpansion")),
        AGE,
    ],
    ..PLAIN
};

fn class_default(object: &mut Value) {
    for (name, value) in [("reclaimPolicy", "Delete"), ("volumeBindingMode", "Immediate")] {
        json::default_member(object, name, value);
    }
}

fn class_validate(object: &Value, errors: &mut ErrorList) {
    let provisioner = object["provisioner"].as_str().unwrap_or_default();
    if provisioner.is_empty() {
        errors.required("provisioner", "");
    } else {
        errors.invalid_all(
            "provisioner",
            &provisioner.to_lowercase(),
            names::qualified_name(&provisioner.to_lowercase()),
        );
    }
    let policy = object["reclaimPolicy"].as_str().unwrap_or_default();
    if !policy.is_empty() {
        errors.one_of("reclaimPolicy", policy, &["Delete", "Retain"]);
    }
    let mode = object["volumeBindingMode"].as_str().unwrap_or_default();
    errors.one_of("volumeBindingMode", mode, &["Immediate", "WaitForFirstConsumer"]);
    parameters(&object["parameters"], true, errors);
    validate_allowed_topologies(&object["allowedTopologies"], errors);
}

/// The maximum number of parameters of a StorageClass or VolumeAttributesClass.
const PARAMETERS_MAX: usize = 512;

const PARAMETER_BYTES_MAX: usize = 256 * 1024;

pub(super) fn parameters(parameters: &Value, may_be_empty: bool, errors: &mut ErrorList) {
    let count = json::string_members(parameters).count();
    if count > PARAMETERS_MAX {
        errors.too_long("parameters", PARAMETERS_MAX);
        return;
    }
    let bytes: usize = json::string_members(parameters)
        .map(|(key, value)| key.len() + value.len())
        .sum();
    if json::string_members(parameters).any(|(key, _)| key.is_empty()) {
        errors.invalid("parameters", "", "field can not be empty.");
    }
    if bytes > PARAMETER_BYTES_MAX {
        errors.too_long("parameters", PARAMETER_BYTES_MAX);
    }
    if !may_be_empty && count == 0 {
        errors.required("parameters", "must contain at least one key/value pair");
    }
}

fn validate_allowed_topologies(terms: &Value, errors: &mut ErrorList) {
    let terms = json::list(terms);
    // kube-apiserver compares each term of `allowedTopologies` with the earlier terms and with as many empty terms as the list has, so an
    // empty term is always reported as a duplicate.
    let mut seen: HashMap<BTreeMap<&str, BTreeSet<&str>>, usize> = HashMap::new();
    seen.insert(BTreeMap::new(), terms.len());
    for (i, term) in terms.iter().enumerate() {
        let at = format!("allowedTopologies[{i}].matchLabelExpressions");
        let mut keys = BTreeMap::new();
        let requirements = term["matchLabelExpressions"].as_array().into_iter().flatten();
        for (j, requirement) in requirements.enumerate() {
            validate_topology_requirement(requirement, &format!("{at}[{j}]"), errors);
            let key = requirement["key"].as_str().unwrap_or_default();
            if keys.contains_key(key) {
                errors.duplicate(format!("{at}[{j}].key"), key);
            }
            keys.insert(key, json::texts(&requirement["values"]).into_iter().collect());
        }
        let like_this = seen.entry(keys).or_default();
        for _ in 0..*like_this {
            if errors.is_full() {
                return;
            }
            errors.duplicate(at.as_str(), "");
        }
        *like_this += 1;
    }
}

fn validate_topology_requirement(requirement: &Value, at: &str, errors: &mut ErrorList) {
    let key = requirement["key"].as_str().unwrap_or_default();
    let values = json::texts(&requirement["values"]);
    if values.is_empty() {
        errors.required(format!("{at}.values"), "");
    }
    let mut seen = HashSet::new();
    for (i, value) in values.iter().enumerate() {
        if !seen.insert(value) {
            errors.duplicate(format!("{at}.values[{i}]"), *value);
        }
    }
    errors.invalid_all(&format!("{at}.key"), key, names::qualified_name(key));
}

/// The NAME cell of a StorageClass, with the suffix ` (default)` for a default class.
fn class_name(class: &Value) -> Value {
    let is_default =
        class["metadata"]["annotations"]["storageclass.kubernetes.io/is-default-class"] == "true";
    let mark = if is_default { " (default)" } else { "" };
    format!("{}{mark}", metadata::text(class, "name")).into()
}
