//! The objects that own a publisher: Deployment → ReplicaSet → Pod, as a cluster would have made them.

use serde_json::{Value, json};

use super::api::Client;
use crate::apiserver::Refused;
use crate::cluster_state::ClusterState;
use crate::plan::NAMESPACE;

/// Name of the publisher's pod.
const POD: &str = "publisher-5d4-x7x";

/// Creates the objects of the chain that do not exist in `state`, as installing the publisher again does, and returns the pod's name.
pub(super) async fn create_chain(client: &Client, state: &ClusterState) -> Result<String, Refused> {
    let mut owner: Option<Value> = None;
    for (api_version, kind, resource, name) in [
        ("apps/v1", "Deployment", "deployments", "publisher"),
        ("apps/v1", "ReplicaSet", "replicasets", "publisher-5d4"),
        ("v1", "Pod", "pods", POD),
    ] {
        let existing = state.object(resource, Some(NAMESPACE), name);
        owner = Some(match existing {
            Some(existing) => (**existing).clone(),
            None => create(client, api_version, kind, name, owner.as_ref()).await?,
        });
    }
    Ok(POD.to_owned())
}

async fn create(
    client: &Client,
    api_version: &str,
    kind: &str,
    name: &str,
    owner: Option<&Value>,
) -> Result<Value, Refused> {
    let mut object = json!({
        "apiVersion": api_version, "kind": kind,
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec(kind),
    });
    if let Some(owner) = owner {
        object["metadata"]["ownerReferences"] = json!([{
            "apiVersion": owner["apiVersion"], "kind": owner["kind"],
            "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"],
            "controller": true, "blockOwnerDeletion": true,
        }]);
    }
    client.create(object).await.map(|created| (*created).clone())
}

/// As much of a spec as validation wants. The pod is on a node, so that no scheduler touches it.
fn spec(kind: &str) -> Value {
    let containers = json!([{"name": "publisher", "image": "example.com/publisher"}]);
    if kind == "Pod" {
        return json!({"nodeName": "control-plane", "containers": containers});
    }
    let labels = json!({"app": "publisher"});
    json!({
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
    })
}
