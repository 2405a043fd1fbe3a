//! Requests and responses of the proxy, with the names of the case and not of the server. Does not know sockets or the API server.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use fake_apiserver::{ResourcePath, Verb};
use futures::Stream;
use hyper::Method;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, WARNING};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::upstream::ServerResponse;

pub(crate) const JSON: &str = "application/json";

#[derive(Debug, Clone)]
pub(crate) struct ClientRequest {
    pub(crate) client: Arc<str>,
    /// Whether the harness sent the request, so that fault rules do not apply.
    pub(crate) is_internal: bool,
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Default for ClientRequest {
    fn default() -> Self {
        ClientRequest {
            client: "".into(),
            is_internal: false,
            method: Method::GET,
            path: String::new(),
            query: String::new(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
        }
    }
}

impl ClientRequest {
    /// Creates a request that the harness sends as a client. Fault rules do not apply to it.
    pub(crate) fn internal(client: &str) -> ClientRequest {
        ClientRequest {
            client: client.into(),
            is_internal: true,
            ..ClientRequest::default()
        }
    }

    pub(crate) fn header(&self, name: &HeaderName) -> &str {
        let value = self.headers.get(name).and_then(|value| value.to_str().ok());
        value.unwrap_or_default()
    }

    pub(crate) fn parameter(&self, name: &str) -> String {
        let mut pairs = form_urlencoded::parse(self.query.as_bytes());
        pairs
            .find(|(key, _)| key == name)
            .map(|(_, value)| value.into_owned())
            .unwrap_or_default()
    }
}

/// The proxy's response to a client.
pub(crate) enum Reply {
    Full(FullResponse),
    Events(Events),
    /// No response: the proxy closes the client's connection.
    Cut,
}

/// A response whose body is complete, unlike the stream of a watch.
pub(crate) struct FullResponse {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl FullResponse {
    pub(crate) fn json(code: u16, body: &Value) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        FullResponse {
            code,
            headers,
            body: body.to_string().into(),
        }
    }

    /// An error response that the harness returns without sending the request to the server.
    pub(crate) fn failure(code: u16, reason: &str, message: &str) -> Self {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "code": code,
        });
        FullResponse::json(code, &status)
    }

    pub(crate) fn body_json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

pub(crate) struct ResourceRequest {
    pub(crate) incoming: ClientRequest,
    pub(crate) verb: Verb,
    pub(crate) path: ResourcePath,
}

/// Events of a watch, in the client's encoding.
pub(crate) struct Events(pub(crate) mpsc::Receiver<Bytes>);

impl Events {
    pub(crate) fn into_stream(self) -> impl Stream<Item = Bytes> {
        futures::stream::unfold(
            self.0,
            |mut lines| async move { Some((lines.recv().await?, lines)) },
        )
    }
}

/// A watch that consists of a single ERROR event.
pub(crate) fn error_events(status: &Value) -> Events {
    let (sender, receiver) = mpsc::channel(1);
    let event = json!({"type": "ERROR", "object": status});
    // Cannot fail: the channel has capacity 1 and the receiver still exists.
    let _ = sender.try_send(encode_event_line(&event));
    Events(receiver)
}

/// Encodes a watch event as a line of JSON.
pub(crate) fn encode_event_line(event: &Value) -> Bytes {
    let mut line = BytesMut::new().writer();
    // Serializing a JSON value to memory cannot fail.
    let _ = serde_json::to_writer(&mut line, event);
    let mut line = line.into_inner();
    line.put_u8(b'\n');
    line.freeze()
}

pub(crate) fn to_full_response(answer: ServerResponse) -> FullResponse {
    let mut headers = HeaderMap::new();
    for name in [CONTENT_TYPE, RETRY_AFTER, WARNING] {
        for value in answer.head.headers.get_all(&name) {
            headers.append(name.clone(), value.clone());
        }
    }
    FullResponse {
        code: answer.code,
        headers,
        body: answer.body,
    }
}
