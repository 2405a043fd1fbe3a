//! Serializes objects, lists and documents in the form that the client accepts.
//!
//! The store provides serialized objects. Does not build responses.

use super::negotiate::{Accept, ResponseForm};
use super::pieces::Pieces;
use super::protobuf;
use super::table::{one_row_table, partial, row, table};
use crate::kinds::Kind;
use crate::machinery::status::Status;
use crate::machinery::{json, yaml};
use crate::object::Object;
use crate::verbs::call::Listing;
use bytes::{BufMut, Bytes, BytesMut};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

pub(super) fn object_body(kind: &Kind, object: &Object, form: &ResponseForm) -> Result<Bytes, Status> {
    Ok(match form.accept {
        Accept::Json | Accept::Yaml | Accept::Aggregated(_) => object.bytes().clone(),
        Accept::Protobuf => protobuf::object(object)?,
        Accept::ProtobufMetadata(version) => protobuf::metadata(&object.document(), version)?,
        Accept::Metadata(version) => json_bytes(&partial(&object.document(), version)),
        Accept::Table(version) => json_bytes(&one_row_table(kind, object, form, version, true)),
    })
}

pub(super) fn list_body(kind: &Kind, listing: Listing, form: &ResponseForm) -> Result<Bytes, Status> {
    let metadata = list_metadata(&listing);
    Ok(match form.accept {
        Accept::Json | Accept::Yaml | Accept::Aggregated(_) => plain_list(kind, listing).into_whole_list(),
        Accept::Protobuf => protobuf::encode_list(kind, &listing, metadata)?,
        Accept::ProtobufMetadata(version) => protobuf::metadata_list(&listing, version, metadata)?,
        Accept::Metadata(version) => json_bytes(&json!({
            "kind": "PartialObjectMetadataList",
            "apiVersion": format!("meta.k8s.io/{version}"),
            "metadata": metadata,
            // An empty metadata list contains `items: null`, as in kube-apiserver.
            "items": Some(partials(&listing, version)).filter(|items| !items.is_empty()),
        })),
        Accept::Table(version) => {
            let now = Timestamp::now();
            let objects = &listing.objects;
            let none = match objects.is_empty() && kind.columns().is_null_when_empty() {
                true => Value::Null,
                false => json!([]),
            };
            let definitions = kind.columns().definitions();
            let empty = json_bytes(&table(&definitions, &none, &metadata.into(), version));
            let rows = objects.iter();
            with_rows(
                empty,
                rows.map(|object| row(kind, &object.document(), form, version, now)),
            )
        }
    })
}

/// Appends rows one by one to a serialized table without rows. Holding all rows as JSON values would take nearly 20 times the memory.
fn with_rows(empty: Bytes, rows: impl Iterator<Item = Value>) -> Bytes {
    const END: &[u8] = b"]}\n";
    let Some(head) = empty.strip_suffix(END) else {
        return empty;
    };
    let mut out = BytesMut::from(head);
    for (number, row) in rows.enumerate() {
        if number > 0 {
            out.put_u8(b',');
        }
        json::write(&mut out, &row);
    }
    out.put_slice(END);
    out.freeze()
}

fn list_metadata(listing: &Listing) -> Map<String, Value> {
    let mut metadata = Map::new();
    metadata.insert("resourceVersion".to_owned(), listing.revision.to_string().into());
    if let Some(token) = &listing.continue_token {
        metadata.insert("continue".to_owned(), token.as_str().into());
    }
    if let Some(remaining) = listing.remaining {
        metadata.insert("remainingItemCount".to_owned(), remaining.into());
    }
    metadata
}

/// A JSON list that shares the serialized objects of the store.
pub(super) fn plain_list(kind: &Kind, listing: Listing) -> Pieces {
    let mut head = BytesMut::with_capacity(256);
    head.put_slice(b"{\"kind\":");
    json::write(&mut head, &kind.list_kind());
    head.put_slice(b",\"apiVersion\":");
    json::write(&mut head, &kind.api_version());
    head.put_slice(b",\"metadata\":");
    json::write(&mut head, &list_metadata(&listing));
    head.put_slice(b",\"items\":[");
    // Items of custom resource lists contain `kind` and `apiVersion`, as in kube-apiserver.
    Pieces::new(head, listing.objects, kind.defined().is_some())
}

fn partials(listing: &Listing, version: &str) -> Vec<Value> {
    let documents = listing.objects.iter().map(|object| object.document());
    documents.map(|document| partial(&document, version)).collect()
}

/// A document in the accepted encoding. The kinds of all documents that this server creates are in the protobuf table; a document of
/// another kind would be rendered empty.
pub(super) fn document_body(value: &Value, accept: Accept) -> Bytes {
    if accept.is_protobuf() {
        protobuf::document(value).unwrap_or_default()
    } else {
        json_bytes(value)
    }
}

pub(super) fn status_body(status: &Status, pretty: bool) -> Bytes {
    let text = match pretty {
        true => serde_json::to_string_pretty(status),
        false => serde_json::to_string(status).map(|text| text + "\n"),
    };
    text.expect("strings and numbers serialize to JSON").into()
}

pub(super) fn json_bytes(value: &Value) -> Bytes {
    let mut out = BytesMut::new();
    json::write(&mut out, value);
    out.put_slice(b"\n");
    out.freeze()
}

/// Converts rendered JSON to YAML.
pub(super) fn yaml_body(body: &Bytes) -> Bytes {
    match serde_json::from_slice(body) {
        Ok(value) => yaml::write(&value),
        Err(_) => body.clone(),
    }
}

pub(super) fn pretty_body(body: Bytes) -> Bytes {
    match serde_json::from_slice::<Value>(&body).and_then(|value| serde_json::to_string_pretty(&value)) {
        Ok(text) => text.into(),
        Err(_) => body,
    }
}
