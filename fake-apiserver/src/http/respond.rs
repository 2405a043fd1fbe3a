//! Builds responses: objects, lists, tables, statuses.
//!
//! Owns headers and body types. The store provides serialized objects.

use super::body::Body;
use super::gzip::{self, Zipped};
use super::inflight::InFlightGuard;
use super::negotiate::{Accept, ResponseForm};
use super::pieces::Pieces;
use super::render::{
    document_body, json_bytes, list_body, object_body, plain_list, pretty_body, status_body, yaml_body,
};
use super::stream::WatchBody;
use super::{protobuf, warnings};
use crate::documents::discovery::DiscoveryResponse;
use crate::kinds::Kind;
use crate::machinery::status::Status;
use crate::machinery::yaml;
use crate::verbs::call::{Answer, Params};
use bytes::Bytes;
use hyper::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT,
    VARY, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{HeaderMap, Response, StatusCode};
use serde_json::Value;
use std::hash::{DefaultHasher, Hash, Hasher};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const YAML: HeaderValue = HeaderValue::from_static(yaml::MEDIA);
pub(super) const NO_SNIFF: HeaderValue = HeaderValue::from_static("nosniff");
const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// A response whose content is known when it is built, unlike the response to a watch.
pub(super) struct CompleteResponse {
    code: u16,
    headers: Vec<(HeaderName, HeaderValue)>,
    body: Bytes,
    /// The list that is sent in pieces; used instead of `body`.
    list: Option<Box<Pieces>>,
    /// Whether the body is gzip-compressed while it is sent.
    is_zipped: bool,
}

impl CompleteResponse {
    pub(super) fn code(&self) -> u16 {
        self.code
    }

    pub(super) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(super) fn with_warnings(mut self, warnings: &[String]) -> Self {
        self.headers.extend(warnings::headers(warnings));
        self
    }

    pub(super) fn gzip_if_accepted(mut self, accepts_gzip: bool, bytes_min: usize) -> Self {
        let length = self
            .list
            .as_ref()
            .map_or(self.body.len(), |list| list.unsent_bytes());
        if accepts_gzip && length > bytes_min {
            self.is_zipped = true;
            let gzip = HeaderValue::from_static("gzip");
            let vary = HeaderValue::from_static("Accept-Encoding");
            if !self.headers.contains(&(VARY, vary.clone())) {
                self.headers.push((VARY, vary));
            }
            self.headers.push((CONTENT_ENCODING, gzip));
        }
        self
    }

    /// Converts to an HTTP response. The request counts as in flight until the connection has accepted the whole body.
    pub(super) fn into_response(self, hold: InFlightGuard) -> Response<Body> {
        let encoder = if self.is_zipped { gzip::ENCODER_BYTES } else { 0 };
        let list = self.list.as_ref().map_or(0, |list| list.held_bytes());
        let pending = hold.response_ready(self.body.len() + list + encoder);
        let mut response = Response::new(match self.list {
            list if self.is_zipped => Body::Zipped {
                zipped: Box::new(Zipped::new(list, self.body)),
                pending,
            },
            Some(pieces) => Body::List { pieces, pending },
            None => Body::Whole {
                bytes: self.body,
                pending,
            },
        });
        *response.status_mut() = StatusCode::from_u16(self.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        for (name, value) in self.headers {
            response.headers_mut().append(name, value);
        }
        response
    }
}

pub(super) fn render_answer(
    kind: &Kind,
    answer: Answer,
    form: &ResponseForm,
) -> Result<CompleteResponse, Status> {
    let is_plain = matches!(form.accept, Accept::Json | Accept::Aggregated(_)) && !form.pretty;
    let mut list = None;
    let (code, body) = match answer {
        Answer::List(plan) if is_plain => {
            list = Some(Box::new(plain_list(kind, plan.into_page())));
            (200, Ok(Bytes::new()))
        }
        Answer::Object { code, object } => (code, object_body(kind, &object, form)),
        Answer::Status(success) if form.accept == Accept::Yaml || form.accept.is_protobuf() => {
            (success.code, Ok(document_body(&success.to_value(), form.accept)))
        }
        Answer::Status(success) => {
            return Ok(json_response(success.code, status_body(&success, form.pretty)));
        }
        Answer::Nothing => return Ok(empty(StatusCode::NO_CONTENT)),
        Answer::List(plan) => (200, list_body(kind, plan.into_page(), form)),
        // Not reached: watches are streamed by the function `watch`.
        Answer::Watch(_) => (500, Ok(Bytes::new())),
    };
    let body = match body? {
        body if form.accept == Accept::Yaml => yaml_body(&body),
        body if form.pretty && !form.accept.is_protobuf() => pretty_body(body),
        body => body,
    };
    Ok(CompleteResponse {
        list,
        ..complete(code, content_type(form.accept), body)
    })
}

/// The response to an accepted watch. The headers are sent before the first event.
pub(super) fn watch(body: Box<WatchBody>, accept: Accept, warnings: &[String]) -> Response<Body> {
    let media = if accept.is_protobuf() {
        protobuf::STREAM
    } else {
        JSON
    };
    let mut response = Response::new(Body::Watch(body));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, media);
    headers.extend(warnings::headers(warnings));
    response
}

pub(super) fn status(status: &Status, accept: Accept, pretty: bool) -> CompleteResponse {
    // A client that accepts only metadata as protobuf cannot decode a protobuf Status.
    let accept = match accept {
        Accept::ProtobufMetadata(_) => Accept::Json,
        other => other,
    };
    let mut response = match accept {
        Accept::Protobuf | Accept::Yaml => document(status.code, &status.to_value(), accept, pretty),
        _ => json_response(status.code, status_body(status, pretty)),
    };
    let wait = status
        .details
        .as_ref()
        .map_or(0, |details| details.retry_after_seconds);
    if wait > 0 {
        response.headers.push((RETRY_AFTER, HeaderValue::from(wait)));
    }
    response
}

/// Renders a document as protobuf if the client accepts protobuf and the document is available as protobuf; otherwise as JSON.
pub(super) fn document(code: u16, value: &Value, accept: Accept, pretty: bool) -> CompleteResponse {
    let encoded = accept.is_protobuf().then(|| protobuf::document(value));
    match encoded {
        Some(Ok(body)) => complete(code, protobuf::WHOLE, body),
        Some(Err(_)) | None if accept == Accept::Yaml => complete(code, YAML, yaml::write(value)),
        Some(Err(_)) | None => json(code, value, pretty),
    }
}

fn content_type(accept: Accept) -> HeaderValue {
    match accept {
        Accept::Yaml => YAML,
        _ if accept.is_protobuf() => protobuf::WHOLE,
        _ => JSON,
    }
}

pub(super) fn json(code: u16, value: &Value, pretty: bool) -> CompleteResponse {
    let body = if pretty {
        pretty_body(json_bytes(value))
    } else {
        json_bytes(value)
    };
    json_response(code, body)
}

fn complete(code: u16, media: HeaderValue, body: Bytes) -> CompleteResponse {
    CompleteResponse {
        code,
        headers: vec![(CONTENT_TYPE, media)],
        body,
        list: None,
        is_zipped: false,
    }
}

fn json_response(code: u16, body: Bytes) -> CompleteResponse {
    complete(code, JSON, body)
}

pub(super) fn text(code: u16, text: impl Into<Bytes>) -> CompleteResponse {
    complete(code, TEXT, text.into())
}

pub(super) fn text_with_media_type(code: u16, media: &str, text: impl Into<Bytes>) -> CompleteResponse {
    let media = HeaderValue::from_str(media).expect("a media type is a valid header value");
    complete(code, media, text.into())
}

/// The 429 response if too many requests are in flight, with the message of kube-apiserver's filter.
pub(super) fn too_many() -> CompleteResponse {
    let mut plain = text(429, "Too many requests, please try again later.\n");
    plain.headers.push((RETRY_AFTER, HeaderValue::from_static("1")));
    plain.header(X_CONTENT_TYPE_OPTIONS, NO_SNIFF)
}

/// The 504 response if a request times out: a Status without kind and apiVersion, as in kube-apiserver's timeout filter.
pub(super) fn timed_out() -> CompleteResponse {
    let status = r#"{"metadata":{},"status":"Failure","message":"Timeout: request did not complete within the allotted timeout","reason":"Timeout","details":{},"code":504}"#;
    text(504, format!("{status}\n"))
}

pub(super) fn empty(code: StatusCode) -> CompleteResponse {
    CompleteResponse {
        code: code.as_u16(),
        headers: Vec::new(),
        body: Bytes::new(),
        list: None,
        is_zipped: false,
    }
}

/// The plain-text 404 for paths outside the API.
pub(super) fn not_found_text() -> CompleteResponse {
    text(404, "404 page not found\n").header(X_CONTENT_TYPE_OPTIONS, NO_SNIFF)
}

/// Renders a document with an `ETag`, or a 304 if the client has cached the document.
pub(super) fn cacheable_document(
    found: &DiscoveryResponse,
    pretty: bool,
    known: Option<&HeaderValue>,
) -> CompleteResponse {
    let mut response = json(200, &found.document, pretty);
    let mut hasher = DefaultHasher::new();
    response.body.hash(&mut hasher);
    let tag = HeaderValue::try_from(format!("\"{:016X}\"", hasher.finish())).unwrap_or(JSON);
    if known == Some(&tag) {
        response.code = 304;
        response.body = Bytes::new();
    }
    response.headers = vec![
        (CONTENT_TYPE, HeaderValue::from_static(found.media)),
        (CACHE_CONTROL, HeaderValue::from_static("public")),
        (VARY, HeaderValue::from_static("Accept")),
        (ETAG, tag),
    ];
    response
}

/// Whether to indent JSON: if the client requests it, and for curl, wget and browsers.
pub(super) fn wants_pretty(params: &Params, headers: &HeaderMap) -> bool {
    let agent = headers
        .get(USER_AGENT)
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default();
    let person = ["curl", "Wget", "Mozilla/5.0"]
        .iter()
        .any(|known| agent.starts_with(known));
    params.flag("pretty").unwrap_or(person)
}
