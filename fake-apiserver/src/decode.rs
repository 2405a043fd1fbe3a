//! From a body to an object of one kind: type and version, form, defaults.
//!
//! Owns the order and the texts of decoding. What a kind consists of comes from the table.

use crate::kinds::Kind;
use crate::meta;
use crate::shape::strip_nulls;
use crate::status::Status;
use serde_json::Value;

/// A decoded object, in the form in which it is stored.
pub(crate) struct Decoded {
    pub(crate) object: Value,
    /// Paths of fields that the kind does not have.
    pub(crate) unknown: Vec<String>,
}

/// Decodes a body for a resource.
pub(crate) fn decode(kind: &'static Kind, mut object: Value) -> Result<Decoded, Status> {
    identify(kind, &mut object)?;
    if let Some(view) = kind.view {
        object = (view.to_stored)(&object);
    }
    let stored = kind.stored();
    let mut unknown = conform(kind, stored, &mut object)?;
    let meta_unknown = meta::OBJECT_META
        .conform(&mut object["metadata"])
        .map_err(|e| undecodable(kind, &e))?;
    unknown.extend(meta_unknown.into_iter().map(|field| format!("metadata.{field}")));
    // Field managers are not tracked here, and links went away in 1.20.
    meta::set(&mut object, "managedFields", None);
    meta::set(&mut object, "selfLink", None);
    (stored.hooks.default)(&mut object);
    Ok(Decoded { object, unknown })
}

/// Checks kind and version, or fills them in: some clients send neither.
fn identify(kind: &Kind, object: &mut Value) -> Result<(), Status> {
    let expected = kind.api_version();
    let Some(members) = object.as_object_mut() else {
        let text = "couldn't get version/kind; json parse error: json: cannot unmarshal the body into Go value of type";
        return Err(Status::bad_request(format!(
            "{text} struct {{ APIVersion string; Kind string }}"
        )));
    };
    let version = members
        .entry("apiVersion")
        .or_insert_with(|| expected.as_str().into());
    if version != expected.as_str() {
        let sent = version.as_str().unwrap_or_default();
        let text = format!(
            "the API version in the data ({sent}) does not match the expected API version ({expected})"
        );
        return Err(Status::bad_request(text));
    }
    let sent = members.entry("kind").or_insert_with(|| kind.kind.into());
    if sent != kind.kind {
        let sent = sent.as_str().unwrap_or_default();
        let internal = if kind.group.is_empty() {
            "core"
        } else {
            kind.group.split('.').next().unwrap_or_default()
        };
        let text = match Kind::find_kind(&expected, sent) {
            Some(_) => {
                let (version, kind) = (kind.version, kind.kind);
                let conversion =
                    format!("converting ({version}.{sent}) to ({internal}.{kind}): unknown conversion");
                format!("{sent} in version {version:?} cannot be handled as a {kind}: {conversion}")
            }
            None => format!("no kind {sent:?} is registered for version {expected:?} in scheme"),
        };
        return Err(Status::bad_request(text));
    }
    meta::edit(object);
    Ok(())
}

/// Brings everything but type and metadata into the kind's form.
fn conform(kind: &Kind, stored: &Kind, object: &mut Value) -> Result<Vec<String>, Status> {
    let Some(members) = object.as_object_mut() else {
        return Ok(Vec::new());
    };
    let apart: Vec<(&str, Value)> = ["apiVersion", "kind", "metadata"]
        .into_iter()
        .filter_map(|name| Some((name, members.remove(name)?)))
        .collect();
    let unknown = stored.form.conform(object).map_err(|e| undecodable(kind, &e))?;
    if let Some(members) = object.as_object_mut() {
        members.extend(apart.into_iter().map(|(name, value)| (name.to_owned(), value)));
    }
    strip_nulls(&mut object["metadata"]);
    Ok(unknown)
}

fn undecodable(kind: &Kind, why: &str) -> Status {
    Status::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {kind}: {why}",
        kind = kind.kind,
        version = kind.version
    ))
}

/// What a request wants done about unknown fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

/// Applies `fieldValidation` to what decoding found; returns the warnings.
pub(crate) fn check_unknown(
    kind: &'static Kind,
    decoded: &Decoded,
    validation: FieldValidation,
) -> Result<Vec<String>, Status> {
    let texts = decoded
        .unknown
        .iter()
        .map(|field| format!("unknown field {field:?}"));
    match validation {
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Warn => Ok(texts.collect()),
        FieldValidation::Strict if !kind.stored().form.is_closed() => Err(Status::not_implemented(format!(
            "fieldValidation=Strict is not supported here for {}: not all of its fields are known to this server; \
             use fieldValidation=Warn or Ignore (kubectl --validate=warn)",
            kind.plural
        ))),
        FieldValidation::Strict if decoded.unknown.is_empty() => Ok(Vec::new()),
        FieldValidation::Strict => {
            let texts: Vec<String> = texts.collect();
            Err(undecodable(
                kind,
                &format!("strict decoding error: {}", texts.join(", ")),
            ))
        }
    }
}
