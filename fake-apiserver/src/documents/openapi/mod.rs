//! OpenAPI documents, which clients use for validation, `kubectl explain` and merging.
//!
//! Owns which documents exist, and the cache of serialized documents. A document depends only on the release and the served resources, and
//! is built on the first request. Does not know the content of documents.

mod connections;
mod custom;
mod facts;
mod operations;
mod parameters;
mod paths;
mod schemas;
mod texts;

use super::served;
use crate::kinds::{Api, Kind};
use crate::machinery::json;
use crate::plugin::OpenApiEncoders;
use bytes::{Bytes, BytesMut};
use jiff::Timestamp;
use parking_lot::Mutex;
use paths::{DiscoveryPath, ResponseSchema};
use ring::digest::{SHA512, digest};
use schemas::Schemas;
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use std::sync::{Arc, LazyLock, OnceLock};

/// Maximum number of cached documents: enough for one release and many CustomResourceDefinitions. The v2 document takes some megabytes, the
/// document of a CustomResourceDefinition some kilobytes.
const CACHE_MAX: usize = 1024;

static CACHE: LazyLock<Mutex<Cache>> = LazyLock::new(Mutex::default);

/// Cached OpenAPI documents, newest first.
type Cache = VecDeque<(Key, Arc<OpenApiDocument>)>;

/// Cache key: OpenAPI version, release, path of the document, and the resources in the document.
#[derive(Clone, PartialEq)]
struct Key {
    group_path: String,
    form: OpenApiVersion,
    release: String,
    kinds: Vec<Kind>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OpenApiVersion {
    /// `/openapi/v2`: one document for all groups.
    Two,
    /// `/openapi/v3`: one document per group version.
    Three,
}

/// A serialized OpenAPI document, with its ETag.
pub(crate) struct OpenApiDocument {
    pub(crate) json: Bytes,
    /// SHA-512 of the JSON as hexadecimal digits; the ETag of both the JSON and the protobuf form.
    pub(crate) hash: String,
    pub(crate) made: Timestamp,
    protobuf: OnceLock<Bytes>,
}

impl OpenApiDocument {
    fn new(value: &Value) -> Self {
        let mut out = BytesMut::new();
        json::write(&mut out, value);
        let hash = digest(&SHA512, &out);
        Self {
            json: out.freeze(),
            hash: hash.as_ref().iter().map(|byte| format!("{byte:02X}")).collect(),
            made: Timestamp::now(),
            protobuf: OnceLock::new(),
        }
    }

    /// The OpenAPI document in protobuf, encoded on first use.
    pub(crate) fn protobuf(&self, encode: fn(&Value) -> Vec<u8>) -> Bytes {
        let made = self.protobuf.get_or_init(|| {
            let value = serde_json::from_slice(&self.json).unwrap_or_default();
            encode(&value).into()
        });
        made.clone()
    }
}

/// The path of a group version in the OpenAPI v3 index: `api/v1`, `apis/GROUP/VERSION`.
pub(super) fn group_path(group: &str, version: &str) -> String {
    if group.is_empty() {
        format!("api/{version}")
    } else {
        format!("apis/{group}/{version}")
    }
}

/// The paths in the OpenAPI v3 index, such as `apis/apps/v1`.
pub(crate) fn group_paths(api: &Api) -> Vec<String> {
    let mut group_paths = ["api", "apis", "version"].map(str::to_owned).to_vec();
    for (group, version) in served::versions(api) {
        let of_group = format!("apis/{group}");
        // A group with custom resources only has no `apis/GROUP` document, only one document per version.
        let is_built_in = || {
            let mut kinds = api.catalogue.of_group(group);
            kinds.any(|kind| kind.defined().is_none())
        };
        if !group.is_empty() && is_built_in() && !group_paths.contains(&of_group) {
            group_paths.push(of_group);
        }
        group_paths.push(group_path(group, version));
    }
    group_paths.sort();
    group_paths
}

pub(crate) fn v3_document(group_path: &str, api: &Api) -> Option<Arc<OpenApiDocument>> {
    group_paths(api).iter().any(|known| known == group_path).then(|| {
        let kinds = kinds(group_path, api);
        cached(OpenApiVersion::Three, group_path, &kinds, api, || {
            build(group_path, &kinds, api, OpenApiVersion::Three)
        })
    })
}

pub(crate) fn v2_document(api: &Api, forms: &OpenApiEncoders) -> Arc<OpenApiDocument> {
    let group_paths = group_paths(api);
    let kinds: Vec<&Kind> = group_paths.iter().flat_map(|path| kinds(path, api)).collect();
    cached(OpenApiVersion::Two, "", &kinds, api, || {
        let mut documents = group_paths
            .iter()
            .map(|path| build(path, &self::kinds(path, api), api, OpenApiVersion::Two));
        (forms.version2)(&mut documents)
    })
}

fn kinds<'a>(group_path: &str, api: &'a Api) -> Vec<&'a Kind> {
    let versions = served::versions(api);
    let home = versions
        .into_iter()
        .find(|(group, version)| self::group_path(group, version) == group_path);
    home.map_or(Vec::new(), |(group, version)| {
        served::kinds_of_version(group, version, api).collect()
    })
}

/// Returns the cached OpenAPI document, or builds and caches a new one.
fn cached(
    form: OpenApiVersion,
    group_path: &str,
    kinds: &[&Kind],
    api: &Api,
    make: impl FnOnce() -> Value,
) -> Arc<OpenApiDocument> {
    let key = Key {
        group_path: group_path.to_owned(),
        form,
        release: api.profile.release.to_string(),
        kinds: kinds.iter().map(|kind| (*kind).clone()).collect(),
    };
    let find = |cache: &Cache| {
        let found = cache.iter().find(|(known, _)| *known == key);
        found.map(|(_, document)| document.clone())
    };
    if let Some(found) = find(&CACHE.lock()) {
        return found;
    }
    // Concurrent requests may build the same OpenAPI document; the first finished one is cached.
    let made = Arc::new(OpenApiDocument::new(&make()));
    let mut cache = CACHE.lock();
    if let Some(found) = find(&cache) {
        return found;
    }
    cache.truncate(CACHE_MAX - 1);
    cache.push_front((key, made.clone()));
    made
}

fn build(group_path: &str, kinds: &[&Kind], api: &Api, form: OpenApiVersion) -> Value {
    let mut schemas = Schemas::new(form == OpenApiVersion::Two);
    let paths: Map<String, Value> = match kinds.first() {
        Some(first) => {
            let is_built_in = first.defined().is_none();
            let resource_list = is_built_in
                .then(|| paths::resource_list_path(group_path, first.group, first.version, &mut schemas));
            let of_kinds = kinds.iter();
            let of_kinds = of_kinds.flat_map(|kind| paths::resource_paths(group_path, kind, &mut schemas));
            resource_list.into_iter().chain(of_kinds).collect()
        }
        None => [root_document_path(group_path, &mut schemas)]
            .into_iter()
            .collect(),
    };
    let mut components = json!({"securitySchemes": {"BearerToken": {
        "type": "apiKey", "in": "header", "name": "authorization", "description": "A bearer token.",
    }}});
    let schemas = schemas.into_schemas();
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

/// The only path in the documents `api`, `apis`, `version` and `apis/GROUP`, which describe discovery.
fn root_document_path(group_path: &str, schemas: &mut Schemas) -> (String, Value) {
    let discovery = |operation: &str, tag, description, answer| DiscoveryPath {
        path: format!("/{group_path}/"),
        tag,
        operation: operation.to_owned(),
        description,
        answer,
    };
    let path = match group_path {
        "api" => discovery(
            "getCoreAPIVersions",
            "core",
            "list the versions of the core group",
            ResponseSchema::Kind("APIVersions"),
        ),
        "apis" => discovery(
            "getAPIVersions",
            "apis",
            "list the groups",
            ResponseSchema::Kind("APIGroupList"),
        ),
        "version" => discovery(
            "getCodeVersion",
            "version",
            "get the version of the server",
            ResponseSchema::Version,
        ),
        group => return paths::version_list_path(group.trim_start_matches("apis/"), schemas),
    };
    paths::discovery_path(&path, schemas)
}
