//! Where a claim's volume gets its content from: `dataSource` and its successor `dataSourceRef`.
//!
//! Owns how the two are kept equal. Does not know the rest of a claim.

use serde_json::{Value, json};

/// Drops a `dataSource` that the old field never allowed, as those who set it before the new one came expect.
pub(super) fn restrict(spec: &mut Value) {
    let Some(source) = spec.get("dataSource") else {
        return;
    };
    let is = |group: &str, kind: &str| {
        source["apiGroup"].as_str().unwrap_or_default() == group && source["kind"] == kind
    };
    if !is("", "PersistentVolumeClaim") && !is("snapshot.storage.k8s.io", "VolumeSnapshot") {
        crate::meta::assign(spec, "dataSource", Value::Null);
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
