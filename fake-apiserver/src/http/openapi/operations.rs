//! Paths and operations of a resource, as OpenAPI writes them down.
//!
//! Owns which parameters go with which action. Does not know how types look.

use super::schemas::Schemas;
use crate::http::discovery::{Subentry, parts, verbs};
use crate::kinds::Kind;
use serde_json::{Map, Value, json};

/// Names and types of parameters.
type Parameters = &'static [(&'static str, &'static str)];

const WRITING: Parameters = &[
    ("dryRun", "string"),
    ("fieldManager", "string"),
    ("fieldValidation", "string"),
];
const PATCHING: Parameters = &[
    ("dryRun", "string"),
    ("fieldManager", "string"),
    ("fieldValidation", "string"),
    ("force", "boolean"),
];
const DELETING: Parameters = &[
    ("dryRun", "string"),
    ("gracePeriodSeconds", "integer"),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
];
const LISTING: Parameters = &[
    ("allowWatchBookmarks", "boolean"),
    ("continue", "string"),
    ("fieldSelector", "string"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("timeoutSeconds", "integer"),
    ("watch", "boolean"),
];
const SELECTING: Parameters = &[
    ("continue", "string"),
    ("dryRun", "string"),
    ("fieldSelector", "string"),
    ("gracePeriodSeconds", "integer"),
    ("labelSelector", "string"),
    ("limit", "integer"),
    ("orphanDependents", "boolean"),
    ("propagationPolicy", "string"),
    ("resourceVersion", "string"),
    ("resourceVersionMatch", "string"),
    ("sendInitialEvents", "boolean"),
    ("timeoutSeconds", "integer"),
];

/// What a verb is in OpenAPI.
struct Action {
    verb: &'static str,
    method: &'static str,
    /// `x-kubernetes-action`.
    name: &'static str,
    /// How names of operations begin.
    word: &'static str,
    parameters: Parameters,
    sends: Content,
    returns: Content,
    /// Codes of success.
    codes: &'static [(&'static str, &'static str)],
}

/// What a body is.
#[derive(Clone, Copy)]
enum Content {
    None,
    Object,
    List,
    Patch,
    Options,
    Status,
    /// The object that was deleted, or a status.
    Deleted,
}

const OK: (&str, &str) = ("200", "OK");
const CREATED: (&str, &str) = ("201", "Created");
const ACCEPTED: (&str, &str) = ("202", "Accepted");

/// Actions on a collection.
const MANY: [Action; 3] = [
    action(
        "list",
        "get",
        ("list", "list"),
        LISTING,
        Content::None,
        Content::List,
        &[OK],
    ),
    action(
        "create",
        "post",
        ("post", "create"),
        WRITING,
        Content::Object,
        Content::Object,
        &[OK, CREATED, ACCEPTED],
    ),
    action(
        "deletecollection",
        "delete",
        ("deletecollection", "delete"),
        SELECTING,
        Content::Options,
        Content::Status,
        &[OK],
    ),
];
/// Actions on an object.
const ONE: [Action; 4] = [
    action(
        "get",
        "get",
        ("get", "read"),
        &[],
        Content::None,
        Content::Object,
        &[OK],
    ),
    action(
        "update",
        "put",
        ("put", "replace"),
        WRITING,
        Content::Object,
        Content::Object,
        &[OK, CREATED],
    ),
    action(
        "patch",
        "patch",
        ("patch", "patch"),
        PATCHING,
        Content::Patch,
        Content::Object,
        &[OK, CREATED],
    ),
    action(
        "delete",
        "delete",
        ("delete", "delete"),
        DELETING,
        Content::Options,
        Content::Deleted,
        &[OK, ACCEPTED],
    ),
];

const fn action(
    verb: &'static str,
    method: &'static str,
    (name, word): (&'static str, &'static str),
    parameters: Parameters,
    sends: Content,
    returns: Content,
    codes: &'static [(&'static str, &'static str)],
) -> Action {
    Action {
        verb,
        method,
        name,
        word,
        parameters,
        sends,
        returns,
        codes,
    }
}

/// What operations on a path have in common.
struct Place<'a> {
    kind: &'static Kind,
    /// Group, version and kind of what is sent and returned.
    body: (&'a str, &'a str, &'a str),
    /// The end of the names of operations.
    name: String,
}

/// All paths of a resource, with what can be done there.
pub(super) fn paths(place: &str, kind: &'static Kind, schemas: &mut Schemas) -> Vec<(String, Value)> {
    let verbs = verbs(kind);
    let base = format!("/{place}");
    let collection = if kind.namespaced {
        format!("{base}/namespaces/{{namespace}}/{}", kind.plural)
    } else {
        format!("{base}/{}", kind.plural)
    };
    let scope = if kind.namespaced { "Namespaced" } else { "" };
    let own = || Place {
        kind,
        body: (kind.group, kind.version, kind.kind),
        name: format!("{scope}{}", kind.kind),
    };
    let mut paths = Vec::new();
    if kind.namespaced && verbs.contains(&"list") {
        let everywhere = Place {
            name: format!("{}ForAllNamespaces", kind.kind),
            ..own()
        };
        let item = item(&everywhere, &MANY[..1], &verbs, schemas, &[]);
        paths.push((format!("{base}/{}", kind.plural), item));
    }
    let namespace: &[&str] = if kind.namespaced { &["namespace"] } else { &[] };
    paths.push((
        collection.clone(),
        item(&own(), &MANY, &verbs, schemas, namespace),
    ));
    if !verbs.contains(&"get") {
        return paths;
    }
    let named: Vec<&str> = ["name"].into_iter().chain(namespace.iter().copied()).collect();
    let object = format!("{collection}/{{name}}");
    paths.push((object.clone(), item(&own(), &ONE, &verbs, schemas, &named)));
    for part in parts(kind) {
        let Subentry {
            name,
            body,
            home,
            verbs,
        } = part;
        let (group, version) = home.unwrap_or((kind.group, kind.version));
        let place = Place {
            kind,
            body: (group, version, body),
            name: format!("{scope}{}{}", kind.kind, capitalized(name)),
        };
        let of_many = verbs.contains(&"create");
        let actions = if of_many { &MANY[1..2] } else { &ONE[..] };
        paths.push((
            format!("{object}/{name}"),
            item(&place, actions, &verbs, schemas, &named),
        ));
    }
    paths
}

/// One path.
fn item(
    place: &Place<'_>,
    actions: &[Action],
    verbs: &[&str],
    schemas: &mut Schemas,
    named: &[&str],
) -> Value {
    let mut item = Map::new();
    for action in actions.iter().filter(|action| verbs.contains(&action.verb)) {
        item.insert(action.method.to_owned(), operation(place, action, schemas));
    }
    let mut parameters: Vec<Value> = named
        .iter()
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string", "uniqueItems": true}}))
        .collect();
    parameters.push(parameter("pretty", "string"));
    item.insert("parameters".to_owned(), parameters.into());
    item.into()
}

fn operation(place: &Place<'_>, action: &Action, schemas: &mut Schemas) -> Value {
    let (group, version, body) = place.body;
    let group_name = group_name(place.kind.group);
    let tag = format!("{group_name}_{}", place.kind.version);
    let home = capitalized(&group_name) + &capitalized(place.kind.version);
    let collection = match action.verb {
        "deletecollection" => "Collection",
        _ => "",
    };
    let returned = content(action.returns, place, schemas);
    let mut responses: Map<String, Value> = action
        .codes
        .iter()
        .map(|(code, text)| {
            let content = json!({"application/json": {"schema": returned}});
            (
                (*code).to_owned(),
                json!({"description": text, "content": content}),
            )
        })
        .collect();
    responses.insert("401".to_owned(), json!({"description": "Unauthorized"}));
    let mut operation = json!({
        "tags": [tag],
        "operationId": format!("{}{home}{collection}{}", action.word, place.name),
        "parameters": action.parameters.iter().map(|(name, of)| parameter(name, of)).collect::<Value>(),
        "responses": responses,
        "x-kubernetes-action": action.name,
        "x-kubernetes-group-version-kind": {"group": group, "version": version, "kind": body},
    });
    let sent = content(action.sends, place, schemas);
    let medias: &[&str] = match action.sends {
        Content::None => return operation,
        Content::Patch => &[
            "application/json-patch+json",
            "application/merge-patch+json",
            "application/strategic-merge-patch+json",
        ],
        _ => &["*/*"],
    };
    let required = !matches!(action.sends, Content::Options);
    let medias: Map<String, Value> = medias
        .iter()
        .map(|media| ((*media).to_owned(), json!({"schema": sent})))
        .collect();
    operation["requestBody"] = json!({"content": medias, "required": required});
    operation
}

/// The schema of a body.
fn content(content: Content, place: &Place<'_>, schemas: &mut Schemas) -> Value {
    let (group, version, kind) = place.body;
    match content {
        Content::None => Value::Null,
        Content::Object => schemas.kind(group, version, kind),
        Content::List => schemas.kind(group, version, &format!("{kind}List")),
        Content::Patch => schemas.patch(),
        Content::Options => schemas.kind("", "v1", "DeleteOptions"),
        Content::Deleted if place.kind.returns_deleted => schemas.kind(group, version, kind),
        Content::Status | Content::Deleted => schemas.kind("", "v1", "Status"),
    }
}

fn parameter(name: &str, of: &str) -> Value {
    json!({"name": name, "in": "query", "schema": {"type": of, "uniqueItems": true}})
}

/// The group as names of operations spell it: `rbacAuthorization`.
fn group_name(group: &str) -> String {
    let short = group.strip_suffix(".k8s.io").unwrap_or(group);
    match short.split_once('.') {
        None if short.is_empty() => "core".to_owned(),
        None => short.to_owned(),
        Some((first, rest)) => first.to_owned() + &capitalized(rest),
    }
}

fn capitalized(name: &str) -> String {
    let mut letters = name.chars();
    letters
        .next()
        .map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
        .unwrap_or_default()
}
