//! An API server for tests: returns prepared responses in order and records requests. Does not know kinds, and stores no objects.

use std::{collections::VecDeque, convert::Infallible, sync::Arc};

use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Bytes};
use kube::{Client, client::Body};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// A request: method and path, and the body. The body is null if there was none.
pub(crate) type Received = (String, Value);

/// Status code and object of a response. `None`: the request's object is returned.
type Answer = (u16, Option<Value>);

/// The server. Clones share responses and requests.
#[derive(Clone, Default)]
pub(crate) struct TestServer {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    received: Arc<Mutex<Vec<Received>>>,
}

impl TestServer {
    /// Responds to the next request with this object.
    pub(crate) fn answer_with(&self, object: Value) {
        self.answers.lock().push_back((200, Some(object)));
    }

    /// Responds to the next request with the request's object.
    pub(crate) fn echo(&self) {
        self.answers.lock().push_back((200, None));
    }

    /// Fails the next request with this code and reason; the Status names an object.
    pub(crate) fn refuse(&self, code: u16, reason: &str) {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": reason,
            "reason": reason, "code": code, "details": {"name": "it"},
        });
        self.answers.lock().push_back((code, Some(status)));
    }

    /// The requests since the last call.
    pub(crate) fn received(&self) -> Vec<Received> {
        std::mem::take(&mut *self.received.lock())
    }

    /// Methods and paths of the requests since the last call.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.received().into_iter().map(|(request, _)| request).collect()
    }

    pub(crate) fn client(&self) -> Client {
        let server = self.clone();
        let service = tower::service_fn(move |request: Request<Body>| {
            let server = server.clone();
            async move { Ok::<_, Infallible>(server.answer(request).await) }
        });
        Client::new(service, "default")
    }

    async fn answer(&self, request: Request<Body>) -> Response<Full<Bytes>> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.unwrap().to_bytes();
        let line = format!("{} {}", parts.method, parts.uri.path());
        let (code, object) = self
            .answers
            .lock()
            .pop_front()
            .unwrap_or_else(|| panic!("no answer to {line}"));
        let sent: Value = serde_json::from_slice(&body).unwrap_or_default();
        let mut answer = Response::new(Full::from(object.as_ref().unwrap_or(&sent).to_string()));
        self.received.lock().push((line, sent));
        *answer.status_mut() = code.try_into().unwrap();
        answer
    }
}
