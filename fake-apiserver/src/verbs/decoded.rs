//! Result of decoding: an object with strict-decoding errors, or the reason for failure.
//!
//! Owns the messages of both. Does not decode.

use super::call::Patch;
use crate::kinds::Kind;
use crate::machinery::faults::Faults;
use crate::machinery::status::{GroupResource, Status};
use crate::schema::Empty;
use crate::schema::FormError;
use crate::structural::Unfit;
use serde_json::Value;

/// A decoded object in the version in which it is stored.
pub(crate) struct Decoded {
    pub(crate) object: Value,
    /// Strict-decoding errors: unknown and duplicate fields.
    pub(crate) flaws: Vec<String>,
    /// Lists and maps that were sent empty.
    pub(crate) empties: Vec<Empty>,
}

/// Why a document could not be decoded as its kind.
pub(crate) enum Undecodable {
    /// It has the right kind in another version.
    Version(Status),
    /// Its type cannot be determined: the reason, and the document.
    Nothing(String, String),
    /// It has another kind: kind, version, and the reason.
    Identity {
        kind: String,
        version: String,
        why: String,
    },
    /// It does not match the schema of its kind.
    Form(FormError),
    /// An embedded object has invalid metadata.
    Inside(Box<Unfit>),
}

/// Strict-decoding errors for fields.
pub(crate) fn said(fields: &[String], what: &str) -> impl Iterator<Item = String> {
    fields.iter().map(move |field| format!("{what} field {field:?}"))
}

impl Undecodable {
    /// The error for a request body.
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
            Self::Inside(unfit) => unreadable((kind.kind, kind.version), kind, &inside(&unfit)),
        }
    }

    /// The error for a patch; `shown` is the patched object or the patch.
    pub(crate) fn of_patch(self, shown: &str, style: Patch) -> Status {
        match self {
            Self::Version(status) => status,
            Self::Form(error) if style == Patch::Strategic => bad_patch(shown, &error.unstructured()),
            Self::Form(error) => bad_patch(shown, &error.to_string()),
            Self::Inside(unfit) => bad_patch(shown, &inside(&unfit)),
            Self::Nothing(why, _) | Self::Identity { why, .. } => bad_patch(shown, &why),
        }
    }

    /// The bare message.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Version(status) => status.message,
            Self::Form(error) => error.to_string(),
            Self::Inside(unfit) => inside(&unfit),
            Self::Nothing(why, _) | Self::Identity { why, .. } => why,
        }
    }
}

/// The message for an invalid embedded object.
fn inside(unfit: &Unfit) -> String {
    format!("{}: Invalid value: {}: {}", unfit.path, unfit.value, unfit.why)
}

/// The error for a body that does not match its kind and version.
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

/// The `fieldValidation` of a request: handling of unknown and duplicate fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

impl FieldValidation {
    /// Applies the policy to the strict-decoding errors of a body; returns the warnings.
    pub(crate) fn of_body(self, kind: &Kind, flaws: Vec<String>) -> Result<Vec<String>, Status> {
        self.judge(flaws, |why| unreadable((kind.kind, kind.version), kind, why))
    }

    /// Applies the policy to the strict-decoding errors of a patch and its result; returns the warnings.
    pub(crate) fn of_patch(
        self,
        shown: impl Fn() -> String,
        flaws: Vec<String>,
    ) -> Result<Vec<String>, Status> {
        self.judge(flaws, |why| bad_patch(&shown(), why))
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
