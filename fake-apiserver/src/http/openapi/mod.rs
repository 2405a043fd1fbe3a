//! OpenAPI documents, version 3: what clients validate, explain and merge by.
//!
//! Owns when documents are made and how long they are kept: on the first request that needs them, as bytes, and for
//! the life of the process, for they depend on nothing but the rows that are served. Does not know what is in them.

mod operations;
mod schemas;

use super::discovery;
use super::respond::{self, Plain};
use crate::call::Params;
use crate::kinds::Kind;
use crate::release::Profile;
use crate::store::write_json;
use bytes::{Bytes, BytesMut};
use hyper::header::{CACHE_CONTROL, ETAG, EXPIRES, HeaderValue, IF_NONE_MATCH, LOCATION, VARY};
use hyper::{HeaderMap, StatusCode};
use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use ring::digest::{SHA512, digest};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

/// How long a client may keep a document that it asked for by its hash, in hours: a year.
const LIFETIME_HOURS: i64 = 365 * 24;

/// Documents by the rows that they describe. There are as many as there are different sets of rows in the releases.
static DOCUMENTS: LazyLock<Mutex<BTreeMap<Rows, Arc<Document>>>> = LazyLock::new(Mutex::default);

/// Group, version, and names of resources.
type Rows = (&'static str, &'static str, Vec<&'static str>);

/// The description of one version of a group.
struct Document {
    bytes: Bytes,
    /// Of the bytes, in hexadecimal digits.
    hash: String,
}

/// `/openapi/v3`: where the documents are.
pub(super) fn index(profile: Profile) -> Plain {
    let places: Map<String, Value> = discovery::versions(profile)
        .into_iter()
        .map(|(group, version)| {
            let hash = &document(group, version, profile).hash;
            let url = format!("/openapi/v3/{}?hash={hash}", place(group, version));
            (place(group, version), json!({"serverRelativeURL": url}))
        })
        .collect();
    respond::json(200, &json!({"paths": places}), false)
}

/// `/openapi/v3/PLACE`: the document of one version of a group.
pub(super) fn answer(wanted: &str, profile: Profile, params: &Params, headers: &HeaderMap) -> Option<Plain> {
    let (group, version) = discovery::versions(profile)
        .into_iter()
        .find(|(group, version)| place(group, version) == wanted)?;
    let found = document(group, version, profile);
    let tag = header(format!("\"{}\"", found.hash));
    let asked = params.get("hash");
    let mut answer = respond::typed(200, "application/json", found.bytes.clone());
    let keep = if asked.is_empty() {
        HeaderValue::from_static("no-cache, private")
    } else {
        HeaderValue::from_static("public, immutable")
    };
    if !asked.is_empty() && asked != found.hash {
        let url = format!("/openapi/v3/{wanted}?hash={}", found.hash);
        answer = respond::empty(StatusCode::MOVED_PERMANENTLY);
        return Some(answer.header(LOCATION, header(url)).header(ETAG, tag));
    }
    if headers.get(IF_NONE_MATCH) == Some(&tag) {
        answer = respond::empty(StatusCode::NOT_MODIFIED);
    }
    if !asked.is_empty() {
        let end = Timestamp::now() + SignedDuration::from_hours(LIFETIME_HOURS);
        let end = end.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        answer = answer.header(EXPIRES, header(end));
    }
    Some(
        answer
            .header(CACHE_CONTROL, keep)
            .header(VARY, HeaderValue::from_static("Accept"))
            .header(ETAG, tag),
    )
}

/// Texts that are made here consist of what headers may have.
fn header(text: String) -> HeaderValue {
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static(""))
}

/// A version of a group as the index names it.
pub(super) fn place(group: &str, version: &str) -> String {
    if group.is_empty() {
        format!("api/{version}")
    } else {
        format!("apis/{group}/{version}")
    }
}

fn document(group: &'static str, version: &'static str, profile: Profile) -> Arc<Document> {
    let kinds: Vec<&'static Kind> = discovery::of_group(group, version, profile).collect();
    let rows = (group, version, kinds.iter().map(|kind| kind.plural).collect());
    if let Some(found) = DOCUMENTS.lock().get(&rows) {
        return found.clone();
    }
    // Two requests may come to make the same one; either will do.
    let made = Arc::new(make(&place(group, version), &kinds));
    DOCUMENTS.lock().entry(rows).or_insert(made).clone()
}

fn make(place: &str, kinds: &[&'static Kind]) -> Document {
    let mut schemas = schemas::Schemas::default();
    let paths: Map<String, Value> = kinds
        .iter()
        .flat_map(|kind| operations::paths(place, kind, &mut schemas))
        .collect();
    let document = json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "unversioned"},
        "paths": paths,
        "components": {"schemas": schemas.finish()},
    });
    let mut out = BytesMut::new();
    write_json(&mut out, &document);
    let hash = digest(&SHA512, &out);
    Document {
        bytes: out.freeze(),
        hash: hash.as_ref().iter().map(|byte| format!("{byte:02X}")).collect(),
    }
}
