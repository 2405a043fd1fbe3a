//! Decodes a request body to an object: checks type and version, structure, and sets defaults.
//!
//! Owns the order of decoding and the check of kind and apiVersion. The fields of each kind are defined in the schema.

use super::custom;
use super::decoded::{DecodeError, Decoded, strict_errors_for};
use crate::kinds::{Catalogue, Kind, NullHandling};
use crate::machinery::document::{Document, type_meta_error};
use crate::machinery::member_order::{self, Occurrence};
use crate::machinery::metadata;
use crate::machinery::status::Status;
use crate::schema::{self, Conformed, conform};
use serde_json::{Value, json};

/// Maximum size, in bytes, of bodies whose field errors are sorted by position.
const ORDERED_BYTES_MAX: usize = 256 * 1024;

pub(crate) fn decode(kind: &Kind, document: Document) -> Result<Decoded, DecodeError> {
    decode_with_nulls(kind, document, NullHandling::Dropped)
}

pub(super) fn decode_applied(kind: &Kind, document: Document) -> Result<Decoded, DecodeError> {
    decode_with_nulls(kind, document, NullHandling::Retained)
}

fn decode_with_nulls(kind: &Kind, document: Document, nulls: NullHandling) -> Result<Decoded, DecodeError> {
    if let Some(defined) = kind.defined() {
        return custom::decode(kind, defined, document, nulls);
    }
    let Document {
        value: mut object,
        duplicates,
        source,
    } = document;
    // Bodies above the limit are not searched for positions, because the search delays other requests that wait for the store lock.
    let source = source.filter(|source| source.len() <= ORDERED_BYTES_MAX);
    check_type(kind, &mut object)?;
    if object["metadata"]["managedFields"] == json!([]) {
        // `managedFields: []` means the same as `managedFields: [{}]`, but decoding drops empty lists.
        metadata::set(&mut object, "managedFields", Some(json!([{}])));
    }
    let Conformed { unknown, mut empties } = conform_to(kind, &mut object, source.as_deref())?;
    let stored = kind.in_storage_version();
    if let Some(view) = kind.view {
        object = (view.to_stored)(&object);
        // The paths in `empties` refer to the version of the body, not to the stored version.
        empties.clear();
        conform_to(&stored, &mut object, None)?;
    }
    // selfLink is never set since Kubernetes 1.20.
    metadata::set(&mut object, "selfLink", None);
    (stored.hooks.default)(&mut object);
    Ok(Decoded {
        object,
        strict_errors: strict_errors(&unknown, &duplicates, source.as_deref()),
        empties,
    })
}

/// Replaces empty lists and maps of always-serialized fields by `null`, after managedFields has recorded their owners.
pub(super) fn nullify_empties(kind: &Kind, object: &mut Value) {
    if let Some(of) = kind.in_storage_version().object_type() {
        schema::nullify_empties(of, object);
    }
}

/// Strict-decoding errors for unknown and duplicate fields, sorted by their position if `body` is given. Omits duplicates inside unknown
/// fields.
fn strict_errors(unknown: &[String], duplicates: &[String], body: Option<&[u8]>) -> Vec<String> {
    let is_within = |path: &str, outer: &String| {
        let rest = path.strip_prefix(outer.as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let is_known = |path: &&String| !unknown.iter().any(|outer| is_within(path, outer));
    let duplicates: Vec<String> = duplicates.iter().filter(is_known).cloned().collect();
    let all = strict_errors_for(unknown, "unknown").chain(strict_errors_for(&duplicates, "duplicate"));
    let Some(body) = body.filter(|_| unknown.len() + duplicates.len() > 1) else {
        return all.collect();
    };
    let once = unknown.iter().map(|path| (path.as_str(), 1));
    let twice = duplicates.iter().map(|path| (path.as_str(), 2));
    let wanted: Vec<Occurrence<'_>> = once.chain(twice).collect();
    let mut positioned: Vec<(usize, String)> = member_order::positions(body, &wanted)
        .into_iter()
        .zip(all)
        .collect();
    positioned.sort_by_key(|(position, _)| *position);
    positioned.into_iter().map(|(_, flaw)| flaw).collect()
}

/// Checks and normalizes an object by the schema of its kind.
fn conform_to(kind: &Kind, object: &mut Value, body: Option<&[u8]>) -> Result<Conformed, DecodeError> {
    match kind.object_type() {
        Some(of) => conform(of, object, body).map_err(DecodeError::Form),
        None => Ok(Conformed::default()),
    }
}

/// Name of kube-apiserver's type registry, as printed in its error messages.
const SCHEME: &str = "scheme \"pkg/api/legacyscheme/scheme.go:30\"";

/// Checks kind and apiVersion, and sets them if missing: some clients send neither.
fn check_type(kind: &Kind, object: &mut Value) -> Result<(), DecodeError> {
    let expected = kind.api_version();
    // A patch can replace kind and apiVersion by values of any type.
    if let Some(why) = type_meta_error(object) {
        let why = format!("couldn't get version/kind; json parse error: {why}");
        return Err(DecodeError::UnknownType(why, object.to_string()));
    }
    let Some(members) = object.as_object_mut() else {
        return Err(DecodeError::Version(Status::bad_request(
            "a JSON object is expected",
        )));
    };
    // Drops kind and apiVersion if they are empty, because empty values count as missing.
    members.retain(|name, value| !["apiVersion", "kind"].contains(&name.as_str()) || *value != "");
    let version = members
        .entry("apiVersion")
        .or_insert_with(|| expected.as_str().into());
    let version = version.as_str().unwrap_or_default().to_owned();
    let sent = members.entry("kind").or_insert_with(|| kind.kind.into());
    let sent = sent.as_str().unwrap_or_default().to_owned();
    if version == expected && sent == kind.kind {
        return Ok(());
    }
    let short = match version.split_once('/') {
        Some((_, short)) if short.contains('/') => {
            let why = format!("unexpected GroupVersion string: {version}");
            return Err(DecodeError::UnknownType(why, object.to_string()));
        }
        Some((_, short)) => short,
        None => version.as_str(),
    };
    let why = match Catalogue::all_built_in().find_kind(&version, &sent) {
        Some(other) if other.kind == kind.kind && other.in_storage_version() == kind.in_storage_version() => {
            return Err(DecodeError::Version(Status::bad_request(format!(
                "the API version in the data ({version}) does not match the expected API version ({expected})"
            ))));
        }
        Some(_) => {
            let internal = match kind.group.split('.').next().unwrap_or_default() {
                "" => "core",
                group => group,
            };
            let to = kind.kind;
            format!("converting ({short}.{sent}) to ({internal}.{to}): unknown conversion")
        }
        None => {
            format!("no kind {sent:?} is registered for version {version:?} in {SCHEME}")
        }
    };
    Err(DecodeError::Identity {
        kind: sent,
        version: short.to_owned(),
        why,
    })
}
