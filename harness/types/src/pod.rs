//! The names of the PVCs of a pod's volumes, and of the StorageClass of a PVC or PersistentVolume.

use serde_json::Value;

/// `spec.volumes` of a pod.
pub fn volumes_of(pod: &Value) -> &[Value] {
    pod["spec"]["volumes"].as_array().map_or(&[], Vec::as_slice)
}

/// Name of the PVC of a pod's volume; `None` if the volume has no PVC. See [`ephemeral_claim_name`] for generic ephemeral volumes.
pub fn claim_of(pod: &Value, volume: &Value) -> Option<String> {
    if let Some(name) = volume["persistentVolumeClaim"]["claimName"].as_str() {
        return Some(name.to_owned());
    }
    let name = |object: &'_ Value| object["name"].as_str().unwrap_or_default().to_owned();
    let is_ephemeral = !volume["ephemeral"].is_null();
    is_ephemeral.then(|| ephemeral_claim_name(&name(&pod["metadata"]), &name(volume)))
}

/// Names of the PVCs of all volumes of a pod.
pub fn claims_of(pod: &Value) -> Vec<String> {
    let volumes = volumes_of(pod).iter();
    volumes.filter_map(|volume| claim_of(pod, volume)).collect()
}

/// Deprecated annotation with the StorageClass of a PVC or PersistentVolume; takes precedence over `storageClassName`.
const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// Name of the StorageClass of a PVC or PersistentVolume; `None` if unset.
pub fn class_of(object: &Value) -> Option<&str> {
    let annotated = object["metadata"]["annotations"][BETA_CLASS].as_str();
    annotated.or_else(|| object["spec"]["storageClassName"].as_str())
}

/// Name of the PersistentVolumeClaim of a generic ephemeral volume: `<pod name>-<volume name>` (Kubernetes API, `EphemeralVolumeSource`).
pub fn ephemeral_claim_name(pod: &str, volume: &str) -> String {
    format!("{pod}-{volume}")
}

/// Name that the cases of this project give to the generic ephemeral volume with this index in its pod.
pub fn ephemeral_volume_name(index: usize) -> String {
    format!("scratch-{index}")
}
