//! Content negotiation: selects the form of a response by the `Accept` header.
//!
//! Owns the lists of served media types; a new encoding requires only a new entry. Media types of request bodies are in `body_reader`.

use super::body_reader::{BODIES, media_type};
use crate::kinds::Kind;
use crate::machinery::status::Status;
use crate::machinery::yaml;
use crate::protobuf::{self, MEDIA};
use hyper::HeaderMap;
use hyper::header::ACCEPT;

/// Media types in which single objects are served.
const REPRESENTATIONS: &str = BODIES;

pub(super) const JSON: &str = "application/json";

const LISTS: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf, \
    application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

const LOGS: &str = "text/plain, application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// Media types with at least one served response form.
const SUPPORTED_TYPES: [&str; 4] = ["application/json", yaml::MEDIA, MEDIA, "*/*"];

/// Media types in which watches are served.
const STREAMS: &str = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";

/// The response form that the client prefers among the served forms, such as JSON or a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Accept {
    #[default]
    Json,
    /// A table, in `v1` or `v1beta1` of meta.k8s.io.
    Table(&'static str),
    /// Only the metadata of the object or of the list items, as JSON.
    Metadata(&'static str),
    /// Aggregated discovery, in `v2` or `v2beta1` of apidiscovery.k8s.io.
    Aggregated(&'static str),
    Yaml,
    Protobuf,
    /// Only the metadata of the object or of the list items, as protobuf.
    ProtobufMetadata(&'static str),
}

/// A response that is not an API object. Each variant has its own 406 message, as in kube-apiserver.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Document {
    /// Text that is served for any `Accept` header.
    Text,
    /// A document that is served only in the given media type.
    One(&'static str),
    /// The discovery document at `/apis` or `/apis/GROUP`.
    Groups,
    /// The discovery document at `/api`, or the resources of a group version.
    Resources,
    /// The log of a pod: served as text. Errors are served in all forms.
    Log,
    /// A proxied connection, whose backend determines the media types.
    Connection,
}

#[derive(Clone, Copy)]
pub(super) struct AvailableForms<'a> {
    /// The document that the response contains, if it is not an API object.
    pub(super) document: Option<Document>,
    /// Whether the response is available as aggregated discovery.
    pub(super) aggregated: bool,
    /// Whether the response is a list or a watch.
    pub(super) list: bool,
    /// Whether the response is a single object.
    pub(super) one: bool,
    /// Whether the response is the list of objects that a deletecollection deleted.
    pub(super) swept: bool,
    /// Whether the response is a watch stream, which is not available as YAML.
    pub(super) stream: bool,
    /// The requested resource; `None` for non-resource paths.
    pub(super) kind: Option<&'a Kind>,
}

impl AvailableForms<'_> {
    /// The 406 for a client that accepts none of the served media types or forms.
    fn refuse(self, ranges: &[&str]) -> Status {
        match self.document {
            Some(Document::One(media)) => return Status::not_acceptable(media),
            Some(Document::Groups) => return Status::no_accepted_media_type(BODIES),
            Some(Document::Log) if ranges.iter().any(|range| media_type(range) == "text/plain") => {
                return Status::no_accepted_media_type(BODIES);
            }
            _ => {}
        }
        if ranges
            .iter()
            .any(|range| SUPPORTED_TYPES.contains(&media_type(range)))
        {
            return Status::no_accepted_media_type(BODIES);
        }
        Status::not_acceptable(match self.document {
            Some(Document::Log) => LOGS,
            _ if self.list => LISTS,
            _ => REPRESENTATIONS,
        })
    }

    /// The 406 for a media range that requests `PartialObjectMetadataList` where the response is a single object, or the reverse.
    fn metadata_mismatch(self, range: &str) -> Option<Status> {
        let is_list = self.list || self.swept;
        let kind = self.kind.filter(|_| self.one || (is_list && !self.stream))?;
        let wants_list = range.contains("as=PartialObjectMetadataList");
        let package = match kind.in_storage_version().group.split('.').next() {
            None | Some("") => "core",
            Some(package) => package,
        };
        let found = format!("*{package}.{}", kind.in_storage_version().kind);
        match (wants_list, is_list) {
            (true, false) => Some(Status::not_acceptable_because(format!(
                "you requested PartialObjectMetadataList, but the requested object is not a list ({found})"
            ))),
            (false, true) => Some(Status::not_acceptable_because(format!(
                "you requested PartialObjectMetadata, but the requested object is a list ({found}List)"
            ))),
            _ => None,
        }
    }

    /// The 406 for a request for a table, if the kind is not stored and has no columns.
    fn table_unavailable(self) -> Option<Status> {
        let kind = self.kind.filter(|kind| kind.unstored.is_some())?;
        let (group, plural) = (kind.group, kind.plural);
        Some(Status::not_acceptable_because(format!(
            "the resource {plural}.{group} does not support being converted to a Table"
        )))
    }

    /// Whether objects of the kind are available as protobuf; custom resources are not.
    fn has_protobuf(self) -> bool {
        self.kind
            .is_none_or(|kind| kind.defined().is_none() && protobuf::is_known(&kind.api_version(), kind.kind))
    }
}

pub(super) struct ResponseForm {
    pub(super) accept: Accept,
    /// The `includeObject` parameter of the request, for tables.
    pub(super) include_object: String,
    pub(super) pretty: bool,
}

impl ResponseForm {
    pub(super) fn validate_include_object(&self) -> Result<(), Status> {
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

    /// An id of the response form: two forms have the same id only if they serialize an object to the same bytes.
    pub(super) fn id(&self) -> u8 {
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
    /// Selects the form of the most preferred served media range: ranges with a higher `q` first, then ranges without wildcards, as in
    /// kube-apiserver.
    ///
    /// The error contains the 406 response and the form in which to send it.
    pub(super) fn parse(headers: &HeaderMap, forms: AvailableForms<'_>) -> Result<Self, (Self, Status)> {
        if forms.document == Some(Document::Text) {
            return Ok(Self::Json);
        }
        let ranges = ranges(headers);
        if ranges.iter().all(|range| range.trim().is_empty()) {
            return Ok(Self::Json);
        }
        let chosen = ranges.iter().find_map(|range| Self::of(range.trim(), forms));
        if forms.document == Some(Document::Connection) {
            return Ok(chosen.unwrap_or_default());
        }
        if let Some(Document::One(only)) = forms.document {
            // The only media type of the document is served even if the client prefers another one. Errors are served in all forms.
            let takes_it = ranges
                .iter()
                .any(|range| [only, "*/*"].contains(&media_type(range)));
            return match takes_it {
                true => Ok(Self::Json),
                false => Err((chosen.unwrap_or_default(), forms.refuse(&ranges))),
            };
        }
        chosen.ok_or_else(|| (Self::Json, forms.refuse(&ranges)))
    }

    /// The 406 for list metadata of an object, object metadata of a list, or a table of a kind without columns. Checked after other errors.
    pub(super) fn form_mismatch(self, headers: &HeaderMap, forms: AvailableForms<'_>) -> Option<Status> {
        if let Self::Table(_) = self {
            return forms.table_unavailable();
        }
        if !matches!(self, Self::Metadata(_) | Self::ProtobufMetadata(_)) {
            return None;
        }
        let ranges = ranges(headers);
        let chosen = |range: &&&str| Self::of(range.trim(), forms) == Some(self);
        forms.metadata_mismatch(ranges.iter().find(chosen)?)
    }

    /// The 406 for a watch whose requested form is not available as a stream. Checked after all other errors.
    pub(super) fn stream_unavailable(self) -> Option<Status> {
        (self == Self::Yaml).then(|| Status::no_accepted_media_type(STREAMS))
    }

    pub(super) fn is_protobuf(self) -> bool {
        matches!(self, Self::Protobuf | Self::ProtobufMetadata(_))
    }

    fn of(range: &str, forms: AvailableForms<'_>) -> Option<Self> {
        let mut parts = range.split(';').map(str::trim);
        let media = parts.next()?;
        if media == yaml::MEDIA && !parts.clone().any(|part| part.starts_with("as=")) {
            return Some(Self::Yaml);
        }
        let protobuf = media == MEDIA && forms.has_protobuf();
        if !protobuf && ![JSON, "*/*"].contains(&media) {
            return None;
        }
        match (
            parameter(range, "as"),
            parameter(range, "g"),
            parameter(range, "v"),
        ) {
            ("", ..) if protobuf => Some(Self::Protobuf),
            ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1") if protobuf => {
                Some(Self::ProtobufMetadata("v1"))
            }
            ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1beta1") if protobuf => {
                Some(Self::ProtobufMetadata("v1beta1"))
            }
            // Tables and aggregated discovery are served as JSON only.
            _ if protobuf => None,
            ("", ..) => Some(Self::Json),
            ("APIGroupDiscoveryList", ..) if !forms.aggregated => None,
            ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2") => Some(Self::Aggregated("v2")),
            ("APIGroupDiscoveryList", "apidiscovery.k8s.io", "v2beta1") => Some(Self::Aggregated("v2beta1")),
            _ if forms.document.is_some() => None,
            ("Table", "meta.k8s.io", "v1") => Some(Self::Table("v1")),
            ("Table", "meta.k8s.io", "v1beta1") => Some(Self::Table("v1beta1")),
            ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1") => {
                Some(Self::Metadata("v1"))
            }
            ("PartialObjectMetadata" | "PartialObjectMetadataList", "meta.k8s.io", "v1beta1") => {
                Some(Self::Metadata("v1beta1"))
            }
            _ => None,
        }
    }
}

/// The value of a parameter of a media range; empty if the parameter is missing.
pub(super) fn parameter<'r>(range: &'r str, name: &str) -> &'r str {
    let mut parts = range
        .split(';')
        .skip(1)
        .filter_map(|part| part.trim().split_once('='));
    parts.find(|(key, _)| *key == name).map_or("", |(_, value)| value)
}

/// The media ranges of all `Accept` headers, most preferred first.
pub(super) fn ranges(headers: &HeaderMap) -> Vec<&str> {
    let mut ranges: Vec<&str> = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|v| v.to_str().ok())
        .flat_map(|v| v.split(','))
        .collect();
    // The sort is stable: equally preferred ranges remain in the client's order.
    ranges.sort_by(|one, other| preference(other).total_cmp(&preference(one)));
    ranges
}

/// Preference of a media range: its `q`, 1 if missing and 0 if not a number. Among equals, ranges with wildcards come
/// last.
fn preference(range: &str) -> f64 {
    let mut parts = range.split(';').map(str::trim);
    let wildcards = parts.next().map_or(0, |media| media.matches('*').count());
    let weight = parts.find_map(|part| part.strip_prefix("q="));
    let weight = weight.map_or(1.0, |text| text.trim().parse::<f64>().unwrap_or(0.0));
    let weight = if weight.is_finite() { weight } else { 0.0 };
    // `q` has three decimals, so the deduction for wildcards does not reorder ranges with different `q`.
    weight - wildcards as f64 * 1e-6
}
