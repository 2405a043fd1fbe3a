//! What the attach/detach controller does for this story: a VolumeAttachment for every volume of a pod on a node, unless
//! the driver's CSIDriver object says that it needs none.
//!
//! Nothing is attached; only the objects are written.

use serde_json::{Value, json};

use super::address::at;
use super::api::Client;
use crate::cluster_state::ClusterState;
use capacity_types::pod::claims_of;

const ATTACHMENTS: &str = "volumeattachments";

/// Brings the attachments of a pod's volumes in order.
pub(super) async fn attach(cluster: &ClusterState, client: &Client, pod: &Value) {
    let Some(node) = pod["spec"]["nodeName"].as_str() else {
        return;
    };
    for (volume, driver) in volumes(cluster, pod) {
        let name = attachment(&volume, node);
        if !needs_attachment(cluster, &driver) || cluster.object(ATTACHMENTS, None, &name).is_some() {
            continue;
        }
        let created = client.create(json!({
            "apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment",
            "metadata": {"name": name},
            "spec": {"attacher": driver, "nodeName": node, "source": {"persistentVolumeName": volume}},
        }));
        if let Err(status) = created.await {
            tracing::debug!(message = %status, "attachment refused");
        }
    }
}

/// Removes the attachments that only a pod that is gone had needed.
pub(super) async fn detach(cluster: &ClusterState, client: &Client, pod: &Value) {
    let Some(node) = pod["spec"]["nodeName"].as_str() else {
        return;
    };
    let others: Vec<String> = cluster
        .objects("pods")
        .filter(|(_, other)| other["spec"]["nodeName"] == node)
        .flat_map(|(_, other)| volumes(cluster, other))
        .map(|(volume, _)| volume)
        .collect();
    for (volume, _) in volumes(cluster, pod) {
        let name = attachment(&volume, node);
        if others.contains(&volume) || cluster.object(ATTACHMENTS, None, &name).is_none() {
            continue;
        }
        if let Err(status) = client.delete(&at(ATTACHMENTS, None, &name)).await {
            tracing::debug!(message = %status, "detachment refused");
        }
    }
}

/// CSIDriver.spec.attachRequired: without an object, and where it does not say, a volume is attached.
fn needs_attachment(cluster: &ClusterState, driver: &str) -> bool {
    let object = cluster.object("csidrivers", None, driver);
    object.is_none_or(|object| object["spec"]["attachRequired"] != false)
}

/// Readable, unlike the real controller's, which are hashes of the same parts.
fn attachment(volume: &str, node: &str) -> String {
    format!("csi-{volume}-{node}")
}

/// The CSI volumes behind the claims of a pod, each with its driver.
fn volumes(cluster: &ClusterState, pod: &Value) -> Vec<(String, String)> {
    let namespace = pod["metadata"]["namespace"].as_str();
    let volume = |claim: String| {
        let claim = cluster.object("persistentvolumeclaims", namespace, &claim)?;
        let volume = claim["spec"]["volumeName"].as_str()?;
        let found = cluster.object("persistentvolumes", None, volume)?;
        let driver = found["spec"]["csi"]["driver"].as_str()?;
        Some((volume.to_owned(), driver.to_owned()))
    };
    claims_of(pod).into_iter().filter_map(volume).collect()
}
