//! The wire `Status` (meta/v1): the one error type of this crate and the answer to deletions and bindings.
//!
//! Owns the texts that the API machinery itself produces. Texts about single fields live in `faults`.
//! Does not know HTTP: the shell turns `code` and `retry_after_seconds` into a status line and a header.

use crate::machinery::document::summary;
use crate::machinery::faults::{Cause, Faults};
use crate::machinery::go;
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;
use std::collections::BTreeMap;

/// A Kubernetes `Status`: a failure, or the success of a request that has no object to return.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Status {
    /// The HTTP status code.
    pub code: u16,
    /// The machine readable reason, for example `NotFound`; some failures of the real server have none.
    pub reason: Option<&'static str>,
    /// The text for people; empty for a success.
    pub message: String,
    /// What the status is about.
    pub details: Option<Box<Details>>,
    /// A token to go on with after `410 Expired` of a paged list.
    pub continue_token: Option<String>,
    /// Whether a perturbation made it; no client is told.
    pub injected: bool,
}

/// `Status.details`: the object concerned and the single faults found in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// Name of the object, where there is one.
    pub name: String,
    /// API group of the object; empty for the core group.
    pub group: String,
    /// The plural resource name, or the kind for validation failures, as the real server has it.
    pub kind: String,
    /// uid of the object, in the answer to a deletion.
    pub uid: String,
    /// One entry per fault.
    pub causes: Vec<Cause>,
    /// Seconds to wait before trying again; 0 for none.
    pub retry_after_seconds: u32,
}

/// What a status is about: either the plural resource or the kind, with the group that goes with it.
#[derive(Clone, Copy)]
pub struct GroupResource<'a> {
    /// The API group; empty for the core group.
    pub group: &'a str,
    /// The plural resource name, or the kind.
    pub kind: &'a str,
}

impl<'a> GroupResource<'a> {
    /// The subject as messages have it: `pods`, `csidrivers.storage.k8s.io`.
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

/// Subresources that the real server has, and this one has not.
const NOT_HERE: [(&str, &[&str]); 3] = [
    (
        "pods",
        &["attach", "exec", "log", "portforward", "proxy", "resize"],
    ),
    ("nodes", &["proxy"]),
    ("services", &["proxy"]),
];

/// The group and kind under which the machinery reports faulty options.
pub(crate) fn options(kind: &str) -> GroupResource<'_> {
    GroupResource {
        group: "meta.k8s.io",
        kind,
    }
}

impl Status {
    /// A failure without details.
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

    /// A failure whose details are present but empty, as the generic REST errors have them.
    fn generic(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self {
            details: Some(Box::default()),
            ..Self::failure(code, reason, message)
        }
    }

    /// Success of a request that creates no object, such as a binding.
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

    /// Success of a deletion that took effect at once.
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

    /// The client went away before its request was complete. Nginx uses this code for it; HTTP has none.
    pub(crate) fn client_closed(error: &(dyn std::error::Error + 'static)) -> Self {
        Self::failure(499, "", format!("the client ended the request: {error}"))
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::failure(400, "BadRequest", message)
    }

    /// The refusal of a body from which no type can be read.
    pub(crate) fn unrecognized(expected: &str, why: &str, body: &[u8]) -> Self {
        let shown = summary(body);
        Self::bad_request(format!(
            "the object provided is unrecognized (must be of type {expected}): {why} ({shown})"
        ))
    }

    pub(crate) fn unauthorized() -> Self {
        Self::failure(401, "Unauthorized", "Unauthorized")
    }

    /// 403: the request may not be carried out.
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

    /// The refusal of a path that is no resource.
    pub(crate) fn forbidden_path(why: &str) -> Self {
        Self::generic(403, "Forbidden", format!("forbidden: {why}"))
    }

    pub(crate) fn not_found(subject: GroupResource<'_>, name: &str) -> Self {
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

    /// The answer to a subresource that is not there; what only this server lacks is named.
    pub(crate) fn no_such_subresource(resource: GroupResource<'_>, subresource: &str) -> Self {
        let mut not_here = NOT_HERE.iter();
        if !not_here.any(|(of, names)| *of == resource.kind && names.contains(&subresource)) {
            return Self::no_such_resource();
        }
        let text = "the server could not find the requested resource";
        Self::generic(
            404,
            "NotFound",
            format!("{text} (this server has no {}/{subresource})", resource.kind),
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

    /// The refusal of a form that the answer does not have.
    pub(crate) fn no_such_form(available: &str) -> Self {
        let text = format!("only the following media types are accepted: {available}");
        Self::failure(406, "NotAcceptable", text)
    }

    /// The same with a text of its own.
    pub(crate) fn no_such_form_because(text: String) -> Self {
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

    /// 422: the object violates these rules.
    pub fn invalid(subject: GroupResource<'_>, name: &str, faults: Faults) -> Self {
        let object = format!("{} {}", subject.qualified(), go::quoted(name));
        let message = format!("{object} is invalid: {faults}");
        let mut details = subject.details(name);
        details.causes = faults.into_causes();
        Self {
            details: Some(details),
            ..Self::failure(422, "Invalid", message)
        }
    }

    /// The answer to a JSON patch whose test failed or whose path is missing.
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

    /// The answer to a request that failed on the way, with the cause.
    pub(crate) fn internal_error(why: impl Into<String>) -> Self {
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

    /// The answer to a request for a revision that is not written yet.
    pub(crate) fn revision_too_large(asked: u64, current: u64, retry_after_seconds: u32) -> Self {
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
        let message = format!("Timeout: Too large resource version: {asked}, current: {current}");
        Self {
            details: Some(Box::new(details)),
            ..Self::failure(504, "Timeout", message)
        }
    }

    /// Whether this is the success of a request rather than a failure.
    pub fn is_success(&self) -> bool {
        self.code < 400
    }

    /// The status as a document. (Over the wire its members have an order, which a document does not keep.)
    pub fn to_value(&self) -> Value {
        serde_json::to_value(self).expect("texts and numbers are JSON")
    }
}

/// Members in the order in which the real server writes them: some clients compare texts.
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
        // The success of a deletion carries no code; that of a binding does.
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
