//! Requests of the harness itself, handled like requests of the systems under test, but without a socket.

use std::sync::Arc;

use fake_apiserver::ResourceRef;
use harness::api_server::Refused;
use hyper::Method;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use serde_json::Value;

use crate::attribution::Key;
use crate::case::Case;
use crate::message::{ClientRequest, Reply};
use crate::proxy::answer;

pub(crate) const CLAIMS: &str = "persistentvolumeclaims";
pub(crate) const VOLUMES: &str = "persistentvolumes";

/// The path of an object; `None` if its resource is unknown.
pub(crate) fn path_of(key: &Key) -> Option<String> {
    let (collection, _) = ResourceRef::by_plural(&key.resource)?;
    let place = match &key.namespace {
        Some(namespace) => collection.namespace(namespace),
        None => collection,
    };
    place.name(&key.name).path()
}

/// Sends a request as a client and returns the response. A patch is a JSON merge patch.
pub(crate) async fn call(
    case: &Arc<Case>,
    client: &str,
    method: Method,
    path: &str,
    body: Option<Value>,
) -> Result<Value, Refused> {
    let media = match method {
        Method::PATCH => "application/merge-patch+json",
        _ => "application/json",
    };
    call_with(case, client, method, path, media, body).await
}

/// Like [`call`], with a body of the given media type.
pub(crate) async fn call_with(
    case: &Arc<Case>,
    client: &str,
    method: Method,
    path: &str,
    media: &'static str,
    body: Option<Value>,
) -> Result<Value, Refused> {
    let mut incoming = ClientRequest::ours(client);
    incoming
        .headers
        .insert(CONTENT_TYPE, HeaderValue::from_static(media));
    incoming.method = method;
    incoming.path = path.to_owned();
    incoming.body = body.map(|body| body.to_string().into()).unwrap_or_default();
    match answer(case, incoming).await {
        Reply::Whole(whole) if whole.code < 300 => Ok(whole.value()),
        Reply::Whole(whole) => Err(Refused {
            code: whole.code,
            message: whole.value()["message"].as_str().unwrap_or_default().to_owned(),
        }),
        Reply::Events(_) | Reply::Cut => Err(Refused {
            code: 503,
            message: "the API server did not answer".to_owned(),
        }),
    }
}

impl Case {
    /// Reads an object without recording the request; returns the status code and the object.
    pub(crate) async fn upstream_get(&self, path: &str) -> Option<(u16, Value)> {
        let (_, target) = fake_apiserver::ResourcePath::of_request("GET", path, "")?;
        let path = self.names.path(&target);
        let answer = self.upstream.send(Method::GET, &path, None).await.ok()?;
        let mut object = answer.json();
        self.names.receive(&mut object);
        Some((answer.code, object))
    }
}
