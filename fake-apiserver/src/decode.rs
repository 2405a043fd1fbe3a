//! From a body to an object of one kind: type and version, form, defaults.
//!
//! Owns the order and the texts of decoding. What a kind consists of comes from the schema.

use crate::document::Document;
use crate::faults::Faults;
use crate::kinds::Kind;
use crate::meta;
use crate::schema::{Type, conform};
use crate::status::{Status, Subject};
use serde_json::{Value, json};

/// A decoded object, in the form in which it is stored.
pub(crate) struct Decoded {
    pub(crate) object: Value,
    /// What strict decoding objects to, in its words.
    pub(crate) flaws: Vec<String>,
}

/// Why a document is no object of its kind.
pub(crate) enum Undecodable {
    /// It says that it is something else.
    Identity(Status),
    /// It does not have the form of its kind; in the words of Go's decoder.
    Form(String),
}

/// Decodes a body for a resource.
pub(crate) fn decode(kind: &'static Kind, document: Document) -> Result<Decoded, Undecodable> {
    let Document {
        value: mut object,
        duplicates,
    } = document;
    identify(kind, &mut object).map_err(Undecodable::Identity)?;
    if object["metadata"]["managedFields"] == json!([]) {
        // No entries at all say the same as an empty one, but would be lost with all that is empty.
        meta::set(&mut object, "managedFields", Some(json!([{}])));
    }
    let unknown = conform(Type::of(kind), &mut object).map_err(Undecodable::Form)?;
    let stored = kind.stored();
    if let Some(view) = kind.view {
        object = (view.to_stored)(&object);
        conform(Type::of(stored), &mut object).map_err(Undecodable::Form)?;
    }
    // Links went away in 1.20.
    meta::set(&mut object, "selfLink", None);
    (stored.hooks.default)(&mut object);
    let flaws = said(&unknown, "unknown")
        .chain(said(&duplicates, "duplicate"))
        .collect();
    Ok(Decoded { object, flaws })
}

/// Flaws in the words of strict decoding.
pub(crate) fn said(fields: &[String], what: &str) -> impl Iterator<Item = String> {
    fields.iter().map(move |field| format!("{what} field {field:?}"))
}

/// Checks kind and version, or fills them in: some clients send neither.
fn identify(kind: &Kind, object: &mut Value) -> Result<(), Status> {
    let expected = kind.api_version();
    let Some(members) = object.as_object_mut() else {
        return Err(Status::bad_request("an object of JSON is expected"));
    };
    // Both are empty where a client says neither.
    members.retain(|name, value| !["apiVersion", "kind"].contains(&name.as_str()) || *value != "");
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
    Ok(())
}

impl Undecodable {
    /// The refusal of a body.
    pub(crate) fn of_body(self, kind: &Kind) -> Status {
        match self {
            Self::Identity(status) => status,
            Self::Form(why) => unreadable(kind, &why),
        }
    }

    /// The refusal of a patch; the text shows what was patched.
    pub(crate) fn of_patch(self, shown: &str) -> Status {
        match self {
            Self::Identity(status) => status,
            Self::Form(why) => bad_patch(shown, &why),
        }
    }
}

fn unreadable(kind: &Kind, why: &str) -> Status {
    Status::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {kind}: {why}",
        kind = kind.kind,
        version = kind.version
    ))
}

fn bad_patch(shown: &str, why: &str) -> Status {
    let mut faults = Faults::default();
    faults.invalid("patch", shown, why);
    Status::invalid(Subject { group: "", kind: "" }, "", faults)
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
        self.judge(flaws, |why| unreadable(kind, why))
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
