//! A stored object: its JSON, and the bytes that every reader shares.
//!
//! Owns rendering. An object is rendered once, when it is written; GET, LIST and all watches send the same bytes.
//! Its protobuf form is made when the first reader asks for it.
//!
//! `metadata.managedFields` is in the bytes only: it is large, and no code that looks at objects needs it. Of objects that
//! nobody has written for long there are only bytes; `store` decides which.

use crate::machinery::{json, metadata};
use crate::protobuf::{self, Encoded, Fault};
use bytes::{BufMut, Bytes, BytesMut};
use imbl::OrdMap;
use parking_lot::Mutex;
use serde_json::Value;
use std::borrow::Cow;
use std::cell::RefCell;
use std::ops::{Bound, Range};
use std::sync::{Arc, OnceLock};

/// The member of `metadata` that is kept as text.
const MANAGED: &str = "managedFields";

thread_local! {
    /// What an object is written into, before it is known how long it is: it is kept in as many bytes as it has.
    static SCRATCH: RefCell<BytesMut> = RefCell::default();
}
/// A longer one is not kept for the next object.
const SCRATCH_MAX: usize = 1 << 16;

/// Objects by storage key. Cloning is cheap: readers keep a version and writers go on.
pub(crate) type Objects = OrdMap<Arc<str>, Arc<Object>>;

/// One state of one object.
#[derive(Debug)]
pub struct Object {
    /// The object without `metadata.managedFields`; empty until somebody wants it, where the object is kept as bytes alone.
    value: OnceLock<Arc<Value>>,
    /// The whole object; `kind` and `apiVersion` come first.
    bytes: Bytes,
    /// The same in protobuf, once somebody wanted it; boxed because most objects never need it.
    protobuf: OnceLock<Box<Result<Encoded, Fault>>>,
    /// The same in other versions, as a webhook has converted it; boxed because most objects never need it.
    forms: OnceLock<Box<Mutex<Vec<Form>>>>,
    /// Where the members after `kind` and `apiVersion` begin in `bytes`.
    members_at: usize,
    /// Where `metadata.managedFields` is in `bytes`; empty where there is none.
    managed: Range<usize>,
    /// The revision that wrote it; 0 for an answer to a dry run.
    pub(crate) revision: u64,
}

/// An object in another version.
#[derive(Debug)]
struct Form {
    /// The number of the conversion that has made it.
    conversion: u64,
    version: &'static str,
    object: Arc<Object>,
}

impl Object {
    /// The same object in another version, as a conversion of that number has made it before.
    pub(crate) fn converted(&self, conversion: u64, version: &str) -> Option<Arc<Self>> {
        let forms = self.forms.get()?.lock();
        let mut forms = forms.iter();
        let found = forms.find(|form| form.conversion == conversion && form.version == version);
        found.map(|form| form.object.clone())
    }

    /// Keeps the same object in another version.
    pub(crate) fn keep_converted(&self, conversion: u64, version: &'static str, object: Arc<Self>) {
        let mut forms = self.forms.get_or_init(Box::default).lock();
        // What another definition has made is of no use any more.
        forms.retain(|form| form.conversion == conversion && form.version != version);
        forms.push(Form {
            conversion,
            version,
            object,
        });
    }

    /// Renders `value`, which carries its kind and its resourceVersion already. Its `metadata.managedFields`, if there
    /// are any, are JSON text, as `managed` writes it.
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

    /// The same object as bytes alone: a sixth of what it takes with its value.
    pub(crate) fn unparsed(self: &Arc<Self>) -> Arc<Self> {
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

    /// Its `apiVersion`.
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

    /// The same, shared.
    pub(crate) fn shared_value(&self) -> Arc<Value> {
        self.kept_value().clone()
    }

    /// Looks at the value without keeping it: for those who go through many objects.
    pub fn look<T>(&self, at: impl FnOnce(&Value) -> T) -> T {
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
        serde_json::from_slice(&self.bytes).expect("it was written as JSON")
    }

    /// The same object with another content or form, and the same field managers.
    pub(crate) fn like(&self, mut value: Value, revision: u64) -> Arc<Self> {
        metadata::set(&mut value, MANAGED, Some(self.managed().into()));
        Self::new(value, revision)
    }

    /// `metadata.managedFields` as JSON; empty where there is none.
    pub(crate) fn managed(&self) -> &str {
        std::str::from_utf8(&self.bytes[self.managed.clone()]).expect("it was written as text")
    }

    /// The whole object, `metadata.managedFields` included.
    pub(crate) fn document(&self) -> Cow<'_, Value> {
        match self.value.get() {
            Some(value) if self.managed.is_empty() => Cow::Borrowed(value),
            _ => Cow::Owned(self.parse_whole()),
        }
    }

    /// The object as GET and watches send it.
    pub(crate) fn bytes(&self) -> &Bytes {
        &self.bytes
    }

    /// The object in protobuf.
    pub(crate) fn protobuf(&self) -> Result<&Encoded, &Fault> {
        let encoded = self
            .protobuf
            .get_or_init(|| Box::new(protobuf::encode(&self.document())));
        (**encoded).as_ref()
    }

    /// The whole object, for a program in the server's own process.
    pub(crate) fn shared(&self) -> Arc<Value> {
        match self.document() {
            Cow::Borrowed(_) => self.shared_value(),
            Cow::Owned(document) => Arc::new(document),
        }
    }

    /// How many bytes `write_item` appends.
    pub(crate) fn item_bytes(&self) -> usize {
        1 + self.bytes.len() - self.members_at
    }

    /// Appends the object as lists of its kind alone hold it: without kind and apiVersion.
    pub(crate) fn write_item(&self, out: &mut BytesMut) {
        out.put_slice(b"{");
        out.put_slice(&self.bytes[self.members_at..]);
    }
}

/// Adds a member to the object that has just been written, and returns where its value is.
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

/// Namespace and name of a storage key; the namespace is empty where the kind has none.
pub(crate) fn place_of(key: &str) -> (&str, &str) {
    key.split_once('/').unwrap_or(("", key))
}

/// The objects of one namespace, or all of them.
pub(crate) fn namespace_range<'a>(
    objects: &'a Objects,
    namespace: Option<&str>,
) -> impl Iterator<Item = (&'a Arc<str>, &'a Arc<Object>)> + use<'a> {
    let bounds = match namespace {
        // "0" is the character after "/".
        Some(namespace) => (
            Bound::Included(format!("{namespace}/")),
            Bound::Excluded(format!("{namespace}0")),
        ),
        None => (Bound::Unbounded, Bound::Unbounded),
    };
    let bounds: (Bound<Arc<str>>, Bound<Arc<str>>) = (bounds.0.map(Arc::from), bounds.1.map(Arc::from));
    objects.range(bounds)
}
