//! Reading the errors of the API server and of drivers: which of them mean what. Does not decide what to do about them.

use capacity_types::capacity_api;
use tonic::Code;

/// What went wrong, without the structure around it that the server adds.
pub(crate) fn brief(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => format!("{} ({})", status.message, status.code),
        other => other.to_string(),
    }
}

/// The object is not there, although the server knows its type.
pub(crate) fn is_not_found(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_not_found()) && !is_type_missing(error)
}

/// The server does not know the type, or not in that version: it names no object that could be missing. What it stores of that type it
/// may show again one day.
pub(crate) fn is_type_missing(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else {
        return false;
    };
    let details = status.details.as_ref();
    capacity_api::is_type_missing(status.code, details.map(|details| details.name.as_str()))
}

/// The server could not answer, for now: it was not reached, has too much to do, or has a trouble of its own.
pub(crate) fn is_passing(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => status.code == 429 || status.code >= 500,
        kube::Error::Service(_) | kube::Error::HyperError(_) => true,
        _ => false,
    }
}

/// The object is another one, or another version, than the request expects.
pub(crate) fn is_conflict(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_conflict())
}

/// An object of that name is already there.
pub(crate) fn is_already_there(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.is_already_exists())
}

/// The code as it is written in events and logs around Kubernetes.
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

    /// Object missing, type missing, conflict, already there.
    fn meanings(error: &kube::Error) -> [bool; 4] {
        [is_not_found, is_type_missing, is_conflict, is_already_there].map(|is| is(error))
    }

    #[test]
    fn each_refusal_means_one_thing() {
        let [yes, no] = [true, false];
        assert_eq!(meanings(&error(404, "NotFound", "a")), [yes, no, no, no]);
        assert_eq!(meanings(&error(404, "NotFound", "")), [no, yes, no, no]);
        assert_eq!(meanings(&error(409, "Conflict", "a")), [no, no, yes, no]);
        assert_eq!(meanings(&error(409, "AlreadyExists", "a")), [no, no, no, yes]);
        assert_eq!(meanings(&error(422, "Invalid", "")), [no; 4]);
        assert_eq!(meanings(&kube::Error::LinesCodecMaxLineLengthExceeded), [no; 4]);
        assert_eq!(brief(&error(422, "Invalid", "")), "no (422)");
    }
}
