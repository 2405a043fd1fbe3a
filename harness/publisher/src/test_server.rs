//! An API server for tests: returns prepared responses in order, and records requests. It stores no objects.

use std::{collections::VecDeque, convert::Infallible, sync::Arc};

use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Bytes};
use kube::{Client, client::Body};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// Method and path of a received request, and its body; null if it has no body.
pub(crate) type Received = (String, Value);

/// Status code and object of a prepared response. `None`: the object of the request is returned.
type Prepared = (u16, Option<Value>);

/// The test server. Clones share responses and requests.
#[derive(Clone, Default)]
pub(crate) struct TestServer {
    prepared: Arc<Mutex<VecDeque<Prepared>>>,
    received: Arc<Mutex<Vec<Received>>>,
}

impl TestServer {
    pub(crate) fn respond_with(&self, object: Value) {
        self.prepared.lock().push_back((200, Some(object)));
    }

    /// Prepares a response that contains the object of the request.
    pub(crate) fn echo(&self) {
        self.prepared.lock().push_back((200, None));
    }

    pub(crate) fn respond_with_error(&self, code: u16, reason: &str) {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": reason,
            "reason": reason, "code": code, "details": {"name": "it"},
        });
        self.prepared.lock().push_back((code, Some(status)));
    }

    /// The requests received since the last call.
    pub(crate) fn received(&self) -> Vec<Received> {
        std::mem::take(&mut *self.received.lock())
    }

    /// Methods and paths of the requests received since the last call.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.received().into_iter().map(|(request, _)| request).collect()
    }

    pub(crate) fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.respond(request).await) }
        });
        Client::new(service, "default")
    }

    async fn respond(&self, request: Request<Body>) -> Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let line = format!("{} {}", parts.method, parts.uri.path());
        let (code, object) = self
            .prepared
            .lock()
            .pop_front()
            .unwrap_or_else(|| panic!("no response is prepared for {line}"));
        let sent: Value = serde_json::from_slice(&body).unwrap_or_default();
        let mut response = Response::new(Full::from(object.as_ref().unwrap_or(&sent).to_string()));
        self.received.lock().push((line, sent));
        *response.status_mut() = code.try_into().unwrap();
        response
    }
}
