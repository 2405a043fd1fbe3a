//! Media types: what a client can read and what it has sent.
//!
//! Owns the lists of what is spoken here; a new encoding is a new entry.

use crate::kinds::{Kind, Part, Subresource};
use crate::machinery::document::Document;
use crate::machinery::status::Status;
use crate::machinery::{go, yaml};
use crate::observe::Verb;
use crate::protobuf::{self, MEDIA};
use crate::verbs::call::{Patch, Payload, Target};
use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::{ACCEPT, CONTENT_TYPE};
use serde_json::{Map, Value};

/// What single objects can be sent in, and what lists, which may be watched as well.
const REPRESENTATIONS: &str = BODIES;
const LISTS: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf, \
    application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
/// Media types that are spoken, in whatever form.
const SPOKEN: [&str; 4] = ["application/json", yaml::MEDIA, MEDIA, "*/*"];
/// What watches can be sent in.
const STREAMS: &str = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
/// What can be read.
const BODIES: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

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
    /// The object or list itself, in YAML.
    Yaml,
    /// The object or list itself, in protobuf.
    Protobuf,
    /// Metadata only, in protobuf.
    ProtobufMetadata(&'static str),
}

/// What may be answered to a request.
#[derive(Clone, Copy)]
pub(super) struct Offer {
    /// The answer is no object of the API, and is not refused for any `Accept`.
    pub(super) text: bool,
    /// The answer is a list, or events of one.
    pub(super) list: bool,
    /// The answer is one object.
    pub(super) one: bool,
    /// The answer lists what was deleted.
    pub(super) swept: bool,
    /// The answer is a stream, which YAML has no form for.
    pub(super) stream: bool,
    /// The kind of the objects that are asked for.
    pub(super) kind: Option<&'static Kind>,
}

impl Offer {
    /// The refusal of what a client wants: none of its media types is spoken, or none of their forms is.
    fn refuse(self, ranges: &[&str]) -> Status {
        let media = |range: &&str| range.split(';').next().unwrap_or_default().trim().to_owned();
        if ranges
            .iter()
            .map(media)
            .any(|media| SPOKEN.contains(&media.as_str()))
        {
            return Status::no_such_form(BODIES);
        }
        Status::not_acceptable(if self.list { LISTS } else { REPRESENTATIONS })
    }

    /// The refusal of a range that asks for the metadata of the other: of one object, or of a list.
    fn misfit(self, range: &str) -> Option<Status> {
        let is_list = self.list || self.swept;
        let kind = self.kind.filter(|_| self.one || (is_list && !self.stream))?;
        let wants_list = range.contains("as=PartialObjectMetadataList");
        let package = match kind.stored().group.split('.').next() {
            None | Some("") => "core",
            Some(package) => package,
        };
        let found = format!("*{package}.{}", kind.stored().kind);
        match (wants_list, is_list) {
            (true, false) => Some(Status::no_such_form_because(format!(
                "you requested PartialObjectMetadataList, but the requested object is not a list ({found})"
            ))),
            (false, true) => Some(Status::no_such_form_because(format!(
                "you requested PartialObjectMetadata, but the requested object is a list ({found}List)"
            ))),
            _ => None,
        }
    }

    /// Whether there is a protobuf form; custom resources have none.
    fn has_protobuf(self) -> bool {
        self.kind
            .is_none_or(|kind| protobuf::is_known(&kind.api_version(), kind.kind))
    }
}

/// How an answer is to be rendered.
pub(super) struct AnswerForm {
    pub(super) accept: Accept,
    /// The `includeObject` parameter, for tables.
    pub(super) include_object: String,
    pub(super) pretty: bool,
}

impl AnswerForm {
    /// Whether tables can have what they are to include.
    pub(super) fn check(&self) -> Result<(), Status> {
        let known = ["", "Metadata", "Object", "None"];
        let included = self.include_object.as_str();
        if !matches!(self.accept, Accept::Table(_)) || known.contains(&included) {
            return Ok(());
        }
        Err(Status::bad_request(format!(
            "Unable to convert to Table as requested: includeObject: Invalid value: {included:?}: must be 'Metadata', \
             'Object', 'None', or empty"
        )))
    }

    /// A number that only forms share that look the same.
    pub(super) fn number(&self) -> u8 {
        let beta = |version: &str| u8::from(version != "v1");
        let media = match self.accept {
            Accept::Json | Accept::Aggregated(_) => 0,
            Accept::Yaml => 1,
            Accept::Protobuf => 2,
            Accept::Table(version) => 3 + beta(version),
            Accept::Metadata(version) => 5 + beta(version),
            Accept::ProtobufMetadata(version) => 7 + beta(version),
        };
        let included = match self.include_object.as_str() {
            "None" => 1,
            "Object" => 2,
            _ => 0,
        };
        3 * media + included
    }
}

impl Accept {
    /// Picks the media range that the client likes best among those that are served: the greatest `q` first, and those
    /// without wildcards before those with them, as in the real server.
    ///
    /// What is refused is refused in the form that comes along with the reason.
    pub(super) fn parse(headers: &HeaderMap, offer: Offer) -> Result<Self, (Self, Status)> {
        if offer.text {
            return Ok(Self::Json);
        }
        let ranges = ranges(headers);
        if ranges.iter().all(|range| range.trim().is_empty()) {
            return Ok(Self::Json);
        }
        let chosen = ranges.iter().find_map(|range| Self::of(range.trim(), offer));
        chosen.ok_or_else(|| (Self::Json, offer.refuse(&ranges)))
    }

    /// The refusal of the metadata of one object where a list is asked for, or the other way round. It comes when all
    /// else has been judged.
    pub(super) fn misfit(self, headers: &HeaderMap, offer: Offer) -> Option<Status> {
        if !matches!(self, Self::Metadata(_) | Self::ProtobufMetadata(_)) {
            return None;
        }
        let ranges = ranges(headers);
        let chosen = |range: &&&str| Self::of(range.trim(), offer) == Some(self);
        offer.misfit(ranges.iter().find(chosen)?)
    }

    /// The refusal of a form that events cannot be sent in, if it is one. It comes when all else has been judged.
    pub(super) fn unstreamed(self) -> Option<Status> {
        (self == Self::Yaml).then(|| Status::no_such_form(STREAMS))
    }

    /// Whether the answer is in protobuf.
    pub(super) fn is_protobuf(self) -> bool {
        matches!(self, Self::Protobuf | Self::ProtobufMetadata(_))
    }

    fn of(range: &str, offer: Offer) -> Option<Self> {
        let mut parts = range.split(';').map(str::trim);
        let media = parts.next()?;
        if media == yaml::MEDIA && !parts.clone().any(|part| part.starts_with("as=")) {
            return Some(Self::Yaml);
        }
        let protobuf = media == MEDIA && offer.has_protobuf();
        if !protobuf && !["application/json", "*/*"].contains(&media) {
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
            ("", ..) if protobuf => Some(Self::Protobuf),
            ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1") if protobuf => {
                Some(Self::ProtobufMetadata("v1"))
            }
            ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1beta1") if protobuf => {
                Some(Self::ProtobufMetadata("v1beta1"))
            }
            // Tables and aggregated discovery come as JSON only.
            _ if protobuf => None,
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

/// The media ranges that a client takes, the one that it likes best first.
pub(super) fn ranges(headers: &HeaderMap) -> Vec<&str> {
    let mut ranges: Vec<&str> = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|v| v.to_str().ok())
        .flat_map(|v| v.split(','))
        .collect();
    // The sort is stable: otherwise the order of the client counts.
    ranges.sort_by(|one, other| preference(other).total_cmp(&preference(one)));
    ranges
}

/// How much a client likes a media range: its `q`, 1 where there is none and 0 where it is no number. Among equals,
/// wildcards come last.
fn preference(range: &str) -> f64 {
    let mut parts = range.split(';').map(str::trim);
    let wildcards = parts.next().map_or(0, |media| media.matches('*').count());
    let weight = parts.find_map(|part| part.strip_prefix("q="));
    let weight = weight.map_or(1.0, |text| text.trim().parse::<f64>().unwrap_or(0.0));
    let weight = if weight.is_finite() { weight } else { 0.0 };
    // Weights have three decimals, so this cannot turn one into another.
    weight - wildcards as f64 * 1e-6
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

/// What a body is for.
#[derive(Clone, Copy)]
pub(super) struct Purpose<'a> {
    pub(super) verb: Verb,
    pub(super) target: &'a Target,
}

/// Turns a body into what a verb takes.
pub(super) type Reader = fn(Purpose<'_>, &Bytes) -> Result<Payload, Status>;

/// What patches there are: media type, and how to read them.
const PATCHES: [(&str, Reader); 4] = [
    ("application/json-patch+json", |_, body| {
        Ok(patch(Patch::Json, body))
    }),
    ("application/merge-patch+json", |_, body| {
        Ok(patch(Patch::Merge, body))
    }),
    ("application/strategic-merge-patch+json", |_, body| {
        Ok(patch(Patch::Strategic, body))
    }),
    ("application/apply-patch+yaml", |_, body| Ok(apply(body))),
];

/// How the body of a request is read.
pub(super) fn reader(verb: Verb, media: &str) -> Result<Reader, Status> {
    match verb {
        // Some clients send a body type, or even an empty object, with requests that have no body.
        Verb::Get | Verb::List | Verb::Watch => Ok(|_, _| Ok(Payload::None)),
        Verb::Patch => match PATCHES.iter().find(|(known, _)| *known == media) {
            Some((_, reader)) => Ok(*reader),
            None => Err(Status::unsupported_patch("415: Unsupported Media Type")),
        },
        Verb::Create | Verb::Update | Verb::Delete | Verb::DeleteCollection => match media {
            "application/json" => Ok(|purpose, body| object(purpose, body, json)),
            yaml::MEDIA => Ok(|purpose, body| object(purpose, body, yaml)),
            MEDIA => Ok(protobuf_object),
            _ => Err(Status::unsupported_body(BODIES)),
        },
    }
}

/// Reads a body of JSON, or of YAML, which is read as JSON.
fn object(
    purpose: Purpose<'_>,
    body: &Bytes,
    parse: fn(&[u8]) -> Result<Document, String>,
) -> Result<Payload, Status> {
    if body.is_empty() && purpose.is_deletion() {
        return Ok(Payload::None);
    }
    let unrecognized = |why: String| match purpose.is_deletion() {
        true => Status::bad_request(why),
        false => Status::unrecognized(purpose.expected("").1, &why, body),
    };
    let mut document = parse(body).map_err(unrecognized)?;
    if document.value.is_null() {
        // An empty document is an object without members.
        document.value = Value::Object(Map::new());
    }
    match document.misfit() {
        Some(why) => Err(unrecognized(format!(
            "couldn't get version/kind; json parse error: {why}"
        ))),
        None => Ok(Payload::Object(document)),
    }
}

/// Reads JSON for an object.
fn json(body: &[u8]) -> Result<Document, String> {
    Document::parse(body).map_err(|why| format!("couldn't get version/kind; json parse error: {why}"))
}

/// Reads YAML for an object: the first of its documents.
fn yaml(body: &[u8]) -> Result<Document, String> {
    let end = body
        .windows(4)
        .position(|window| window == b"\n---")
        .map_or(body.len(), |at| at + 1);
    // What begins with the mark is the first document all the same.
    yaml::parse(&body[..end]).map_err(|why| {
        why.trim_start_matches("error converting YAML to JSON: ")
            .to_owned()
    })
}

fn protobuf_object(purpose: Purpose<'_>, body: &Bytes) -> Result<Payload, Status> {
    if body.is_empty() && purpose.is_deletion() {
        return Ok(Payload::None);
    }
    let version = purpose.target.kind.api_version();
    let expected = purpose.expected(&version);
    Ok(Payload::Object(protobuf::decode(body, expected)?.into()))
}

impl Purpose<'_> {
    /// Version and kind of the body; subresources have bodies of types of their own, which must say which.
    fn expected(self, version: &str) -> (&str, &'static str) {
        match self.target.part {
            _ if self.is_deletion() => ("v1", "DeleteOptions"),
            Part::Main | Part::Status | Part::Sub(Subresource::Approval) => (version, self.target.kind.kind),
            Part::Sub(Subresource::Scale) => ("autoscaling/v1", "Scale"),
            Part::Sub(_) => ("", ""),
        }
    }

    /// Whether the body holds options, which may be missing.
    fn is_deletion(self) -> bool {
        matches!(self.verb, Verb::Delete | Verb::DeleteCollection)
    }
}

/// Reads the document of a server-side apply: YAML, of which JSON is the simplest.
///
/// A body that cannot be read is reported later: other faults of the request come first.
fn apply(body: &Bytes) -> Payload {
    let parsed = Document::parse(body).or_else(|_| yaml::parse(body));
    let document = parsed.and_then(|document| match document.value {
        Value::Object(_) | Value::Null => Ok(document),
        _ => Err(format!(
            "error unmarshaling JSON: while decoding JSON: {}",
            go::cannot_unmarshal(document.form(), "value of type map[string]interface {}")
        )),
    });
    Payload::Apply(document.map(|document| match document.duplicates.as_slice() {
        [] => document,
        _ => Document {
            duplicates: yaml::first_duplicate(body).into_iter().collect(),
            ..document
        },
    }))
}

/// Reads a patch. One that cannot be read is reported later, too.
fn patch(style: Patch, body: &Bytes) -> Payload {
    Payload::Patch(style, Document::parse(body))
}
