//! The publisher's pods and their owners: Deployment → ReplicaSet → Pod for a central publisher, DaemonSet → one Pod per node for a
//! distributed one.
//!
//! Does not know cases, nor which of these objects owns the CSIStorageCapacity objects.

use std::sync::Arc;

use serde_json::{Value, json};

use super::api::Client;
use super::object_ref::object_ref;
use crate::api_server::StatusError;
use crate::plan::NAMESPACE;

/// Name of the Deployment, and of the DaemonSet.
const PUBLISHER: &str = "publisher";
/// Maximum length of a name (apimachinery, DNS1123SubdomainMaxLength).
const NAME_MAX: usize = 253;

/// Creates the pod of a central publisher and the pod's owners, unless they exist. Returns the pod's name.
pub(super) async fn create_central_pod(client: &Client) -> Result<String, StatusError> {
    let deployment = get_or_create(client, "Deployment", PUBLISHER, None, None).await?;
    let owner = Some(&*deployment);
    let replica_set = get_or_create(client, "ReplicaSet", "publisher-5d4", owner, None).await?;
    let pod = "publisher-5d4-x7x";
    get_or_create(client, "Pod", pod, Some(&replica_set), None).await?;
    Ok(pod.to_owned())
}

/// Creates the DaemonSet of a distributed publisher and its pod on a node, unless they exist. Returns the pod's name.
pub(super) async fn create_on_node(client: &Client, node: &str) -> Result<String, StatusError> {
    let daemon_set = get_or_create(client, "DaemonSet", PUBLISHER, None, None).await?;
    let mut pod = format!("{PUBLISHER}-{node}");
    pod.truncate(NAME_MAX);
    let pod = pod.trim_end_matches(['.', '-']);
    get_or_create(client, "Pod", pod, Some(&daemon_set), Some(node)).await?;
    Ok(pod.to_owned())
}

/// Reads the object with this name, or creates it. `node`: the node of a pod; `None`: a control plane node.
async fn get_or_create(
    client: &Client,
    kind: &str,
    name: &str,
    owner: Option<&Value>,
    node: Option<&str>,
) -> Result<Arc<Value>, StatusError> {
    let resource = format!("{}s", kind.to_lowercase());
    match client.get(&object_ref(&resource, Some(NAMESPACE), name)).await {
        Err(refused) if refused.code == 404 => {}
        other => return other,
    }
    let api_version = if kind == "Pod" { "v1" } else { "apps/v1" };
    let mut object = json!({
        "apiVersion": api_version, "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec(kind, node),
    });
    if let Some(owner) = owner {
        object["metadata"]["ownerReferences"] = json!([{
            "apiVersion": owner["apiVersion"], "kind": owner["kind"],
            "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
            "controller": true, "blockOwnerDeletion": true,
        }]);
    }
    client.create(object).await
}

/// A minimal valid `spec` for an object of this kind. A pod's spec has a nodeName, so that no scheduler assigns the pod.
fn spec(kind: &str, node: Option<&str>) -> Value {
    let containers = json!([{"name": PUBLISHER, "image": "example.com/publisher"}]);
    if kind == "Pod" {
        return json!({"nodeName": node.unwrap_or("control-plane"), "containers": containers});
    }
    let labels = json!({"app": PUBLISHER});
    let mut spec = json!({
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
    });
    if kind != "DaemonSet" {
        spec["replicas"] = 1.into();
    }
    spec
}
