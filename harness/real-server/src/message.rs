//! Requests and answers as they pass through the proxy, in the case's names. Knows neither sockets nor the server.

use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};
use fake_apiserver::{ResourcePath, Verb};
use futures::Stream;
use hyper::Method;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, WARNING};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::upstream::Answer;

/// The media type of everything that the harness answers.
pub(crate) const JSON: &str = "application/json";

/// A request of a client.
#[derive(Debug, Clone)]
pub(crate) struct ClientRequest {
    pub(crate) client: Arc<str>,
    /// Whether the harness itself sends it.
    pub(crate) is_ours: bool,
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
            is_ours: false,
            method: Method::GET,
            path: String::new(),
            query: String::new(),
            headers: HeaderMap::new(),
            body: Bytes::new(),
        }
    }
}

impl ClientRequest {
    /// A request of the harness's own, under a client's name; faults are not for it.
    pub(crate) fn ours(client: &str) -> ClientRequest {
        ClientRequest {
            client: client.into(),
            is_ours: true,
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

/// What a client gets.
pub(crate) enum Reply {
    /// A whole answer.
    Whole(Whole),
    /// A watch.
    Events(Events),
    /// Nothing: the connection is cut.
    Cut,
}

/// A whole answer.
pub(crate) struct Whole {
    pub(crate) code: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Whole {
    /// An answer in JSON.
    pub(crate) fn json(code: u16, body: &Value) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        Whole {
            code,
            headers,
            body: body.to_string().into(),
        }
    }

    /// A failure that the harness answers in the server's place.
    pub(crate) fn failure(code: u16, reason: &str, message: &str) -> Self {
        let status = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "code": code,
        });
        Whole::json(code, &status)
    }

    /// The parsed body.
    pub(crate) fn value(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// A request for a resource.
pub(crate) struct Wanted {
    pub(crate) incoming: ClientRequest,
    pub(crate) verb: Verb,
    pub(crate) path: ResourcePath,
}

/// The events of a watch, as they are sent to the client.
pub(crate) struct Events(pub(crate) mpsc::Receiver<Bytes>);

impl Events {
    /// The lines to send.
    pub(crate) fn into_stream(self) -> impl Stream<Item = Bytes> {
        futures::stream::unfold(
            self.0,
            |mut lines| async move { Some((lines.recv().await?, lines)) },
        )
    }
}

/// A watch that consists of one error.
pub(crate) fn only_error(status: &Value) -> Events {
    let (sender, receiver) = mpsc::channel(1);
    let event = json!({"type": "ERROR", "object": status});
    // There is room for one, and the receiver is here.
    let _ = sender.try_send(line(&event));
    Events(receiver)
}

/// An event as a line of a watch.
pub(crate) fn line(event: &Value) -> Bytes {
    let mut line = BytesMut::new().writer();
    // Neither writing to memory nor a value can fail.
    let _ = serde_json::to_writer(&mut line, event);
    let mut line = line.into_inner();
    line.put_u8(b'\n');
    line.freeze()
}

/// An answer of the server as the client gets it.
pub(crate) fn passed_on(answer: Answer) -> Whole {
    let mut headers = HeaderMap::new();
    for name in [CONTENT_TYPE, RETRY_AFTER, WARNING] {
        for value in answer.head.headers.get_all(&name) {
            headers.append(name.clone(), value.clone());
        }
    }
    Whole {
        code: answer.code,
        headers,
        body: answer.body,
    }
}
