//! A protobuf client for tests that encodes and decodes envelopes and messages by hand.

use super::client::{TestServer, request};
use http_body_util::BodyExt;
use kube::client::Body;

pub(crate) const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// An HTTP response: status code, media type, body.
pub(crate) struct RawResponse {
    pub(crate) code: u16,
    pub(crate) media: String,
    pub(crate) bytes: Vec<u8>,
}

impl RawResponse {
    /// `apiVersion`, `kind` and the enveloped object of a protobuf response.
    pub(crate) fn decode_envelope(&self) -> (String, String, Vec<u8>) {
        decode_envelope(&self.bytes)
    }
}

pub(crate) async fn send(
    wire: &TestServer,
    method: &str,
    path: &str,
    accept: &str,
    body: Vec<u8>,
) -> RawResponse {
    let headers = [("accept", accept), ("content-type", PROTOBUF)];
    let response = request(&wire.client, method, path, &headers, body).await;
    let (head, body) = response.into_parts();
    RawResponse {
        code: head.status.as_u16(),
        media: head.headers["content-type"]
            .to_str()
            .expect("the content type is ASCII")
            .to_owned(),
        bytes: body
            .collect()
            .await
            .expect("the response body is complete")
            .to_bytes()
            .to_vec(),
    }
}

pub(crate) async fn get(wire: &TestServer, path: &str, accept: &str) -> RawResponse {
    send(wire, "GET", path, accept, Vec::new()).await
}

pub(crate) fn varint(mut value: usize) -> Vec<u8> {
    let mut out = Vec::new();
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
    out
}

/// Encodes a length-delimited protobuf field.
pub(crate) fn field(number: u8, content: impl AsRef<[u8]>) -> Vec<u8> {
    let content = content.as_ref();
    [&[number << 3 | 2][..], &varint(content.len()), content].concat()
}

/// Encodes a protobuf object in its envelope (`runtime.Unknown`).
pub(crate) fn encode_envelope(api_version: &str, kind: &str, raw: &[u8]) -> Vec<u8> {
    let type_meta = [field(1, api_version), field(2, kind)].concat();
    [b"k8s\0".to_vec(), field(1, type_meta), field(2, raw)].concat()
}

/// The fields of a protobuf message, as number and bytes. Varints are decoded and encoded again; other fields are returned unchanged.
pub(crate) fn fields(mut bytes: &[u8]) -> Vec<(u64, Vec<u8>)> {
    fn next(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (first, rest) = bytes.split_first().expect("the varint is complete");
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            if first & 0x80 == 0 {
                break;
            }
        }
        value
    }
    let mut out = Vec::new();
    while !bytes.is_empty() {
        let tag = next(&mut bytes);
        let content = match tag & 7 {
            0 => next(&mut bytes).to_be_bytes().to_vec(),
            2 => {
                let length = usize::try_from(next(&mut bytes)).expect("the length fits in usize");
                let (content, rest) = bytes.split_at(length);
                bytes = rest;
                content.to_vec()
            }
            other => panic!("no message here has wire type {other}"),
        };
        out.push((tag >> 3, content));
    }
    out
}

pub(crate) fn field_values(bytes: &[u8], number: u64) -> Vec<Vec<u8>> {
    let found = fields(bytes).into_iter().filter(|(n, _)| *n == number);
    found.map(|(_, content)| content).collect()
}

pub(crate) fn single_field(bytes: &[u8], number: u64) -> Vec<u8> {
    let mut found = field_values(bytes, number);
    assert_eq!(found.len(), 1, "field {number}");
    found.remove(0)
}

pub(crate) fn text(bytes: &[u8], number: u64) -> String {
    String::from_utf8(single_field(bytes, number)).expect("the field is UTF-8")
}

pub(crate) fn decode_envelope(bytes: &[u8]) -> (String, String, Vec<u8>) {
    let rest = bytes
        .strip_prefix(b"k8s\0")
        .expect("the body starts with the magic bytes");
    let type_meta = single_field(rest, 1);
    (text(&type_meta, 1), text(&type_meta, 2), single_field(rest, 2))
}

/// The name of a protobuf API object: field 1 of its metadata, which is field 1 of the object.
pub(crate) fn object_name(object: &[u8]) -> String {
    text(&single_field(object, 1), 1)
}

pub(crate) struct ProtobufWatch {
    body: Body,
    rest: Vec<u8>,
}

impl ProtobufWatch {
    pub(crate) async fn open(wire: &TestServer, path: &str) -> Self {
        Self::open_accepting(wire, path, PROTOBUF).await
    }

    pub(crate) async fn open_accepting(wire: &TestServer, path: &str, accept: &str) -> Self {
        let response = request(&wire.client, "GET", path, &[("accept", accept)], Vec::new()).await;
        assert_eq!(response.status(), 200, "{path}");
        assert_eq!(
            response.headers()["content-type"],
            "application/vnd.kubernetes.protobuf;stream=watch"
        );
        Self {
            body: response.into_body(),
            rest: Vec::new(),
        }
    }

    /// Type and enveloped object of the next watch event.
    pub(crate) async fn next(&mut self) -> (String, Vec<u8>) {
        loop {
            if let Some((length, rest)) = self.rest.split_first_chunk::<4>() {
                let length = u32::from_be_bytes(*length) as usize;
                if let Some(event) = rest.get(..length).map(<[u8]>::to_vec) {
                    self.rest.drain(..4 + length);
                    return (text(&event, 1), single_field(&single_field(&event, 2), 1));
                }
            }
            let frame = self
                .body
                .frame()
                .await
                .expect("the watch has not ended")
                .expect("the frame can be read");
            self.rest
                .extend_from_slice(&frame.into_data().expect("the body has no trailers"));
        }
    }
}
