//! The wire `Status` (meta/v1): the error type of this crate, and the response to deletions and bindings.
//!
//! Owns the messages that apimachinery produces. Messages about fields are in `error_list`. Does not know HTTP: `http` maps `code` and
//! `retry_after_seconds` to a status line and a header.

use crate::machinery::document::body_excerpt;
use crate::machinery::error_list::{Cause, ErrorList};
use crate::machinery::go;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;

/// A Kubernetes `Status`: a failure, or the success of a request that returns no object.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Status {
    /// HTTP status code of the response.
    pub code: u16,
    /// The machine-readable reason, for example `NotFound`; some errors of kube-apiserver have no reason.
    pub reason: Option<&'static str>,
    /// The human-readable message; empty for a success.
    pub message: String,
    /// `Status.details`; `None` if the response has no details.
    pub details: Option<Box<Details>>,
    /// A token with which to continue a paged list after `410 Expired`.
    pub continue_token: Option<String>,
    /// Whether a fault rule injected this status; not sent to clients.
    pub injected: bool,
}

/// `Status.details`: the object concerned and the individual errors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Name of the object; may be empty.
    pub name: String,
    /// API group of the object; empty for the core group.
    pub group: String,
    /// The plural resource name, or the kind for validation failures, as in kube-apiserver.
    pub kind: String,
    /// UID of the object, in the response to a deletion.
    pub uid: String,
    /// The individual errors, for example one per invalid field.
    pub causes: Vec<Cause>,
    /// Seconds to wait before a retry; 0: unset.
    pub retry_after_seconds: u32,
}

/// The resource or kind that a `Status` is about, with its API group.
#[derive(Clone, Copy)]
pub struct GroupResource<'a> {
    /// The API group; empty for the core group.
    pub group: &'a str,
    /// The plural resource name, or the kind.
    pub kind: &'a str,
}

impl<'a> GroupResource<'a> {
    /// The resource as written in messages: `pods`, `csidrivers.storage.k8s.io`.
    fn qualified(self) -> String {
        if self.group.is_empty() {
            self.kind.to_owned()
        } else {
            format!("{}.{}", self.kind, self.group)
        }
    }

    fn details(self, name: &str) -> Box<Details> {
        Box::new(Details {
            name: name.to_owned(),
            group: self.group.to_owned(),
            kind: self.kind.to_owned(),
            ..Details::default()
        })
    }
}

/// Subresources of kube-apiserver that this server does not implement.
const NOT_HERE: [(&str, &[&str]); 3] = [
    (
        "pods",
        &["attach", "exec", "log", "portforward", "proxy", "resize"],
    ),
    ("nodes", &["proxy"]),
    ("services", &["proxy"]),
];

/// The subject of a validation error in an options object such as `DeleteOptions`.
pub(crate) fn options_resource(kind: &str) -> GroupResource<'_> {
    GroupResource {
        group: "meta.k8s.io",
        kind,
    }
}

impl Status {
    /// Creates a failure `Status` without details.
    pub(crate) fn failure(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            reason: Some(reason),
            message: message.into(),
            details: None,
            continue_token: None,
            injected: false,
        }
    }

    /// Creates a failure `Status` with empty details, as in the generic REST errors of kube-apiserver.
    fn generic(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            details: Some(Box::default()),
            ..Self::failure(code, reason, message)
        }
    }

    /// The `Status` for a successful create that returns no object, such as a binding.
    pub(crate) fn created() -> Self {
        Self {
            code: 201,
            reason: None,
            message: String::new(),
            details: None,
            continue_token: None,
            injected: false,
        }
    }

    /// The `Status` for a successful deletion that took effect at once.
    pub(crate) fn deleted(resource: GroupResource<'_>, name: &str, uid: &str) -> Self {
        let mut details = resource.details(name);
        details.uid = uid.to_owned();
        Self {
            code: 200,
            reason: None,
            message: String::new(),
            details: Some(details),
            continue_token: None,
            injected: false,
        }
    }

    /// The client disconnected before its request was complete. Uses code 499 as nginx does: HTTP has no code for a disconnected client.
    pub(crate) fn client_closed(error: &(dyn std::error::Error + 'static)) -> Self {
        Self::failure(
            499,
            "",
            format!("the client disconnected before the request was complete: {error}"),
        )
    }

    /// A 400 with the reason `BadRequest`.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::failure(400, "BadRequest", message)
    }

    /// The 400 for a request body whose kind cannot be determined.
    pub(crate) fn unrecognized(expected: &str, why: &str, body: &[u8]) -> Self {
        let shown = body_excerpt(body);
        Self::bad_request(format!(
            "the object provided is unrecognized (must be of type {expected}): {why} ({shown})"
        ))
    }

    pub(crate) fn unauthorized() -> Self {
        Self::failure(401, "Unauthorized", "Unauthorized")
    }

    /// 403: the request is not allowed.
    pub fn forbidden(subject: GroupResource<'_>, name: &str, why: &str) -> Self {
        let object = if name.is_empty() {
            subject.qualified()
        } else {
            format!("{} {}", subject.qualified(), go::quoted(name))
        };
        Self {
            details: Some(subject.details(name)),
            ..Self::failure(403, "Forbidden", format!("{object} is forbidden: {why}"))
        }
    }

    /// The 403 for a non-resource path.
    pub(crate) fn forbidden_path(why: &str) -> Self {
        Self::generic(403, "Forbidden", format!("forbidden: {why}"))
    }

    /// 404: the object does not exist.
    pub fn not_found(subject: GroupResource<'_>, name: &str) -> Self {
        Self {
            details: Some(subject.details(name)),
            ..Self::failure(
                404,
                "NotFound",
                format!("{} {} not found", subject.qualified(), go::quoted(name)),
            )
        }
    }

    pub(crate) fn no_such_resource() -> Self {
        Self::generic(
            404,
            "NotFound",
            "the server could not find the requested resource",
        )
    }

    /// The 404 for an unknown subresource. If kube-apiserver has the subresource, the message says that this server does not implement it.
    pub(crate) fn no_such_subresource(resource: GroupResource<'_>, subresource: &str) -> Self {
        let mut not_here = NOT_HERE.iter();
        if !not_here.any(|(of, names)| *of == resource.kind && names.contains(&subresource)) {
            return Self::no_such_resource();
        }
        let text = "the server could not find the requested resource";
        Self::generic(
            404,
            "NotFound",
            format!(
                "{text} (this server does not implement {}/{subresource})",
                resource.kind
            ),
        )
    }

    pub(crate) fn method_not_allowed() -> Self {
        Self::generic(
            405,
            "MethodNotAllowed",
            "the server does not allow this method on the requested resource",
        )
    }

    pub(crate) fn not_acceptable(available: &str) -> Self {
        Self::generic(
            406,
            "NotAcceptable",
            format!("406: Not Acceptable\n\nAvailable representations: {available}"),
        )
    }

    pub(crate) fn no_accepted_media_type(available: &str) -> Self {
        let text = format!("only the following media types are accepted: {available}");
        Self::failure(406, "NotAcceptable", text)
    }

    /// A 406 with the message `text`.
    pub(crate) fn not_acceptable_because(text: String) -> Self {
        Self::failure(406, "NotAcceptable", text)
    }

    pub(crate) fn already_exists(subject: GroupResource<'_>, name: &str) -> Self {
        Self {
            details: Some(subject.details(name)),
            ..Self::failure(
                409,
                "AlreadyExists",
                format!("{} {} already exists", subject.qualified(), go::quoted(name)),
            )
        }
    }

    pub(crate) fn conflict(subject: GroupResource<'_>, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} {}: {why}",
            subject.qualified(),
            go::quoted(name)
        );
        Self {
            details: Some(subject.details(name)),
            ..Self::failure(409, "Conflict", message)
        }
    }

    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::failure(410, "Expired", message)
    }

    pub(crate) fn too_large(limit: usize) -> Self {
        Self::failure(
            413,
            "RequestEntityTooLarge",
            format!("Request entity too large: limit is {limit}"),
        )
    }

    pub(crate) fn unsupported_body(accepted: &str) -> Self {
        let text = "the body of the request was in an unknown format - accepted media types include: ";
        Self::failure(415, "UnsupportedMediaType", format!("{text}{accepted}"))
    }

    pub(crate) fn unsupported_patch(message: impl Into<String>) -> Self {
        Self::generic(415, "UnsupportedMediaType", message)
    }

    /// 422: the object violates validation rules. `errors` become the causes.
    pub fn invalid(subject: GroupResource<'_>, name: &str, errors: ErrorList) -> Self {
        let object = format!("{} {}", subject.qualified(), go::quoted(name));
        let message = format!("{object} is invalid: {errors}");
        let mut details = subject.details(name);
        details.causes = errors.into_causes();
        Self {
            details: Some(details),
            ..Self::failure(422, "Invalid", message)
        }
    }

    /// The 422 if there are errors.
    pub(crate) fn refuse_invalid(
        subject: GroupResource<'_>,
        name: &str,
        errors: ErrorList,
    ) -> Result<(), Self> {
        match errors.is_empty() {
            true => Ok(()),
            false => Err(Self::invalid(subject, name, errors)),
        }
    }

    /// The response to a JSON patch if its `test` operation failed or its path does not exist.
    pub(crate) fn patch_does_not_apply() -> Self {
        Self::generic(
            422,
            "Invalid",
            "the server rejected our request due to an error in our request",
        )
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self {
            reason: None,
            ..Self::failure(500, "", message)
        }
    }

    /// A 500 with the error message as its cause.
    pub fn internal_error(why: impl Into<String>) -> Self {
        let why = why.into();
        let cause = Cause {
            reason: "",
            message: why.clone(),
            field: String::new(),
        };
        let details = Details {
            causes: vec![cause],
            ..Details::default()
        };
        let message = format!("Internal error occurred: {why}");
        Self {
            details: Some(Box::new(details)),
            ..Self::failure(500, "InternalError", message)
        }
    }

    pub(crate) fn revision_too_large(requested: u64, current: u64, retry_after_seconds: u32) -> Self {
        let cause = Cause {
            reason: "ResourceVersionTooLarge",
            message: "Too large resource version".to_owned(),
            field: String::new(),
        };
        let details = Details {
            causes: vec![cause],
            retry_after_seconds,
            ..Details::default()
        };
        let message = format!("Timeout: Too large resource version: {requested}, current: {current}");
        Self {
            details: Some(Box::new(details)),
            ..Self::failure(504, "Timeout", message)
        }
    }

    /// Whether the code is below 400.
    pub fn is_success(&self) -> bool {
        self.code < 400
    }

    /// The `Status` as a JSON value. (On the wire, the members have a fixed order, which a JSON value does not preserve.)
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("strings and numbers serialize to JSON")
    }
}

/// Writes the members in the order of kube-apiserver: some clients compare the text.
impl Serialize for Status {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let success = self.is_success();
        let metadata: BTreeMap<&str, &String> = self
            .continue_token
            .iter()
            .map(|token| ("continue", token))
            .collect();
        let mut out = serializer.serialize_map(None)?;
        out.serialize_entry("kind", "Status")?;
        out.serialize_entry("apiVersion", "v1")?;
        out.serialize_entry("metadata", &metadata)?;
        out.serialize_entry("status", if success { "Success" } else { "Failure" })?;
        if !self.message.is_empty() {
            out.serialize_entry("message", &self.message)?;
        }
        if let Some(reason) = self.reason {
            out.serialize_entry("reason", reason)?;
        }
        if let Some(details) = &self.details {
            out.serialize_entry("details", details)?;
        }
        // The success of a deletion has no code in the body; the success of a binding has one.
        if !success || self.code != 200 {
            out.serialize_entry("code", &self.code)?;
        }
        out.end()
    }
}

impl Serialize for Details {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_map(None)?;
        for (key, text) in [
            ("name", &self.name),
            ("group", &self.group),
            ("kind", &self.kind),
            ("uid", &self.uid),
        ] {
            if !text.is_empty() {
                out.serialize_entry(key, text)?;
            }
        }
        if !self.causes.is_empty() {
            out.serialize_entry("causes", &self.causes)?;
        }
        if self.retry_after_seconds > 0 {
            out.serialize_entry("retryAfterSeconds", &self.retry_after_seconds)?;
        }
        out.end()
    }
}
