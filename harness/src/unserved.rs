//! Completes an error of an API server about a type that it does not serve: adds the group, version and type, which only the request
//! contains.

use fake_apiserver::ResourcePath;

/// Message of an error response for an unknown type (Kubernetes `NewGenericServerResponse`).
const UNKNOWN: &str = "the server could not find the requested resource";

/// Completes the message of an error response with group, version and type, if the server does not serve the type.
pub fn complete_message(path: &ResourcePath, code: u16, message: Option<String>) -> Option<String> {
    let is_unknown = match &message {
        // If the server does not serve the API version at all, the error response contains no Status object.
        None => path.name.is_none(),
        Some(message) => message == UNKNOWN || message.trim_end() == "404 page not found",
    };
    if code != 404 || !is_unknown {
        return message;
    }
    let group = match path.group.as_str() {
        "" => String::new(),
        group => format!("{group}/"),
    };
    Some(format!("{UNKNOWN}: {group}{} {}", path.version, path.combined()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_type_is_named_with_its_version_and_missing_object_is_not() {
        let of = |path| ResourcePath::of_request("GET", path, "").unwrap().1;
        let list = of("/apis/storage.k8s.io/v1beta1/csistoragecapacities");
        let full =
            "the server could not find the requested resource: storage.k8s.io/v1beta1 csistoragecapacities";
        for message in [
            None,
            Some(UNKNOWN.to_owned()),
            Some("404 page not found\n".to_owned()),
        ] {
            assert_eq!(complete_message(&list, 404, message).as_deref(), Some(full));
        }
        let absent = Some("pods \"a\" not found".to_owned());
        assert_eq!(
            complete_message(&of("/api/v1/namespaces/x/pods/a"), 404, absent.clone()),
            absent
        );
        assert_eq!(complete_message(&list, 503, None), None);
    }
}
