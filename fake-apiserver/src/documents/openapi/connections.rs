//! Paths of connections: `pods/log`, `pods/exec` and its like, and proxies.
//!
//! Owns which methods and options they have. Does not know how a connection is made.

use super::operations::{capitalized, group_name};
use super::parameters::{in_path, parameter};
use crate::documents::served::Subentry;
use crate::kinds::Kind;
use crate::machinery::yaml;
use crate::protobuf;
use serde_json::{Map, Value, json};

/// What a connection takes.
struct Connection {
    methods: &'static [&'static str],
    options: &'static [&'static str],
    /// Whether what follows its path belongs to it.
    goes_on: bool,
}

const STREAMS: &[&str] = &["get", "post"];

/// The connection of that name.
fn connection(name: &str) -> Connection {
    let (methods, options, goes_on): (&[&str], &[&str], bool) = match name {
        "attach" => (STREAMS, &["container", "stderr", "stdin", "stdout", "tty"], false),
        "exec" => (
            STREAMS,
            &["command", "container", "stderr", "stdin", "stdout", "tty"],
            false,
        ),
        "portforward" => (STREAMS, &["ports"], false),
        "log" => (
            &["get"],
            &[
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
            false,
        ),
        _ => (
            &["delete", "get", "head", "options", "patch", "post", "put"],
            &["path"],
            true,
        ),
    };
    Connection {
        methods,
        options,
        goes_on,
    }
}

/// The paths of a connection. `object`: the path of what it leads to; `of_one`: how that is called in the names of operations; `named`: the
/// parameters in its path.
pub(super) fn of_part(
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
        let rest = in_path("path", "The path behind what is reached.");
        let parameters = parameters.into_iter().chain([rest]).collect();
        paths.push((
            format!("{path}/{{path}}"),
            item(&format!("{name}WithPath"), parameters),
        ));
    }
    paths
}

fn operation(kind: &Kind, part: &Subentry, method: &str, name: &str) -> Value {
    let group = group_name(kind.group);
    let home = capitalized(&group) + &capitalized(kind.version);
    let is_log = part.name == "log";
    let (id, action, description) = match is_log {
        true => (
            format!("read{home}{name}"),
            "get",
            "read the log of a container".to_owned(),
        ),
        false => (
            format!("connect{home}{}{name}", capitalized(method)),
            "connect",
            format!(
                "connect to {} of a {} with {}",
                part.name,
                kind.kind,
                method.to_uppercase()
            ),
        ),
    };
    let medias: &[&str] = match is_log {
        true => &["text/plain", "application/json", yaml::MEDIA, protobuf::MEDIA],
        false => &["*/*"],
    };
    let text = || json!({"schema": {"type": "string"}});
    let content: Map<String, Value> = medias.iter().map(|media| ((*media).to_owned(), text())).collect();
    json!({
        "tags": [format!("{group}_{}", kind.version)],
        "description": description,
        "operationId": id,
        "responses": {
            "200": {"description": "OK", "content": content},
            "401": {"description": "Unauthorized"},
        },
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": {"group": kind.group, "version": kind.version, "kind": part.body},
    })
}
