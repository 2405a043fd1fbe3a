//! The API objects of the driver's snapshots, as external-snapshotter creates them: a VolumeSnapshot that is ready to use, bound to a
//! VolumeSnapshotContent. Calls no driver and takes no snapshots.

use capacity_types::quantity::format_bytes;
use fake_csi::Snapshot;
use serde_json::{Value, json};

use super::api::Client;
use crate::api_server::StatusError;
use crate::plan::WORKLOADS;
use crate::plan::objects::SNAPSHOT_GROUP as GROUP;

/// Creates the two CustomResourceDefinitions, without a status subresource, so that a create request stores the status too.
pub(super) async fn create_definitions(client: &Client) -> Result<(), StatusError> {
    for (kind, scope) in [
        ("VolumeSnapshot", "Namespaced"),
        ("VolumeSnapshotContent", "Cluster"),
    ] {
        let plural = format!("{}s", kind.to_lowercase());
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let version =
            json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
        let created = client.create(json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {
                "name": format!("{plural}.{GROUP}"),
                "annotations": {"api-approved.kubernetes.io": "unapproved, for tests"},
            },
            "spec": {"group": GROUP, "scope": scope, "names": {"kind": kind, "plural": plural}, "versions": [version]},
        }));
        match created.await {
            // 409: a real API server may already have the CustomResourceDefinitions.
            Err(refused) if refused.code != 409 => return Err(refused),
            _ => {}
        }
    }
    Ok(())
}

/// Creates the objects of a snapshot. The VolumeSnapshot is named after the snapshot handle.
pub(super) async fn create(
    client: &Client,
    driver: &str,
    handle: &str,
    snapshot: &Snapshot,
) -> Result<(), StatusError> {
    let content = format!("snapcontent-{handle}");
    let object = |kind: &str, metadata: Value, spec: Value, status: Value| {
        let version = format!("{GROUP}/v1");
        json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec, "status": status})
    };
    let source = json!({"volumeSnapshotContentName": content});
    let size = format_bytes(snapshot.bytes.into());
    let snapshot_object = object(
        "VolumeSnapshot",
        json!({"name": handle, "namespace": WORKLOADS}),
        json!({"source": source}),
        json!({"boundVolumeSnapshotContentName": content, "readyToUse": true, "restoreSize": size}),
    );
    let snapshot_object = client.create(snapshot_object).await?;
    let reference =
        json!({"name": handle, "namespace": WORKLOADS, "uid": snapshot_object["metadata"]["uid"]});
    let bound = object(
        "VolumeSnapshotContent",
        json!({"name": content}),
        json!({
            "driver": driver, "deletionPolicy": "Retain", "source": {"snapshotHandle": handle},
            "volumeSnapshotRef": reference,
        }),
        json!({"snapshotHandle": handle, "readyToUse": true, "restoreSize": snapshot.bytes}),
    );
    client.create(bound).await.map(drop)
}
