//! Converts a request for the server: the server's names, and JSON.

use fake_apiserver::{Verb, json_of_protobuf};
use hyper::Request;
use hyper::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use kube::client::Body;
use serde_json::json;

use crate::case::Case;
use crate::message::{JSON, Wanted, Whole};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// The request for the server.
pub(crate) fn request(case: &Case, wanted: &Wanted) -> Result<Request<Body>, Box<Whole>> {
    let Wanted { incoming, verb, path } = wanted;
    let accepted = accepted(incoming.header(&ACCEPT)).ok_or_else(|| {
        Whole::failure(
            406,
            "NotAcceptable",
            "the harness answers in JSON alone before a real API server",
        )
    })?;
    let mut uri = case.names.path(path);
    let query = case.names.query(*verb, path, &incoming.query);
    if !query.is_empty() {
        uri = format!("{uri}?{query}");
    }
    let (media, body) = body(case, wanted)?;
    let mut request = Request::builder()
        .method(incoming.method.clone())
        .uri(uri)
        .header(ACCEPT, accepted);
    if !media.is_empty() {
        request = request.header(CONTENT_TYPE, media);
    }
    // The server derives default field managers from the user agent.
    if let Some(agent) = incoming.headers.get(USER_AGENT) {
        request = request.header(USER_AGENT, agent);
    }
    request
        .body(Body::from(body))
        .map_err(|error| Box::new(Whole::failure(400, "BadRequest", &error.to_string())))
}

/// The `Accept` header for the server: only the client's JSON clauses. `None` if the client does not accept JSON.
fn accepted(accept: &str) -> Option<String> {
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

/// The media type and body for the server.
fn body(case: &Case, wanted: &Wanted) -> Result<(String, Vec<u8>), Box<Whole>> {
    let Wanted { incoming, verb, path } = wanted;
    let removes = matches!(verb, Verb::Delete | Verb::DeleteCollection);
    if incoming.body.is_empty() && !removes {
        return Ok((String::new(), Vec::new()));
    }
    let wrong = |why: String| Whole::failure(400, "BadRequest", &why);
    let media = incoming.header(&CONTENT_TYPE).to_owned();
    let applies = media.contains("apply-patch");
    let mut value = match () {
        () if incoming.body.is_empty() => json!({"apiVersion": "v1", "kind": "DeleteOptions"}),
        () if media.starts_with(PROTOBUF) => {
            json_of_protobuf(&incoming.body).map_err(|status| Whole::json(status.code, &status.to_value()))?
        }
        () if media.contains("yaml") => serde_saphyr::from_slice(&incoming.body)
            .map_err(|error| wrong(format!("the body is no YAML: {error}")))?,
        () => serde_json::from_slice(&incoming.body)
            .map_err(|error| wrong(format!("the body is no JSON: {error}")))?,
    };
    if removes && path.resource == "pods" {
        // No kubelet runs that would confirm the termination of pods.
        value["gracePeriodSeconds"] = 0.into();
    }
    case.names.send(*verb, path, applies, &mut value);
    let media = match media.as_str() {
        patch if *verb == Verb::Patch && !patch.is_empty() => media,
        _ => JSON.to_owned(),
    };
    Ok((media, value.to_string().into_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accept_header_keeps_only_json_clauses() {
        let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
        assert_eq!(accepted("").as_deref(), Some(JSON));
        assert_eq!(
            accepted("application/vnd.kubernetes.protobuf, */*").as_deref(),
            Some(JSON)
        );
        assert_eq!(
            accepted(&format!("{table},application/json")),
            Some(format!("{table}, {JSON}"))
        );
        assert_eq!(accepted(PROTOBUF), None);
    }
}
