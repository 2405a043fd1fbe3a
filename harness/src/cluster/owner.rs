//! The objects that own a publisher: Deployment → ReplicaSet → Pod, as a cluster would have made them.

use serde_json::{Value, json};

use super::api::Client;
use crate::apiserver::Refused;
use crate::plan::NAMESPACE;

/// Creates the chain and returns the pod's name.
pub(super) async fn create_chain(client: &Client) -> Result<String, Refused> {
    let deployment = create(client, "apps/v1", "Deployment", "publisher", None).await?;
    let replica_set = create(
        client,
        "apps/v1",
        "ReplicaSet",
        "publisher-5d4",
        Some(&deployment),
    )
    .await?;
    create(client, "v1", "Pod", "publisher-5d4-x7x", Some(&replica_set)).await?;
    Ok("publisher-5d4-x7x".to_owned())
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
