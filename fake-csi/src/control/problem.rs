//! Error responses of the control: status, message, and the path of the invalid field in the body. Does not know URL paths.

use hyper::StatusCode;
use serde::{Serialize, de::DeserializeOwned};

/// Why a request is rejected.
#[derive(Debug)]
pub(super) struct Problem {
    pub(super) status: StatusCode,
    /// Path of the field in the body, such as `devices.nvme0.size`.
    pub(super) path: Option<String>,
    pub(super) message: String,
}

/// Body of an error response.
#[derive(Serialize)]
pub(super) struct ErrorBody {
    error: Detail,
}

#[derive(Serialize)]
struct Detail {
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    message: String,
}

impl Problem {
    pub(super) fn new(status: StatusCode, message: impl Into<String>) -> Problem {
        Problem {
            status,
            path: None,
            message: message.into(),
        }
    }

    pub(super) fn body(self) -> ErrorBody {
        ErrorBody {
            error: Detail {
                status: self.status.as_u16(),
                path: self.path,
                message: self.message,
            },
        }
    }
}

/// Parses a JSON body; errors contain the path of the invalid field.
pub(super) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let wrong = |path: Option<String>, error: &serde_json::Error| Problem {
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
