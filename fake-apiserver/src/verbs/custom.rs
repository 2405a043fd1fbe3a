//! Custom resources: decoding, and warnings about finalizer names.
//!
//! Owns the check of kind and apiVersion. Another crate decodes and validates by the schema in the CRD (`CustomResourceStrategy`).

use super::decoded::{DecodeError, Decoded, strict_errors_for};
use crate::kinds::{CustomResourceVersion, Kind, NullHandling, SchemaMismatch};
use crate::machinery::document::Document;
use crate::machinery::status::Status;
use crate::machinery::{json, metadata, names};
use serde_json::Value;

impl From<SchemaMismatch> for DecodeError {
    fn from(misfit: SchemaMismatch) -> Self {
        match misfit {
            SchemaMismatch::Form(error) => Self::Form(error),
            SchemaMismatch::EmbeddedObject(unfit) => Self::EmbeddedObject(unfit),
        }
    }
}

pub(super) fn decode(
    kind: &Kind,
    defined: &CustomResourceVersion,
    document: Document,
    nulls: NullHandling,
) -> Result<Decoded, DecodeError> {
    let Document {
        value: mut object,
        duplicates,
        ..
    } = document;
    check_type(kind, &object)?;
    let fit = defined.strategy.prune_and_coerce(defined, &mut object, nulls)?;
    defined.strategy.default(defined, &mut object);
    let strict_errors = strict_errors_for(&duplicates, "duplicate")
        .chain(strict_errors_for(&fit, "unknown"))
        .collect();
    Ok(Decoded {
        object,
        strict_errors,
        empties: Vec::new(),
    })
}

/// Prunes and defaults a stored object by the current schema of its version. `None` if the object does not change.
pub(crate) fn rewrite_stored(kinds: &[Kind], object: &Value) -> Option<Value> {
    let version = json::string(object, "apiVersion");
    let kind = kinds.iter().find(|kind| kind.has_version(version))?;
    let defined = kind.defined()?;
    let mut changed = object.clone();
    let strategy = &defined.strategy;
    strategy
        .prune_and_coerce(defined, &mut changed, NullHandling::Dropped)
        .ok()?;
    strategy.default(defined, &mut changed);
    (changed != *object).then_some(changed)
}

/// Checks that the body has a kind, and the apiVersion to which the request was sent.
fn check_type(kind: &Kind, object: &Value) -> Result<(), DecodeError> {
    if json::string(object, "kind").is_empty() {
        let why = format!("Object 'Kind' is missing in '{object}'");
        return Err(DecodeError::UnknownType(why, object.to_string()));
    }
    let (version, expected) = (json::string(object, "apiVersion"), kind.api_version());
    if version == expected {
        return Ok(());
    }
    Err(DecodeError::Version(Status::bad_request(format!(
        "the API version in the data ({version}) does not match the expected API version ({expected})"
    ))))
}

/// Warnings about new finalizers whose names are invalid or have no domain, so that other controllers may use the same name.
pub(super) fn warnings(new: &Value, old: Option<&Value>) -> Vec<String> {
    let before = old.map(metadata::finalizers).unwrap_or_default();
    let mut added = metadata::finalizers(new);
    added.retain(|finalizer| !before.contains(finalizer));
    added.sort_unstable();
    added.dedup();
    added.into_iter().flat_map(finalizer_warnings).collect()
}

fn finalizer_warnings(finalizer: &str) -> Vec<String> {
    let mut messages = names::qualified_name(finalizer);
    if !finalizer.contains('/') && !metadata::is_standard_finalizer(finalizer) {
        let path = if finalizer.contains('.') {
            " including a path (/)"
        } else {
            ""
        };
        messages.push(format!(
            "prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other finalizer writers"
        ));
    }
    let messages = messages.into_iter();
    messages
        .map(|text| format!("metadata.finalizers: {finalizer:?}: {text}"))
        .collect()
}
