//! Media types: what a client can read and what it has sent.
//!
//! Owns the lists of what is spoken here; a new encoding is a new entry.

use crate::call::{Patch, Payload};
use crate::observe::Verb;
use crate::status::Status;
use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::{ACCEPT, CONTENT_TYPE};

/// What can be sent.
const REPRESENTATIONS: &str = "application/json, application/json;stream=watch";
/// What can be read.
const BODIES: &str = "application/json";

/// The form of an answer that the client prefers among those served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Accept {
    /// The object or list itself.
    #[default]
    Json,
    /// A table, in `v1` or `v1beta1` of meta.k8s.io.
    Table(&'static str),
    /// Metadata only.
    Metadata(&'static str),
    /// Aggregated discovery, in `v2` or `v2beta1` of apidiscovery.k8s.io.
    Aggregated(&'static str),
}

/// How an answer is to be rendered.
pub(super) struct Form {
    pub(super) accept: Accept,
    /// The `includeObject` parameter, for tables.
    pub(super) include_object: String,
    pub(super) pretty: bool,
}

impl Accept {
    /// Picks the first media range that is served.
    pub(super) fn parse(headers: &HeaderMap, any: bool) -> Result<Self, Status> {
        let ranges: Vec<&str> = headers
            .get_all(ACCEPT)
            .iter()
            .filter_map(|v| v.to_str().ok())
            .flat_map(|v| v.split(','))
            .collect();
        if ranges.is_empty() || any {
            return Ok(Self::Json);
        }
        let chosen = ranges.iter().find_map(|range| Self::of(range.trim()));
        chosen.ok_or_else(|| Status::not_acceptable(REPRESENTATIONS))
    }

    fn of(range: &str) -> Option<Self> {
        let mut parts = range.split(';').map(str::trim);
        let media = parts.next()?;
        if !["application/json", "application/*", "*/*"].contains(&media) {
            return None;
        }
        let parameters: Vec<(&str, &str)> = parts.filter_map(|part| part.split_once('=')).collect();
        let get = |name: &str| {
            parameters
                .iter()
                .find(|(key, _)| *key == name)
                .map_or("", |(_, value)| *value)
        };
        match (get("as"), get("g"), get("v")) {
            ("", ..) => Some(Self::Json),
            ("Table", "meta.k8s.io", "v1") => Some(Self::Table("v1")),
            ("Table", "meta.k8s.io", "v1beta1") => Some(Self::Table("v1beta1")),
            ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1") => {
                Some(Self::Metadata("v1"))
            }
            ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1beta1") => {
                Some(Self::Metadata("v1beta1"))
            }
            ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2") => Some(Self::Aggregated("v2")),
            ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2beta1") => Some(Self::Aggregated("v2beta1")),
            _ => None,
        }
    }
}

/// The media type of a request body; JSON where the client does not say.
pub(super) fn content_type(headers: &HeaderMap) -> String {
    let text = headers
        .get(CONTENT_TYPE)
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default();
    let media = text.split(';').next().unwrap_or_default().trim();
    if media.is_empty() {
        "application/json".to_owned()
    } else {
        media.to_ascii_lowercase()
    }
}

/// Turns a body into what a verb takes.
pub(super) type Reader = fn(Verb, &Bytes) -> Result<Payload, Status>;

/// What patches there are: media type, and how to read them or why not.
const PATCHES: [(&str, Result<Reader, &str>); 4] = [
    (
        "application/json-patch+json",
        Ok(|_, body| patch(Patch::Json, body)),
    ),
    (
        "application/merge-patch+json",
        Ok(|_, body| patch(Patch::Merge, body)),
    ),
    (
        "application/strategic-merge-patch+json",
        Err("strategic merge patches are not supported here yet; send application/merge-patch+json"),
    ),
    (
        "application/apply-patch+yaml",
        Err("server-side apply is not supported here yet; send application/merge-patch+json"),
    ),
];

/// How the body of a request is read.
pub(super) fn reader(verb: Verb, media: &str) -> Result<Reader, Status> {
    match verb {
        // Some clients send a body type, or even an empty object, with requests that have no body.
        Verb::Get | Verb::List | Verb::Watch => Ok(|_, _| Ok(Payload::None)),
        Verb::Patch => match PATCHES.iter().find(|(known, _)| *known == media) {
            Some((_, Ok(reader))) => Ok(*reader),
            Some((_, Err(why))) => Err(Status::unsupported_patch(*why)),
            None => Err(Status::unsupported_patch("415: Unsupported Media Type")),
        },
        Verb::Create | Verb::Update | Verb::Delete | Verb::DeleteCollection => match media {
            "application/json" => Ok(object),
            "application/vnd.kubernetes.protobuf" => Err(Status::failure(
                415,
                "UnsupportedMediaType",
                "protobuf bodies are not supported here yet; send application/json",
            )),
            _ => Err(Status::unsupported_body(BODIES)),
        },
    }
}

fn object(verb: Verb, body: &Bytes) -> Result<Payload, Status> {
    let optional = matches!(verb, Verb::Delete | Verb::DeleteCollection);
    if body.is_empty() && optional {
        return Ok(Payload::None);
    }
    Ok(Payload::Object(Payload::json(body)?))
}

fn patch(style: Patch, body: &Bytes) -> Result<Payload, Status> {
    Ok(Payload::Patch(style, Payload::json(body)?))
}
