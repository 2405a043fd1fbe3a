//! The `Status` of requests that a fault rule refuses, with the messages of kube-apiserver.
//!
//! Does not know fault rules.

use crate::machinery::status::{GroupResource, Status};
use crate::request::ResourcePath;

/// Reason and message by status code, as in kube-apiserver. `refusal` handles codes whose message contains the object.
const REFUSALS: [(u16, &str, &str); 6] = [
    (401, "Unauthorized", "Unauthorized"),
    (
        404,
        "NotFound",
        "the server could not find the requested resource",
    ),
    (
        429,
        "TooManyRequests",
        "The server has received too many requests and has asked us to try again later",
    ),
    (
        500,
        "InternalError",
        "Internal error occurred: etcdserver: request timed out",
    ),
    (
        503,
        "ServiceUnavailable",
        "the server is currently unable to handle the request",
    ),
    (
        504,
        "Timeout",
        "Timeout: request did not complete within the allotted timeout",
    ),
];

pub(super) fn refusal(code: u16, retry_after_seconds: u32, path: Option<&ResourcePath>) -> Status {
    let subject = GroupResource {
        group: path.map_or("", |path| &path.group),
        kind: path.map_or("", |path| &path.resource),
    };
    let name = path.and_then(|path| path.name.as_deref()).unwrap_or_default();
    let mut status = match code {
        403 => Status::forbidden(subject, name, "a fault rule refused this request"),
        409 => Status::conflict(
            subject,
            name,
            "the object has been modified; please apply your changes to the latest version and try again",
        ),
        410 => Status::expired("too old resource version"),
        _ => match REFUSALS.iter().find(|(known, ..)| *known == code) {
            Some((_, reason, text)) => Status::failure(code, reason, *text),
            None => Status::failure(
                code,
                "Unknown",
                format!("refused by a fault rule with status {code}"),
            ),
        },
    };
    status.injected = true;
    if retry_after_seconds > 0 {
        status.details.get_or_insert_default().retry_after_seconds = retry_after_seconds;
    }
    status
}
