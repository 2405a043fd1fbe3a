//! Error responses of the control: status, message, and the path of the invalid field in the body. Does not know URL paths.

use hyper::StatusCode;
use serde::{Serialize, Serializer, de::DeserializeOwned};

/// Why the control rejects a request.
#[derive(Debug, Serialize)]
pub(super) struct RequestError {
    #[serde(serialize_with = "write_status")]
    pub(super) status: StatusCode,
    /// Path of the invalid field in the request body, such as `devices.nvme0.size`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) path: Option<String>,
    pub(super) message: String,
}

impl RequestError {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> RequestError {
        RequestError {
            status,
            path: None,
            message: message.into(),
        }
    }
}

fn write_status<S: Serializer>(status: &StatusCode, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u16(status.as_u16())
}

/// Parses a JSON body; errors contain the path of the invalid field.
pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, RequestError> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let wrong = |path: Option<String>, error: &serde_json::Error| RequestError {
        status: StatusCode::BAD_REQUEST,
        path,
        message: error.to_string(),
    };
    let read = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let path = error.path().to_string();
        wrong(Some(path).filter(|path| path != "."), error.inner())
    })?;
    reader.end().map_err(|error| wrong(None, &error))?;
    Ok(read)
}
