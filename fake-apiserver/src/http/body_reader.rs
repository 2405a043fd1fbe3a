//! Decoding of request bodies by media type: JSON, YAML, protobuf, and the four patch types.
//!
//! Owns which verb accepts which media type. API types are decoded by `verbs::decode`.

use crate::kinds::{Kind, Part, request_kind};
use crate::machinery::document::{Document, type_meta_error};
use crate::machinery::status::Status;
use crate::machinery::{go, yaml};
use crate::protobuf::{self, MEDIA};
use crate::request::Verb;
use crate::verbs::call::{Patch, Payload, Target};
use bytes::Bytes;
use hyper::HeaderMap;
use hyper::header::CONTENT_TYPE;
use serde_json::{Map, Value};

/// Media types accepted for objects of built-in types in request bodies.
pub(super) const BODIES: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// A media type without its parameters.
pub(super) fn media_type(text: &str) -> &str {
    text.split(';').next().unwrap_or_default().trim()
}

/// The media type of a request body; JSON if the header is missing.
pub(super) fn content_type(headers: &HeaderMap) -> String {
    let text = headers
        .get(CONTENT_TYPE)
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default();
    let media = media_type(text);
    if media.is_empty() {
        "application/json".to_owned()
    } else {
        media.to_ascii_lowercase()
    }
}

#[derive(Clone, Copy)]
pub(super) struct BodyContext<'a> {
    pub(super) verb: Verb,
    pub(super) target: &'a Target,
}

/// A function that decodes a body into the payload of a verb.
type Reader = fn(BodyContext<'_>, &Bytes) -> Result<Payload, Status>;

/// Media types accepted for objects of custom resources in request bodies.
const UNTYPED: &str = "application/json, application/yaml";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

const PATCHES: [(&str, Reader); 4] = [
    ("application/json-patch+json", |_, body| {
        Ok(patch(Patch::Json, body))
    }),
    ("application/merge-patch+json", |_, body| {
        Ok(patch(Patch::Merge, body))
    }),
    (STRATEGIC, |_, body| Ok(patch(Patch::Strategic, body))),
    ("application/apply-patch+yaml", |_, body| Ok(parse_apply(body))),
];

/// The decoder of a request body; `None` if the verb has no body.
pub(super) fn reader(verb: Verb, media: &str, kind: &Kind) -> Result<Option<Reader>, Status> {
    if kind.defined().is_some() {
        reject_typed_media(verb, media)?;
    }
    let reader: Reader = match verb {
        // Some clients send a Content-Type, or even an empty object, with requests that have no body.
        Verb::Get | Verb::List | Verb::Watch => return Ok(None),
        Verb::Patch => match PATCHES.iter().find(|(known, _)| *known == media) {
            Some((_, reader)) => *reader,
            None => return Err(Status::unsupported_patch("415: Unsupported Media Type")),
        },
        Verb::Create | Verb::Update | Verb::Delete | Verb::DeleteCollection => match media {
            "application/json" => |purpose, body| decode_object(purpose, body, json),
            yaml::MEDIA => |purpose, body| decode_object(purpose, body, yaml),
            MEDIA => protobuf_object,
            _ => return Err(Status::unsupported_body(BODIES)),
        },
    };
    Ok(Some(reader))
}

/// Rejects media types that require a built-in type: custom resources support neither protobuf nor strategic merge patch.
fn reject_typed_media(verb: Verb, media: &str) -> Result<(), Status> {
    let patches: Vec<&str> = PATCHES
        .iter()
        .map(|(known, _)| *known)
        .filter(|known| *known != STRATEGIC)
        .collect();
    match verb {
        Verb::Patch if !patches.contains(&media) => Err(Status::unsupported_body(&patches.join(", "))),
        Verb::Create | Verb::Update if media == MEDIA => Err(Status::unsupported_body(UNTYPED)),
        _ => Ok(()),
    }
}

/// Reads an object from a JSON or YAML body.
fn decode_object(
    purpose: BodyContext<'_>,
    body: &Bytes,
    parse: fn(&Bytes) -> Result<Document, String>,
) -> Result<Payload, Status> {
    if body.is_empty() && purpose.is_deletion() {
        return Ok(Payload::None);
    }
    let unrecognized = |why: String| match purpose.is_deletion() {
        true => Status::bad_request(why),
        false => Status::unrecognized(purpose.expected_type().1, &why, body),
    };
    let mut document = parse(body).map_err(unrecognized)?;
    if document.value.is_null() {
        // A body that contains only `null` or an empty YAML document counts as an empty object.
        document.value = Value::Object(Map::new());
    }
    match type_meta_error(&document.value) {
        Some(why) => Err(unrecognized(format!(
            "couldn't get version/kind; json parse error: {why}"
        ))),
        None => Ok(Payload::Object(document)),
    }
}

fn json(body: &Bytes) -> Result<Document, String> {
    let parsed = Document::parse(body);
    let document = parsed.map_err(|why| format!("couldn't get version/kind; json parse error: {why}"))?;
    Ok(Document {
        source: Some(body.clone()),
        ..document
    })
}

/// Parses the first document of a YAML body.
fn yaml(body: &Bytes) -> Result<Document, String> {
    let end = body
        .windows(4)
        .position(|window| window == b"\n---")
        .map_or(body.len(), |at| at + 1);
    // A leading `---` does not end the first YAML document.
    yaml::parse(&body[..end]).map_err(|why| {
        why.trim_start_matches("error converting YAML to JSON: ")
            .to_owned()
    })
}

fn protobuf_object(purpose: BodyContext<'_>, body: &Bytes) -> Result<Payload, Status> {
    if body.is_empty() && purpose.is_deletion() {
        return Ok(Payload::None);
    }
    let (version, kind) = purpose.expected_type();
    Ok(Payload::Object(protobuf::decode(body, (&version, kind))?.into()))
}

impl BodyContext<'_> {
    /// The `apiVersion` and `kind` that the request body is expected to have.
    fn expected_type(self) -> (String, &'static str) {
        let own = &self.target.kind;
        let kind = match self.target.part {
            _ if self.is_deletion() => return ("v1".to_owned(), "DeleteOptions"),
            Part::Main | Part::Status => own,
            Part::Sub(sub) => request_kind(sub).unwrap_or(own),
        };
        (kind.api_version(), kind.kind)
    }

    /// Whether the request body is a `DeleteOptions`, which is optional.
    fn is_deletion(self) -> bool {
        matches!(self.verb, Verb::Delete | Verb::DeleteCollection)
    }
}

/// Parses the body of a server-side apply as YAML, of which JSON is a subset.
///
/// A parse error is reported later, because other errors of the request take precedence.
fn parse_apply(body: &Bytes) -> Payload {
    let parsed = Document::parse(body).or_else(|_| yaml::parse(body));
    let document = parsed.and_then(|document| match document.value {
        Value::Object(_) | Value::Null => Ok(document),
        _ => Err(format!(
            "error unmarshaling JSON: while decoding JSON: {}",
            go::cannot_unmarshal(document.json_type(), "value of type map[string]interface {}")
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

/// Parses a patch. A parse error is reported later, because other errors of the request take precedence.
fn patch(style: Patch, body: &Bytes) -> Payload {
    Payload::Patch(style, Document::parse(body))
}
