//! Decoding of protobuf request bodies, with kube-apiserver's errors.

use super::decode::{Budget, object};
use super::envelope::Envelope;
use crate::machinery::status::Status;
use serde_json::Value;

/// Decodes a request body to the JSON of the object.
///
/// `expected`: the `apiVersion` and `kind` of a body that does not contain them. Errors are the 400 responses of kube-apiserver.
pub(crate) fn decode(body: &[u8], expected: (&str, &str)) -> Result<Value, Status> {
    let envelope =
        Envelope::read(body).map_err(|why| Status::unrecognized(expected.1, &why.to_string(), body))?;
    let named = if envelope.kind.is_empty() {
        expected.1.to_owned()
    } else {
        envelope.kind.clone()
    };
    object(body, Some(expected), &mut Budget::default()).map_err(|why| {
        let version = envelope.api_version.rsplit('/').next().unwrap_or_default();
        let version = if version.is_empty() {
            expected.0.rsplit('/').next().unwrap_or_default()
        } else {
            version
        };
        let kind = if expected.1.is_empty() { &named } else { expected.1 };
        Status::bad_request(format!(
            "{named} in version {version:?} cannot be handled as a {kind}: {why}"
        ))
    })
}
