//! Classifies errors of the API server and of drivers.

use capacity_client::is_type_missing;
use tonic::Code;

/// Message and code of an API server error; for an error of another kind, the whole text.
pub(crate) fn brief(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => format!("{} ({})", status.message, status.code),
        other => other.to_string(),
    }
}

/// Whether the error means that the server serves the object's type, but the object does not exist.
pub(crate) fn is_not_found(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_not_found()) && !is_type_missing(error)
}

/// Whether the error is temporary: the server is unreachable, overloaded, or failed internally.
pub(crate) fn is_temporary(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => status.code == 429 || status.code >= 500,
        kube::Error::Service(_) | kube::Error::HyperError(_) => true,
        _ => false,
    }
}

/// Whether the request failed because the object's UID or resource version differs from the precondition.
pub(crate) fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_conflict())
}

pub(crate) fn is_already_exists(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_already_exists())
}

/// The gRPC code as written in Kubernetes events and logs.
pub(crate) fn code_text(code: Code) -> String {
    match code {
        Code::Cancelled => "Canceled".to_owned(),
        Code::Ok => "OK".to_owned(),
        code => format!("{code:?}"),
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn error(code: u16, reason: &str, name: &str) -> kube::Error {
        let details = serde_json::json!({ "name": name });
        kube::Error::Api(Box::new(Status {
            details: serde_json::from_value(details).unwrap(),
            ..Status::failure("no", reason).with_code(code)
        }))
    }

    /// Results of `is_not_found`, `is_type_missing`, `is_conflict` and `is_already_exists`.
    fn classify(error: &kube::Error) -> [bool; 4] {
        [is_not_found, is_type_missing, is_conflict, is_already_exists].map(|is| is(error))
    }

    #[test]
    fn each_error_has_one_classification() {
        let [yes, no] = [true, false];
        assert_eq!(classify(&error(404, "NotFound", "a")), [yes, no, no, no]);
        assert_eq!(classify(&error(404, "NotFound", "")), [no, yes, no, no]);
        assert_eq!(classify(&error(409, "Conflict", "a")), [no, no, yes, no]);
        assert_eq!(classify(&error(409, "AlreadyExists", "a")), [no, no, no, yes]);
        assert_eq!(classify(&error(422, "Invalid", "")), [no; 4]);
        assert_eq!(classify(&kube::Error::LinesCodecMaxLineLengthExceeded), [no; 4]);
        assert_eq!(brief(&error(422, "Invalid", "")), "no (422)");
    }
}
