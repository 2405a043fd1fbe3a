//! From a body to an object of one kind: type and version, form, defaults.
//!
//! Owns the order and the texts of decoding. What a kind consists of comes from the schema.

use super::call::Patch;
use crate::kinds::{Catalogue, Kind};
use crate::machinery::document::Document;
use crate::machinery::faults::Faults;
use crate::machinery::metadata;
use crate::machinery::status::{GroupResource, Status};
use crate::schema::{FormError, Type, conform};
use serde_json::{Value, json};

/// A decoded object, in the form in which it is stored.
pub(crate) struct Decoded {
    pub(crate) object: Value,
    /// What strict decoding objects to, with its texts.
    pub(crate) flaws: Vec<String>,
}

/// Why a document is no object of its kind.
pub(crate) enum Undecodable {
    /// It is of this kind, in another version than the requested one.
    Version(Status),
    /// Its type cannot be read; with the document.
    Nothing(String, String),
    /// It is of another kind: kind and version, and the refusal.
    Identity {
        kind: String,
        version: String,
        why: String,
    },
    /// It does not have the form of its kind.
    Form(FormError),
}

/// Decodes a body for a resource.
pub(crate) fn decode(kind: &Kind, document: Document) -> Result<Decoded, Undecodable> {
    let Document {
        value: mut object,
        duplicates,
    } = document;
    identify(kind, &mut object)?;
    if object["metadata"]["managedFields"] == json!([]) {
        // No entries at all say the same as an empty one, but would be lost with all that is empty.
        metadata::set(&mut object, "managedFields", Some(json!([{}])));
    }
    let unknown = conform(Type::of(kind), &mut object).map_err(Undecodable::Form)?;
    let stored = kind.stored();
    if let Some(view) = kind.view {
        object = (view.to_stored)(&object);
        conform(Type::of(&stored), &mut object).map_err(Undecodable::Form)?;
    }
    // Links went away in 1.20.
    metadata::set(&mut object, "selfLink", None);
    (stored.hooks.default)(&mut object);
    let flaws = said(&unknown, "unknown")
        .chain(said(&duplicates, "duplicate"))
        .collect();
    Ok(Decoded { object, flaws })
}

/// Flaws with the texts of strict decoding.
pub(crate) fn said(fields: &[String], what: &str) -> impl Iterator<Item = String> {
    fields.iter().map(move |field| format!("{what} field {field:?}"))
}

/// Where the real server registers its types, as its texts name it.
const SCHEME: &str = "scheme \"pkg/api/legacyscheme/scheme.go:30\"";

/// Checks kind and version, or fills them in: some clients send neither.
fn identify(kind: &Kind, object: &mut Value) -> Result<(), Undecodable> {
    let expected = kind.api_version();
    let Some(members) = object.as_object_mut() else {
        return Err(Undecodable::Version(Status::bad_request(
            "an object of JSON is expected",
        )));
    };
    // Both are empty where the body has neither.
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
            return Err(Undecodable::Nothing(why, object.to_string()));
        }
        Some((_, short)) => short,
        None => version.as_str(),
    };
    let why = match Catalogue::built_in().find_kind(&version, &sent) {
        Some(other) if other.kind == kind.kind && other.stored() == kind.stored() => {
            return Err(Undecodable::Version(Status::bad_request(format!(
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
    Err(Undecodable::Identity {
        kind: sent,
        version: short.to_owned(),
        why,
    })
}

/// Checks `apiVersion` and `kind` of a subresource's body, where they are set.
pub(crate) fn identify_as(version: &str, kind: &str, object: &Value) -> Result<(), Status> {
    let text = |name: &str| object[name].as_str().unwrap_or_default();
    let (sent_version, sent) = (text("apiVersion"), text("kind"));
    if ["", kind].contains(&sent) && ["", version].contains(&sent_version) {
        return Ok(());
    }
    let short = sent_version.rsplit('/').next().unwrap_or_default();
    let why = match Catalogue::built_in().find_kind(sent_version, sent) {
        Some(_) => format!("converting ({short}.{sent}) to (core.{kind}): unknown conversion"),
        None => format!("no kind {sent:?} is registered for version {sent_version:?} in {SCHEME}"),
    };
    Err(Status::bad_request(format!(
        "{sent} in version {short:?} cannot be handled as a {kind}: {why}"
    )))
}

impl Undecodable {
    /// The refusal of a body.
    pub(crate) fn of_body(self, kind: &Kind) -> Status {
        match self {
            Self::Version(status) => status,
            Self::Nothing(why, body) => Status::unrecognized(kind.kind, &why, body.as_bytes()),
            Self::Identity {
                kind: sent,
                version,
                why,
            } => unreadable((&sent, &version), kind, &why),
            Self::Form(error) => unreadable((kind.kind, kind.version), kind, &error.to_string()),
        }
    }

    /// The refusal of a patch; the text shows what was patched.
    pub(crate) fn of_patch(self, shown: &str, style: Patch) -> Status {
        match self {
            Self::Version(status) => status,
            Self::Form(error) if style == Patch::Strategic => bad_patch(shown, &error.unstructured()),
            Self::Form(error) => bad_patch(shown, &error.to_string()),
            Self::Nothing(why, _) | Self::Identity { why, .. } => bad_patch(shown, &why),
        }
    }

    /// The text alone.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Version(status) => status.message,
            Self::Form(error) => error.to_string(),
            Self::Nothing(why, _) | Self::Identity { why, .. } => why,
        }
    }
}

/// The refusal of a body that does not have the form of its own kind and version.
fn unreadable((sent, version): (&str, &str), kind: &Kind, why: &str) -> Status {
    let kind = kind.kind;
    Status::bad_request(format!(
        "{sent} in version {version:?} cannot be handled as a {kind}: {why}"
    ))
}

fn bad_patch(shown: &str, why: &str) -> Status {
    let mut faults = Faults::default();
    faults.invalid("patch", shown, why);
    Status::invalid(GroupResource { group: "", kind: "" }, "", faults)
}

/// What a request wants done about fields that are unknown or come twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

impl FieldValidation {
    /// Judges the flaws of a body; returns the warnings.
    pub(crate) fn of_body(self, kind: &Kind, flaws: Vec<String>) -> Result<Vec<String>, Status> {
        self.judge(flaws, |why| unreadable((kind.kind, kind.version), kind, why))
    }

    /// Judges the flaws of a patch and of what it leads to; returns the warnings.
    pub(crate) fn of_patch(self, shown: &str, flaws: Vec<String>) -> Result<Vec<String>, Status> {
        self.judge(flaws, |why| bad_patch(shown, why))
    }

    fn judge(self, flaws: Vec<String>, refuse: impl Fn(&str) -> Status) -> Result<Vec<String>, Status> {
        match self {
            Self::Ignore => Ok(Vec::new()),
            Self::Warn => Ok(flaws),
            Self::Strict if flaws.is_empty() => Ok(flaws),
            Self::Strict => Err(refuse(&format!("strict decoding error: {}", flaws.join(", ")))),
        }
    }
}
