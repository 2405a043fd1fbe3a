//! OpenAPI v3 operations.
//!
//! Owns the operations with their parameters and bodies. Does not know paths or the schemas of types.

use super::parameters::{DELETING, LISTING, PATCHING, SELECTING, WRITING, parameter};
use super::schemas::Schemas;
use crate::kinds::Kind;
use crate::machinery::yaml;
use crate::protobuf;
use serde_json::{Map, Value, json};

/// What an OpenAPI operation does: its Kubernetes verb, HTTP method, parameters and bodies.
pub(super) struct Action {
    /// The verb in discovery documents, such as `deletecollection`.
    pub(super) verb: &'static str,
    method: &'static str,
    /// The value of `x-kubernetes-action`.
    name: &'static str,
    /// The prefix of operation IDs, such as `read` or `replace`.
    word: &'static str,
    parameters: &'static [&'static str],
    sends: Content,
    returns: Content,
    /// HTTP status codes of success, with their descriptions.
    codes: &'static [(&'static str, &'static str)],
}

/// The type of a request or response body of an API operation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Content {
    None,
    Object,
    List,
    Patch,
    Options,
    Status,
    /// The deleted object, or a Status.
    Deleted,
    Event,
}

pub(super) const OK: (&str, &str) = ("200", "OK");
const CREATED: (&str, &str) = ("201", "Created");
const ACCEPTED: (&str, &str) = ("202", "Accepted");

/// The action for `get`, which is also the base of the other actions (`..READ`).
const READ: Action = Action {
    verb: "get",
    method: "get",
    name: "get",
    word: "read",
    parameters: &[],
    sends: Content::None,
    returns: Content::Object,
    codes: &[OK],
};
pub(super) const LIST: Action = Action {
    verb: "list",
    name: "list",
    word: "list",
    parameters: LISTING,
    returns: Content::List,
    ..READ
};
pub(super) const CREATE: Action = Action {
    verb: "create",
    method: "post",
    name: "post",
    word: "create",
    parameters: WRITING,
    sends: Content::Object,
    codes: &[OK, CREATED, ACCEPTED],
    ..READ
};
const DELETE_COLLECTION: Action = Action {
    verb: "deletecollection",
    method: "delete",
    name: "deletecollection",
    word: "delete",
    parameters: SELECTING,
    sends: Content::Options,
    returns: Content::Status,
    ..READ
};
const UPDATE: Action = Action {
    verb: "update",
    method: "put",
    name: "put",
    word: "replace",
    parameters: WRITING,
    sends: Content::Object,
    codes: &[OK, CREATED],
    ..READ
};
const PATCH: Action = Action {
    verb: "patch",
    method: "patch",
    name: "patch",
    word: "patch",
    parameters: PATCHING,
    sends: Content::Patch,
    codes: &[OK, CREATED],
    ..READ
};
const DELETE: Action = Action {
    verb: "delete",
    method: "delete",
    name: "delete",
    word: "delete",
    parameters: DELETING,
    sends: Content::Options,
    returns: Content::Deleted,
    codes: &[OK, ACCEPTED],
};
/// Deprecated watch of one object, at `/watch/…/NAME`.
pub(super) const WATCH: Action = Action {
    verb: "watch",
    name: "watch",
    word: "watch",
    parameters: LISTING,
    returns: Content::Event,
    ..READ
};
/// Deprecated watch of a collection, at `/watch/…`.
pub(super) const WATCH_LIST: Action = Action {
    name: "watchlist",
    ..WATCH
};

pub(super) const MANY: [Action; 3] = [LIST, CREATE, DELETE_COLLECTION];
pub(super) const ONE: [Action; 4] = [READ, UPDATE, PATCH, DELETE];

/// What the operations on a path act on: a resource or subresource.
pub(super) struct Operand<'a> {
    pub(super) kind: &'a Kind,
    /// Group, version and kind of the request and response bodies.
    pub(super) body: (&'a str, &'a str, &'a str),
    /// The suffix of operation IDs for this resource, such as `NamespacedPod`.
    pub(super) name: String,
    /// Name of the subresource; `None` for the resource itself.
    pub(super) part: Option<&'a str>,
}

/// Builds an operation; also returns its HTTP method.
pub(super) fn operation(
    operand: &Operand<'_>,
    action: &Action,
    schemas: &mut Schemas,
) -> (&'static str, Value) {
    let (group, version, body) = operand.body;
    let home = GroupVersionName::of(operand.kind.group, operand.kind.version);
    let collection = match action.verb {
        "deletecollection" => "Collection",
        _ => "",
    };
    let mut operation = json!({
        "tags": [home.tag],
        "description": description(operand, action),
        "operationId": format!("{}{}{collection}{}", action.word, home.name, operand.name),
        "parameters": action.parameters.iter().map(|name| parameter(name)).collect::<Value>(),
        "responses": responses(operand, action, schemas),
        "x-kubernetes-action": action.name,
        "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": body},
    });
    if action.sends != Content::None {
        operation["requestBody"] = request_body(operand, action, schemas);
    }
    (action.method, operation)
}

fn description(operand: &Operand<'_>, action: &Action) -> String {
    let kind = operand.kind.kind;
    let of = operand.part.map_or(String::new(), |part| format!("{part} of "));
    match action.name {
        "list" => format!("list objects of kind {kind}, or watch them"),
        "post" => format!("create {of}a {kind}"),
        "put" => format!("replace {of}a {kind}"),
        "patch" => format!("change parts of {of}a {kind}"),
        "delete" => format!("delete a {kind}"),
        "deletecollection" => format!("delete many objects of kind {kind}"),
        "watch" => format!("watch one {kind}; deprecated for `watch=true` on the collection"),
        "watchlist" => format!("watch objects of kind {kind}; deprecated for `watch=true` on the collection"),
        _ => format!("read {of}a {kind}"),
    }
}

fn responses(operand: &Operand<'_>, action: &Action, schemas: &mut Schemas) -> Map<String, Value> {
    let returned = content(action.returns, operand, schemas);
    let mut medias = object_media_types(operand.kind);
    if matches!(action.returns, Content::List | Content::Event) && operand.kind.defined().is_none() {
        // A watch streams JSON or protobuf, never YAML. The OpenAPI document of custom resources lists no streaming media types.
        let streams = medias.iter().filter(|media| !media.ends_with("yaml"));
        let streams: Vec<String> = streams.map(|media| format!("{media};stream=watch")).collect();
        medias.extend(streams);
    }
    build_responses(action.codes, &medias, &returned)
}

/// The responses of an operation: one of the success codes, with a body of the given schema and media types, or 401.
pub(super) fn build_responses(
    codes: &[(&str, &str)],
    medias: &[impl AsRef<str>],
    schema: &Value,
) -> Map<String, Value> {
    let content = content_by_media_type(medias, schema);
    let success = |(code, text): &(&str, &str)| {
        let response = json!({"description": text, "content": content});
        ((*code).to_owned(), response)
    };
    let mut responses: Map<String, Value> = codes.iter().map(success).collect();
    responses.insert("401".to_owned(), json!({"description": "Unauthorized"}));
    responses
}

fn content_by_media_type(medias: &[impl AsRef<str>], schema: &Value) -> Map<String, Value> {
    let medias = medias.iter().map(|media| media.as_ref().to_owned());
    medias.map(|media| (media, json!({"schema": schema}))).collect()
}

fn object_media_types(kind: &Kind) -> Vec<String> {
    let mut medias = vec!["application/json".to_owned(), yaml::MEDIA.to_owned()];
    if kind.object_type().is_some() && protobuf::is_known(&kind.api_version(), kind.kind) {
        medias.push(protobuf::MEDIA.to_owned());
    }
    medias
}

fn request_body(operand: &Operand<'_>, action: &Action, schemas: &mut Schemas) -> Value {
    let schema = content(action.sends, operand, schemas);
    let medias: &[&str] = match action.sends {
        Content::Patch if operand.kind.defined().is_some() => &[
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/apply-patch+yaml",
        ],
        Content::Patch => &[
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/strategic-merge-patch+json",
            "application/apply-patch+yaml",
        ],
        _ if operand.kind.defined().is_some() => &["application/json", yaml::MEDIA],
        _ => &["*/*"],
    };
    let mut body = json!({ "content": content_by_media_type(medias, &schema) });
    if action.sends != Content::Options {
        body["required"] = true.into();
    }
    body
}

fn content(content: Content, operand: &Operand<'_>, schemas: &mut Schemas) -> Value {
    let (group, version, kind) = operand.body;
    if let Some(defined) = operand.kind.defined().filter(|_| kind == operand.kind.kind) {
        match content {
            Content::Object => return schemas.object(operand.kind, defined),
            Content::List => return schemas.list(operand.kind, defined),
            _ => {}
        }
    }
    // In OpenAPI, deleting a namespace returns a Status, although the server returns the Namespace.
    let returns_deleted = operand.kind.returns_deleted && operand.kind.end.is_none();
    match content {
        Content::None => Value::Null,
        Content::Object => schemas.kind(group, version, kind),
        Content::List => schemas.kind(group, version, &format!("{kind}List")),
        Content::Patch => schemas.patch(),
        Content::Options => schemas.kind("", "v1", "DeleteOptions"),
        Content::Event => schemas.watch_event(),
        Content::Deleted if returns_deleted => schemas.kind(group, version, kind),
        Content::Status | Content::Deleted => schemas.kind("", "v1", "Status"),
    }
}

/// The name of a group version in the tag and ID of an operation.
pub(super) struct GroupVersionName {
    /// The tag, such as `storage_v1`.
    pub(super) tag: String,
    /// The group version in operation IDs, such as `StorageV1`.
    pub(super) name: String,
}

impl GroupVersionName {
    pub(super) fn of(group: &str, version: &str) -> Self {
        let group = group_name(group);
        Self {
            tag: format!("{group}_{version}"),
            name: capitalized(&group) + &capitalized(version),
        }
    }
}

/// The group in operation IDs: `core`, `storage`, `rbacAuthorization`.
pub(super) fn group_name(group: &str) -> String {
    if group.is_empty() {
        return "core".to_owned();
    }
    let group = group.trim_end_matches(".k8s.io");
    let mut parts = group.split('.');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |name, part| name + &capitalized(part))
}

pub(super) fn capitalized(text: &str) -> String {
    match text.split_at_checked(1) {
        Some((first, rest)) => first.to_ascii_uppercase() + rest,
        None => String::new(),
    }
}
