//! For tests: an API server that gives prepared answers in order, and keeps the requests. Knows no kinds and stores nothing.

use std::{collections::VecDeque, convert::Infallible, sync::Arc};

use http_body_util::{BodyExt, Full};
use hyper::{Request, Response, body::Bytes};
use kube::{Client, client::Body};
use parking_lot::Mutex;
use serde_json::{Value, json};

/// A request: method and path, and the body, null if there was none.
pub(crate) type Received = (String, Value);

/// Code and object of an answer; without an object the answer is the object of the request.
type Answer = (u16, Option<Value>);

/// The server; clones share their answers and requests.
#[derive(Clone, Default)]
pub(crate) struct TestServer {
    answers: Arc<Mutex<VecDeque<Answer>>>,
    received: Arc<Mutex<Vec<Received>>>,
}

impl TestServer {
    /// The next request that has no answer yet gets this object.
    pub(crate) fn answer_with(&self, object: Value) {
        self.answers.lock().push_back((200, Some(object)));
    }

    /// The next request that has no answer yet gets its own object back.
    pub(crate) fn echo(&self) {
        self.answers.lock().push_back((200, None));
    }

    /// The next request that has no answer yet is refused with this code, about an object with a name.
    pub(crate) fn refuse(&self, code: u16, reason: &str) {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "status": "Failure", "message": reason,
            "reason": reason, "code": code, "details": {"name": "it"},
        });
        self.answers.lock().push_back((code, Some(status)));
    }

    /// The requests since the last call of this.
    pub(crate) fn received(&self) -> Vec<Received> {
        std::mem::take(&mut *self.received.lock())
    }

    /// Methods and paths of the requests since then.
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
