//! OpenAPI paths of connect subresources: `pods/log`, `pods/exec`, `pods/attach`, `pods/portforward`, and `proxy`.
//!
//! Owns the methods and parameters of these paths. Does not know how connections are established.

use super::operations::{GroupVersionName, OK, build_responses, capitalized};
use super::parameters::{in_path, parameter};
use crate::documents::served::Subentry;
use crate::kinds::Kind;
use crate::machinery::yaml;
use crate::protobuf;
use serde_json::{Map, Value, json};

/// `log` is the only connect subresource whose response is plain text instead of an upgraded connection.
const LOG: &str = "log";

/// HTTP methods and query parameters of a connect subresource.
struct Connection {
    methods: &'static [&'static str],
    options: &'static [&'static str],
    /// Whether a path can follow the subresource: `…/proxy/{path}`.
    goes_on: bool,
}

fn connection(name: &str) -> Connection {
    let stream = |options| Connection {
        methods: &["get", "post"],
        options,
        goes_on: false,
    };
    match name {
        "attach" => stream(&["container", "stderr", "stdin", "stdout", "tty"]),
        "exec" => stream(&["command", "container", "stderr", "stdin", "stdout", "tty"]),
        "portforward" => stream(&["ports"]),
        LOG => Connection {
            methods: &["get"],
            options: &[
                "container",
                "follow",
                "insecureSkipTLSVerifyBackend",
                "limitBytes",
                "pretty",
                "previous",
                "sinceSeconds",
                "stream",
                "tailLines",
                "timestamps",
            ],
            goes_on: false,
        },
        _ => Connection {
            methods: &["delete", "get", "head", "options", "patch", "post", "put"],
            options: &["path"],
            goes_on: true,
        },
    }
}

/// The paths of a connect subresource. `object`: the path of the parent object; `of_one`: the parent's name in operation IDs, such as
/// `NamespacedPod`; `named`: the path parameters.
pub(super) fn connect_paths(
    object: &str,
    of_one: &str,
    kind: &Kind,
    part: &Subentry,
    named: &[&str],
) -> Vec<(String, Value)> {
    let connection = connection(part.name);
    let path = format!("{object}/{}", part.name);
    let name = format!("{of_one}{}", capitalized(part.name));
    let names = named.iter().chain(connection.options);
    let parameters: Vec<Value> = names.map(|name| parameter(name)).collect();
    let item = |name: &str, mut parameters: Vec<Value>| {
        let operations = connection.methods.iter();
        let operations = operations.map(|method| ((*method).to_owned(), operation(kind, part, method, name)));
        let mut item: Map<String, Value> = operations.collect();
        parameters.sort_by_key(|parameter| [&parameter["name"], &parameter["in"]].map(Value::to_string));
        item.insert("parameters".to_owned(), parameters.into());
        Value::Object(item)
    };
    let mut paths = vec![(path.clone(), item(&name, parameters.clone()))];
    if connection.goes_on {
        let rest = in_path("path", "The path at the proxied node, pod or service.");
        let parameters = parameters.into_iter().chain([rest]).collect();
        paths.push((
            format!("{path}/{{path}}"),
            item(&format!("{name}WithPath"), parameters),
        ));
    }
    paths
}

fn operation(kind: &Kind, part: &Subentry, method: &str, name: &str) -> Value {
    let home = GroupVersionName::of(kind.group, kind.version);
    let (id, action, description, medias): (_, _, _, &[&str]) = match part.name {
        LOG => (
            format!("read{}{name}", home.name),
            "get",
            "read the log of a container".to_owned(),
            &["text/plain", "application/json", yaml::MEDIA, protobuf::MEDIA],
        ),
        part => (
            format!("connect{}{}{name}", home.name, capitalized(method)),
            "connect",
            format!(
                "connect to {part} of a {} with {}",
                kind.kind,
                method.to_uppercase()
            ),
            &["*/*"],
        ),
    };
    json!({
        "tags": [home.tag],
        "description": description,
        "operationId": id,
        "responses": build_responses(&[OK], medias, &json!({"type": "string"})),
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {"group": kind.group, "version": kind.version, "kind": part.body},
    })
}
