//! Result of decoding: an object with strict-decoding errors, or the reason for failure.
//!
//! Owns the messages of decoding errors. Does not decode.

use super::call::Patch;
use crate::kinds::{EmbeddedObjectError, Kind};
use crate::machinery::error_list::ErrorList;
use crate::machinery::status::{GroupResource, Status};
use crate::schema::Empty;
use crate::schema::FormError;
use serde_json::Value;

/// A decoded object. Built-in kinds are in their storage version, custom resources in the version of the document.
pub(crate) struct Decoded {
    pub(crate) object: Value,
    /// Strict-decoding errors: unknown and duplicate fields.
    pub(crate) strict_errors: Vec<String>,
    /// Lists and maps that the client sent empty.
    pub(crate) empties: Vec<Empty>,
}

pub(crate) enum DecodeError {
    /// The document has the expected kind in another version.
    Version(Status),
    /// The kind or apiVersion cannot be determined. Fields: the reason, and the document.
    UnknownType(String, String),
    /// The document has an unexpected kind, or an apiVersion without this kind.
    Identity {
        kind: String,
        version: String,
        why: String,
    },
    /// The document does not match the schema of its kind.
    Form(FormError),
    /// An object in a field with `x-kubernetes-embedded-resource` has an invalid apiVersion, kind or `metadata`.
    EmbeddedObject(Box<EmbeddedObjectError>),
}

pub(crate) fn strict_errors_for(fields: &[String], what: &str) -> impl Iterator<Item = String> {
    fields.iter().map(move |field| format!("{what} field {field:?}"))
}

impl DecodeError {
    /// The 400 that kube-apiserver returns for a decoding error in a request body.
    pub(crate) fn body_error(self, kind: &Kind) -> Status {
        match self {
            Self::Version(status) => status,
            Self::UnknownType(why, body) => Status::unrecognized(kind.kind, &why, body.as_bytes()),
            Self::Identity {
                kind: sent,
                version,
                why,
            } => type_mismatch((&sent, &version), kind, &why),
            Self::Form(error) => type_mismatch((kind.kind, kind.version), kind, &error.to_string()),
            Self::EmbeddedObject(unfit) => {
                type_mismatch((kind.kind, kind.version), kind, &embedded_object_error(&unfit))
            }
        }
    }

    /// The error that kube-apiserver returns if the result of a patch cannot be decoded. The message quotes `shown`: the patched object
    /// or the patch.
    pub(crate) fn patch_error(self, shown: &str, style: Patch) -> Status {
        match self {
            Self::Version(status) => status,
            Self::Form(error) if style == Patch::Strategic => bad_patch(shown, &error.unstructured_message()),
            Self::Form(error) => bad_patch(shown, &error.to_string()),
            Self::EmbeddedObject(unfit) => bad_patch(shown, &embedded_object_error(&unfit)),
            Self::UnknownType(why, _) | Self::Identity { why, .. } => bad_patch(shown, &why),
        }
    }

    /// The text of a decoding error, without the prefix that kube-apiserver's Status has.
    pub(crate) fn text(self) -> String {
        match self {
            Self::Version(status) => status.message,
            Self::Form(error) => error.to_string(),
            Self::EmbeddedObject(unfit) => embedded_object_error(&unfit),
            Self::UnknownType(why, _) | Self::Identity { why, .. } => why,
        }
    }
}

/// The message for an invalid object in a field with `x-kubernetes-embedded-resource`.
fn embedded_object_error(unfit: &EmbeddedObjectError) -> String {
    format!("{}: Invalid value: {}: {}", unfit.path, unfit.value, unfit.why)
}

/// The error for a request body that does not match its kind and version.
fn type_mismatch((sent, version): (&str, &str), kind: &Kind, why: &str) -> Status {
    let kind = kind.kind;
    Status::bad_request(format!(
        "{sent} in version {version:?} cannot be handled as a {kind}: {why}"
    ))
}

fn bad_patch(shown: &str, why: &str) -> Status {
    let mut errors = ErrorList::default();
    errors.invalid("patch", shown, why);
    Status::invalid(GroupResource { group: "", kind: "" }, "", errors)
}

/// The `fieldValidation` of a request: whether unknown and duplicate fields are ignored, warnings or errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

impl FieldValidation {
    /// Handles the strict-decoding errors of a body as `fieldValidation` requires; returns the warnings.
    pub(crate) fn apply_to_body(
        self,
        kind: &Kind,
        strict_errors: Vec<String>,
    ) -> Result<Vec<String>, Status> {
        self.apply(strict_errors, |why| {
            type_mismatch((kind.kind, kind.version), kind, why)
        })
    }

    /// Handles the strict-decoding errors of a patch and of the patched object as `fieldValidation` requires; returns the warnings.
    pub(crate) fn apply_to_patch(
        self,
        shown: impl Fn() -> String,
        strict_errors: Vec<String>,
    ) -> Result<Vec<String>, Status> {
        self.apply(strict_errors, |why| bad_patch(&shown(), why))
    }

    fn apply(
        self,
        strict_errors: Vec<String>,
        refuse: impl Fn(&str) -> Status,
    ) -> Result<Vec<String>, Status> {
        match self {
            Self::Ignore => Ok(Vec::new()),
            Self::Warn => Ok(strict_errors),
            Self::Strict if strict_errors.is_empty() => Ok(strict_errors),
            Self::Strict => Err(refuse(&format!(
                "strict decoding error: {}",
                strict_errors.join(", ")
            ))),
        }
    }
}
