//! The proxy between one program under test and the API server: parses messages, applies the rules, and forwards the result.
//!
//! Knows HTTP and the encoding of lists and watches; `traffic` knows the rules.

use std::fmt::Display;
use std::sync::Arc;

use bytes::Bytes;
use fake_apiserver::{ResourcePath, Verb, json_of_protobuf};
use futures::StreamExt;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::{Value, json};

use super::rule::{EventKind, RequestRule};
use super::traffic::TrafficRules;
use crate::body_lines::{BodyError, lines};
use crate::listening::{BODY_MAX, HttpListener};
use crate::network::{HttpConnector, Network};

/// Maximum size of a response, in bytes.
const RESPONSE_MAX: usize = 256 << 20;

const JSON: HeaderValue = HeaderValue::from_static("application/json");

type Body = UnsyncBoxBody<Bytes, BodyError>;

fn body_error(error: impl Display) -> BodyError {
    BodyError(error.to_string())
}

/// Opens a proxy that forwards requests to the API server at `server`, a URL without TLS.
pub(super) async fn open(
    network: &Network,
    server: &str,
    traffic: TrafficRules,
    with_tls: bool,
) -> std::io::Result<HttpListener> {
    let proxy = Arc::new(Proxy {
        server: server.trim_end_matches('/').to_owned(),
        client: Client::builder(TokioExecutor::new()).build(network.http()),
        traffic: Arc::new(traffic),
    });
    let serve = move |request| {
        let proxy = Arc::clone(&proxy);
        async move { proxy.serve(request).await }
    };
    HttpListener::open(network, with_tls, serve).await
}

/// State of a proxy that all its connections share.
struct Proxy {
    /// Base URL of the API server.
    server: String,
    client: Client<HttpConnector, Full<Bytes>>,
    traffic: Arc<TrafficRules>,
}

impl Proxy {
    /// Handles one request. If the API server closes its connection, returns an error, which closes the client's connection.
    async fn serve(&self, request: Request<Incoming>) -> Result<Response<Body>, BodyError> {
        let (mut head, body) = request.into_parts();
        let body = Limited::new(body, BODY_MAX)
            .collect()
            .await
            .map_err(body_error)?
            .to_bytes();
        let mut query = head.uri.query().unwrap_or_default().to_owned();
        let target = ResourcePath::of_request(head.method.as_str(), head.uri.path(), &query);
        let Some((verb, path)) = target else {
            return self.forward(&head, &query, body).await.map(forward_unchanged);
        };
        let resource = path.affected_resource();
        let mut value = body_json(&head, &body);
        let rules = self.traffic.rules_for(verb, &resource, &value);
        if rules.iter().any(|rule| rule.pretend) {
            return Ok(pretended_response(verb, &value));
        }
        for rule in &rules {
            rule.apply(&mut value, &mut query);
        }
        self.send_additional(&head, &rules).await?;
        for rule in &rules {
            if let Some(path) = redirected_path(rule, head.uri.path()) {
                head.uri = path.parse().map_err(body_error)?;
            }
        }
        let body = changed_body(&mut head, &value, &rules).unwrap_or(body);
        let changes_responses = self.traffic.changes_responses(&resource);
        if changes_responses {
            request_json(&mut head);
        }
        let response = self.forward(&head, &query, body.clone()).await?;
        for _ in 0..rules.iter().map(|rule| rule.repeat).sum() {
            self.send_and_discard(&head, &query, body.clone()).await?;
        }
        match rules.iter().find_map(|rule| rule.answered) {
            Some(code) => empty_response(code),
            None if changes_responses && response.status() == StatusCode::OK => {
                self.apply_to_response(verb, response, resource, &query).await
            }
            None => Ok(forward_unchanged(response)),
        }
    }

    async fn apply_to_response(
        &self,
        verb: Verb,
        response: Response<Incoming>,
        resource: String,
        query: &str,
    ) -> Result<Response<Body>, BodyError> {
        match verb {
            Verb::Watch => Ok(self.apply_to_watch(response, resource, query)),
            Verb::List | Verb::Get => self.apply_to_list(response, &resource).await,
            _ => Ok(forward_unchanged(response)),
        }
    }

    /// Sends the additional requests of the traffic rules, before the proxy forwards the program's request.
    async fn send_additional(&self, head: &Parts, rules: &[&RequestRule]) -> Result<(), BodyError> {
        for request in rules.iter().flat_map(|rule| &rule.additional) {
            let mut head = head.clone();
            head.method = request.method.parse().map_err(body_error)?;
            head.uri = request.path.parse().map_err(body_error)?;
            head.headers.remove(CONTENT_TYPE);
            let query = head.uri.query().unwrap_or_default().to_owned();
            self.send_and_discard(&head, &query, Bytes::new()).await?;
        }
        Ok(())
    }

    async fn send_and_discard(&self, head: &Parts, query: &str, body: Bytes) -> Result<(), BodyError> {
        let response = self.forward(head, query, body).await?;
        drop(response.into_body().collect().await);
        Ok(())
    }

    async fn forward(&self, head: &Parts, query: &str, body: Bytes) -> Result<Response<Incoming>, BodyError> {
        let mark = if query.is_empty() { "" } else { "?" };
        let uri: Uri = format!("{}{}{mark}{query}", self.server, head.uri.path())
            .parse()
            .map_err(body_error)?;
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = head.method.clone();
        *request.uri_mut() = uri;
        *request.headers_mut() = head.headers.clone();
        // The HTTP client sets the Host header for the new connection.
        request.headers_mut().remove(HOST);
        request.headers_mut().remove(CONTENT_LENGTH);
        self.client.request(request).await.map_err(body_error)
    }

    /// Applies the traffic rules to each object of a list, or to a single object.
    async fn apply_to_list(
        &self,
        response: Response<Incoming>,
        resource: &str,
    ) -> Result<Response<Body>, BodyError> {
        let (mut head, body) = response.into_parts();
        let body = Limited::new(body, RESPONSE_MAX)
            .collect()
            .await
            .map_err(body_error)?
            .to_bytes();
        let mut value: Value = serde_json::from_slice(&body).map_err(body_error)?;
        match value["items"].as_array_mut() {
            Some(items) => items.retain_mut(|object| self.traffic.apply_to_listed(resource, object)),
            None => drop(self.traffic.apply_to_listed(resource, &mut value)),
        }
        head.headers.remove(CONTENT_LENGTH);
        Ok(Response::from_parts(head, full_body(value.to_string().into())))
    }

    fn apply_to_watch(&self, response: Response<Incoming>, resource: String, query: &str) -> Response<Body> {
        let mut listing = form_urlencoded::parse(query.as_bytes())
            .any(|(key, value)| key == "sendInitialEvents" && value == "true");
        let traffic = Arc::clone(&self.traffic);
        let (head, body) = response.into_parts();
        let events = lines(body).filter_map(move |line| {
            let changed = line.map(|line| change_event(&traffic, &resource, &mut listing, line));
            std::future::ready(changed.transpose())
        });
        let frames = events.map(|line| line.map(Frame::data));
        Response::from_parts(head, StreamBody::new(frames).boxed_unsync())
    }
}

/// Applies the traffic rules to one watch event; `None` if a rule withholds the event. `listing`: whether the watch is still sending its
/// initial objects.
fn change_event(traffic: &TrafficRules, resource: &str, listing: &mut bool, line: Bytes) -> Option<Bytes> {
    let Ok(mut event) = serde_json::from_slice::<Value>(&line) else {
        return Some(line);
    };
    let kind = match event["type"].as_str() {
        Some("ADDED") => EventKind::Added,
        Some("MODIFIED") => EventKind::Modified,
        Some("DELETED") => EventKind::Deleted,
        _ => {
            *listing &= event["object"]["metadata"]["annotations"]["k8s.io/initial-events-end"] != "true";
            return Some(line);
        }
    };
    let object = &mut event["object"];
    let is_seen = match *listing {
        true => traffic.apply_to_listed(resource, object),
        false => traffic.apply_to_event(resource, kind, object),
    };
    is_seen.then(|| format!("{event}\n").into())
}

/// Applies the traffic rules to the request body; `None` if the body is unchanged or empty.
fn changed_body(head: &mut Parts, value: &Value, rules: &[&RequestRule]) -> Option<Bytes> {
    if rules.is_empty() || value.is_null() {
        return None;
    }
    if is_protobuf(head.headers.get(CONTENT_TYPE)) {
        head.headers.insert(CONTENT_TYPE, JSON);
    }
    Some(value.to_string().into())
}

/// Makes the client's request accept only JSON, because the traffic rules cannot change other encodings.
fn request_json(head: &mut Parts) {
    let accept = head.headers.get(ACCEPT);
    if accept.is_none_or(|accept| is_protobuf(Some(accept))) {
        head.headers.insert(ACCEPT, JSON);
    }
    head.headers.remove(ACCEPT_ENCODING);
}

/// The path to which a rule redirects a request; `None` if the rule does not change the path.
fn redirected_path(rule: &RequestRule, path: &str) -> Option<String> {
    let namespace = rule.namespace.as_deref();
    match rule.everywhere {
        true => Some(all_namespaces_path(path)),
        false => namespace.map(|namespace| in_namespace(namespace, path)),
    }
}

/// Replaces the namespace in an API path.
fn in_namespace(namespace: &str, path: &str) -> String {
    match path.split_once("/namespaces/") {
        None => path.to_owned(),
        Some((before, rest)) => {
            let below = rest.split_once('/').map_or("", |(_, below)| below);
            format!("{before}/namespaces/{namespace}/{below}")
        }
    }
}

/// Converts the API path of a collection in one namespace to the path of the collection in all namespaces.
fn all_namespaces_path(path: &str) -> String {
    match path.split_once("/namespaces/") {
        None => path.to_owned(),
        Some((before, rest)) => {
            let collection = rest.split_once('/').map_or("", |(_, collection)| collection);
            format!("{before}/{collection}")
        }
    }
}

/// The body of an API request as JSON; null if the request has no body.
fn body_json(head: &Parts, body: &Bytes) -> Value {
    match is_protobuf(head.headers.get(CONTENT_TYPE)) {
        true => json_of_protobuf(body).unwrap_or_default(),
        false => serde_json::from_slice(body).unwrap_or_default(),
    }
}

fn is_protobuf(media: Option<&HeaderValue>) -> bool {
    let media = media.and_then(|media| media.to_str().ok());
    media.is_some_and(|media| media.contains("protobuf"))
}

fn forward_unchanged(response: Response<Incoming>) -> Response<Body> {
    response.map(|body| body.map_err(body_error).boxed_unsync())
}

fn full_body(body: Bytes) -> Body {
    Full::new(body).map_err(|never| match never {}).boxed_unsync()
}

fn empty_response(code: u16) -> Result<Response<Body>, BodyError> {
    let mut response = Response::new(full_body(Bytes::new()));
    *response.status_mut() = StatusCode::from_u16(code).map_err(body_error)?;
    Ok(response)
}

/// The response to a request that the proxy does not forward; the program receives it as if the request had succeeded.
fn pretended_response(verb: Verb, body: &Value) -> Response<Body> {
    let (code, text) = match verb {
        Verb::Delete | Verb::DeleteCollection => {
            let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 200});
            (StatusCode::OK, status.to_string())
        }
        Verb::Create => (StatusCode::CREATED, body.to_string()),
        _ => (StatusCode::OK, body.to_string()),
    };
    let mut response = Response::new(full_body(text.into()));
    *response.status_mut() = code;
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verb_and_resource_are_parsed_from_the_request() {
        let named = |verb: &str, resource: &str| Some((verb.to_owned(), resource.to_owned()));
        for (method, url, expected) in [
            ("GET", "/api/v1/nodes", named("list", "nodes")),
            ("GET", "/api/v1/nodes?watch=true", named("watch", "nodes")),
            ("GET", "/api/v1/namespaces/a", named("get", "namespaces")),
            (
                "PUT",
                "/api/v1/namespaces/a/finalize",
                named("update", "namespaces/finalize"),
            ),
            (
                "PATCH",
                "/api/v1/namespaces/a/pods/p/status",
                named("patch", "pods/status"),
            ),
            (
                "POST",
                "/apis/storage.k8s.io/v1/namespaces/a/csistoragecapacities",
                named("create", "csistoragecapacities"),
            ),
            (
                "DELETE",
                "/apis/storage.k8s.io/v1/namespaces/a/csistoragecapacities/c",
                named("delete", "csistoragecapacities"),
            ),
            ("GET", "/version", None),
            ("GET", "/apis", None),
        ] {
            let (path, query) = url.split_once('?').unwrap_or((url, ""));
            let parsed = ResourcePath::of_request(method, path, query);
            let parsed = parsed.map(|(verb, path)| (verb.as_str().to_owned(), path.affected_resource()));
            assert_eq!(parsed, expected, "{url}");
        }
    }

    #[test]
    fn namespaced_path_is_rewritten_to_all_or_another_namespace() {
        let group = "/apis/storage.k8s.io/v1";
        let here = format!("{group}/namespaces/csi/csistoragecapacities");
        let all = format!("{group}/csistoragecapacities");
        assert_eq!(all_namespaces_path(&here), all);
        assert_eq!(all_namespaces_path(&all), all);
        let there = format!("{group}/namespaces/default/csistoragecapacities");
        assert_eq!(in_namespace("default", &here), there);
        assert_eq!(in_namespace("default", &all), all);
    }

    #[tokio::test]
    async fn pretended_request_is_answered_as_if_it_had_succeeded() {
        let object = json!({"a": 1});
        for (verb, code, kind) in [
            (Verb::Update, 200, Value::Null),
            (Verb::Create, 201, Value::Null),
            (Verb::Delete, 200, "Status".into()),
        ] {
            let (head, body) = pretended_response(verb, &object).into_parts();
            let body = body.collect().await.map_err(|error| error.to_string());
            let body: Value =
                serde_json::from_slice(&body.expect("the body ends").to_bytes()).expect("valid JSON");
            assert_eq!((head.status.as_u16(), &body["kind"]), (code, &kind));
            assert_eq!(body == object, kind.is_null());
        }
    }
}
