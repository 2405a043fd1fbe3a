//! A minimal attach/detach controller: creates a VolumeAttachment for every CSI volume of an assigned pod, unless the driver's CSIDriver
//! object has attachRequired=false.
//!
//! Only writes the VolumeAttachment objects; calls no driver.

use serde_json::{Value, json};

use super::api::Client;
use super::object_ref::object_ref;
use crate::cluster_state::ClusterState;
use capacity_types::pod::claims_of;

const ATTACHMENTS: &str = "volumeattachments";

/// Creates the missing VolumeAttachments of a pod's volumes.
pub(super) async fn attach(cluster: &ClusterState, client: &Client, pod: &Value) {
    let Some(node) = pod["spec"]["nodeName"].as_str() else {
        return;
    };
    for (volume, driver) in volumes(cluster, pod) {
        let name = attachment_name(&volume, node);
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

/// Deletes the VolumeAttachments of a deleted pod, except those whose volume another pod on the node uses.
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
        let name = attachment_name(&volume, node);
        if others.contains(&volume) || cluster.object(ATTACHMENTS, None, &name).is_none() {
            continue;
        }
        if let Err(status) = client.delete(&object_ref(ATTACHMENTS, None, &name)).await {
            tracing::debug!(message = %status, "detachment refused");
        }
    }
}

/// CSIDriver.spec.attachRequired; true if it is unset or the object does not exist.
fn needs_attachment(cluster: &ClusterState, driver: &str) -> bool {
    let object = cluster.object("csidrivers", None, driver);
    object.is_none_or(|object| object["spec"]["attachRequired"] != false)
}

/// Name of a VolumeAttachment. Contains volume and node in plain text, unlike the hashed names of the real controller.
fn attachment_name(volume: &str, node: &str) -> String {
    format!("csi-{volume}-{node}")
}

/// The CSI volumes that are bound to a pod's PVCs, as (PV name, driver name).
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
