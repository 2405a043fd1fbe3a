//! OpenAPI documents, which clients use for validation, `kubectl explain` and merging.
//!
//! Owns which documents exist and the cache of their bytes: built on first request, since they depend only on the release and the served
//! resources. Does not know their content.

mod connections;
mod custom;
mod facts;
mod operations;
mod parameters;
mod paths;
mod schemas;
mod texts;
mod version2;

use super::served;
use crate::kinds::{Api, Kind};
use crate::machinery::json;
use crate::protobuf::gnostic;
use bytes::{Bytes, BytesMut};
use jiff::Timestamp;
use parking_lot::Mutex;
use paths::{Answer, Told};
use ring::digest::{SHA512, digest};
use schemas::Schemas;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, OnceLock};

/// Maximum number of cached documents: enough for one release and many CustomResourceDefinitions. The v2 document takes some megabytes,
/// that of a definition some kilobytes.
const KEPT_MAX: usize = 1024;

/// The most recently built documents.
static KEPT: LazyLock<Mutex<Kept>> = LazyLock::new(Mutex::default);

/// Newest first.
type Kept = VecDeque<(Key, Arc<OpenApiDocument>)>;

/// Cache key: version of OpenAPI, release, path of the document, and its resources.
#[derive(Clone, PartialEq)]
struct Key {
    place: String,
    form: OpenApiVersion,
    release: String,
    rows: Vec<Kind>,
}

/// A version of OpenAPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenApiVersion {
    /// `/openapi/v2`: one document for all.
    Two,
    /// `/openapi/v3`: one document for each version of a group.
    Three,
}

/// A document, serialized.
pub(crate) struct OpenApiDocument {
    pub(crate) json: Bytes,
    /// SHA-512 of the JSON in hexadecimal digits; the ETag of both serializations.
    pub(crate) hash: String,
    pub(crate) made: Timestamp,
    form: OpenApiVersion,
    protobuf: OnceLock<Bytes>,
}

impl OpenApiDocument {
    fn new(form: OpenApiVersion, value: &Value) -> Self {
        let mut out = BytesMut::new();
        json::write(&mut out, value);
        let hash = digest(&SHA512, &out);
        Self {
            json: out.freeze(),
            hash: hash.as_ref().iter().map(|byte| format!("{byte:02X}")).collect(),
            made: Timestamp::now(),
            form,
            protobuf: OnceLock::new(),
        }
    }

    /// The document in protobuf, encoded on first use.
    pub(crate) fn protobuf(&self) -> Bytes {
        let made = self.protobuf.get_or_init(|| {
            let value = serde_json::from_slice(&self.json).unwrap_or_default();
            match self.form {
                OpenApiVersion::Two => gnostic::version2(&value),
                OpenApiVersion::Three => gnostic::version3(&value),
            }
        });
        made.clone()
    }
}

/// The path of a group version in the index: `api/v1`, `apis/GROUP/VERSION`.
pub(super) fn place(group: &str, version: &str) -> String {
    if group.is_empty() {
        format!("api/{version}")
    } else {
        format!("apis/{group}/{version}")
    }
}

/// All paths of the index.
pub(crate) fn places(api: &Api) -> Vec<String> {
    let mut places = ["api", "apis", "version"].map(str::to_owned).to_vec();
    for (group, version) in served::versions(api) {
        let of_group = format!("apis/{group}");
        // Groups of custom resources have documents only for their versions.
        let is_built_in = || {
            let mut kinds = api.catalogue.of_group(group);
            kinds.any(|kind| kind.defined().is_none())
        };
        if !group.is_empty() && is_built_in() && !places.contains(&of_group) {
            places.push(of_group);
        }
        places.push(place(group, version));
    }
    places.sort();
    places
}

/// The OpenAPI v3 document of a path.
pub(crate) fn document(place: &str, api: &Api) -> Option<Arc<OpenApiDocument>> {
    places(api).iter().any(|known| known == place).then(|| {
        let rows = rows(place, api);
        kept(OpenApiVersion::Three, place, &rows, api, || {
            made(place, &rows, api, OpenApiVersion::Three)
        })
    })
}

/// The OpenAPI v2 document, which covers all groups.
pub(crate) fn everything(api: &Api) -> Arc<OpenApiDocument> {
    let places = places(api);
    let rows: Vec<&Kind> = places.iter().flat_map(|place| rows(place, api)).collect();
    kept(OpenApiVersion::Two, "", &rows, api, || {
        let documents = places
            .iter()
            .map(|place| made(place, &self::rows(place, api), api, OpenApiVersion::Two));
        version2::from(documents)
    })
}

/// The resource definitions of the group version at a path.
fn rows<'a>(place: &str, api: &'a Api) -> Vec<&'a Kind> {
    let versions = served::versions(api);
    let home = versions
        .into_iter()
        .find(|(group, version)| self::place(group, version) == place);
    home.map_or(Vec::new(), |(group, version)| {
        served::of_group(group, version, api).collect()
    })
}

/// A document from the cache, or else a new one.
fn kept(
    form: OpenApiVersion,
    place: &str,
    rows: &[&Kind],
    api: &Api,
    make: impl FnOnce() -> Value,
) -> Arc<OpenApiDocument> {
    let key = Key {
        place: place.to_owned(),
        form,
        release: api.profile.release.to_string(),
        rows: rows.iter().map(|kind| (*kind).clone()).collect(),
    };
    let find = |kept: &Kept| {
        let found = kept.iter().find(|(known, _)| *known == key);
        found.map(|(_, document)| document.clone())
    };
    if let Some(found) = find(&KEPT.lock()) {
        return found;
    }
    // Concurrent requests may build the same document; the first one is cached.
    let made = Arc::new(OpenApiDocument::new(form, &make()));
    let mut kept = KEPT.lock();
    if let Some(found) = find(&kept) {
        return found;
    }
    kept.truncate(KEPT_MAX - 1);
    kept.push_front((key, made.clone()));
    made
}

fn made(place: &str, rows: &[&Kind], api: &Api, form: OpenApiVersion) -> Value {
    let mut schemas = Schemas::new(form == OpenApiVersion::Two);
    let paths: Map<String, Value> = match rows.first() {
        Some(row) => {
            let told = row.defined().is_none();
            let told = told.then(|| paths::of_resources(place, row.group, row.version, &mut schemas));
            let of_rows = rows.iter();
            let of_rows = of_rows.flat_map(|kind| paths::of_kind(place, kind, &mut schemas));
            told.into_iter()
                .collect::<Vec<_>>()
                .into_iter()
                .chain(of_rows)
                .collect()
        }
        None => [of_root(place, &mut schemas)].into_iter().collect(),
    };
    let mut components = json!({"securitySchemes": {"BearerToken": {
        "type": "apiKey", "in": "header", "name": "authorization", "description": "A bearer token.",
    }}});
    let schemas = schemas.finish();
    if !schemas.is_empty() {
        components["schemas"] = schemas.into();
    }
    json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": api.profile.release.to_string()},
        "paths": paths,
        "components": components,
    })
}

/// The only path of a document without resources.
fn of_root(place: &str, schemas: &mut Schemas) -> (String, Value) {
    let told = |operation: &str, tag, description, answer| Told {
        path: format!("/{place}/"),
        tag,
        operation: operation.to_owned(),
        description,
        answer,
    };
    let told = match place {
        "api" => told(
            "getCoreAPIVersions",
            "core",
            "tell which versions the core group has",
            Answer::Kind("APIVersions"),
        ),
        "apis" => told(
            "getAPIVersions",
            "apis",
            "list the groups",
            Answer::Kind("APIGroupList"),
        ),
        "version" => told(
            "getCodeVersion",
            "version",
            "tell what is running",
            Answer::Version,
        ),
        group => return paths::of_group(group.trim_start_matches("apis/"), schemas),
    };
    paths::of_discovery(&told, schemas)
}
