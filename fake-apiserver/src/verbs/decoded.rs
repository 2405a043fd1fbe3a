//! What decoding comes to: an object with its flaws, or the reason why there is none.
//!
//! Owns the texts of both. Does not know how a body is decoded.

use super::call::Patch;
use crate::kinds::Kind;
use crate::machinery::faults::Faults;
use crate::machinery::status::{GroupResource, Status};
use crate::schema::Empty;
use crate::schema::FormError;
use crate::structural::Unfit;
use serde_json::Value;

/// A decoded object, in the form in which it is stored.
pub(crate) struct Decoded {
    pub(crate) object: Value,
    /// What strict decoding objects to, with its texts.
    pub(crate) flaws: Vec<String>,
    /// Lists and maps that were sent without entries.
    pub(crate) empties: Vec<Empty>,
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
    /// An object inside it does not have the form of one.
    Inside(Box<Unfit>),
}

/// Flaws with the texts of strict decoding.
pub(crate) fn said(fields: &[String], what: &str) -> impl Iterator<Item = String> {
    fields.iter().map(move |field| format!("{what} field {field:?}"))
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
            Self::Inside(unfit) => unreadable((kind.kind, kind.version), kind, &inside(&unfit)),
        }
    }

    /// The refusal of a patch; the text shows what was patched.
    pub(crate) fn of_patch(self, shown: &str, style: Patch) -> Status {
        match self {
            Self::Version(status) => status,
            Self::Form(error) if style == Patch::Strategic => bad_patch(shown, &error.unstructured()),
            Self::Form(error) => bad_patch(shown, &error.to_string()),
            Self::Inside(unfit) => bad_patch(shown, &inside(&unfit)),
            Self::Nothing(why, _) | Self::Identity { why, .. } => bad_patch(shown, &why),
        }
    }

    /// The text alone.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Version(status) => status.message,
            Self::Form(error) => error.to_string(),
            Self::Inside(unfit) => inside(&unfit),
            Self::Nothing(why, _) | Self::Identity { why, .. } => why,
        }
    }
}

/// What is wrong with an object inside another.
fn inside(unfit: &Unfit) -> String {
    format!("{}: Invalid value: {}: {}", unfit.path, unfit.value, unfit.why)
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
