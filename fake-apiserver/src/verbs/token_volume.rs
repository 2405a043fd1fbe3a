//! The service account token volume that the ServiceAccount admission plugin adds to pods.
//!
//! Owns the name and content of the volume. No container mounts the volume, because there are no kubelets.

use super::generate::random_suffix;
use crate::machinery::json;
use crate::store::Txn;
use serde_json::{Value, json};

const NAME: &str = "kube-api-access-";
const PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
/// Lifetime of the token in seconds: an hour and 7 seconds, as in kube-apiserver, to distinguish these tokens from explicitly requested
/// ones.
const SECONDS: i64 = 3607;

/// Adds the token volume to the pod, and mounts it in all containers that mount no other volume at `PATH`.
pub(super) fn add_token_volume(txn: &mut Txn<'_>, pod: &mut Value) {
    let present = pod["spec"]["volumes"].as_array().into_iter().flatten();
    let mut names = present.filter_map(|volume| volume["name"].as_str());
    let known = names.find(|name| name.starts_with(NAME)).map(str::to_owned);
    let name = match &known {
        Some(name) => name.clone(),
        None => format!("{NAME}{}", random_suffix(txn)),
    };
    let mut needed = false;
    for list in ["/spec/initContainers", "/spec/containers"] {
        for container in json::entries(pod, list) {
            let mounts = container["volumeMounts"].as_array().into_iter().flatten();
            if mounts.into_iter().any(|mount| mount["mountPath"] == PATH) {
                continue;
            }
            needed = true;
            let mount = json!({"name": name, "readOnly": true, "mountPath": PATH});
            append(container, "volumeMounts", mount);
        }
    }
    if needed && known.is_none() {
        append(&mut pod["spec"], "volumes", volume(&name));
    }
}

fn append(object: &mut Value, list: &str, entry: Value) {
    let Some(members) = object.as_object_mut() else {
        return;
    };
    let list = members.entry(list).or_insert(Value::Null);
    match list.as_array_mut() {
        Some(entries) => entries.push(entry),
        None => *list = json!([entry]),
    }
}

fn volume(name: &str) -> Value {
    let field = json!({"apiVersion": "v1", "fieldPath": "metadata.namespace"});
    json!({"name": name, "projected": {"defaultMode": 420, "sources": [
        {"serviceAccountToken": {"expirationSeconds": SECONDS, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
        {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
    ]}})
}
