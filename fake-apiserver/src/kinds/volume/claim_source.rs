//! `dataSource` of a PVC, and its successor `dataSourceRef`.
//!
//! Owns the synchronization of the two fields. Does not know other fields of a PVC.

use crate::machinery::error_list::ErrorList;
use crate::machinery::json::{self, string};
use crate::machinery::names;
use serde_json::{Value, json};

/// Drops a `dataSourceRef` to another namespace, which is an alpha feature, and a `dataSource` of an unsupported kind. Like kube-apiserver,
/// reports no error.
pub(super) fn drop_unsupported_sources(spec: &mut Value) {
    if !string(&spec["dataSourceRef"], "namespace").is_empty() {
        json::assign(spec, "dataSourceRef", Value::Null);
    }
    // If `dataSourceRef` is set, `dataSource` is retained, because validation compares the two.
    let Some(source) = spec.get("dataSource").filter(|_| spec["dataSourceRef"].is_null()) else {
        return;
    };
    let is = |group: &str, kind: &str| {
        source["apiGroup"].as_str().unwrap_or_default() == group && source["kind"] == kind
    };
    if !is("", "PersistentVolumeClaim") && !is("snapshot.storage.k8s.io", "VolumeSnapshot") {
        json::assign(spec, "dataSource", Value::Null);
    }
}

/// In an update, drops a `dataSourceRef` to another namespace unless the old PVC has a `dataSourceRef`, and an unsupported `dataSource`
/// unless the old PVC has either field.
pub(super) fn drop_new_unsupported_sources(spec: &mut Value, old: &Value) {
    let has = |name: &str| !old[name].is_null();
    let across = !string(&spec["dataSourceRef"], "namespace").is_empty();
    if across && !has("dataSourceRef") {
        json::assign(spec, "dataSourceRef", Value::Null);
    }
    if !has("dataSource") && !has("dataSourceRef") {
        drop_unsupported_sources(spec);
    }
}

/// If only one of `dataSource` and `dataSourceRef` is set, copies it to the other, except a reference to another namespace.
pub(super) fn synchronize_sources(spec: &mut Value) {
    let copy =
        |from: &Value| json!({"apiGroup": from["apiGroup"], "kind": from["kind"], "name": from["name"]});
    let (old, new) = (spec["dataSource"].clone(), spec["dataSourceRef"].clone());
    if old.is_object() && new.is_null() {
        spec["dataSourceRef"] = copy(&old);
    } else if new.is_object() && old.is_null() && new["namespace"].as_str().unwrap_or_default().is_empty() {
        spec["dataSource"] = copy(&new);
    }
}

/// Validates `dataSource` and `dataSourceRef`.
pub(super) fn validate(spec: &Value, at: &str, errors: &mut ErrorList) {
    let (old, new) = (&spec["dataSource"], &spec["dataSourceRef"]);
    for (name, source) in [("dataSource", old), ("dataSourceRef", new)] {
        if !source.is_null() {
            reference(source, &format!("{at}.{name}"), errors);
        }
    }
    let parts = |source: &Value| ["apiGroup", "kind", "name"].map(|part| source[part].clone());
    // In kube-apiserver, the value in this error is a `field.Path`, which JSON renders as an empty object.
    if !old.is_null() && !string(new, "namespace").is_empty() {
        let text = "may not be specified when dataSourceRef.namespace is specified";
        errors.invalid(at, json!({}), text);
    } else if !old.is_null() && !new.is_null() && parts(old) != parts(new) {
        errors.invalid(at, json!({}), "must match dataSourceRef");
    }
}

fn reference(source: &Value, at: &str, errors: &mut ErrorList) {
    for part in ["name", "kind"] {
        if string(source, part).is_empty() {
            errors.required(format!("{at}.{part}"), "");
        }
    }
    let (group, kind) = (string(source, "apiGroup"), string(source, "kind"));
    if group.is_empty() && kind != "PersistentVolumeClaim" {
        let text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        errors.invalid(at, kind, text);
    }
    if !group.is_empty() {
        errors.invalid_all(&format!("{at}.apiGroup"), group, names::subdomain(group));
    }
    let namespace = string(source, "namespace");
    if !namespace.is_empty() {
        errors.invalid_all(&format!("{at}.namespace"), namespace, names::dns_label(namespace));
    }
}
