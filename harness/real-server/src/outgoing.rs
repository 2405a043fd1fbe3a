//! Converts a client's request into the request that the proxy sends to the server, with the server's names and JSON encoding.

use fake_apiserver::{Verb, json_of_protobuf};
use hyper::Request;
use hyper::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use kube::client::Body;
use serde_json::json;

use crate::case::Case;
use crate::message::{FullResponse, JSON, ResourceRequest};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

pub(crate) fn server_request(
    case: &Case,
    resource_request: &ResourceRequest,
) -> Result<Request<Body>, Box<FullResponse>> {
    let ResourceRequest { incoming, verb, path } = resource_request;
    let accept = accept_header(incoming.header(&ACCEPT)).ok_or_else(|| {
        FullResponse::failure(
            406,
            "NotAcceptable",
            "the harness supports only JSON responses with a real API server",
        )
    })?;
    let mut uri = case.names.path(path);
    let query = case.names.query(*verb, path, &incoming.query);
    if !query.is_empty() {
        uri = format!("{uri}?{query}");
    }
    let (content_type, body) = request_body(case, resource_request)?;
    let mut request = Request::builder()
        .method(incoming.method.clone())
        .uri(uri)
        .header(ACCEPT, accept);
    if !content_type.is_empty() {
        request = request.header(CONTENT_TYPE, content_type);
    }
    // The server derives the default field manager from the user agent, so the header is forwarded.
    if let Some(agent) = incoming.headers.get(USER_AGENT) {
        request = request.header(USER_AGENT, agent);
    }
    request
        .body(Body::from(body))
        .map_err(|error| Box::new(FullResponse::failure(400, "BadRequest", &error.to_string())))
}

/// The `Accept` header for the server: the JSON clauses of the client's header. `None` if the client does not accept JSON.
fn accept_header(accept: &str) -> Option<String> {
    let clauses: Vec<String> = accept
        .split(',')
        .map(str::trim)
        .filter(|clause| {
            clause.starts_with(JSON) || clause.starts_with("*/*") || clause.starts_with("application/*")
        })
        .map(|clause| clause.replacen("*/*", JSON, 1).replacen("application/*", JSON, 1))
        .collect();
    match (accept.is_empty(), clauses.is_empty()) {
        (true, _) => Some(JSON.to_owned()),
        (false, true) => None,
        (false, false) => Some(clauses.join(", ")),
    }
}

/// Media type and body of the request to the server.
fn request_body(
    case: &Case,
    resource_request: &ResourceRequest,
) -> Result<(String, Vec<u8>), Box<FullResponse>> {
    let ResourceRequest { incoming, verb, path } = resource_request;
    let is_delete = matches!(verb, Verb::Delete | Verb::DeleteCollection);
    if incoming.body.is_empty() && !is_delete {
        return Ok((String::new(), Vec::new()));
    }
    let bad_request = |why: String| FullResponse::failure(400, "BadRequest", &why);
    let content_type = incoming.header(&CONTENT_TYPE).to_owned();
    let is_apply = content_type.contains("apply-patch");
    let mut value = match () {
        () if incoming.body.is_empty() => json!({"apiVersion": "v1", "kind": "DeleteOptions"}),
        () if content_type.starts_with(PROTOBUF) => json_of_protobuf(&incoming.body)
            .map_err(|status| FullResponse::json(status.code, &status.to_value()))?,
        () if content_type.contains("yaml") => serde_saphyr::from_slice(&incoming.body)
            .map_err(|error| bad_request(format!("the request body is not valid YAML: {error}")))?,
        () => serde_json::from_slice(&incoming.body)
            .map_err(|error| bad_request(format!("the request body is not valid JSON: {error}")))?,
    };
    if is_delete && path.resource == "pods" {
        // On a bare API server no kubelet confirms the termination of pods, so the server must delete pods at once.
        value["gracePeriodSeconds"] = 0.into();
    }
    case.names.to_server_names(*verb, path, is_apply, &mut value);
    let content_type = match content_type.as_str() {
        patch if *verb == Verb::Patch && !patch.is_empty() => content_type,
        _ => JSON.to_owned(),
    };
    Ok((content_type, value.to_string().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_header_keeps_only_json_clauses() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        assert_eq!(accept_header("").as_deref(), Some(JSON));
        assert_eq!(
            accept_header("application/vnd.kubernetes.protobuf, */*").as_deref(),
            Some(JSON)
        );
        assert_eq!(
            accept_header(&format!("{table},application/json")),
            Some(format!("{table}, {JSON}"))
        );
        assert_eq!(accept_header(PROTOBUF), None);
    }
}
