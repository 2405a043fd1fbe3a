//! Where a claim's volume gets its content from: `dataSource` and its successor `dataSourceRef`.
//!
//! Owns how the two are kept equal. Does not know the rest of a claim.

use crate::machinery::faults::Faults;
use crate::machinery::json::{self, string};
use crate::machinery::names;
use serde_json::{Value, json};

/// Drops a reference into another namespace, which is an alpha feature, and a `dataSource` that the old field never
/// allowed, as those who set it before the new one came expect.
pub(super) fn restrict(spec: &mut Value) {
    if !string(&spec["dataSourceRef"], "namespace").is_empty() {
        json::assign(spec, "dataSourceRef", Value::Null);
    }
    // Who sets the new field expects more of the old one.
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

/// The same where a claim changes: one that has a source may keep what it has.
pub(super) fn restrict_change(spec: &mut Value, old: &Value) {
    let has = |name: &str| !old[name].is_null();
    let across = !string(&spec["dataSourceRef"], "namespace").is_empty();
    if across && !has("dataSourceRef") {
        json::assign(spec, "dataSourceRef", Value::Null);
    }
    if !has("dataSource") && !has("dataSourceRef") {
        restrict(spec);
    }
}

/// Copies the one that is set to the other; a reference into another namespace has no old form.
pub(super) fn equalize(spec: &mut Value) {
    let copy =
        |from: &Value| json!({"apiGroup": from["apiGroup"], "kind": from["kind"], "name": from["name"]});
    let (old, new) = (spec["dataSource"].clone(), spec["dataSourceRef"].clone());
    if old.is_object() && new.is_null() {
        spec["dataSourceRef"] = copy(&old);
    } else if new.is_object() && old.is_null() && new["namespace"].as_str().unwrap_or_default().is_empty() {
        spec["dataSource"] = copy(&new);
    }
}

/// The rules for both.
pub(super) fn validate(spec: &Value, at: &str, faults: &mut Faults) {
    let (old, new) = (&spec["dataSource"], &spec["dataSourceRef"]);
    for (name, source) in [("dataSource", old), ("dataSourceRef", new)] {
        if !source.is_null() {
            reference(source, &format!("{at}.{name}"), faults);
        }
    }
    let parts = |source: &Value| ["apiGroup", "kind", "name"].map(|part| source[part].clone());
    // The value that is shown is a path, which has no form in JSON.
    if !old.is_null() && !string(new, "namespace").is_empty() {
        let text = "may not be specified when dataSourceRef.namespace is specified";
        faults.invalid(at, json!({}), text);
    } else if !old.is_null() && !new.is_null() && parts(old) != parts(new) {
        faults.invalid(at, json!({}), "must match dataSourceRef");
    }
}

fn reference(source: &Value, at: &str, faults: &mut Faults) {
    for part in ["name", "kind"] {
        if string(source, part).is_empty() {
            faults.required(format!("{at}.{part}"), "");
        }
    }
    let (group, kind) = (string(source, "apiGroup"), string(source, "kind"));
    if group.is_empty() && kind != "PersistentVolumeClaim" {
        let text = "must be 'PersistentVolumeClaim' when referencing the default apiGroup";
        faults.invalid(at, kind, text);
    }
    if !group.is_empty() {
        faults.complain(&format!("{at}.apiGroup"), group, names::subdomain(group));
    }
    let namespace = string(source, "namespace");
    if !namespace.is_empty() {
        faults.complain(&format!("{at}.namespace"), namespace, names::label(namespace));
    }
}
