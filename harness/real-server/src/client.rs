//! Requests of the harness, handled like requests of the programs under test, but without a socket.

use std::sync::Arc;

use fake_apiserver::ResourceRef;
use harness::api_server::StatusError;
use hyper::Method;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use serde_json::Value;

use crate::attribution::Key;
use crate::case::Case;
use crate::message::{ClientRequest, Reply};
use crate::proxy::handle;

pub(crate) const CLAIMS: &str = "persistentvolumeclaims";
pub(crate) const VOLUMES: &str = "persistentvolumes";

/// API path of an object; `None` if the resource in its key is unknown.
pub(crate) fn path_of(key: &Key) -> Option<String> {
    let (resource, _) = ResourceRef::by_plural(&key.resource)?;
    let collection = match &key.namespace {
        Some(namespace) => resource.namespace(namespace),
        None => resource,
    };
    collection.name(&key.name).path()
}

/// Sends a request as the client `client` and returns the response. A patch is a JSON merge patch.
pub(crate) async fn call(
    case: &Arc<Case>,
    client: &str,
    method: Method,
    path: &str,
    body: Option<Value>,
) -> Result<Value, StatusError> {
    let content_type = match method {
        Method::PATCH => "application/merge-patch+json",
        _ => "application/json",
    };
    call_with(case, client, method, path, content_type, body).await
}

/// Like [`call`], but sends a body with the given Content-Type.
pub(crate) async fn call_with(
    case: &Arc<Case>,
    client: &str,
    method: Method,
    path: &str,
    content_type: &'static str,
    body: Option<Value>,
) -> Result<Value, StatusError> {
    let mut incoming = ClientRequest::internal(client);
    incoming
        .headers
        .insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    incoming.method = method;
    incoming.path = path.to_owned();
    incoming.body = body.map(|body| body.to_string().into()).unwrap_or_default();
    match handle(case, incoming).await {
        Reply::Full(response) if response.code < 300 => Ok(response.body_json()),
        Reply::Full(response) => Err(StatusError {
            code: response.code,
            message: response.body_json()["message"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
        }),
        Reply::Events(_) | Reply::Cut => Err(StatusError {
            code: 503,
            message: "the API server did not respond".to_owned(),
        }),
    }
}

impl Case {
    /// Reads an object without recording the request. Returns the status code and the object; `None` without a response.
    pub(crate) async fn upstream_get(&self, path: &str) -> Option<(u16, Value)> {
        let (_, target) = fake_apiserver::ResourcePath::of_request("GET", path, "")?;
        let path = self.names.path(&target);
        let answer = self.upstream.send(Method::GET, &path, None).await.ok()?;
        let mut object = answer.json();
        self.names.to_case_names(&mut object);
        Some((answer.code, object))
    }
}
