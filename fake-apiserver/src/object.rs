//! A stored object: its JSON value and its serialized form, which all readers share.
//!
//! Owns serialization. An object is serialized once, when it is written; GET, LIST and all watches send the same bytes.
//! The protobuf form is created when a client first requests it.
//!
//! `metadata.managedFields` exists in the serialized form only: it is large, and no code that reads objects needs it. Objects
//! that were not written recently are held in serialized form only; `store` decides which.

use crate::machinery::{json, metadata};
use crate::protobuf::{self, CodecError, Encoded};
use bytes::{BufMut, Bytes, BytesMut};
use imbl::OrdMap;
use parking_lot::Mutex;
use serde_json::Value;
use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::{Bound, Range};
use std::sync::{Arc, OnceLock};

/// The member of `metadata` that is held as serialized JSON, not parsed.
const MANAGED: &str = "managedFields";

thread_local! {
    /// Output buffer, reused for all objects: the serialized object is then copied into an allocation of exactly its size.
    static SCRATCH: RefCell<BytesMut> = RefCell::default();
}
/// Maximum capacity, in bytes, that the output buffer retains between objects.
const SCRATCH_MAX: usize = 1 << 16;

/// Objects by storage key. Cloning is cheap: readers hold a snapshot while writers continue.
pub type Objects = OrdMap<Arc<str>, Arc<Object>>;

/// The content of an object at one revision. A write creates a new `Object`.
#[derive(Debug)]
pub struct Object {
    /// The object without `metadata.managedFields`; parsed on demand if only the serialized form is held.
    value: OnceLock<Arc<Value>>,
    /// The serialized object, `kind` and `apiVersion` first.
    bytes: Bytes,
    /// The protobuf form, created on demand. Boxed because few objects need it.
    protobuf: OnceLock<Box<Result<Encoded, CodecError>>>,
    /// The object in other API versions, converted by a webhook. Boxed because few objects need other versions.
    forms: OnceLock<Box<Mutex<Vec<Form>>>>,
    /// Offset in `bytes` of the members after `kind` and `apiVersion`.
    members_at: usize,
    /// Range of the value of `metadata.managedFields` in `bytes`; empty if the object has no managedFields.
    managed: Range<usize>,
    /// The revision that wrote the object; 0 in the response to a dry run.
    pub(crate) revision: u64,
}

/// An object converted to another API version.
#[derive(Debug)]
struct Form {
    /// The number of the conversion that created this form. A changed CRD has a new conversion number.
    conversion: u64,
    version: &'static str,
    object: Arc<Object>,
}

impl Object {
    /// The cached form of the object in `version`, if the conversion with the number `conversion` created it.
    pub(crate) fn converted(&self, conversion: u64, version: &str) -> Option<Arc<Self>> {
        let forms = self.forms.get()?.lock();
        let mut forms = forms.iter();
        let found = forms.find(|form| form.conversion == conversion && form.version == version);
        found.map(|form| form.object.clone())
    }

    pub(crate) fn keep_converted(&self, conversion: u64, version: &'static str, object: Arc<Self>) {
        let mut forms = self.forms.get_or_init(Box::default).lock();
        // Forms from earlier conversion numbers (of a previous CRD) are obsolete.
        forms.retain(|form| form.conversion == conversion && form.version != version);
        forms.push(Form {
            conversion,
            version,
            object,
        });
    }

    /// Serializes `value`, which must already have kind and resourceVersion. `metadata.managedFields`, if present, must be a string of
    /// JSON, as written by `patch::managed`.
    pub(crate) fn new(mut value: Value, revision: u64) -> Arc<Self> {
        let managed = match metadata::take(&mut value, MANAGED) {
            Some(Value::String(text)) => text,
            _ => String::new(),
        };
        let mut out = SCRATCH.take();
        out.put_slice(b"{");
        write_member(&mut out, "kind", &value["kind"]);
        out.put_slice(b",");
        write_member(&mut out, "apiVersion", &value["apiVersion"]);
        out.put_slice(b",");
        let members_at = out.len();
        let mut place = 0..0;
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
            if name == "metadata" && !managed.is_empty() && out.ends_with(b"}") {
                place = write_managed(&mut out, &managed);
            }
        }
        out.put_slice(b"}");
        let bytes = Bytes::copy_from_slice(&out);
        if out.capacity() <= SCRATCH_MAX {
            out.clear();
            SCRATCH.set(out);
        }
        Arc::new(Self {
            value: Arc::new(value).into(),
            bytes,
            protobuf: OnceLock::new(),
            forms: OnceLock::new(),
            members_at,
            managed: place,
            revision,
        })
    }

    /// This object in serialized form only, which takes a sixth of the memory.
    pub(crate) fn serialized_only(self: &Arc<Self>) -> Arc<Self> {
        if self.value.get().is_none() {
            return self.clone();
        }
        Arc::new(Self {
            value: OnceLock::new(),
            bytes: self.bytes.clone(),
            protobuf: OnceLock::new(),
            forms: OnceLock::new(),
            members_at: self.members_at,
            managed: self.managed.clone(),
            revision: self.revision,
        })
    }

    pub(crate) fn api_version(&self) -> &str {
        let head = std::str::from_utf8(&self.bytes[..self.members_at]).unwrap_or_default();
        head.trim_end_matches("\",")
            .rsplit('"')
            .next()
            .unwrap_or_default()
    }

    /// The object without `metadata.managedFields`.
    pub fn value(&self) -> &Value {
        self.kept_value()
    }

    /// Like `value`: the object without `metadata.managedFields`, but as a shared pointer.
    pub(crate) fn shared_value(&self) -> Arc<Value> {
        self.kept_value().clone()
    }

    /// Calls `at` with the parsed value without caching the value, for code that iterates over many objects.
    pub fn read_value<T>(&self, at: impl FnOnce(&Value) -> T) -> T {
        match self.value.get() {
            Some(value) => at(value),
            None => at(&self.parse()),
        }
    }

    fn kept_value(&self) -> &Arc<Value> {
        self.value.get_or_init(|| Arc::new(self.parse()))
    }

    fn parse(&self) -> Value {
        let mut value = self.parse_whole();
        metadata::set(&mut value, MANAGED, None);
        value
    }

    fn parse_whole(&self) -> Value {
        serde_json::from_slice(&self.bytes).expect("stored objects are valid JSON")
    }

    /// An object with the content `value` and the managedFields of this object.
    pub(crate) fn replace_value(&self, mut value: Value, revision: u64) -> Arc<Self> {
        metadata::set(&mut value, MANAGED, Some(self.managed_fields().into()));
        Self::new(value, revision)
    }

    /// The value of `metadata.managedFields` as JSON text; empty if the object has no managedFields.
    pub(crate) fn managed_fields(&self) -> &str {
        std::str::from_utf8(&self.bytes[self.managed.clone()]).expect("stored objects are valid UTF-8")
    }

    /// The whole object, including `metadata.managedFields`.
    pub fn document(&self) -> Cow<'_, Value> {
        match self.value.get() {
            Some(value) if self.managed.is_empty() => Cow::Borrowed(value),
            _ => Cow::Owned(self.parse_whole()),
        }
    }

    /// The serialized object, as GET responses and watches send it.
    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The protobuf form, which is created by the first call and cached.
    pub(crate) fn protobuf(&self) -> Result<&Encoded, &CodecError> {
        let encoded = self
            .protobuf
            .get_or_init(|| Box::new(protobuf::encode(&self.document())));
        (**encoded).as_ref()
    }

    /// The whole object, including `metadata.managedFields`, as in-process clients receive it.
    pub(crate) fn shared_document(&self) -> Arc<Value> {
        match self.document() {
            Cow::Borrowed(_) => self.shared_value(),
            Cow::Owned(document) => Arc::new(document),
        }
    }

    /// Number of bytes that `write_item` appends to a list response.
    pub(crate) fn item_bytes(&self) -> usize {
        1 + self.bytes.len() - self.members_at
    }

    /// Appends the object to a list response as an item: without kind and apiVersion.
    pub(crate) fn write_item(&self, out: &mut BytesMut) {
        out.put_slice(b"{");
        out.put_slice(&self.bytes[self.members_at..]);
    }
}

/// Appends `managedFields` to the `metadata` object at the end of the buffer; returns the range of the value of `managedFields`.
fn write_managed(out: &mut BytesMut, managed: &str) -> Range<usize> {
    out.truncate(out.len() - 1);
    if !out.ends_with(b"{") {
        out.put_slice(b",");
    }
    out.put_slice(b"\"managedFields\":");
    let begin = out.len();
    out.put_slice(managed.as_bytes());
    let end = out.len();
    out.put_slice(b"}");
    begin..end
}

fn write_member(out: &mut BytesMut, name: &str, value: &Value) {
    json::write(out, name);
    out.put_slice(b":");
    json::write(out, value);
}

/// Splits a storage key into namespace and name; the namespace is empty for cluster-scoped kinds.
pub(crate) fn split_key(key: &str) -> (&str, &str) {
    key.split_once('/').unwrap_or(("", key))
}

/// The objects of one namespace, or of all namespaces if `namespace` is `None`.
pub fn namespace_range<'a>(
    objects: &'a Objects,
    namespace: Option<&str>,
) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<Object>)> + use<'a> {
    let start = Bound::Included(key_prefix(namespace).into());
    range_from(objects, namespace, start)
}

/// The objects of one namespace, or of all namespaces, from a storage key on.
pub(crate) fn range_from<'a>(
    objects: &'a Objects,
    namespace: Option<&str>,
    start: Bound<Arc<str>>,
) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<Object>)> + use<'a> {
    let end = match namespace {
        // Keys are `NAMESPACE/NAME`, and "0" is the character after "/".
        Some(namespace) => Bound::Excluded(format!("{namespace}0").into()),
        None => Bound::Unbounded,
    };
    objects.range((start, end))
}

/// The start of the storage keys of a namespace; empty for all namespaces.
pub(crate) fn key_prefix(namespace: Option<&str>) -> String {
    namespace.map_or_else(String::new, |namespace| format!("{namespace}/"))
}
