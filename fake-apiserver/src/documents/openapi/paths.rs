//! The OpenAPI paths of resources and of discovery, with their operations.
//!
//! Owns which paths exist. Does not know how an operation is described.

use super::connections;
use super::operations::{
    Action, CREATE, GroupVersionName, LIST, MANY, OK, ONE, Operand, WATCH, WATCH_LIST, build_responses,
    capitalized, group_name, operation,
};
use super::parameters::parameter;
use super::schemas::Schemas;
use crate::documents::served::{Subentry, subresources, verbs};
use crate::kinds::Kind;
use crate::machinery::yaml;
use crate::protobuf;
use serde_json::{Map, Value, json};

/// A path with its OpenAPI path item.
type PathEntry = (String, Value);

pub(super) fn resource_paths(group_path: &str, kind: &Kind, schemas: &mut Schemas) -> Vec<PathEntry> {
    let verbs = verbs(kind);
    let has = |verb: &str| verbs.contains(&verb);
    let namespace = if kind.namespaced {
        "/namespaces/{namespace}"
    } else {
        ""
    };
    let named: &[&str] = if kind.namespaced { &["namespace"] } else { &[] };
    let (scope, everywhere) = if kind.namespaced {
        ("Namespaced", "ForAllNamespaces")
    } else {
        ("", "")
    };
    let own = |name: String| Operand {
        kind,
        body: (kind.group, kind.version, kind.kind),
        name,
        part: None,
    };
    let collection = format!("/{group_path}{namespace}/{}", kind.plural);
    let of_one = format!("{scope}{}", kind.kind);
    let mut paths = vec![(
        collection.clone(),
        path_item(&own(of_one.clone()), &MANY, &verbs, schemas, named),
    )];
    if kind.namespaced && has("list") {
        let all = own(format!("{}{everywhere}", kind.kind));
        let item = path_item(&all, &[LIST], &verbs, schemas, &[]);
        paths.push((format!("/{group_path}/{}", kind.plural), item));
    }
    // Custom resources have no deprecated `/watch/` paths.
    if has("watch") && kind.defined().is_none() {
        let old = |rest: &str| format!("/{group_path}/watch{rest}");
        let mut watch = |path: String, name: String, action: Action, named: &[&str]| {
            paths.push((path, path_item(&own(name), &[action], &verbs, schemas, named)));
        };
        let plural = kind.plural;
        let in_namespace = format!("{namespace}/{plural}");
        let in_list = format!("{of_one}List");
        watch(old(&in_namespace), in_list, WATCH_LIST, named);
        let object = old(&format!("{in_namespace}/{{name}}"));
        watch(object, of_one.clone(), WATCH, &with_name(named));
        if kind.namespaced {
            let name = format!("{}List{everywhere}", kind.kind);
            watch(old(&format!("/{plural}")), name, WATCH_LIST, &[]);
        }
    }
    if !has("get") {
        return paths;
    }
    let named = with_name(named);
    let object = format!("{collection}/{{name}}");
    paths.push((
        object.clone(),
        path_item(&own(of_one.clone()), &ONE, &verbs, schemas, &named),
    ));
    for part in subresources(kind) {
        match part.is_connection {
            true => paths.extend(connections::connect_paths(&object, &of_one, kind, &part, &named)),
            false => paths.push(subresource_path(&object, &of_one, kind, &part, schemas, &named)),
        }
    }
    paths
}

fn with_name<'a>(named: &[&'a str]) -> Vec<&'a str> {
    named.iter().copied().chain(["name"]).collect()
}

fn subresource_path(
    object: &str,
    of_one: &str,
    kind: &Kind,
    part: &Subentry,
    schemas: &mut Schemas,
    named: &[&str],
) -> PathEntry {
    let (group, version) = part.home.unwrap_or((kind.group, kind.version));
    let operand = Operand {
        kind,
        body: (group, version, part.body),
        name: format!("{of_one}{}", capitalized(part.name)),
        part: Some(part.name),
    };
    let item = if part.verbs.contains(&"create") {
        path_item(&operand, &[CREATE], &part.verbs, schemas, named)
    } else {
        path_item(&operand, &ONE, &part.verbs, schemas, named)
    };
    (format!("{object}/{}", part.name), item)
}

/// The OpenAPI path item of a resource or subresource. Parameters common to all operations are listed once, on the path item.
fn path_item(
    operand: &Operand<'_>,
    actions: &[Action],
    verbs: &[&str],
    schemas: &mut Schemas,
    named: &[&str],
) -> Value {
    let mut operations: Vec<(&str, Value)> = actions
        .iter()
        .filter(|action| verbs.contains(&action.verb))
        .map(|action| operation(operand, action, schemas))
        .collect();
    let mut common: Vec<Value> = named.iter().map(|name| parameter(name)).collect();
    common.push(parameter("pretty"));
    common.extend(common_parameters(&operations));
    common.sort_by_key(|parameter| parameter["name"].to_string());
    for (_, operation) in &mut operations {
        let Some(Value::Array(own)) = operation.get_mut("parameters") else {
            continue;
        };
        own.retain(|parameter| !common.contains(parameter));
        if own.is_empty() {
            operation
                .as_object_mut()
                .map(|members| members.remove("parameters"));
        }
    }
    let mut item: Map<String, Value> = operations
        .into_iter()
        .map(|(method, operation)| (method.to_owned(), operation))
        .collect();
    item.insert("parameters".to_owned(), common.into());
    item.into()
}

fn common_parameters(operations: &[(&str, Value)]) -> Vec<Value> {
    let parameters = |operation: &Value| operation["parameters"].as_array().cloned().unwrap_or_default();
    let mut lists = operations.iter().map(|(_, operation)| parameters(operation));
    let first = lists.next().unwrap_or_default();
    lists.fold(first, |mut shared, list| {
        shared.retain(|parameter| list.contains(parameter));
        shared
    })
}

/// The OpenAPI description of a discovery document.
pub(super) struct DiscoveryPath<'a> {
    pub(super) path: String,
    pub(super) tag: &'a str,
    pub(super) operation: String,
    pub(super) description: &'a str,
    pub(super) answer: ResponseSchema<'a>,
}

/// The schema of the response with a discovery document.
pub(super) enum ResponseSchema<'a> {
    /// The schema of this kind in meta/v1, such as `APIGroupList`.
    Kind(&'a str),
    /// `version.Info`.
    Version,
}

pub(super) fn discovery_path(discovery: &DiscoveryPath<'_>, schemas: &mut Schemas) -> PathEntry {
    let (schema, medias): (Value, &[&str]) = match &discovery.answer {
        ResponseSchema::Kind(kind) => {
            if *kind == "APIGroupList" {
                // The schema of the items, APIGroup, must have the extension `x-kubernetes-group-version-kind` too.
                schemas.kind("", "v1", "APIGroup");
            }
            let medias = &["application/json", yaml::MEDIA, protobuf::MEDIA];
            (schemas.kind("", "v1", kind), medias)
        }
        ResponseSchema::Version => (schemas.version(), &["application/json"]),
    };
    let operation = json!({
        "tags": [discovery.tag],
        "description": discovery.description,
        "operationId": discovery.operation,
        "responses": build_responses(&[OK], medias, &schema),
    });
    (discovery.path.clone(), json!({ "get": operation }))
}

pub(super) fn resource_list_path(
    group_path: &str,
    group: &str,
    version: &str,
    schemas: &mut Schemas,
) -> PathEntry {
    let home = GroupVersionName::of(group, version);
    let discovery = DiscoveryPath {
        path: format!("/{group_path}/"),
        tag: &home.tag,
        operation: format!("get{}APIResources", home.name),
        description: "list the resources of this version",
        answer: ResponseSchema::Kind("APIResourceList"),
    };
    discovery_path(&discovery, schemas)
}

pub(super) fn version_list_path(group: &str, schemas: &mut Schemas) -> PathEntry {
    let name = group_name(group);
    let discovery = DiscoveryPath {
        path: format!("/apis/{group}/"),
        tag: &name,
        operation: format!("get{}APIGroup", capitalized(&name)),
        description: "list the versions of the group",
        answer: ResponseSchema::Kind("APIGroup"),
    };
    discovery_path(&discovery, schemas)
}
