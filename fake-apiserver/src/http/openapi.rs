//! Responses with OpenAPI documents: in the accepted media type, or 304 if the client has cached the document.
//!
//! Owns media types and caching headers. Does not know how documents are built.

use super::body_reader::media_type;
use super::negotiate;
use super::respond::{self, CompleteResponse};
use crate::documents::openapi::{OpenApiDocument, group_paths, v2_document, v3_document};
use crate::kinds::Api;
use crate::plugin::OpenApiEncoders;
use crate::verbs::call::Params;
use hyper::header::{
    CACHE_CONTROL, ETAG, EXPIRES, HeaderValue, IF_MODIFIED_SINCE, IF_NONE_MATCH, LAST_MODIFIED, LOCATION,
    VARY,
};
use hyper::{HeaderMap, StatusCode};
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

/// Encodes an OpenAPI document in protobuf.
type Encode = fn(&Value) -> Vec<u8>;

/// Cache lifetime, in hours, of a document that is requested by its hash: one year.
const LIFETIME_HOURS: i64 = 365 * 24;
const HTTP_TIME: &str = "%a, %d %b %Y %H:%M:%S GMT";

const JSON: &str = "application/json";
/// Protobuf media types of OpenAPI v2: the one that responses contain, and an older spelling that clients may send.
const V2_PROTOBUF: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v2.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
];
const V3_PROTOBUF: [&str; 2] = [
    "application/com.github.proto-openapi.spec.v3.v1.0+protobuf",
    "application/com.github.proto-openapi.spec.v3@v1.0+protobuf",
];

/// `/openapi/v2`: one document for all groups.
pub(super) fn swagger(api: &Api, forms: &OpenApiEncoders, headers: &HeaderMap) -> CompleteResponse {
    let Some(media) = negotiate_media_type(headers, &V2_PROTOBUF) else {
        return respond::empty(StatusCode::NOT_ACCEPTABLE).header(VARY, HeaderValue::from_static("Accept"));
    };
    document_response(
        &v2_document(api, forms),
        (media, Some(forms.version2_protobuf)),
        headers,
    )
}

/// `/openapi/v3`: the index of the OpenAPI documents.
pub(super) fn document_index(api: &Api, headers: &HeaderMap) -> CompleteResponse {
    let documents = group_paths(api)
        .into_iter()
        .filter_map(|group_path| v3_document(&group_path, api).map(|document| (group_path, document)));
    let mut last = Timestamp::UNIX_EPOCH;
    let mut paths = Map::new();
    for (group_path, document) in documents {
        last = last.max(document.made);
        let url = document_url(&group_path, &document);
        paths.insert(group_path, json!({"serverRelativeURL": url}));
    }
    let mut answer = respond::text(200, json!({ "paths": paths }).to_string());
    if is_unchanged_since(headers, last) {
        answer = respond::empty(StatusCode::NOT_MODIFIED);
    }
    answer.header(LAST_MODIFIED, http_time(last))
}

/// `/openapi/v3/GROUP_PATH`: the document of a group version.
pub(super) fn group_version_document(
    group_path: &str,
    api: &Api,
    encode: Option<Encode>,
    params: &Params,
    headers: &HeaderMap,
) -> Option<CompleteResponse> {
    let found = v3_document(group_path, api)?;
    let protobuf: &[&str] = if encode.is_some() { &V3_PROTOBUF } else { &[] };
    let Some(media) = negotiate_media_type(headers, protobuf) else {
        let refused = respond::empty(StatusCode::NOT_ACCEPTABLE);
        return Some(refused.header(VARY, HeaderValue::from_static("Accept")));
    };
    let requested_hash = params.get("hash");
    if requested_hash.is_empty() {
        return Some(document_response(&found, (media, encode), headers));
    }
    if requested_hash != found.hash {
        let redirect = respond::empty(StatusCode::MOVED_PERMANENTLY);
        let redirect = redirect.header(LOCATION, header_value(document_url(group_path, &found)));
        return Some(redirect.header(ETAG, etag(&found)));
    }
    let end = Timestamp::now() + SignedDuration::from_hours(LIFETIME_HOURS);
    let answer = document_response(&found, (media, encode), headers);
    let answer = answer.header(CACHE_CONTROL, HeaderValue::from_static("public, immutable"));
    Some(answer.header(EXPIRES, http_time(end)))
}

/// The OpenAPI document in the given media type, or 304 if the client has cached the document.
fn document_response(
    document: &OpenApiDocument,
    (media, encode): (&'static str, Option<Encode>),
    headers: &HeaderMap,
) -> CompleteResponse {
    let tag = etag(document);
    let known = headers.get(IF_NONE_MATCH);
    let is_known = match known.and_then(|known| known.to_str().ok()) {
        Some(known) => etag_matches(known, &tag),
        None => is_unchanged_since(headers, document.made),
    };
    let answer = match is_known {
        true => respond::empty(StatusCode::NOT_MODIFIED),
        false => match encode.filter(|_| media != JSON) {
            Some(encode) => respond::text_with_media_type(200, media, document.protobuf(encode)),
            None => respond::text_with_media_type(200, media, document.json.clone()),
        },
    };
    answer
        .header(VARY, HeaderValue::from_static("Accept"))
        .header(ETAG, tag)
        .header(LAST_MODIFIED, http_time(document.made))
}

fn negotiate_media_type(headers: &HeaderMap, protobuf: &[&'static str]) -> Option<&'static str> {
    let ranges = negotiate::ranges(headers);
    if ranges.is_empty() {
        return Some(JSON);
    }
    ranges.iter().find_map(|range| match media_type(range) {
        "*/*" | "application/*" | JSON => Some(JSON),
        media => protobuf.first().copied().filter(|_| protobuf.contains(&media)),
    })
}

/// Whether `If-None-Match` contains the ETag.
fn etag_matches(known: &str, tag: &HeaderValue) -> bool {
    let mut tags = known.split(',').map(|one| one.trim().trim_start_matches("W/"));
    tags.any(|one| one == "*" || one.as_bytes() == tag.as_bytes())
}

/// Whether the OpenAPI document was not rebuilt after the time in `If-Modified-Since`.
fn is_unchanged_since(headers: &HeaderMap, built: Timestamp) -> bool {
    let since = headers
        .get(IF_MODIFIED_SINCE)
        .and_then(|since| since.to_str().ok());
    let since = since.and_then(|since| DateTime::strptime(HTTP_TIME, since).ok());
    let since = since.and_then(|since| since.to_zoned(TimeZone::UTC).ok());
    since.is_some_and(|since| built.as_second() <= since.timestamp().as_second())
}

fn document_url(group_path: &str, document: &OpenApiDocument) -> String {
    format!("/openapi/v3/{group_path}?hash={}", document.hash)
}

fn etag(document: &OpenApiDocument) -> HeaderValue {
    header_value(format!("\"{}\"", document.hash))
}

fn http_time(time: Timestamp) -> HeaderValue {
    header_value(time.strftime(HTTP_TIME).to_string())
}

/// Converts a text to a header value; the text must contain only characters that header values permit.
fn header_value(text: String) -> HeaderValue {
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}
