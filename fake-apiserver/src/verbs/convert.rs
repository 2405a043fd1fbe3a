//! Objects of a definition in the version that a request is about, and in the one that is stored.
//!
//! Does not know how bodies are read.

use super::custom;
use crate::kinds::Kind;
use crate::machinery::metadata;
use crate::object::Object;
use serde_json::Value;
use std::sync::Arc;

/// An object in the form of the resource through which it is read.
pub(crate) fn shown(kind: &Kind, object: Arc<Object>) -> Arc<Object> {
    match (kind.view, kind.defined()) {
        (Some(view), _) => object.like((view.from_stored)(&object.value), object.revision),
        // With one version there is nothing to convert, and lists are long.
        (None, Some(defined)) if defined.versions.len() > 1 && !is_in(kind, &object.value) => {
            object.like(to_version(kind, &object.value), object.revision)
        }
        (None, _) => object,
    }
}

/// A stored object in the form in which a write is judged: that of the request for what definitions have made, and the
/// stored one for all else.
pub(super) fn judged(kind: &Kind, object: &Arc<Object>) -> Arc<Object> {
    match kind.defined() {
        Some(_) => shown(kind, object.clone()),
        None => object.clone(),
    }
}

/// A judged object in the form in which it is stored.
pub(super) fn stored(kind: &Kind, object: Value) -> Value {
    let stored = kind.stored();
    match kind.defined() {
        Some(_) if !is_in(&stored, &object) => to_version(&stored, &object),
        _ => object,
    }
}

fn is_in(kind: &Kind, object: &Value) -> bool {
    object["apiVersion"]
        .as_str()
        .is_some_and(|version| kind.has_version(version))
}

/// An object in a version: the same, but for what that version does not know.
fn to_version(kind: &Kind, object: &Value) -> Value {
    let mut changed = object.clone();
    changed["apiVersion"] = kind.api_version().into();
    if let Some(defined) = kind.defined() {
        // Entries of managers are text here, and have a form of their own.
        let managed = metadata::take(&mut changed, "managedFields");
        // What is stored had a form when it was written; what has none any more is shown as it is.
        drop(custom::fit(&mut changed, defined));
        metadata::set(&mut changed, "managedFields", managed);
    }
    changed
}
