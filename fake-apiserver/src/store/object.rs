//! A stored object: its JSON, and the bytes that every reader shares.
//!
//! Owns rendering. An object is rendered once, when it is written; GET, LIST and all watches send the same bytes.
//! Its protobuf form is made when the first reader asks for it.

use crate::protobuf::{self, Encoded, Fault};
use bytes::{BufMut, Bytes, BytesMut};
use serde_json::Value;
use std::sync::{Arc, OnceLock};

/// One state of one object.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) value: Arc<Value>,
    /// The whole object; `kind` and `apiVersion` come first.
    bytes: Bytes,
    /// The same in protobuf, once somebody wanted it; boxed because most objects never need it.
    protobuf: OnceLock<Box<Result<Encoded, Fault>>>,
    /// Where the members after `kind` and `apiVersion` begin in `bytes`.
    members_at: usize,
    /// The revision that wrote it; 0 for an answer to a dry run.
    pub(crate) revision: u64,
}

impl Object {
    /// Renders `value`, which carries its kind and its resourceVersion already.
    pub(crate) fn new(value: Value, revision: u64) -> Arc<Self> {
        let mut out = BytesMut::with_capacity(512);
        out.put_slice(b"{");
        write_member(&mut out, "kind", &value["kind"]);
        out.put_slice(b",");
        write_member(&mut out, "apiVersion", &value["apiVersion"]);
        out.put_slice(b",");
        let members_at = out.len();
        let mut first = true;
        for (name, member) in value.as_object().into_iter().flatten() {
            if name == "kind" || name == "apiVersion" {
                continue;
            }
            if !first {
                out.put_slice(b",");
            }
            first = false;
            write_member(&mut out, name, member);
        }
        out.put_slice(b"}");
        Arc::new(Self {
            value: Arc::new(value),
            bytes: out.freeze(),
            protobuf: OnceLock::new(),
            members_at,
            revision,
        })
    }

    /// The object as GET and watches send it.
    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The object in protobuf.
    pub(crate) fn protobuf(&self) -> Result<&Encoded, &Fault> {
        let encoded = self
            .protobuf
            .get_or_init(|| Box::new(protobuf::encode(&self.value)));
        (**encoded).as_ref()
    }

    /// How many bytes `write_item` appends.
    pub(crate) fn item_bytes(&self) -> usize {
        1 + self.bytes.len() - self.members_at
    }

    /// Appends the object as lists hold it: without kind and apiVersion.
    pub(crate) fn write_item(&self, out: &mut BytesMut) {
        out.put_slice(b"{");
        out.put_slice(&self.bytes[self.members_at..]);
    }
}

fn write_member(out: &mut BytesMut, name: &str, value: &Value) {
    write_json(out, &Value::from(name));
    out.put_slice(b":");
    write_json(out, value);
}

/// Appends compact JSON.
pub(crate) fn write_json(out: &mut BytesMut, value: &Value) {
    serde_json::to_writer(out.writer(), value).expect("JSON values always serialize into memory");
}
