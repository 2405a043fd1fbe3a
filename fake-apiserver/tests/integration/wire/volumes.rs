//! Validation of in-tree volume sources, and of inline volumes in VolumeAttachments, as by kube-apiserver 1.36.

use super::client::TestServer;
use serde_json::{Value, json};

const VOLUMES: &str = "/api/v1/persistentvolumes";
const ATTACHMENTS: &str = "/apis/storage.k8s.io/v1/volumeattachments";

fn volume(source: &Value) -> Value {
    let mut body = json!({
        "metadata": {"name": "v"},
        "spec": {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}},
    });
    for (name, value) in source.as_object().into_iter().flatten() {
        body["spec"][name] = value.clone();
    }
    body
}

fn attachment(inline: &Value) -> Value {
    json!({
        "metadata": {"name": "a"},
        "spec": {"attacher": "a.example.com", "nodeName": "n", "source": {"inlineVolumeSpec": inline}},
    })
}

/// Invalid volume sources, each with the part of the error message that follows the name of the volume.
fn invalid_sources() -> Vec<(Value, &'static str)> {
    vec![
        (
            json!({"azureDisk": {}}),
            "[spec.azureDisk.diskName: Required value, spec.azureDisk.diskURI: Required value]",
        ),
        (
            json!({"iscsi": {"targetPortal": "x"}}),
            "spec.iscsi.iqn: Required value",
        ),
        (
            json!({"gcePersistentDisk": {"pdName": "a", "partition": 300}}),
            "spec.persistentDisk.partition: Invalid value: 300: must be between 1 and 255, inclusive",
        ),
        (
            json!({"rbd": {}}),
            "[spec.rbd.monitors: Required value, spec.rbd.image: Required value]",
        ),
        (
            json!({"cinder": {"volumeID": "x", "secretRef": {"name": "s"}}}),
            "spec.cinder.secretRef.namespace: Required value",
        ),
        (
            json!({"nfs": {"server": "x", "path": "y"}}),
            "spec.nfs.path: Invalid value: \"y\": must be an absolute path",
        ),
    ]
}

#[tokio::test]
async fn volume_sources_are_validated() {
    let wire = TestServer::start().await;
    for (source, why) in invalid_sources() {
        let answer = wire.post(VOLUMES, volume(&source)).await;
        let text = format!("PersistentVolume \"v\" is invalid: {why}");
        assert_eq!(
            (answer.code, &answer.body["message"]),
            (422, &json!(text)),
            "{source}"
        );
    }
}

#[tokio::test]
async fn volume_sources_are_defaulted() {
    let wire = TestServer::start().await;
    let bare = json!({"azureDisk": {"diskName": "d", "diskURI": "https://x"}});
    let stored = wire.create(VOLUMES, volume(&bare)).await;
    let filled = json!({
        "diskName": "d", "diskURI": "https://x", "cachingMode": "ReadWrite", "fsType": "ext4", "kind": "Shared",
        "readOnly": false,
    });
    assert_eq!(stored["spec"]["azureDisk"], filled);
}

#[tokio::test]
async fn decoding_errors_name_the_embedded_persistent_volume_source() {
    let wire = TestServer::start().await;
    let answer = wire.post(VOLUMES, volume(&json!({"csi": {"driver": 5}}))).await;
    let text = answer.body["message"].as_str().unwrap_or_default();
    let end = "json: cannot unmarshal number into Go struct field \
        CSIPersistentVolumeSource.spec.PersistentVolumeSource.csi.driver of type string";
    assert!(answer.code == 400 && text.ends_with(end), "{text}");
}

#[tokio::test]
async fn inline_volumes_of_attachments_must_be_csi() {
    let wire = TestServer::start().await;
    let at = "spec.source.inlineVolumeSpec";
    let csi = json!({"driver": "d", "volumeHandle": "h"});
    for (inline, why) in [
        (
            json!({}),
            format!(
                "[{at}.csi: Required value: has to be specified in the context of inline volumes, \
                 {at}.accessModes: Required value, {at}: Required value: must specify a volume type]"
            ),
        ),
        (
            json!({"accessModes": ["ReadWriteOnce"], "csi": csi, "capacity": {"storage": "1Gi"}, "volumeMode": "Block"}),
            format!(
                "[{at}.capacity: Forbidden: may not be specified in the context of inline volumes, {at}.volumeMode: \
                 Forbidden: may not specify volumeMode other than Filesystem in the context of inline volumes]"
            ),
        ),
    ] {
        let answer = wire.post(ATTACHMENTS, attachment(&inline)).await;
        let text = format!("VolumeAttachment.storage.k8s.io \"a\" is invalid: {why}");
        assert_eq!((answer.code, &answer.body["message"]), (422, &json!(text)));
    }
    let good = json!({"accessModes": ["ReadWriteOnce"], "csi": csi});
    let stored = wire.create(ATTACHMENTS, attachment(&good)).await;
    assert_eq!(stored["spec"]["source"]["inlineVolumeSpec"], good);
}
