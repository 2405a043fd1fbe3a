//! Protobuf responses: objects, lists, metadata and watch events.
//!
//! Owns which protobuf message is sent in which response. The encoder is in `crate::protobuf`; encoded objects are cached in the store and
//! shared by all readers.

use super::table;
use crate::kinds::Kind;
use crate::machinery::status::Status;
use crate::object::Object;
use crate::protobuf::{CodecError, Encoded, encode, list};
use crate::verbs::call::Listing;
use bytes::Bytes;
use hyper::header::HeaderValue;
use serde_json::{Map, Value};

/// The media type of watch streams.
pub(super) const STREAM: HeaderValue =
    HeaderValue::from_static("application/vnd.kubernetes.protobuf;stream=watch");
/// The media type of all responses except watch streams.
pub(super) const WHOLE: HeaderValue = HeaderValue::from_static(crate::protobuf::MEDIA);

pub(super) fn object(object: &Object) -> Result<Bytes, Status> {
    let encoded = object.protobuf();
    encoded
        .map(|encoded| encoded.whole().clone())
        .map_err(|why| unencodable(object.value(), why))
}

/// Encodes only the metadata of an object (`PartialObjectMetadata` in the given version).
pub(super) fn metadata(object: &Value, version: &str) -> Result<Bytes, Status> {
    Ok(partial_metadata(object, version)?.whole().clone())
}

/// Encodes a document, such as a Status or a discovery document, whose kind is available as protobuf.
pub(super) fn document(value: &Value) -> Result<Bytes, Status> {
    let encoded = encode(value);
    encoded
        .map(|encoded| encoded.whole().clone())
        .map_err(|why| unencodable(value, &why))
}

pub(super) fn encode_list(
    kind: &Kind,
    listing: &Listing,
    metadata: Map<String, Value>,
) -> Result<Bytes, Status> {
    let items: Vec<&Encoded> = listing
        .objects
        .iter()
        .map(|object| object.protobuf().map_err(|why| unencodable(object.value(), why)))
        .collect::<Result<_, Status>>()?;
    let name = kind.list_kind();
    let encoded = list(
        &kind.api_version(),
        &name,
        metadata,
        items.iter().map(|item| item.raw()),
    );
    encoded.map_err(|why| unencodable(&Value::Null, &why))
}

pub(super) fn metadata_list(
    listing: &Listing,
    version: &str,
    metadata: Map<String, Value>,
) -> Result<Bytes, Status> {
    let items: Vec<Encoded> = listing
        .objects
        .iter()
        .map(|object| partial_metadata(&object.document(), version))
        .collect::<Result<_, Status>>()?;
    let encoded = list(
        &format!("meta.k8s.io/{version}"),
        "PartialObjectMetadataList",
        metadata,
        items.iter().map(Encoded::raw),
    );
    encoded.map_err(|why| unencodable(&Value::Null, &why))
}

fn partial_metadata(object: &Value, version: &str) -> Result<Encoded, Status> {
    encode(&table::partial(object, version)).map_err(|why| unencodable(object, &why))
}

/// The error for an object that cannot be encoded: a field has a value that its type cannot represent. Kinds with partial validation accept
/// such values.
fn unencodable(object: &Value, why: &CodecError) -> Status {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Status::internal(format!(
        "cannot encode {} {:?} as protobuf: {why}; correct the object, or request application/json",
        text(&object["kind"]),
        text(&object["metadata"]["name"]),
    ))
}
