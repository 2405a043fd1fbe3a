//! Consistency between a request body and the URL: presence, name and namespace.
//!
//! Does not decode bodies: `decode` does.

use super::call::Target;
use crate::kinds::Kind;
use crate::machinery::metadata;
use crate::machinery::status::Status;
use serde_json::Value;

pub(super) fn no_body() -> Status {
    Status::bad_request("the request has no body; send the object as JSON")
}

/// Sets the namespace of the object to the namespace of the request. An error if the object has another namespace.
pub(super) fn set_namespace(kind: &Kind, namespace: Option<&str>, object: &mut Value) -> Result<(), Status> {
    let requested = if kind.namespaced {
        namespace.unwrap_or_default()
    } else {
        ""
    };
    let own = metadata::text(object, "namespace");
    if own == requested {
        return Ok(());
    }
    if !kind.namespaced {
        metadata::set(object, "namespace", None);
        return Ok(());
    }
    if !own.is_empty() {
        let text = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Status::bad_request(text));
    }
    metadata::set(object, "namespace", Some(requested.into()));
    Ok(())
}

pub(super) fn check_name(target: &Target, object: &Value) -> Result<(), Status> {
    let (name, requested) = (metadata::text(object, "name"), target.name());
    if name == requested {
        return Ok(());
    }
    if name.is_empty() {
        return Err(Status::bad_request(format!(
            "the name of the object ({requested} based on URL) was undeterminable: name must be provided"
        )));
    }
    let text = format!("the name of the object ({name}) does not match the name on the URL ({requested})");
    Err(Status::bad_request(text))
}
